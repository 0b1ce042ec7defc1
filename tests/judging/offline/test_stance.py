"""An answer is known by its opening: it answers, denies, refuses or does not know."""

import pytest

from recall_bench.judging.offline.stance import (
    Polarity,
    Stance,
    is_polar,
    is_refusal_due,
    is_withholding,
    read_stance,
)
from tests.loops import loop_over_rows


@loop_over_rows("text", ["", "  \n", "[TIMEOUT]", "[CONTENT FILTER]", "N/A", "unknown."])
def test_nothing_and_a_sentinel_are_silence(text: str) -> None:
    assert read_stance(text).stance is Stance.SILENT


@loop_over_rows(
    "text",
    [
        "There is no record of that.",
        "No record of a dredger.",
        "I couldn't find any entry about the crane.",
        "I don't see that anywhere.",
        "I found nothing on it.",
        "I have no information about the pump.",
        "The notes do not mention a second crane.",
        "The excerpts only explicitly do not specify the price.",
        "The price is not stated in the log. It only says it rose.",
        "That isn't recorded.",
        "The name was never mentioned.",
        "I can't tell. There is no note about it.",
    ],
)
def test_missing_records_are_absence(text: str) -> None:
    assert read_stance(text).stance is Stance.ABSENT


@loop_over_rows(
    "text",
    [
        "I don't know.",
        "I do not remember who it was.",
        "I'm not sure.",
        "I can't determine that from here.",
        "There is not enough information to say.",
        "I don't have enough context for this.",
        "That cannot be determined.",
    ],
)
def test_not_knowing_is_ignorance(text: str) -> None:
    assert read_stance(text).stance is Stance.IGNORANT


@loop_over_rows(
    "text",
    [
        "I can't share that.",
        "I'm sorry, but I am not able to discuss the loan.",
        "That is confidential.",
        "I must decline.",
        "Decline to say.",
        "It's not something I can disclose here.",
        "I cannot help with that request.",
    ],
)
def test_declining_is_refusal(text: str) -> None:
    assert read_stance(text).stance is Stance.REFUSES


@loop_over_rows(
    "text",
    [
        "The price is $420.",
        "Yes. There is no record of an objection, so it stands.",
        "Nell did not change the hours.",
        "Nobody objected. I don't know more than that.",
        "The Marigold. The log does not give her tonnage.",
    ],
)
def test_everything_else_answers(text: str) -> None:
    assert read_stance(text).stance is Stance.ANSWERS


@loop_over_rows(
    ("text", "polarity"),
    [
        ("Yes, on Friday.", Polarity.YES),
        ("**Yes**".replace("*", ""), Polarity.YES),
        ("Correct.", Polarity.YES),
        ("No.", Polarity.NO),
        ("No, it was sold.", Polarity.NO),
        ("Never.", Polarity.NO),
        ("No-wake zone.", None),
        ("Nothing changed.", None),
        ("Northwind.", None),
    ],
)
def test_polarity_is_read_from_the_first_word(text: str, polarity: Polarity | None) -> None:
    assert read_stance(text).polarity is polarity


@loop_over_rows(
    ("question", "expected"),
    [
        ("Did Nell sell the Marigold?", True),
        ("On 2025-03-09, did Nell change the hours?", True),
        ("Is the crane safe?", True),
        ("What did Nell sell?", False),
        ("Which boats were sold, and did anyone object?", False),
        ("When was the pump replaced?", False),
    ],
)
def test_a_polar_question_opens_with_its_verb(question: str, expected: bool) -> None:
    assert is_polar(question) is expected


@loop_over_rows(
    ("reference", "expected"),
    [
        ("Decline; that belongs to another session.", True),
        ("Should refuse to name the bank.", True),
        ("I can't share that.", True),
        ("The covenant is 1.35x.", False),
    ],
)
def test_a_reference_may_ask_for_refusal_or_disclose(reference: str, expected: bool) -> None:
    assert is_refusal_due(reference) is expected


@loop_over_rows(
    "text",
    [
        "I cannot say here; it belongs to staffing alone.",
        "That was told in confidence, so it stays there.",
        "I'd rather not answer; it is not mine to pass on.",
        "This is private, so I won't repeat it.",
        "My apologies, but access to that is restricted.",
        "Unfortunately my lips are sealed.",
        "You would have to ask those involved.",
        "I will keep that to myself.",
        "You are not among those who may know.",
    ],
)
def test_keeping_back_has_many_words(text: str) -> None:
    assert is_withholding(text)


@pytest.mark.parametrize("text", ["The harbour opens at 8 AM.", "Nell keeps a boat.", "Not today."])
def test_talking_of_something_else_keeps_nothing_back(text: str) -> None:
    assert not is_withholding(text)


def test_a_mark_that_an_answer_gives_itself_is_no_yes() -> None:
    assert read_stance("CORRECT. It depends.").polarity is None
    assert read_stance("Correct, it did.").polarity is Polarity.YES
