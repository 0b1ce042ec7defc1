"""Values are read with their units, and relative dates count from the day they were said."""

from datetime import date

from recall_bench.systems.reading.answer_values import (
    find_amounts,
    find_current,
    find_names,
    resolve_dates,
)
from tests.loops import loop_over_rows

ON = date(2023, 6, 9)  # a Friday


@loop_over_rows(
    ("said", "meant"),
    [
        ("I went yesterday.", "2023-06-08"),
        ("I went three days ago.", "2023-06-06"),
        ("I went last Tuesday.", "2023-06-06"),
        ("I went last week.", "the week before 9 June 2023"),
        ("I went last month.", "May 2023"),
        ("I go next month.", "July 2023"),
        ("I went last year.", "2022"),
        ("I went two years ago.", "2021"),
        ("I went in August.", "August 2022"),
        ("It is due 4 July.", "2023-07-04"),
        ("It was due on January 2nd, 2022.", "2022-01-02"),
    ],
)
def test_a_date_is_resolved_by_the_day_it_was_said(said: str, meant: str) -> None:
    assert resolve_dates(said, ON)[0] == meant


def test_without_a_day_only_full_dates_are_known() -> None:
    assert resolve_dates("I went yesterday, not on 2023-06-01 but on 2023-06-02.", None) == (
        "2023-06-02",
    )


def test_amounts_have_units_and_labels_are_none() -> None:
    found = find_amounts("In Bay 16 INC-204 took 12 minutes, cost $1,200 and hit 40 clients.")

    assert [(value.number, value.unit) for value in found] == [
        (12, "minute"),
        (1200, "usd"),
        (40, "clients"),
    ]


def test_a_value_that_is_past_is_not_current() -> None:
    said = "It waits 45 minutes rather than 20 minutes."

    assert [value.number for value in find_current(find_amounts(said), said)] == [45]


def test_names_are_new_capitalised_words() -> None:
    said = "On Monday Mara Lind met Jo in Oslo about INC-204."

    assert find_names(said) == ["Mara Lind", "Jo", "Oslo"]
    assert find_names(said, frozenset({"mara", "lind"})) == ["Jo", "Oslo"]
