"""Which date a day's own text gives it, and whether that is the date the story gives it.

Logs name their own day in the opening of a section: "kept it quiet on Sunday, 2026-03-08",
"sweep for 2026-03-08 (Sunday)", or a heading that begins with the date. Further down they
name deadlines and visits. So only openings are read; a date in one counts if its weekday
stands beside it and fits, or if a heading begins with it; and the date most sections agree on
is the day's own. In the public 180-day corpus 164 days can be read this way, none wrongly.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from recall_bench.core.scenario import compute_story_date
from recall_bench.core.value_patterns import MONTH_PATTERN, WEEKDAY_PATTERN, WEEKDAYS, parse_month

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
    """The date the text gives for itself, or None if it gives none or several."""
    front = _FRONTMATTER.match(text)
    if front and (dated := _FRONTMATTER_DATE.search(front[1])):
        return _parse_date(dated[1])
    votes = Counter(vote for section in _list_openings(text) for vote in _read_dates(section))
    if not votes:
        return None
    winner, count = votes.most_common(1)[0]
    return winner if count * 2 > votes.total() else None


def _list_openings(text: str) -> Iterator[tuple[str, str]]:
    """The heading of each section and the first line below it."""
    front = _FRONTMATTER.match(text)
    sections = ("\n" + text[front.end() if front else 0 :]).split("\n#")
    lines = sections[0].split("\n")
    yield next((line for line in lines if line.strip()), ""), ""
    for section in sections[1:]:
        heading, _, body = section.partition("\n")
        yield "#" + heading, body.lstrip().partition("\n")[0]


def _read_dates(section: tuple[str, str]) -> set[date]:
    """The dates a section's opening gives for the day it tells of."""
    named: set[date] = set()
    for line, leading in zip(section, (_HEADED, _LABELLED), strict=True):
        # Most openings hold no year, and this is ten times faster than the patterns below.
        if not _YEAR.search(line):
            continue
        pairs = [
            (match[1] or match[4], _parse_date(match[2] or match[3]))
            for match in _WITH_WEEKDAY.finditer(line)
        ]
        named.update(day for weekday, day in pairs if day and _is_weekday(day, weekday))
        if not pairs and (match := leading.match(line) or _LABELLED.match(line)):
            named.update(day for day in [_parse_date(match[1])] if day)
    return named


def _is_weekday(day: date, weekday: str) -> bool:
    return WEEKDAYS[day.weekday()].startswith(weekday[:3])


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
    """A run of days whose text is equally far from the story's calendar."""

    first: int
    last: int
    by: int
    """Days the text is ahead; negative if it is behind."""
    days: int
    readable: int
    """How many of the days say so themselves; the others say nothing."""

    def __str__(self) -> str:
        span = f"day {self.first}" if self.days == 1 else f"days {self.first}–{self.last}"
        count = "one day" if abs(self.by) == 1 else f"{abs(self.by)} days"
        side = "behind" if self.by < 0 else "ahead of"
        return (
            f"{span}: the text is {count} {side} the metadata "
            f"({self.readable} of {self.days} give a readable date); "
            "use --calendar text to follow the text"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarAudit:
    """How the dates in a history's text compare with the dates the story gives its days."""

    days: int
    readable: int
    """How many days give a date for themselves."""
    disregarded: tuple[int, ...]
    """Days whose own date is out of story order, or far off with no neighbour to confirm it."""
    shifts: tuple[CalendarShift, ...]
    dates: tuple[date, ...]
    """The date of each day by the text, in story order: never earlier than the day before."""


def audit_calendar(days: Sequence[int], epoch: date, own: Sequence[date | None]) -> CalendarAudit:
    """Compare the dates the days give for themselves with the epoch's.

    A day that gives none is as far from the story's calendar as the last one that did.
    """
    metadata = [compute_story_date(epoch, day).date() for day in days]
    readings = [(i, (found - metadata[i]).days) for i, found in enumerate(own) if found]
    credible = _filter_credible(readings)
    kept = _keep_story_order(credible, metadata)
    return CalendarAudit(
        days=len(days),
        readable=len(readings),
        disregarded=tuple(days[i] for i, _ in readings if i not in kept),
        shifts=tuple(_find_shifts(days, credible)),
        dates=_fill_dates(metadata, kept),
    )


def _filter_credible(readings: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Readings a time zone can explain, and those whose neighbour is off by as much.

    A visit announced on several days is one date, so ever fewer days ahead: it never agrees
    with its neighbours the way a shifted calendar does.
    """
    offs = [None, *(off for _, off in readings), None]
    return [
        (i, off)
        for place, (i, off) in enumerate(readings, start=1)
        if abs(off) <= 1 or off in {offs[place - 1], offs[place + 1]}
    ]


def _keep_story_order(readings: list[tuple[int, int]], metadata: list[date]) -> dict[int, int]:
    """As many readings as can be true together, time never running backwards."""
    told = [metadata[i].toordinal() + off for i, off in readings]
    ends: list[int] = []
    end_places: list[int] = []
    before: list[int | None] = []
    for place, day in enumerate(told):
        length = bisect_right(ends, day)
        before.append(end_places[length - 1] if length else None)
        ends[length:] = [day, *ends[length + 1 :]]
        end_places[length:] = [place, *end_places[length + 1 :]]
    kept: dict[int, int] = {}
    last = end_places[-1] if end_places else None
    while last is not None:
        kept[readings[last][0]] = readings[last][1]
        last = before[last]
    return kept


def _fill_dates(metadata: list[date], kept: dict[int, int]) -> tuple[date, ...]:
    """Every day's date by the text; a day without one keeps the distance of the day before."""
    told = []
    off = 0
    for i, meant in enumerate(metadata):
        off = kept.get(i, off)
        told.append(meant.toordinal() + off)
    latest = date.max.toordinal()
    for i in reversed(range(len(told))):
        latest = told[i] = min(told[i], latest)
    return tuple(date.fromordinal(day) for day in told)


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
