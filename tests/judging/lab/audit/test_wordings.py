"""A value is read from how the dataset writes it, and missed or reworded by its make."""

from datetime import date, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core.number_words import spell_number
from recall_bench.judging.lab.audit.answer_key import AuditValue, ValueKind, parse_value
from recall_bench.judging.lab.audit.wordings import list_wordings
from recall_bench.judging.lab.audit.wrong_answers import list_misses
from tests.loops import loop_over_rows

ASKED = date(2025, 6, 20)


@loop_over_rows(
    ("text", "kind"),
    [
        ("November 18, 2024", ValueKind.DATE),
        ("18 November 2024", ValueKind.DATE),
        ("2024-11-18", ValueKind.DATE),
        ("09:45", ValueKind.TIME),
        ("$31,600", ValueKind.MONEY),
        ("£1.3M", ValueKind.MONEY),
        ("0.62%", ValueKind.PERCENT),
        ("13 minutes", ValueKind.MEASURE),
        ("9 working days", ValueKind.MEASURE),
        ("13°C", ValueKind.MEASURE),
        ("12", ValueKind.NUMBER),
        ("TN-7714", ValueKind.CODE),
        ("24-1298", ValueKind.CODE),
        ("Kolding Instruments", ValueKind.NAME),
        ("taken on consignment", ValueKind.PHRASE),
        ("4.1 out of 5", ValueKind.PHRASE),
    ],
)
def test_a_text_is_read_by_its_make(text: str, kind: ValueKind) -> None:
    assert parse_value(text).kind is kind


def test_a_name_whose_parts_stand_for_it_is_a_persons() -> None:
    assert parse_value("Petra Hallgrim", ("Hallgrim", "Petra")).kind is ValueKind.PERSON
    assert parse_value("Petra Hallgrim", ("the nurse",)).kind is ValueKind.NAME


@loop_over_rows(
    ("number", "words"),
    [
        (Decimal(0), "zero"),
        (Decimal(19), "nineteen"),
        (Decimal(42), "forty-two"),
        (Decimal(300), "three hundred"),
        (Decimal(412), "four hundred and twelve"),
        (Decimal(31_600), "thirty-one thousand six hundred"),
        (Decimal(2_000_007), "two million and seven"),
        (Decimal("84.25"), "eighty-four point two five"),
    ],
)
def test_numbers_are_spelled_as_they_are_said(number: Decimal, words: str) -> None:
    assert spell_number(number) == words


@loop_over_rows(
    ("text", "expected"),
    [
        ("November 18, 2024", "18 Nov 2024"),
        ("November 18, 2024", "the 18th of November 2024"),
        ("November 18, 2024", "Monday, 18 November 2024"),
        ("17 June 2025", "3 days ago"),
        ("21 June 2025", "tomorrow"),
        ("14:05", "2:05 pm"),
        ("00:15", "12:15 am"),
        ("12:00", "12:00 pm"),
        ("09:45", "a quarter to ten in the morning"),
        ("$31,600", "$31.6 thousand"),
        ("$1.34M", "1,340,000 dollars"),
        ("€515", "five hundred and fifteen euros"),
        ("90 minutes", "an hour and a half"),
        ("120 minutes", "two hours"),
        ("22 days", "3 weeks and 1 day"),
        ("2 weeks", "14 days"),
        ("49%", "forty-nine percent"),
        ("TN-7714", "TN 7714"),
    ],
)
def test_a_value_has_other_wordings(text: str, expected: str) -> None:
    assert expected in {words for _, words in list_wordings(parse_value(text), (), ASKED)}


def test_a_day_that_could_be_a_month_is_never_written_in_figures_alone() -> None:
    found = {words for _, words in list_wordings(parse_value("5 June 2024"), (), ASKED)}

    assert not {"5/6/2024", "6/5/2024", "05.06.2024"} & found


def test_a_date_goes_without_its_year_only_where_the_dataset_says_so() -> None:
    strict = {words for _, words in list_wordings(parse_value("18 November 2024"), (), ASKED)}
    loose = {
        words
        for _, words in list_wordings(parse_value("18 November 2024"), ("18 November",), ASKED)
    }

    assert "the 18th of November" not in strict
    assert "the 18th of November" in loose


def test_text_without_a_number_has_no_near_miss() -> None:
    assert list_misses(parse_value("taken on consignment")) == []
    assert list_misses(parse_value("Petra Hallgrim", ("Petra",))) == []


def test_a_count_in_words_is_missed_by_one() -> None:
    assert "three lawsuits began without it" in {
        text for _, text in list_misses(parse_value("two lawsuits began without it"))
    }


VALUES = st.one_of(
    st.dates(date(2023, 1, 1), date(2027, 12, 31)).map(lambda day: day.isoformat()),
    st.dates(date(2023, 1, 1), date(2027, 12, 31)).map(
        lambda day: f"{day:%B} {day.day}, {day.year}"
    ),
    st.times().map(lambda time: f"{time:%H:%M}"),
    st.integers(1, 3_000_000).map(lambda number: f"${number:,}"),
    st.decimals(Decimal("0.1"), 99, places=1).map(lambda number: f"{number}%"),
    st.builds("{} {}".format, st.integers(1, 2_000), st.sampled_from(("minutes", "days", "vials"))),
    st.integers(1, 400).map(str),
    st.builds("{}-{}".format, st.sampled_from(("TN", "PR")), st.integers(1, 99_999)),
)


def meanings(value: AuditValue) -> set[str]:
    return {
        value.text.casefold(),
        *(words.casefold() for _, words in list_wordings(value, (), ASKED)),
    }


@given(VALUES)
def test_a_near_miss_is_never_another_way_to_say_the_value(text: str) -> None:
    value = parse_value(text)

    for _, miss in list_misses(value):
        assert not meanings(value) & meanings(parse_value(miss)), miss


@given(st.dates(ASKED - timedelta(days=40), ASKED + timedelta(days=40)))
def test_a_relative_date_counts_from_the_day_of_asking(day: date) -> None:
    words = dict(list_wordings(parse_value(day.isoformat()), (), ASKED)).get("relative")

    if words is None:
        assert abs((day - ASKED).days) > 15
    elif words.endswith("days ago"):
        assert ASKED - timedelta(days=int(words.split()[0])) == day
    elif words.endswith("days from today"):
        assert ASKED + timedelta(days=int(words.split()[0])) == day
    else:
        known = {"today": 0, "tomorrow": 1, "yesterday": -1}
        known |= {"a week from today": 7, "a week ago today": -7}
        assert (day - ASKED).days == known[words]
