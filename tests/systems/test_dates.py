"""A question may name its dates outright or count from the day it is asked."""

from datetime import date

from recall_bench.systems.builtin.date_spans import find_date_spans
from tests.loops import loop_over_rows

TODAY = date(2026, 6, 18)
"""A Thursday."""


def named(text: str) -> list[tuple[str, str]]:
    return [(str(span.first), str(span.last)) for span in find_date_spans(text, TODAY)]


@loop_over_rows(
    ("text", "first", "then"),
    [
        ("Who came on March 7th?", "2026-03-07", "2027-03-07"),
        ("Who came on March 7, 2025?", "2025-03-07", "2025-03-07"),
        ("What did I say yesterday?", "2026-06-17", "2027-06-17"),
        ("What changed between 2026-05-27 and yesterday?", "2026-05-27", "2026-05-27"),
    ],
)
def test_a_question_that_is_asked_again_counts_from_the_new_day(
    text: str, first: str, then: str
) -> None:
    again = TODAY.replace(year=2027)

    assert str(find_date_spans(text, TODAY)[0].first) == first
    assert str(find_date_spans(text, again)[0].first) == then
    last = [find_date_spans(text, day)[-1].last for day in (TODAY, again)]
    assert (last[0] != last[1]) == ("2025" not in text)


@loop_over_rows(
    ("text", "day"),
    [
        ("What changed on 2026-05-27?", "2026-05-27"),
        ("Who came on March 7, 2025?", "2025-03-07"),
        ("Who came on 7 March 2025?", "2025-03-07"),
        ("Who came on the 7th of March, 2025?", "2025-03-07"),
        ("Who came on March 7th?", "2026-03-07"),
        ("Who came on Sept. 5?", "2025-09-05"),
        ("Who came on Dec 24?", "2025-12-24"),
        ("What did I say yesterday?", "2026-06-17"),
        ("What did I say today?", "2026-06-18"),
        ("What did I say two days ago?", "2026-06-16"),
    ],
)
def test_a_day(text: str, day: str) -> None:
    assert named(text) == [(day, day)]


@loop_over_rows(
    ("text", "first", "last"),
    [
        ("What happened in March?", "2026-03-01", "2026-03-31"),
        ("What was held as of late January?", "2026-01-01", "2026-01-31"),
        ("What happened in December?", "2025-12-01", "2025-12-31"),
        ("What happened in February 2024?", "2024-02-01", "2024-02-29"),
        ("What happened in 2026-02?", "2026-02-01", "2026-02-28"),
        ("What happened last month?", "2026-05-01", "2026-05-31"),
        ("What happened this month?", "2026-06-01", "2026-06-18"),
        ("What happened last week?", "2026-06-08", "2026-06-14"),
        ("What happened this week?", "2026-06-15", "2026-06-21"),
        ("What happened in the past week?", "2026-06-11", "2026-06-18"),
        ("What happened last year?", "2025-01-01", "2025-12-31"),
        ("What happened three weeks ago?", "2026-05-25", "2026-05-31"),
        ("How did it go from 2026-03-05 through 2026-03-11?", "2026-03-05", "2026-03-11"),
        ("How did it go between March 3 and March 9?", "2026-03-03", "2026-03-09"),
        ("How did it go May 30 – June 2?", "2026-05-30", "2026-06-02"),
    ],
)
def test_a_stretch_of_days(text: str, first: str, last: str) -> None:
    assert named(text) == [(first, last)]


def test_two_days_are_two_spans_unless_something_joins_them() -> None:
    assert named("Compare March 3 and March 9.") == [
        ("2026-03-03", "2026-03-03"),
        ("2026-03-09", "2026-03-09"),
    ]


def test_a_day_without_a_year_is_the_latest_that_has_begun() -> None:
    assert named("On June 18?") == [("2026-06-18", "2026-06-18")]
    assert named("On June 19?") == [("2025-06-19", "2025-06-19")]


@loop_over_rows(
    "text",
    [
        "May I march in?",
        "Who may come?",
        "What is at 6:30 on version 2026?",
        "On 2026-02-31?",
        "On June 31?",
        "12000 years ago?",
        "",
    ],
)
def test_what_is_no_date_is_no_span(text: str) -> None:
    assert named(text) == []
