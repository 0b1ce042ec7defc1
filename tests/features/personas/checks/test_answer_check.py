"""An answer holds its own atoms, is of the kind its question asks for, and knows."""

from pathlib import Path

import pytest

from recall_bench.core.yaml12 import Document
from recall_bench.features.personas.checks.answer_check import (
    check_answer_kind,
    check_atoms,
    is_in_answer,
)
from recall_bench.features.personas.checks.check_result import (
    ProblemKind,
    QuestionChecker,
    QuestionProblem,
)
from recall_bench.features.personas.checks.story_checker import (
    open_checker,
    parse_entry,
    read_corpus,
)
from recall_bench.stories.lint.lint_corpus import LintCorpus
from recall_bench.stories.lint.value_index import LintQuestion
from recall_bench.stories.persona_files import Layout
from recall_bench.stories.shipped import SAMPLE, unpack_story
from tests.conftest import shared_data
from tests.loops import loop_over_rows
from tests.stories.lint.lint_story import ARCS, Question, question, secret, write

DAYS = {
    1: "Kofi Larrabee paid the toll of £40 for two barges; Hob Tarn did not know the way.",
    2: "Whose is the red barge? Hob Tarn said: I do not know. Nobody knows.",
    9: "# session: boats\n\nThree boats lay at the quay.\n\n"
    "# session: audit\n\nVera Sand put the shortfall at £9,300.",
}
WHO = "Who paid the toll on 2025-03-03?"


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return Layout(write(tmp_path_factory.mktemp("lock"), DAYS), ARCS)


@pytest.fixture(scope="module")
def corpus(layout: Layout) -> LintCorpus:
    return read_corpus(layout)


@pytest.fixture
def checker(layout: Layout) -> QuestionChecker:
    return open_checker(layout)


def found(corpus: LintCorpus, entry: Question) -> list[QuestionProblem]:
    asked = parse_entry(corpus, entry)
    assert isinstance(asked, LintQuestion)
    return [*check_atoms(asked), *check_answer_kind(corpus, asked)]


def graves(checker: QuestionChecker, entry: Question) -> list[str]:
    problems = checker.check(entry).problems
    return [
        each.message for each in problems if each.kind is ProblemKind.SUPPORT and each.is_severe
    ]


@pytest.mark.parametrize("wrong", ["$999,999.", "I do not know.", "Yes.", "Hob Tarn.", "£40."])
def test_an_answer_without_any_of_its_atoms_is_defective(
    checker: QuestionChecker, wrong: str
) -> None:
    sound = question(WHO, "Kofi Larrabee.", 1, atoms=["Kofi Larrabee"])

    assert checker.check(sound).is_sound
    said = graves(checker, {**sound, "answer": wrong})[0]
    assert f"the answer “{wrong}” holds none of its own atoms (Kofi Larrabee)" in said
    assert "correct the answer or atoms" in said


@pytest.mark.parametrize("wrong", ["$999,999.", "I do not know.", "Yes.", "3 March 2025."])
def test_without_atoms_the_kind_of_the_answer_is_looked_at(
    checker: QuestionChecker, wrong: str
) -> None:
    assert any(
        f"the answer “{wrong}” " in each for each in graves(checker, question(WHO, wrong, 1))
    )


def test_an_answer_that_lacks_one_of_several_atoms_measures_less(corpus: LintCorpus) -> None:
    asked = question(WHO, "Kofi Larrabee.", 1, atoms=["Kofi Larrabee", "Hob Tarn"])

    [problem] = found(corpus, asked)
    assert "the answer lacks Hob Tarn" in problem.message
    assert not problem.is_severe


@loop_over_rows(
    ("answer", "atom"),
    [
        ("It was kofi larrabee’s.", "Kofi Larrabee"),
        ("Larrabee.", "Kofi Larrabee"),
        ("$420 million.", "$420M"),
        ("On 2026-03-05.", "5 March 2026"),
        ("Two barges.", "2"),
        ("2 barges.", "two"),
        ("1200 litres.", "1,200 litres"),
        ("In the lockers.", "the locker"),
        ("東京です。", "東京"),
    ],
)
def test_an_atom_may_be_spelled_otherwise(answer: str, atom: str) -> None:
    assert is_in_answer(answer, atom)


@loop_over_rows(
    ("answer", "atom"),
    [
        ("Kofi Owusu.", "Kofi Larrabee"),
        ("£400.", "£40"),
        ("12.5 tonnes.", "12"),
        ("5 March 2026.", "6 March 2026"),
        ("The red barge.", "the green barge"),
        ("...", "Kofi"),
    ],
)
def test_another_value_is_not_the_atom(answer: str, atom: str) -> None:
    assert not is_in_answer(answer, atom)


@pytest.mark.parametrize(
    ("answer", "atom", "is_held"),
    [
        ("Yes, at noon.", "Yes", True),
        ("It did.", "Yes", True),
        ("Nobody did.", "No", True),
        ("No.", "Yes", False),
        ("No, it was Kofi Larrabee.", "Yes", False),
        ("Yes.", "No", False),
        ("Yes, he did.", "No", False),
        ("I do not know.", "No", False),
        ("$999,999.", "No", False),
    ],
)
def test_a_side_may_be_taken_without_the_word(
    corpus: LintCorpus, answer: str, atom: str, is_held: bool
) -> None:
    asked = question(
        "Did Hob Tarn pay on 2025-03-03?", answer, 1, category="negative-recall", atoms=[atom]
    )

    assert (found(corpus, asked) == []) is is_held


def test_an_alias_in_the_answer_stands_for_its_atoms(corpus: LintCorpus) -> None:
    asked = question(WHO, "The tanner.", 1, atoms=["Kofi Larrabee"])

    assert found(corpus, asked)
    assert not found(corpus, {**asked, "aliases": ["the tanner"]})


def test_an_answer_that_keeps_a_secret_is_no_answer_to_look_at(corpus: LintCorpus) -> None:
    refused = secret("How much is missing?", "I do not know.", 9, atoms=["£9,300"])

    assert found(corpus, refused) == []
    told = {**refused, "expected_disclosure": "answer", "forbidden_sessions": None}
    assert "holds none of its own atoms" in found(corpus, told)[0].message


@pytest.mark.parametrize(
    ("asked", "answer", "said"),
    [
        ("Who paid?", "$5.", "asks who"),
        ("By whom was it paid?", "12.", "asks who"),
        ("As of 3 May 2025, who paid?", "On 3 May 2025.", "asks who"),
        ("When the barge sank, who paid?", "No.", "a yes or a no"),
        ("When was it paid?", "Kofi Larrabee.", "asks when"),
        ("When did they pay?", "$999,999.", "asks when"),
        ("By when was it due?", "40 sacks.", "asks when"),
        ("On which date was it paid?", "At the board meeting.", "asks when"),
        ("What day did they pay?", "Kofi Larrabee.", "asks when"),
        ("How much was the toll?", "Kofi Larrabee.", "no number"),
        ("On 3 May 2025, how many barges came?", "3 May 2025.", "no number"),
        ("For how many days did it rain?", "Yes.", "a yes or a no"),
        ("Which barge sank?", "Yes.", "a yes or a no"),
        ("What did Hob Tarn mend?", "No.", "a yes or a no"),
        ("Name the barge that sank.", "Yes.", "a yes or a no"),
        ("After what time was it paid?", "No.", "a yes or a no"),
        ("Where does the barge lie?", "I don’t know.", "does not know"),
        ("What did Hob Tarn mend?", "Unknown.", "does not know"),
        ("Did Hob Tarn mend it?", "I'm not sure about that.", "does not know"),
    ],
)
def test_an_answer_of_another_kind_is_found(
    corpus: LintCorpus, asked: str, answer: str, said: str
) -> None:
    [problem] = found(corpus, question(asked, answer, 1))

    assert said in problem.message
    assert (problem.kind, problem.is_severe) == (ProblemKind.SUPPORT, True)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Who paid?", "12 bargees."),
        ("Who paid?", "Nobody."),
        ("Did Hob Tarn, who keeps the gate, pay £5?", "Yes."),
        ("On the call with Vera Sand, who audits, what sum was named?", "£9,300."),
        ("Who mended it, was it Hob Tarn?", "Yes."),
        ("What about the toll, did they pay?", "No."),
        ("When the gate jammed, what was moved?", "The red barge."),
        ("When was it paid?", "Before the gate was mended."),
        ("When is the gate shut?", "If the tide is low."),
        ("When was it paid?", "It never was."),
        ("When was it paid?", "In the 2024 budget cycle."),
        ("On which day was it paid?", "The Monday after Easter."),
        ("What day rate was agreed?", "£400."),
        ("How many barges came?", "A barge."),
        ("How many barges came?", "None."),
        ("How many barges came, and which?", "The Ibis and the Heron."),
        ("How much did the flood matter?", "Significantly."),
        ("What did Hob Tarn order?", "Don't tell the bargees."),
        ("What did we decide?", "We did not say."),
        ("What became of the toll?", "There is no record of that."),
    ],
)
def test_an_answer_that_may_be_right_is_left_alone(
    corpus: LintCorpus, asked: str, answer: str
) -> None:
    assert found(corpus, question(asked, answer, 1)) == []


def test_who_did_not_know_may_be_quoted(corpus: LintCorpus) -> None:
    asked = question("What did Hob Tarn say of the red barge?", "“I do not know.”", 2)

    assert found(corpus, asked) == []
    assert found(corpus, {**asked, "relevant_days": [1]})


def test_what_never_happened_may_be_unknown(corpus: LintCorpus) -> None:
    asked = question("Where did the ferry sink?", "I do not know.", 1, category="negative-recall")

    assert found(corpus, asked) == []


def all_found(folder: Path, arcs: str) -> list[str]:
    layout = Layout(folder, arcs)
    corpus = read_corpus(layout)
    rows = Document("q", layout.questions_file.read_text(encoding="utf-8")).content
    assert isinstance(rows, list)
    assert len(rows) > 90
    return [problem.message for row in rows for problem in found(corpus, row)]


def test_a_sound_file_has_no_such_answer() -> None:
    assert all_found(unpack_story(SAMPLE), "arcs-30d.yaml") == []


@pytest.mark.slow
def test_a_published_file_has_no_such_answer() -> None:
    assert all_found(shared_data("recall-ea/executive-assistant"), "arcs-180d.yaml") == []
