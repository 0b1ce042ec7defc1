"""The date in a day's own text, compared with the date in the story's calendar.

Logs name their own day at the start of a section: "kept it quiet on Sunday, 2026-03-08",
"sweep for 2026-03-08 (Sunday)", or a heading that begins with the date. Further down they name
deadlines and visits. So only the first lines are read; a date counts if it is next to its correct
weekday, or begins a heading; the date of most sections is the day's own. In the public 180-day
corpus 164 days can be read this way, none wrongly.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from recall_bench.core.scenario import compute_story_date
from recall_bench.text.value_patterns import MONTH_PATTERN, WEEKDAY_PATTERN, WEEKDAYS, parse_month

_DATE = (
    r"(?:\d{4}-\d{2}-\d{2}"
    rf"|{MONTH_PATTERN}\ \d{{1,2}}(?:st|nd|rd|th)?,?\ \d{{4}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\ {MONTH_PATTERN},?\ \d{{4}})"
)
_WEEKDAY = rf"{WEEKDAY_PATTERN}\b\.?"
_WITH_WEEKDAY = re.compile(
    rf"\b({_WEEKDAY}),?[\ *_]+({_DATE})(?!\d)|(?<!\d)({_DATE})[*_]*,?\ [*_(]*({_WEEKDAY})"
)
_HEADED = re.compile(rf"[#\s*_]*({_DATE})(?!\d)")
_LABELLED = re.compile(rf"[#\s*_]*[Dd]ate:[\s*_]*({_DATE})(?!\d)")
_YEAR = re.compile(r"[12]\d\d\d")
_MONTH_START = re.compile(r"[A-Z][a-z]{2}")
_FRONTMATTER = re.compile(r"---\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_FRONTMATTER_DATE = re.compile(r"^date:[ \t]*[\"']?(\d{4}-\d{2}-\d{2})", re.MULTILINE)


def find_text_date(text: str) -> date | None:
    """Return the date that the text gives itself; None if there is none, or no majority."""
    front = _FRONTMATTER.match(text)
    if front and (dated := _FRONTMATTER_DATE.search(front[1])):
        return _parse_date(dated[1])
    votes = Counter(vote for section in _list_openings(text) for vote in _read_dates(section))
    if not votes:
        return None
    winner, count = votes.most_common(1)[0]
    return winner if count * 2 > votes.total() else None


def _list_openings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the heading of each section and the first line below it."""
    front = _FRONTMATTER.match(text)
    sections = ("\n" + text[front.end() if front else 0 :]).split("\n#")
    lines = sections[0].split("\n")
    yield next((line for line in lines if line.strip()), ""), ""
    for section in sections[1:]:
        heading, _, body = section.partition("\n")
        yield "#" + heading, body.lstrip().partition("\n")[0]


def _read_dates(section: tuple[str, str]) -> set[date]:
    """Return the dates in the first lines of a section that name its own day."""
    named: set[date] = set()
    for line, leading in zip(section, (_HEADED, _LABELLED), strict=True):
        # Most lines have no year, and this check is ten times faster than the patterns below.
        if not _YEAR.search(line):
            continue
        pairs = [
            (match[1] or match[4], _parse_date(match[2] or match[3]))
            for match in _WITH_WEEKDAY.finditer(line)
        ]
        named.update(
            day for weekday, day in pairs if day and WEEKDAYS[day.weekday()].startswith(weekday[:3])
        )
        if not pairs and (match := leading.match(line) or _LABELLED.match(line)):
            named.update(day for day in [_parse_date(match[1])] if day)
    return named


def _parse_date(phrase: str) -> date | None:
    try:
        month = _MONTH_START.search(phrase)
        if month is None:
            return date.fromisoformat(phrase)
        numbers = [int(number) for number in re.findall(r"\d+", phrase)]
        return date(numbers[1], parse_month(month[0]), numbers[0])
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarShift:
    """A run of days whose text differs from the story's calendar by the same number of days."""

    first: int
    last: int
    by: int
    """Days the text is ahead; negative if it is behind."""
    days: int
    readable: int
    """The number of days with a date in their text."""

    def __str__(self) -> str:
        span = f"day {self.first}" if self.days == 1 else f"days {self.first}–{self.last}"
        count = "one day" if abs(self.by) == 1 else f"{abs(self.by)} days"
        side = "behind" if self.by < 0 else "ahead of"
        return (
            f"{span}: the text is {count} {side} the metadata ({self.readable} of {self.days} give "
            "a readable date); use --calendar text to follow the text"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarAudit:
    """How the dates in the text compare with the story's calendar."""

    days: int
    readable: int
    """The number of days with a date in their text."""
    disregarded: tuple[int, ...]
    """Days whose own date is out of order, or far off without a neighbour that confirms it."""
    shifts: tuple[CalendarShift, ...]
    dates: tuple[date, ...]
    """The date of each day by the text; it never decreases."""


def audit_calendar(days: Sequence[int], epoch: date, own: Sequence[date | None]) -> CalendarAudit:
    """Compare the dates in the text with the story's calendar.

    A day without a date has the offset of the last day with one.
    """
    metadata = [compute_story_date(epoch, day).date() for day in days]
    readings = [(i, (own_date - metadata[i]).days) for i, own_date in enumerate(own) if own_date]
    credible = _filter_credible(readings)
    offsets = _keep_story_order(credible, metadata)
    return CalendarAudit(
        days=len(days),
        readable=len(readings),
        disregarded=tuple(days[i] for i, _ in readings if i not in offsets),
        shifts=tuple(_find_shifts(days, credible)),
        dates=_fill_dates(metadata, offsets),
    )


def _filter_credible(readings: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Keep offsets of at most a day, and those that a neighbour shares.

    The date of an announced visit is the same on several days, so its offset shrinks from day to
    day, unlike that of a shifted calendar.
    """
    offs = [None, *(off for _, off in readings), None]
    return [
        (i, off)
        for place, (i, off) in enumerate(readings, start=1)
        if abs(off) <= 1 or off in {offs[place - 1], offs[place + 1]}
    ]


def _keep_story_order(readings: list[tuple[int, int]], metadata: list[date]) -> dict[int, int]:
    """Keep the largest set of dates that never decrease."""
    ordinals = [metadata[i].toordinal() + off for i, off in readings]
    ends: list[int] = []
    end_places: list[int] = []
    before: list[int | None] = []
    for place, day in enumerate(ordinals):
        length = bisect_right(ends, day)
        before.append(end_places[length - 1] if length else None)
        ends[length:] = [day, *ends[length + 1 :]]
        end_places[length:] = [place, *end_places[length + 1 :]]
    offsets: dict[int, int] = {}
    last = end_places[-1] if end_places else None
    while last is not None:
        offsets[readings[last][0]] = readings[last][1]
        last = before[last]
    return offsets


def _fill_dates(metadata: list[date], kept: dict[int, int]) -> tuple[date, ...]:
    """Return every day's date by the text; a day without one keeps the last offset."""
    ordinals = []
    off = 0
    for i, meant in enumerate(metadata):
        off = kept.get(i, off)
        ordinals.append(meant.toordinal() + off)
    latest = date.max.toordinal()
    for i in reversed(range(len(ordinals))):
        latest = ordinals[i] = min(ordinals[i], latest)
    return tuple(date.fromordinal(day) for day in ordinals)


def _find_shifts(days: Sequence[int], readings: list[tuple[int, int]]) -> Iterator[CalendarShift]:
    for off, run in groupby(readings, key=lambda reading: reading[1]):
        places = [i for i, _ in run]
        if off:
            yield CalendarShift(
                first=days[places[0]],
                last=days[places[-1]],
                by=off,
                days=places[-1] - places[0] + 1,
                readable=len(places),
            )
