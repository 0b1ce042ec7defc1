"""The dates that a question names, as spans of days."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from recall_bench.text.number_words import NUMBER_WORDS
from recall_bench.text.value_patterns import MONTHS, parse_month

_MONTH = "|".join((*MONTHS, "Sept", *(name[:3] for name in MONTHS)))
_UP_TO_TEN = {word: number for word, number in NUMBER_WORDS.items() if number <= 10}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}

_DATE_PATTERN = re.compile(
    rf"""
    \b(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})\b
  | \b(?P<iso_month>\d{{4}}-\d{{2}})\b(?!-)
  | \b(?P<m1>{_MONTH})\b\.?\s+(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*:\d)
      (?:,?\s+(?P<y1>\d{{4}}))?\b
  | \b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m2>{_MONTH})\b(?:,?\s+(?P<y2>\d{{4}}))?
  | \b(?P<m3>{_MONTH})\b\.?,?\s+(?P<y3>\d{{4}})\b
  | \b(?:[Ii]n|[Oo]f|[Bb]y|[Ss]ince|[Dd]uring|[Uu]ntil|[Ee]arly|[Ll]ate|[Mm]id|[Ll]ast)[\s-]+
      (?P<m4>{_MONTH})\b(?!\.?,?\s+\d)
  | \b(?P<near>[Tt]oday|[Yy]esterday)\b
  | \b(?P<which>[Tt]his|[Ll]ast|[Pp]ast)\s+(?P<unit>week|month|year)\b
  | \b(?P<ago>\d{{1,3}}|[Aa]|[Aa]n|{"|".join(_UP_TO_TEN)})\s+
      (?P<ago_unit>day|week|month|year)s?\s+ago\b
    """,
    re.VERBOSE,
)
_YEARS = ("iso", "iso_month", "y1", "y2", "y3")
"""The groups with a year."""
_DATE_HINT = re.compile(
    rf"\d{{4}}-\d\d|{_MONTH}|[Tt]oday|[Yy]esterday|(?:[Tt]his|[Ll]ast|[Pp]ast)\s|\sago\b"
)
"""Part of every date above."""
_THROUGH = re.compile(r"\s*(?:to|through|until|till|up to|[-–—])\s*\Z")
_BETWEEN = re.compile(r"\bbetween\s*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Consecutive days, both ends included."""

    first: date
    last: date


@lru_cache(maxsize=4096)
def may_name_dates(text: str) -> bool:
    """Whether a text or a part of it could name a date; False is certain, and found fast."""
    return _DATE_HINT.search(text) is not None


def find_date_spans(question: str, today: date) -> tuple[DateSpan, ...]:
    """The stretches of days the question names; relative words count from today.

    A month or day without its year is the latest that has begun. What is no date (the 31st of
    June) is no span.
    """
    # A question is asked on many days, and most of its dates are the same on all of them.
    return _find_spans(question, today if _counts_from_today(question) else date.min)


@lru_cache(maxsize=4096)
def _counts_from_today(question: str) -> bool:
    """Whether a date of the question has no year of its own."""
    return may_name_dates(question) and not all(
        any(match[name] for name in _YEARS) for match in _DATE_PATTERN.finditer(question)
    )


@lru_cache(maxsize=4096)
def _find_spans(question: str, today: date) -> tuple[DateSpan, ...]:
    if not may_name_dates(question):
        return ()
    spans: list[tuple[DateSpan, int, int]] = []
    for match in _DATE_PATTERN.finditer(question):
        span = _parse_match(match, today)
        if span is None:
            continue
        if spans and _is_range(question, spans[-1][1], spans[-1][2], match.start()):
            earlier, start, _ = spans.pop()
            if earlier.first <= span.last:
                span = DateSpan(earlier.first, span.last)
            spans.append((span, start, match.end()))
        else:
            spans.append((span, match.start(), match.end()))
    return tuple(span for span, _, _ in spans)


def _is_range(question: str, start: int, end: int, following: int) -> bool:
    gap = question[end:following]
    if _THROUGH.match(gap):
        return True
    return gap.strip() == "and" and _BETWEEN.search(question[:start]) is not None


def _parse_match(match: re.Match[str], today: date) -> DateSpan | None:
    part = match.groupdict()
    try:
        return (
            _parse_relative(part, today)
            if part["near"] or part["unit"] or part["ago"]
            else _parse_absolute(part, today)
        )
    except (ValueError, OverflowError):
        return None


def _parse_absolute(part: dict[str, str | None], today: date) -> DateSpan:
    if iso := part["iso"]:
        year, month, day = map(int, iso.split("-"))
        return _make_day_span(date(year, month, day))
    if iso_month := part["iso_month"]:
        year, month = map(int, iso_month.split("-"))
        return _make_month_span(year, month)
    if name := part["m1"] or part["m2"]:
        return _parse_day_of_month(
            name, int(part["d1"] or part["d2"] or 0), part["y1"] or part["y2"], today
        )
    number = parse_month(str(part["m3"] or part["m4"]))
    if year_named := part["y3"]:
        return _make_month_span(int(year_named), number)
    return _make_month_span(today.year if number <= today.month else today.year - 1, number)


def _parse_day_of_month(name: str, day: int, year: str | None, today: date) -> DateSpan:
    month = parse_month(name)
    if year:
        return _make_day_span(date(int(year), month, day))
    has_begun = (month, day) <= (today.month, today.day)
    return _make_day_span(date(today.year if has_begun else today.year - 1, month, day))


def _parse_relative(part: dict[str, str | None], today: date) -> DateSpan:
    if near := part["near"]:
        return _make_day_span(today - timedelta(days=near.lower() == "yesterday"))
    if unit := part["unit"]:
        which = str(part["which"]).lower()
        if which == "past":
            return DateSpan(today - timedelta(days=_UNIT_DAYS[unit]), today)
        if unit == "week":
            first = today - timedelta(days=today.weekday() + 7 * (which == "last"))
            return DateSpan(first, first + timedelta(days=6))
        if unit == "year":
            year = today.year - (which == "last")
            return DateSpan(date(year, 1, 1), date(year, 12, 31))
        end = today.replace(day=1) - timedelta(days=1) if which == "last" else today
        return DateSpan(end.replace(day=1), end)
    amount, unit = str(part["ago"]).lower(), str(part["ago_unit"])
    number = int(amount) if amount.isdigit() else _UP_TO_TEN.get(amount, 1)
    day = today - timedelta(days=number * _UNIT_DAYS[unit])
    # "Three weeks ago" is no more exact than a week.
    slack = timedelta(days=_UNIT_DAYS[unit] // 2)
    return DateSpan(day - slack, day + slack)


def _make_day_span(day: date) -> DateSpan:
    return DateSpan(day, day)


def _make_month_span(year: int, month: int) -> DateSpan:
    return DateSpan(date(year, month, 1), date(year, month, monthrange(year, month)[1]))
