"""Only what names one day is turned into a date."""

from datetime import date

import pytest

from recall_bench.core.relative_dates import expand_relative_dates

THURSDAY = date(2025, 3, 20)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", ["three months ago", "some days ago", "for 4 days", "on Monday"])
def test_a_phrase_that_names_no_single_day_is_unchanged(text: str) -> None:
    assert expand_relative_dates(text, THURSDAY) == text
