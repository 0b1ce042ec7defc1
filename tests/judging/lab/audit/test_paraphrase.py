"""Free text is put into other words that say the same."""

import re

import pytest

from recall_bench.judging.lab.audit.answer_key import ValueKind
from recall_bench.judging.lab.audit.audit_case import affirm, deny, restate
from recall_bench.judging.lab.audit.phrase_bank import SYNONYMS
from recall_bench.judging.lab.audit.wordings import list_paraphrases
from tests.loops import loop_over_rows


@loop_over_rows(
    ("phrase", "other"),
    [
        ("nobody had the key to the tray", "no one had the key to the tray"),
        ("bought for one pod to begin with", "purchased for one pod at first"),
        ("a webhook without a signature", "a webhook with no signature"),
        ("a pulse that skipped every ninth beat", "a pulse that skipped every 9th beat"),
        ("a colored flag on the file", "a coloured flag on the file"),
        ("a printer in the room", "printer in the room"),
        ("an assistant of thirty years", "an assistant of 30 years"),
    ],
)
def test_a_phrase_has_other_words(phrase: str, other: str) -> None:
    assert other in {text for _, text in list_paraphrases(phrase)}


@pytest.mark.parametrize(
    "phrase",
    [
        pytest.param("it bought out the appeal", id="a verb with another particle"),
        pytest.param("before the board meets", id="a clause, not a noun"),
        pytest.param("no one of them could stay", id="one of a group"),
        pytest.param("a third of the usual size", id="a fraction, not a place"),
    ],
)
def test_a_word_in_its_other_sense_is_left_alone(phrase: str) -> None:
    words = {"purchased", "ahead of", "nobody", "3rd"}

    assert not any(word in text for _, text in list_paraphrases(phrase) for word in words)


def test_substitutions_that_undo_each_other_do_not_meet() -> None:
    every = dict(list_paraphrases("nobody asked until everybody had signed"))["synonyms"]

    assert every == "no one asked till everyone had signed"


def test_no_substitution_puts_back_what_it_takes_away() -> None:
    assert [pattern for pattern, words in SYNONYMS if re.fullmatch(pattern, words)] == []


@loop_over_rows(
    ("question", "kind", "text", "answer"),
    [
        ("Who resisted PR-609?", ValueKind.PERSON, "Ada Lund", "Ada Lund resisted PR-609."),
        ("Which firm won the contract?", ValueKind.NAME, "Kolding", "Kolding won the contract."),
        (
            "How many surges were there in May 2025?",
            ValueKind.NUMBER,
            "five",
            "There were five surges in May 2025.",
        ),
        ("What was the price of oil?", ValueKind.MONEY, "$5", "The price of oil was $5."),
        ("What was the present worth?", ValueKind.MONEY, "$5", ""),
        ("Who did it, and when?", ValueKind.DATE, "May 5", ""),
    ],
)
def test_a_question_is_turned_round_where_its_form_is_known(
    question: str, kind: ValueKind, text: str, answer: str
) -> None:
    found = list(restate(question, kind, text))

    assert found == ([answer] if answer else [])


@loop_over_rows(
    ("question", "no", "yes"),
    [
        (
            "Was drill SD-614 ever repeated?",
            "Drill SD-614 was never repeated.",
            "Drill SD-614 was indeed repeated.",
        ),
        ("Did we ever get money back?", "We did not get money back.", "We did get money back."),
        ("Did lot 3 ever turn up?", "Lot 3 did not turn up.", "Lot 3 did turn up."),
        (
            "Was there a repeat of TA-2183?",
            "There was no repeat of TA-2183.",
            "There was indeed a repeat of TA-2183.",
        ),
    ],
)
def test_a_question_is_denied_and_affirmed_in_its_own_words(
    question: str, no: str, yes: str
) -> None:
    assert list(deny(question)) == [no]
    assert list(affirm(question)) == [yes]


def test_a_question_of_another_form_is_left_alone() -> None:
    assert list(deny("Did the payment in CR-9022 come back?")) == []
