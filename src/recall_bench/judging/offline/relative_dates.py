"""Dates told by their distance from the day of asking, written out.

Only what names one day is written out: "three days ago" does, "three months ago" does not.
"""

import re
from datetime import date, timedelta

from recall_bench.judging.offline.number_words import NUMBER_WORDS_PATTERN, parse_number_words

_DAY_OFFSETS = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
_DAY_NAMES = "|".join(name.replace(" ", r"\s") for name in _DAY_OFFSETS)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNT = rf"(?:an?|one|\d{{1,3}}|{NUMBER_WORDS_PATTERN})"
_AWAY = r"(?:ago|from\s(?:today|now)|hence)"
_RELATIVE_DATE = re.compile(
    rf"""\b(?:
      (?P<named>{_DAY_NAMES})
    | (?P<weeks>{_COUNT})\sweeks?(?:\sand\s(?P<odd>{_COUNT})\sdays?)?\s(?P<weekly>{_AWAY})
      (?:\stoday)?
    | (?P<days>{_COUNT})\sdays?\s(?P<daily>{_AWAY})
    | (?P<side>last|this\spast|next)\s(?P<weekday>{"|".join(_WEEKDAYS)})
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)


def expand_relative_dates(text: str, today: date) -> str:
    """A plain text with its relative dates as absolute ones."""
    return _RELATIVE_DATE.sub(lambda match: _resolve_day(match, today).isoformat(), text)


def _resolve_day(match: re.Match[str], today: date) -> date:
    if match["named"]:
        return today + timedelta(days=_DAY_OFFSETS[" ".join(match["named"].lower().split())])
    if match["weekday"]:
        return _resolve_weekday(match["weekday"], match["side"], today)
    if match["weeks"]:
        days, direction = (
            7 * _parse_count(match["weeks"]) + _parse_count(match["odd"]),
            match["weekly"],
        )
    else:
        days, direction = _parse_count(match["days"]), match["daily"]
    return today + timedelta(days=-days if direction.lower() == "ago" else days)


def _resolve_weekday(name: str, side: str, today: date) -> date:
    ahead = (_WEEKDAYS.index(name.lower()) - today.weekday()) % 7
    if side.lower() == "next":
        return today + timedelta(days=ahead or 7)
    return today - timedelta(days=(7 - ahead) or 7)


def _parse_count(words: str | None) -> int:
    if words is None:
        return 0
    if words.lower() in {"a", "an", "one"}:
        return 1
    return int(words) if words.isdigit() else int(parse_number_words(words))
