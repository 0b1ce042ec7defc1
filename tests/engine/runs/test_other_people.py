"""A wrong value is known by its words: whole, and in the place of the right one."""

import pytest

from recall_bench.core.scenario import ATTRIBUTION, Expects, Item, Truth
from recall_bench.engine.runs.other_people import (
    OtherPeople,
    is_told_instead,
    list_others_values,
)
from recall_bench.text.words import contains_phrase
from tests.loops import loop_over_rows

HOUR = Truth(reference="11:30.", category="contradiction-resolution", atoms=("11:30",))


@loop_over_rows(
    ("answer", "told"),
    [
        ("The call is at 10:30.", True),
        ("It was moved from 10:30 to 11:30.", False),
        ("At 110:300, or so.", False),
        ("There is no record of that.", False),
        ("", False),
    ],
)
def test_a_wrong_value_counts_where_the_right_one_is_absent(answer: str, told: bool) -> None:
    assert is_told_instead(HOUR, ("10:30",), answer) is told


def test_any_other_wording_of_the_right_one_is_right() -> None:
    truth = HOUR.replace(aliases=("half past eleven",))

    assert not is_told_instead(truth, ("10:30",), "At half past eleven, not at 10:30.")


def test_a_part_of_what_is_right_is_not_all_of_it() -> None:
    truth = HOUR.replace(atoms=("11:30", "Room 4"), reference="11:30 in Room 4")

    assert is_told_instead(truth, ("10:30",), "At 11:30, it was 10:30.")


@loop_over_rows(
    ("value", "answer"),
    [
        ("£13,300", "It would cost £13300."),
        ("£13300", "It would cost £13,300."),
        ("the O’Hara house", "They met at O'HARA HOUSE."),
        ("twenty-one", "Some twenty one of them."),
        ("−5", "It was -5 outside."),
        ("12,5", "It weighs 12,5 kilos."),
        ("Straße 7", "STRASSE 7"),
        ("１２", "all 12 of them"),
        ("12", "all １２ of them"),
    ],
)
def test_looking_first_overlooks_nothing_that_stands_there(value: str, answer: str) -> None:
    """An answer is taken apart only if its letters hold the value's; that must lose none."""
    assert contains_phrase(answer, value)
    assert is_told_instead(HOUR, (value,), answer)


def test_values_are_anothers_only_where_it_is_asked_whose_they_are() -> None:
    truth = Truth(reference="Ada", category="factual-recall", distractors=("Bob", "No"))

    assert list_others_values(truth) == ()
    assert list_others_values(truth.replace(category=ATTRIBUTION)) == ("Bob",)
    assert list_others_values(truth.replace(expects=Expects.ABSTAIN)) == ("Bob",)


def asked(name: str, *atoms: str, canaries: tuple[str, ...] = ()) -> Item:
    truth = Truth(reference=name, category="factual-recall", atoms=atoms, canaries=canaries)
    return Item(id=name, text=f"What about {name}?", known_from=1, truth=truth)


STRANGERS = OtherPeople(
    {
        "ada": (asked("cat", "Fig Plum", "Both Know"),),
        "bob": (
            asked("dog", "Rex Umber", "Both Know", "Tuesday", "12 May 2024"),
            asked("pin", "4711", canaries=("ZEL-77",)),
        ),
    }
)


@pytest.mark.parametrize(
    ("scenario", "answer", "told"),
    [
        pytest.param("ada", "It is Rex Umber.", True, id="bob's name"),
        pytest.param("ada", "The code is zel-77", True, id="bob's canary"),
        pytest.param("bob", "It is Rex Umber.", False, id="his own"),
        pytest.param("bob", "fig plum!", True, id="ada's"),
        pytest.param("ada", "Both Know.", False, id="both were told"),
        pytest.param("ada", "Tuesday, 12 May 2024, 4711", False, id="may be so by chance"),
        pytest.param("ada", "Umber Rex", False, id="other words"),
        pytest.param("eve", "Rex Umber", False, id="nobody's run"),
    ],
)
def test_what_another_persona_was_reported_is_known_by_its_names(
    scenario: str, answer: str, told: bool
) -> None:
    assert STRANGERS.is_in_answer(scenario, answer) is told
