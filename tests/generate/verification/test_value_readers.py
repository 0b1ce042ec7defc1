"""Equal values have equal keys however they are written, and nothing else does."""

from datetime import date
from decimal import Decimal

from recall_bench.generate.verification.value_readers import (
    Amount,
    NameIndex,
    PatternReader,
    UnnamedValueReader,
    build_choice_reader,
    build_code_reader,
    build_date_reader,
    build_money_reader,
    build_number_reader,
    build_percent_reader,
    build_person_reader,
    build_time_reader,
    build_yes_no_reader,
)
from tests.loops import loop_over_rows

TODAY = date(2025, 1, 10)
PEOPLE = {"Priya Raman": ["Priya Raman", "Priya"], "Dr. Sam Oh": ["Dr. Sam Oh", "Sam Oh", "Oh"]}


def keys(reader: PatternReader, text: str) -> list[object]:
    return [value.key for value in reader.find(text, TODAY)]


@loop_over_rows(
    ("text", "amount"),
    [
        ("$4,350", "4350"),
        ("$640M", "640000000"),
        ("$640 million", "640000000"),
        ("$1.2bn", "1200000000"),
        ("$12.50", "12.5"),
        ("$3k", "3000"),
    ],
)
def test_money_is_its_amount(text: str, amount: str) -> None:
    assert keys(build_money_reader(), f"It cost {text}, more or less.") == [
        Amount("$", Decimal(amount))
    ]


def test_money_knows_its_currency() -> None:
    assert keys(build_money_reader(), "£1.2 million or €7") == [
        Amount("£", Decimal(1_200_000)),
        Amount("€", Decimal(7)),
    ]


def test_misprinted_money_is_none() -> None:
    assert keys(build_money_reader(), "It cost $4,3500 or $1.2.3.") == []


@loop_over_rows(
    ("unit", "text", "number"),
    [
        ("ms", "It took 1,240 ms.", "1240"),
        ("mg", "Take 2.5 mg daily.", "2.5"),
        ("ms", "An 840-ms wait, not 3 minutes.", "840"),
        ("°C", "It is −3 °C.", "-3"),
        (None, "There were 12 of them on 4 March 2025 at 08:45, $3 and 5% each.", "12"),
        (None, "In March 2025 there were 1,240.", "1240"),
    ],
)
def test_a_number_is_its_amount_in_its_unit(unit: str | None, text: str, number: str) -> None:
    assert keys(build_number_reader(unit), text) == [Amount(unit or "", Decimal(number))]


@loop_over_rows("text", ["RB-4113", "lot 3B", "1/2", "3-5", "4 March", "£7", "08:45"])
def test_what_only_looks_like_a_number_is_none(text: str) -> None:
    assert keys(build_number_reader(), text) == []


@loop_over_rows("text", ["2.5 mg/kg", "12 mgs", "12", "1,2400 mg"])
def test_a_number_in_another_unit_is_none(text: str) -> None:
    assert keys(build_number_reader("mg"), text) == []


def test_a_percentage_may_have_a_blank() -> None:
    assert keys(build_percent_reader(), "12%, 3.5 % and 7 per cent") == [
        Amount("%", Decimal(n)) for n in ("12", "3.5", "7")
    ]


def test_a_time_has_two_digits() -> None:
    assert keys(build_time_reader(), "at 8:45 or 08:45, not 25:10 or 1:2:30") == ["08:45", "08:45"]


@loop_over_rows(
    "text",
    [
        "4 March 2025",
        "March 4, 2025",
        "2025-03-04",
        "Tuesday, 4 March 2025",
        "Tue 4 Mar 2025",
        "the 4th of March 2025",
        "4 March",
        "March 4",
    ],
)
def test_a_date_is_the_same_in_any_order(text: str) -> None:
    assert keys(build_date_reader(), f"It is due {text}, they say.") == [date(2025, 3, 4)]


def test_a_date_without_its_year_is_the_nearest() -> None:
    assert keys(build_date_reader(), "28 December, 2 June and 29 February") == [
        date(2024, 12, 28),
        date(2025, 6, 2),
        date(2024, 2, 29),
    ]


def test_a_day_the_calendar_lacks_is_no_date() -> None:
    assert keys(build_date_reader(), "31 June 2025, 2025-02-30, March 2025, May 45") == []


def test_people_are_one_by_any_name() -> None:
    assert keys(build_person_reader(PEOPLE), "Priya, Priya Raman's friend Dr. Sam Oh; Ohio") == [
        "Priya Raman",
        "Priya Raman",
        "Dr. Sam Oh",
    ]


def test_the_longest_option_wins_and_case_does_not_count() -> None:
    reader = build_choice_reader(["a bad index", "a bad index rebuild", "the cache"])

    assert keys(reader, "A bad index rebuild; THE CACHE; a bad  index; cached") == [
        "a bad index rebuild",
        "the cache",
        "a bad index",
    ]


def test_a_code_has_its_shape() -> None:
    assert keys(build_code_reader("LT-####-?"), "LT-4471-B, LT-447-B, LT-4471-BX, XLT-4471-B") == [
        "LT-4471-B"
    ]


def test_without_a_shape_a_code_is_a_word_with_a_digit() -> None:
    text = "Lot 7B-2 came on 4 March 2025 at 08:45 for $3, the 3rd at 5%, see v1.2."

    assert keys(build_code_reader(), text) == ["7B-2", "v1.2"]


def test_only_an_opening_yes_or_no_counts() -> None:
    assert keys(build_yes_no_reader(), "“Yes, no doubt.”") == ["yes"]
    assert keys(build_yes_no_reader(), "Nobody said no.") == []


def test_a_value_keeps_how_and_where_it_was_written() -> None:
    (value,) = build_money_reader().find("It cost $640M.", TODAY)

    assert (value.surface, value.start, value.end) == ("$640M", 8, 13)


def test_names_are_found_whole_and_the_longest_wins() -> None:
    names = NameIndex({"RB-41": "one", "the wing": "two", "Condor": "three", "Condor II": "four"})

    found = names.find("RB-41, XRB-41 and RB-411; The wing's Condor II, not Condor, nor Condors.")

    assert [value.key for value in found] == ["one", "two", "four", "three"]


def test_a_value_within_a_threads_name_is_none() -> None:
    reader = UnnamedValueReader(build_code_reader(), NameIndex({"RB-4113": "one"}))

    assert [value.key for value in reader.find("RB-4113 has lot 7B.", TODAY)] == ["7B"]
