"""A day's text is believed about its own date only where it is plain, and only in story order."""

from datetime import date, timedelta

import pytest

from recall_bench.stories.text_dates import CalendarAudit, audit_calendar, find_text_date
from tests.conftest import shared_data

EPOCH = date(2026, 3, 1)


def audited(*offs: int | None, epoch: date = EPOCH) -> CalendarAudit:
    """An audit of days whose text is off by so much; None for a day that says nothing."""
    own = [
        None if off is None else epoch + timedelta(days=place + off)
        for place, off in enumerate(offs)
    ]
    return audit_calendar(range(1, len(offs) + 1), epoch, own)


def found(audit: CalendarAudit) -> list[tuple[int, int, int]]:
    return [(shift.first, shift.last, shift.by) for shift in audit.shifts]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("---\ntype: daily\ndate: 2026-03-08\n---\n\nQuiet.\n", id="frontmatter"),
        pytest.param("# 2026-03-08\n\nQuiet.\n", id="title"),
        pytest.param("# session: a\n\n### 2026-03-08 — sync\nQuiet.\n", id="heading"),
        pytest.param("### Log\n\nI kept it quiet on Sunday, 2026-03-08, and read.\n", id="opening"),
        pytest.param("### Log\nSweep for **2026-03-08 (Sunday)** done.\n", id="weekday behind"),
        pytest.param("### Log\r\n\r\nSunday, 2026-03-08.\r\n", id="windows line ends"),
        pytest.param("# Sunday, March 8, 2026\n", id="long date"),
        pytest.param("# Sunday 8th March 2026\n", id="day first"),
        pytest.param("Sun, Mar. 8th, 2026: quiet.\n", id="short names"),
        pytest.param("# Log\n\n**Date:** 2026-03-08\n", id="label"),
        pytest.param("2026-03-08\nQuiet.\n", id="no heading at all"),
    ],
)
def test_a_day_that_dates_itself_is_read(text: str) -> None:
    assert find_text_date(text) == date(2026, 3, 8)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("### Log\n\nThe board meets on 2026-03-26.\n", id="date without weekday"),
        pytest.param("### Visit of 2026-03-26\n\nStaged.\n", id="date inside a heading"),
        pytest.param("### Log\n\nQuiet.\n\n- Sunday, 2026-03-08: visit\n", id="date further down"),
        pytest.param("### Log\n\nMonday, 2026-03-08.\n", id="wrong weekday"),
        pytest.param("### 2026-03-08 (Monday) — sync\n", id="heading with a wrong weekday"),
        pytest.param("# 2026-02-30\n", id="no such date"),
        pytest.param("# 2026-03-08\n\n# 2026-03-09\n", id="two dates, one vote each"),
        pytest.param("### Log\n\nThe week of March 8.\n", id="no year"),
    ],
)
def test_anything_less_plain_is_not_read(text: str) -> None:
    assert find_text_date(text) is None


def test_most_sections_outvote_one_copied_from_another_day() -> None:
    text = "### 2026-03-08 a\n\n### 2026-03-07 b\n\n### Log\nOn Sunday, 2026-03-08.\n"

    assert find_text_date(text) == date(2026, 3, 8)


def test_a_section_that_repeats_its_date_votes_once() -> None:
    text = "### 2026-03-08 (Sunday)\nSunday, 2026-03-08, quiet.\n\n### 2026-03-07 b\n"

    assert find_text_date(text) is None


def test_agreement_is_no_finding() -> None:
    audit = audited(0, 0, None, 0)

    assert audit.shifts == ()
    assert audit.readable == 3
    assert audit.dates[-1] == EPOCH + timedelta(days=3)


def test_each_run_of_equal_distance_is_one_finding() -> None:
    audit = audited(0, 0, -1, -1, None, -1, 2, 2)

    assert found(audit) == [(3, 6, -1), (7, 8, 2)]
    assert [(shift.days, shift.readable) for shift in audit.shifts] == [(4, 3), (2, 2)]


def test_the_finding_says_what_to_do() -> None:
    behind, ahead = audited(-1, -1, 2, 2).shifts

    assert str(behind) == (
        "days 1–2: the text is one day behind the metadata (2 of 2 give a readable date); "
        "use --calendar text to follow the text"
    )
    assert "2 days ahead of the metadata" in str(ahead)


def test_two_days_may_share_a_date_as_they_do_when_clocks_change() -> None:
    audit = audited(0, -1, -1)

    assert audit.dates == (EPOCH, EPOCH, EPOCH + timedelta(days=1))
    assert audit.disregarded == ()


def test_an_undated_day_keeps_the_distance_of_the_last_dated_one() -> None:
    audit = audited(None, -1, None, None)

    assert [day.day for day in audit.dates] == [1, 1, 2, 3]


def test_an_appointment_named_on_several_days_is_not_a_calendar() -> None:
    """The visit is on one date, so it is fewer days ahead each day it is named."""
    audit = audited(0, 17, 16, 15, 0)

    assert audit.shifts == ()
    assert audit.disregarded == (2, 3, 4)
    assert [day.day for day in audit.dates] == [1, 2, 3, 4, 5]


def test_two_days_with_a_mistyped_year_do_not_drag_the_others_along() -> None:
    audit = audited(0, 0, 365, 365, 0, 0)

    assert found(audit) == [(3, 4, 365)]
    assert audit.disregarded == (3, 4)
    assert [day.day for day in audit.dates] == [1, 2, 3, 4, 5, 6]


def test_time_never_runs_backwards() -> None:
    audit = audited(0, 0, 0, -3, -3, None, 1, 0, -1)

    assert list(audit.dates) == sorted(audit.dates)


def test_a_calendar_a_year_off_is_found() -> None:
    assert found(audited(-365, -365, -365)) == [(1, 3, -365)]


def test_the_end_of_time_is_survived() -> None:
    audit = audit_calendar([1, 2, 3], EPOCH, [date(9999, 12, 30), date(9999, 12, 31), None])

    assert audit.dates[-1] == date.max


def test_the_public_corpus_is_a_day_behind_from_day_68_on() -> None:
    """Its dates were made by local clocks: summer time began on day 67."""
    folder = shared_data("recall-ea/executive-assistant/memories-180d")
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("day-*.md"))]

    audit = audit_calendar(
        range(1, 181), date(2026, 1, 1), [find_text_date(text) for text in texts]
    )

    assert found(audit) == [(68, 180, -1)]
    assert audit.readable == 164
    assert audit.disregarded == ()
    assert audit.dates[66] == audit.dates[67] == date(2026, 3, 8)
    assert audit.dates[179] == date(2026, 6, 28)
