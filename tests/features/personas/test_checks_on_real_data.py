"""The checks find what reviewers found by hand in a published file, and mend what can be mended."""

from collections import Counter

import pytest

from recall_bench.core.yaml12 import Document
from recall_bench.features.personas.checks.check_result import ProblemKind
from recall_bench.features.personas.checks.repair import rewrite_questions
from recall_bench.features.personas.checks.story_checker import (
    CheckedQuestion,
    check_file,
    read_corpus,
)
from recall_bench.stories.lint.lint_corpus import LintCorpus
from recall_bench.stories.persona_files import Layout
from tests.conftest import shared_data

pytestmark = pytest.mark.slow

File = tuple[CheckedQuestion, ...]


@pytest.fixture(scope="module")
def corpus() -> LintCorpus:
    """The executive assistant's 180 days."""
    return read_corpus(Layout(shared_data("recall-ea/executive-assistant"), "arcs-180d.yaml"))


@pytest.fixture(scope="module")
def source(corpus: LintCorpus) -> str:
    return corpus.layout.questions_file.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def published(corpus: LintCorpus, source: str) -> File:
    """Its 316 questions."""
    return checked(corpus, source)


@pytest.fixture(scope="module")
def mended(corpus: LintCorpus, source: str, published: File) -> File:
    """What is proposed in their place."""
    repairs = {c.place: c.result.repair for c in published if c.result.repair is not None}
    return checked(corpus, rewrite_questions("questions.yaml", source, repairs))


def checked(corpus: LintCorpus, text: str) -> File:
    content = Document("questions.yaml", text).content
    assert isinstance(content, list)
    return check_file(corpus, content)


def said(found: File, words: str) -> list[str]:
    return [c.name[-4:] for c in found for p in c.result.problems if words in p.message]


def counts(found: File) -> Counter[ProblemKind]:
    return Counter(p.kind for c in found for p in c.result.problems)


def test_its_undated_windows_are_found(published: File) -> None:
    assert len(said(published, "window” is a period without dates")) == 83
    assert len(said(published, "is a period without dates")) == 91


def test_its_day_numbers_are_found_and_become_dates(published: File, mended: File) -> None:
    assert len(said(published, "the log does not number its days")) == 21
    assert said(mended, "the log does not number its days") == []


def test_its_repeated_questions_are_found(published: File, mended: File) -> None:
    assert said(published, "asks the same") == ["q162", "q283", "q307"]
    removed = [c.name[-4:] for c in published if c.repaired is None]
    assert removed == ["q162", "q283"], "the third has another answer: that takes judgement"
    assert len(mended) == 314


def test_its_inverted_secrets_are_found_and_expect_an_answer(published: File) -> None:
    assert said(published, "the answer should refuse") == ["q313", "q314", "q316"]
    assert said(published, "all participants of principal") == ["q313", "q314", "q315", "q316"]
    for place in (312, 313, 315):
        repair = published[place].result.repair
        assert repair is not None
        assert repair.changes["expected_disclosure"] == "answer"
    assert published[314].result.repair is None


def test_its_misdated_questions_are_found(published: File) -> None:
    misdated = said(published, "use the text's date")

    assert len(misdated) == 14
    assert "q205" in misdated
    assert said(published, "is a Thursday and not a Wednesday") == ["q285"]


def test_the_values_that_change_in_its_second_week_are_found(published: File) -> None:
    assert said(published, "holds until day 13") == ["q007", "q008"]
    for place in (6, 7):
        repair = published[place].result.repair
        assert repair is not None
        assert repair.changes == {"irrelevant_after": 12, "changes_on": 13}


def test_the_proposal_is_better_in_every_respect(published: File, mended: File) -> None:
    before, after = counts(published), counts(mended)

    assert after <= before
    assert before.total() - after.total() >= 30
    assert all(c.result.repair is None for c in mended)
