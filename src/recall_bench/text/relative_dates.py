"""Dates that an answer gives by reference to another day, written out as absolute ones.

"Tomorrow" is said on some day. In a quotation that is the day of the quotation: the date that its
line opens with, or the last date before it in its sentence. Elsewhere it is the day of asking.
"""

import re
from calendar import monthrange
from datetime import date, timedelta
from functools import lru_cache

from recall_bench.text.number_words import (
    NUMBER_WORDS,
    NUMBER_WORDS_PATTERN,
    SMALL_ORDINALS,
    parse_number_words,
)
from recall_bench.text.value_patterns import MONTH_PATTERN, WEEKDAYS, parse_month
from recall_bench.text.values import DATE, ValueAtom, locate_values

_DAY_OFFSETS = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
_DAY_NAMES = "|".join(name.replace(" ", r"\s") for name in _DAY_OFFSETS)
_COUNT = rf"(?:an?|one|\d{{1,3}}|{NUMBER_WORDS_PATTERN})"
_COUNT_START = rf"(?:\d|(?:an?|zero|dozen|{'|'.join(NUMBER_WORDS)})\b)"
"""What every count starts with; to look for it first takes a fraction of the time."""
_AWAY = r"(?:ago|from\s(?:today|now)|hence)"
_WEEKDAY = "|".join(WEEKDAYS)
_RELATIVE_DATE = re.compile(
    rf"""\b(?:
      (?P<named>{_DAY_NAMES})
    | in\s(?P<ahead>{_COUNT})\s(?P<unit>day|week)s?(?:'\stime)?
    | (?P<side>last|this\spast|next|this\scoming|the\sfollowing)\s(?P<weekday>{_WEEKDAY})
    | (?={_COUNT_START})(?:
          (?P<weeks>{_COUNT})\sweeks?(?:\sand\s(?P<odd>{_COUNT})\sdays?)?\s(?P<weekly>{_AWAY})
          (?:\stoday)?
        | (?P<days>{_COUNT})\sdays?\s(?P<daily>{_AWAY})
        | (?P<later>{_COUNT})\s(?P<later_unit>day|week)s?\s(?P<order>later|earlier|after|before))
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_ORDINALS = {"first": 1, "second": 2, **SMALL_ORDINALS} | {
    word: number
    for number, word in enumerate(
        "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth".split(), 13
    )
} | {"twentieth": 20, "thirtieth": 30, "thirty-first": 31} | {
    f"twenty-{word}": 20 + number
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth".split(), start=1
    )
}  # fmt: skip
_ORDINAL = "|".join(sorted(_ORDINALS, key=len, reverse=True))
_NTH = rf"(?:\d\d?(?:st|nd|rd|th)|{_ORDINAL})"
_NAMED_DATE = re.compile(
    rf"""\b(?:
      (?:the\s)?(?P<place>first|second|third|fourth|last)\s(?P<weekday>{_WEEKDAY})\s(?:of|in)\s
        (?P<of>{MONTH_PATTERN}|(?:this|the\ssame)\smonth)(?:\s(?P<of_year>\d{{4}}))?
    | (?:the\s)?(?P<end>first|last)\sday\sof\s
        (?P<end_month>{MONTH_PATTERN})(?:\s(?P<end_year>\d{{4}}))?
    | (?:the\s)?(?P<nth>{_NTH})\s(?:day\s)?of\s(?P<month>{MONTH_PATTERN})(?:,?\s(?P<year>\d{{4}}))?
    | (?P<named_month>{MONTH_PATTERN})\sthe\s(?P<month_nth>{_NTH})(?:,?\s(?P<nth_year>\d{{4}}))?
    )(?!\w)""",
    re.VERBOSE | re.IGNORECASE,
)
_BARE_NTH = re.compile(
    rf"\b(?:on|the|of|until|by|from|makes it|it was|for)\s(?:(?:{_WEEKDAY}),?\s)?(?:the\s)?"
    r"(?P<day>\d\d?)(?:st|nd|rd|th)\b(?!\s(?:of|century|floor|time|place|anniversary|birthday)\b)",
    re.IGNORECASE,
)
_LATE_ORDINAL = "|".join(word for word in _ORDINAL.split("|") if _ORDINALS[word] > 12)
_SPELLED_NTH = re.compile(
    rf"\bthe\s({_LATE_ORDINAL})"
    r"(?=\s*(?:[.,;:!?)]|$))",
    re.IGNORECASE,
)
"""Only those that are hardly ever a place in a row."""
_QUOTATION = re.compile(r'"[^"\n]{3,400}"')
_LINE_DATE = re.compile(
    r"^[ \t>*-]{0,20}(?:On\s)?(?P<date>\d{4}-\d\d-\d\d)\b[^:\n]{0,80}:", re.MULTILINE
)


def expand_relative_dates(text: str, today: date) -> str:
    """The text with relative dates written out as absolute ones.

    Only what names one day is written out: "three days ago" does, "three months ago" does not.
    """
    lines = []
    for line in text.split("\n"):
        if not _is_relative(line):
            lines.append(line)
            continue
        dated = _LINE_DATE.match(line)
        said_on = date.fromisoformat(dated["date"]) if dated else today
        lines.append(_expand_line(line, said_on, is_dated=dated is not None))
    return "\n".join(lines)


def has_relative_date(line: str) -> bool:
    """Whether there is something to write out."""
    # In other letters upper case is more than the lower case that the hints are written in.
    hinted = _list_hinted(line.lower()) if line.isascii() else _PATTERNS
    return any(pattern.search(line) for pattern in hinted)


_is_relative = lru_cache(maxsize=4096)(has_relative_date)
"""Lines of answers are read on many days."""

_PATTERNS = (_NAMED_DATE, _RELATIVE_DATE, _SPELLED_NTH, _BARE_NTH)

_NEAR_WORDS = ("yesterday", "today", "tonight", "tomorrow")
_DAYS_AWAY = re.compile(r"(?:day|week)s?\s(?:ago|from|hence|later|earlier|after|before|and)\b")
_IN_DAYS = re.compile(r"\bin\s[a-z\d,\s-]*?\s(?:day|week)")
_NEXT_WEEKDAY = re.compile(rf"(?:last|past|next|coming|following)\s(?:{_WEEKDAY.lower()})")
_NUMBERED_DAY = re.compile(r"[0-9](?:st|nd|rd|th)\b")
_DAY_OF = re.compile(r"day\s(?:of|in)\s")
_OF_MONTH = re.compile(rf"of\s(?:{MONTH_PATTERN.lower()})")
_MONTH_THE = re.compile(r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\sthe\s")
_THE_NTH = re.compile(rf"the\s(?:{_ORDINAL})")


def _list_hinted(line: str) -> list[re.Pattern[str]]:
    """The patterns that may be found in a line of lower case; those left out are certainly not.

    A hint is part of every match of its pattern and takes a fraction of its time.
    """
    hinted: list[re.Pattern[str]] = []
    if _names_near_day(line):
        hinted.append(_RELATIVE_DATE)
    is_numbered = _NUMBERED_DAY.search(line) is not None
    if is_numbered:
        hinted.append(_BARE_NTH)
    is_spelled = _THE_NTH.search(line) is not None
    if is_spelled:
        hinted.append(_SPELLED_NTH)
    may_follow_month = is_numbered or is_spelled
    if (
        _DAY_OF.search(line)
        or _OF_MONTH.search(line)
        or (may_follow_month and _MONTH_THE.search(line))
    ):
        hinted.append(_NAMED_DATE)
    return hinted


def _names_near_day(line: str) -> bool:
    has_day = "day" in line
    if not has_day and "week" not in line:
        return "tonight" in line or "tomorrow" in line
    if any(word in line for word in _NEAR_WORDS):
        return True
    hints = (_DAYS_AWAY, _IN_DAYS, _NEXT_WEEKDAY) if has_day else (_DAYS_AWAY, _IN_DAYS)
    return any(hint.search(line) for hint in hints)


@lru_cache(maxsize=16384)
def _expand_line(line: str, today: date, *, is_dated: bool) -> str:
    """One line, said today; all of it, if it is a dated quotation."""
    line = _NAMED_DATE.sub(lambda match: _resolve_named(match, today), line)
    quotations = [match.span() for match in _QUOTATION.finditer(line)]
    parts: list[str] = []
    end = 0
    for match in _RELATIVE_DATE.finditer(line):
        said_on: date | None = today
        is_quoted = any(start <= match.start() < stop for start, stop in quotations)
        if match["later"] or (is_quoted and not is_dated):
            said_on = _find_date_near(line, match, today)
            if is_quoted and _is_resolved(line, match):
                continue
        if said_on is not None:
            parts += [line[end : match.start()], _resolve_day(match, said_on).isoformat()]
            end = match.end()
    return _expand_bare("".join([*parts, line[end:]]), today)


_CONCLUDES = re.compile(
    r"\b(?:so|hence|thus|that is|i\.e\.|which|makes?|meaning|therefore)\b", re.IGNORECASE
)


def _is_resolved(line: str, match: re.Match[str]) -> bool:
    """Whether the answer itself concludes a date from what it quotes."""
    rest = line[match.end() :]
    conclusion = _CONCLUDES.search(rest)
    return conclusion is not None and any(
        atom.kind == DATE for atom, _, _ in locate_values(rest[conclusion.end() :])
    )


def _find_date_near(line: str, match: re.Match[str], today: date) -> date | None:
    """The last date before a relative one; after "two days after", the date that follows."""
    dates = [(atom, start) for atom, start, _ in locate_values(line) if atom.kind == DATE]
    if match["later"] and match["order"].lower() in {"after", "before"}:
        following = [atom for atom, start in dates if match.end() <= start <= match.end() + 20]
        return _make_day(following[0], today) if following else None
    before = [atom for atom, start in dates if start < match.start()]
    return _make_day(before[-1], today) if before else None


def _expand_bare(line: str, today: date) -> str:
    """The line with "the 11th" written out: of the month named before it, or else of asking."""
    line = _SPELLED_NTH.sub(lambda match: f"the {_ORDINALS[match[1].lower()]}th", line)

    def resolve(match: re.Match[str]) -> str:
        days = [
            day
            for atom, start, _ in locate_values(line[: match.start()])
            if atom.kind == DATE and (day := _make_day(atom, today))
        ]
        near = days[-1] if days else today
        number = int(match["day"])
        if not 1 <= number <= monthrange(near.year, near.month)[1]:
            return match[0]
        return f"{match[0][: match.start('day') - match.start()]}{near.replace(day=number)}"

    return _BARE_NTH.sub(resolve, line)


def _make_day(atom: ValueAtom, today: date) -> date | None:
    """The day of a date; without a year, the one that is nearest to today."""
    month, day = int(atom.core[:2]), int(atom.core[3:])
    years = [int(atom.value[6:])] if not atom.is_bare else [today.year, today.year - 1]
    for year in years:
        try:
            candidate = date(year, month, day)
        except ValueError:
            continue
        if not atom.is_bare or abs((candidate - today).days) <= 200:
            return candidate
    return None


def _resolve_named(match: re.Match[str], today: date) -> str:
    name = match["of"] or match["end_month"] or match["month"] or match["named_month"]
    month = today.month if name.lower().endswith("month") else parse_month(name)
    year = match["of_year"] or match["end_year"] or match["year"] or match["nth_year"]
    whole = date(int(year) if year else today.year, month, 1)
    last = monthrange(whole.year, month)[1]
    if match["weekday"]:
        ahead = (WEEKDAYS.index(match["weekday"].capitalize()) - whole.weekday()) % 7
        days = range(1 + ahead, last + 1, 7)
        place = match["place"].lower()
        day = days[-1] if place == "last" else days[_ORDINALS[place] - 1]
    elif match["end"]:
        day = last if match["end"].lower() == "last" else 1
    else:
        day = _parse_ordinal(match["nth"] or match["month_nth"])
    if not 1 <= day <= last:
        return match[0]
    date_found = whole.replace(day=day)
    return date_found.isoformat() if year else f"{date_found:%d %B}"


def _parse_ordinal(words: str) -> int:
    return _ORDINALS.get(words.lower()) or int(re.sub(r"\D", "", words))


def _resolve_day(match: re.Match[str], today: date) -> date:
    if match["named"]:
        return today + timedelta(days=_DAY_OFFSETS[" ".join(match["named"].lower().split())])
    if match["weekday"]:
        name = match["weekday"]
        side = match["side"]
        ahead = (WEEKDAYS.index(name.capitalize()) - today.weekday()) % 7
        if side.lower() in {"last", "this past"}:
            return today - timedelta(days=(7 - ahead) or 7)
        return today + timedelta(days=ahead or 7)
    if match["weeks"]:
        days, direction = (
            7 * _parse_count(match["weeks"]) + _parse_count(match["odd"]),
            match["weekly"],
        )
    elif match["days"]:
        days, direction = _parse_count(match["days"]), match["daily"]
    elif match["ahead"]:
        days, direction = _parse_count(match["ahead"]) * _DAYS_IN[match["unit"].lower()], "hence"
    else:
        days = _parse_count(match["later"]) * _DAYS_IN[match["later_unit"].lower()]
        direction = "ago" if match["order"].lower() in {"earlier", "before"} else "hence"
    return today + timedelta(days=-days if direction.lower() == "ago" else days)


_DAYS_IN = {"day": 1, "week": 7}


def _parse_count(words: str | None) -> int:
    if words is None:
        return 0
    if words.lower() in {"a", "an", "one"}:
        return 1
    return int(words) if words.isdigit() else int(parse_number_words(words))
