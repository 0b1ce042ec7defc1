"""Values are drawn on their grid, written as people write, and varied within their make."""

import re
from datetime import date
from decimal import Decimal

from recall_bench.core.random_stream import RandomStream
from recall_bench.features.personas.world import fact_values
from recall_bench.features.personas.world.fact_values import Dates, FactValue
from tests.loops import loop_over_rows

DATES = Dates(date(2024, 1, 1), "day-first")


@loop_over_rows(
    ("kind", "amount", "unit", "written"),
    [
        ("number", "1240", "ms", "1,240 ms"),
        ("number", "2.5", "mg", "2.5 mg"),
        ("number", "7", "", "7"),
        ("money", "4350", "", "$4,350"),
        ("money", "12.5", "", "$12.50"),
        ("percent", "3.5", "", "3.5%"),
    ],
)
def test_numbers_are_written_as_people_write_them(
    kind: str, amount: str, unit: str, written: str
) -> None:
    assert fact_values.format_number(kind, Decimal(amount), unit=unit).text == written


def test_a_draw_stays_on_its_grid() -> None:
    drawn = {fact_values.draw_amount([0.5, 2, 0.25], RandomStream(n)) for n in range(200)}

    assert drawn == {Decimal(n) / 4 for n in range(2, 9)}


def test_a_clock_stays_on_its_grid() -> None:
    drawn = {
        fact_values.draw_time(["07:00", "08:00", 15], RandomStream(n)).text for n in range(100)
    }

    assert drawn == {"07:00", "07:15", "07:30", "07:45", "08:00"}


def test_a_code_has_its_shape() -> None:
    text = fact_values.draw_code("LT-##-?", RandomStream(1)).text

    assert text[:3] == "LT-"
    assert text[3:5].isdigit()
    assert text[5] == "-"
    assert text[6].isupper()


@loop_over_rows(
    ("kind", "written"),
    [("money", "$640M"), ("number", "14 hours"), ("percent", "6.5%"), ("money", "$18,400")],
)
def test_another_seed_gives_another_value_of_the_same_make(kind: str, written: str) -> None:
    value = fact_values.parse_value(kind, written)

    others = {fact_values.draw_variation(value, RandomStream(n)).text for n in range(40)}

    assert len(others) > 3
    assert {_make(other) for other in others} == {_make(written)}


def _make(written: str) -> str:
    """What is left of a value without its digits."""
    return re.sub(r"[\d,.]+", "#", written)


def test_an_authored_sum_is_worth_what_it_says() -> None:
    assert fact_values.parse_value("money", "$1.2 million").amount == Decimal(1_200_000)


def test_near_misses_are_never_the_value() -> None:
    value = fact_values.parse_value("money", "$40")

    for number in range(50):
        assert "$40" not in fact_values.list_near_values(value, DATES, RandomStream(number))


def test_near_misses_of_a_choice_are_the_other_choices() -> None:
    value = FactValue("choice", "salt", others=("salt", "yeast", "rye"))

    assert set(fact_values.list_near_values(value, DATES, RandomStream(1))) == {"yeast", "rye"}


def test_a_date_is_spelled_in_every_common_way() -> None:
    value = fact_values.format_date(64, DATES)

    assert value.text == "4 March 2024"
    assert set(fact_values.list_spellings(value, DATES, told_on=60)) == {
        "March 4, 2024",
        "2024-03-04",
        "4 March",
        "March 4",
    }


def test_a_sum_is_written_like_its_parts() -> None:
    parts = [fact_values.format_number("number", Decimal(n), unit="loaves") for n in (900, 240)]

    assert fact_values.sum_values(parts).text == "1,140 loaves"
