"""Only what names one day is turned into a date."""

from datetime import date

from recall_bench.text import relative_dates
from recall_bench.text.relative_dates import expand_relative_dates
from tests.loops import loop_over_rows

THURSDAY = date(2025, 3, 20)


@loop_over_rows(
    ("text", "expected"),
    [
        ("It was yesterday.", "It was 2025-03-19."),
        ("today", "2025-03-20"),
        ("the day before yesterday", "2025-03-18"),
        ("Three weeks ago.", "2025-02-27."),
        ("a week ago today", "2025-03-13"),
        ("two weeks and 3 days ago", "2025-03-03"),
        ("4 days from today", "2025-03-24"),
        ("last Thursday", "2025-03-13"),
        ("last Monday", "2025-03-17"),
        ("next Friday", "2025-03-21"),
    ],
)
def test_one_day_is_written_out(text: str, expected: str) -> None:
    assert expand_relative_dates(text, THURSDAY) == expected


@loop_over_rows("text", ["three months ago", "some days ago", "for 4 days", "on Monday"])
def test_a_phrase_that_names_no_single_day_is_unchanged(text: str) -> None:
    assert expand_relative_dates(text, THURSDAY) == text


@loop_over_rows(
    "text",
    [
        "the day before yesterday", "tonight", "the day after tomorrow", "two weeks and 3 days ago",
        "in 3 weeks' time", "in one day", "this coming sunday", "the following Friday",
        "nine days later", "5 weeks before", "the third monday of this month", "last Friday in May",
        "the last day of April", "the twenty-first of June", "3rd day of Sept. 2024", "May the 4th",
        "Oct. the thirtieth, 2024", "by Monday, the 6th", "on the 11th", "it was the nineteenth.",
    ],
)  # fmt: skip
def test_a_hint_is_part_of_what_it_hints_at(text: str) -> None:
    for spelled in (text, text.upper(), f"They said\t{text}!"):
        found = [each for each in relative_dates._PATTERNS if each.search(spelled)]
        assert found
        assert set(found) <= set(relative_dates._list_hinted(spelled.lower()))


def test_most_lines_have_no_hint() -> None:
    assert relative_dates._list_hinted("on monday, the second time, he waited all day.") == [
        relative_dates._SPELLED_NTH
    ]
    assert not relative_dates._list_hinted("on monday he was the one who read the 4 files.")
