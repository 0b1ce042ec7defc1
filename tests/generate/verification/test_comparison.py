"""Aliases are right, distractors wrong, stale values were true; evidence is what states it."""

from typing import Any

import pytest

from tests.generate.verification.corpus import Corpus


@pytest.mark.parametrize(
    ("name", "changes", "code"),
    [
        ("p99", {"aliases": ["about 850 ms"]}, "alias"),
        ("first", {"aliases": ["closing the second"]}, "alias"),
        ("did", {"aliases": ["No"]}, "alias"),
        ("p99", {"distractors": ["840 ms"]}, "distractor"),
        ("owner", {"distractors": ["Priya"]}, "distractor"),
        ("due-now", {"distractors": ["March 15, 2024"]}, "distractor"),
        ("highest", {"distractors": ["RB-4102"]}, "distractor"),
        ("shared", {"distractors": ["A Stale Cache"]}, "distractor"),
        # The only atom is right too, although it is less than the phrase.
        ("shared", {"distractors": ["stale cache"]}, "distractor"),
        ("secret", {"distractors": ["I cannot share that here."]}, "distractor"),
        ("p99", {"stale": ["900 ms"]}, "stale"),
        ("p99", {"stale": ["840 ms"]}, "stale"),
        ("due-now", {"stale": ["15 March 2024"]}, "stale"),
        ("count", {"stale": ["3"]}, "stale"),
        ("due-now", {"stale": []}, "second-answer"),
        ("insider", {"expected_disclosure": "refuse"}, "boundary"),
        ("secret", {"expected_disclosure": "answer"}, "boundary"),
        ("partly", {"expected_disclosure": "answer"}, "boundary"),
        ("p99", {"atoms": ["840 ms", "fast"]}, "atoms"),
        ("shared", {"atoms": ["the weather"]}, "atoms"),
        ("first", {"atoms": ["the weather"]}, "atoms"),
    ],
)
def test_a_wrong_claim_is_found(
    corpus: Corpus, name: str, changes: dict[str, Any], code: str
) -> None:
    corpus.only(name, **changes)

    assert (code, f"question {name}") in corpus.found()


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("due-now", {"answerable_from": 36, "aliases": ["15 March"]}),
        ("p99", {"aliases": ["840ms", "quite slow"], "distractors": ["841 ms", "fast"]}),
        ("first", {"distractors": ["closing the second, then the rollback of the first"]}),
        ("did", {"distractors": ["Yes, on 12 March 2024"]}),
        ("due-now", {"answer": "15 March 2024 instead of 11 March 2024"}),
        ("insider", {"answer": "$610 million, no longer $640M"}),
        ("shared", {"atoms": ["stale cache"]}),
        ("rollback-gap", {"answer": "5 days, from 6 March 2024 to 11 March 2024"}),
    ],
)
def test_a_right_claim_is_not(corpus: Corpus, name: str, changes: dict[str, Any]) -> None:
    corpus.only(name, **changes)

    assert corpus.found() == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"start": 1}, id="starts late"),
        pytest.param({"end": -1}, id="ends early"),
        pytest.param({"day": 1}, id="another day"),
    ],
)
def test_evidence_is_the_sentence_to_the_character(corpus: Corpus, change: dict[str, int]) -> None:
    claim = corpus.cite(3, "The p99 stood at 840 ms.")
    moved = claim | {key: claim[key] + by for key, by in change.items()}
    corpus.only("p99", evidence=[moved], relevant_days=[moved["day"]])

    report = corpus.prove()

    assert {finding.code for finding in report.findings} >= {"evidence"}
    assert "“The p99 stood at 840 ms.”" in report.findings[-1].message


def test_evidence_beside_a_sentence_is_stated_the_nearest_that_states_it(corpus: Corpus) -> None:
    corpus.tell(3, "oncall", "RB-4101", "Again: the p99 was 840 ms.")
    claim = corpus.cite(3, "Again: the p99 was 840 ms.")
    corpus.only("p99", evidence=[claim | {"start": claim["start"] + 1}])

    messages = [finding.message for finding in corpus.prove().findings]

    assert any("the nearest is" in each and "“Again: the p99 was" in each for each in messages)


def test_evidence_names_the_session_it_stands_in(corpus: Corpus) -> None:
    claim = corpus.cite(3, "The p99 stood at 840 ms.") | {"session": "principal"}
    corpus.only("p99", evidence=[claim])

    assert ("evidence", "question p99") in corpus.found()


def test_evidence_that_states_something_else_is_found(corpus: Corpus) -> None:
    cites = [(3, "The p99 stood at 840 ms."), (3, "RB-4101 came in at 06:10.")]
    corpus.only("p99", cites=cites)

    assert corpus.found() == [("evidence", "question p99")]


def test_an_entry_may_be_cited_with_its_mark(corpus: Corpus) -> None:
    cites = [(3, "Priya Raman took it, at a fee of $300."), (6, "- A fee of $450 was agreed.")]
    corpus.only("total", cites=cites)

    assert corpus.found() == []


def test_every_sentence_that_states_it_by_then_is_cited(corpus: Corpus) -> None:
    corpus.tell(4, "oncall", "RB-4101", "Again: the p99 was 840 ms.")
    corpus.only("p99", answerable_from=6)

    (finding,) = corpus.prove().findings

    assert finding.code == "evidence"
    assert "day 4, session oncall" in finding.message


def test_a_later_restatement_need_not_be(corpus: Corpus) -> None:
    corpus.tell(4, "oncall", "RB-4101", "Again: the p99 was 840 ms.")
    corpus.only("p99")

    assert corpus.found() == []


def test_the_value_before_may_be_cited_too(corpus: Corpus) -> None:
    (asked,) = (asked for asked in corpus.questions if asked["id"] == "due-now")
    corpus.only("due-now", cites=[*asked["cites"], (3, "The fix is due 11 March 2024.")])

    assert corpus.found() == []


@pytest.mark.parametrize("days", [[3, 4], [4]])
def test_relevant_days_are_the_days_of_the_evidence(corpus: Corpus, days: list[int]) -> None:
    corpus.only("p99", relevant_days=days, answerable_from=4)

    assert corpus.found() == [("relevant-days", "question p99")]


def test_what_never_happened_rests_on_days_that_name_the_thread(corpus: Corpus) -> None:
    corpus.only("did-not", evidence=[], relevant_days=[6, 9])
    also = dict(corpus.questions[0], id="elsewhere", relevant_days=[6, 10])
    corpus.questions.append(also)

    assert corpus.found() == [("relevant-days", "question elsewhere")]


def test_where_it_cites_evidence_its_days_are_those_alone(corpus: Corpus) -> None:
    """Days 6 and 9 both name the thread, and the evidence is of day 9."""
    corpus.only("did-not", relevant_days=[6, 9])

    assert corpus.found() == [("relevant-days", "question did-not")]


def test_a_name_with_a_digit_is_no_code_in_a_reference(corpus: Corpus) -> None:
    corpus.lexicon["slots"]["regression.tag"] = {"kind": "code", "cues": ["tagged _"]}
    corpus.tell(4, "oncall", "RB-4101", "It was tagged 7B.")
    derive = {"op": "value", "thread": "regression-1", "slot": "tag"}
    corpus.ask("tag", "RB-4101 has 7B", derive, (4, "It was tagged 7B."), atoms=["7B"])

    assert corpus.found() == []
