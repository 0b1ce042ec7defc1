"""Grounded means: nothing checkable is told that could not be known."""

import pytest

from tests.judging.harbour import item, marks

PRICE = item("What does berth 7 cost a week?", "$465 a week.")


def grounded(answer: str, *, days: int = 10) -> bool:
    return marks(PRICE, answer, days=days)[2] == 1


@pytest.mark.parametrize(
    "answer",
    [
        "It costs $465 a week, up from $420.",
        "$465 a week, says Nell Archer.",
        "$465 a week. The crane inspection is on March 19.",
        "$465 a week, with the Tideway v2.3.1 included.",
        "$465 a week, as of 2025-03-07.",
    ],
)
def test_what_was_stated_may_be_said_again(answer: str) -> None:
    assert grounded(answer)


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ("$465 a week, up from $433.", "an amount"),
        ("$465 a week since 2025-02-11.", "a date"),
        ("$465 a week, payable by 9:45 AM.", "a time"),
        ("$465 a week, says Tiberius Vane.", "a name"),
        ("$465 a week under contract HX-77.", "an identifier"),
        ("$465 a week, 12% more.", "a percentage"),
    ],
)
def test_what_was_never_stated_is_invented(answer: str, what: str) -> None:
    assert not grounded(answer), what


def test_what_is_stated_later_is_invented_today() -> None:
    answer = "$465 a week. The Haddock came for $9,900."

    assert not grounded(answer, days=19)
    assert grounded(answer, days=20)


@pytest.mark.parametrize(
    "answer",
    [
        "On 2025-03-09 (principal): The weekly price of berth 7 rose to $465.",
        "$465 a week. (Source: 2031-01-01)",
        "$465 a week [2031-01-01].",
        "$465 a week, see memory/2031-01-01.md",
    ],
)
def test_a_citation_is_bookkeeping_and_never_invented(answer: str) -> None:
    assert grounded(answer)


def test_small_counts_are_the_answers_own() -> None:
    assert grounded("There are two points:\n1. It costs $465 a week.\n2. It cost less before.")


def test_the_question_and_the_reference_need_no_other_witness() -> None:
    asked = item("What did Tiberius Vane pay on 2031-01-01?", "$31 to Ludmilla Frost")

    assert marks(asked, "Tiberius Vane paid $31 to Ludmilla Frost on 2031-01-01.") == (3, 2, 1)


def test_a_non_answer_that_invents_is_not_grounded() -> None:
    assert marks(PRICE, "I don't know, but Tiberius Vane paid $31.") == (0, 0, 0)


@pytest.mark.parametrize(
    ("answer", "is_grounded"),
    [
        ('$465 a week. Nell called it "a gilded armadillo" at the time.', False),
        ('$465 a week: "the weekly price of berth 7 rose to $465".', True),
        ('$465 a week, "attending inspections".', True),
        ('$465 a week: "the weekly pri...".', True),
    ],
)
def test_what_is_quoted_must_have_been_said(answer: str, is_grounded: bool) -> None:
    """In whatever inflection; the word that a quotation breaks off in does not count."""
    assert grounded(answer) is is_grounded


def test_a_code_in_another_spelling_is_not_invented() -> None:
    asked = item("What is the pump?", "A Tideway PX-40817.", atoms=("PX-40817",))

    assert marks(asked, "PX 40817") == (3, 2, 1)
    assert marks(asked, "PX 40818")[2] == 0
