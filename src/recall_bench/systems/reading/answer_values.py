"""The dates, times, amounts and names in a sentence, as the answer to a question."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from recall_bench.text.relative_dates import expand_relative_dates
from recall_bench.text.text import STOPWORDS, normalise
from recall_bench.text.text_values import CALENDAR_WORDS
from recall_bench.text.value_patterns import MONTH_PATTERN, MONTHS, is_denied_before
from recall_bench.text.values import (
    DATE,
    MONTH,
    QUANTITY,
    TIME,
    YEAR,
    ValueAtom,
    locate_values,
)

CODE = re.compile(
    r"(?<![\w-])(?=[\w-]*\d)(?!\d{4}-\d\d-\d\d)(?:[A-Z][A-Z0-9]*"
    r"|\d+)(?:-[A-Z0-9]*[A-Z0-9])+(?![\w-])"
)
"""A code of a series, such as `INC-204`, `31-2618` or `BX-6444-Z`."""

LABEL = re.compile(
    rf"{CODE.pattern}|(?<![\w-])(?!(?:{MONTH_PATTERN}|The|On|In|At|By|Of|For|Day|Page"
    rf"|Line)\s)[A-Z][a-z]+(?:\s[A-Z][a-z]+)?\s\d{{2,}}\b(?![.,:]\d)"
)
"""A code, or a name with a number, such as `Call 8355`."""

_NAME = re.compile(
    r"(?<![\w@/.])(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?\s)?[A-ZÀ-Ý][\w'’]*(?:-[A-ZÀ-Ý]\w*)*"
    r"(?:\s(?:(?:de|da|del|van|von|der|la|le|al|bin|of the"
    r"|of)\s)?[A-ZÀ-Ý][\w'’]*(?:-[A-ZÀ-Ý]\w*)*)*"
)


@dataclass(frozen=True, slots=True)
class LocatedAmount:
    """A value and its place in the normalised sentence."""

    atom: ValueAtom
    shown: str
    start: int
    noun: str = ""
    """The words that follow an amount."""

    @property
    def number(self) -> float:
        """The amount."""
        return float(self.atom.core)

    @property
    def unit(self) -> str:
        """The unit, or else the noun that follows."""
        return self.atom.value.removeprefix(self.atom.core).strip() or self.noun


_NOUN = re.compile(r"[\s-]((?:[a-z][\w'-]*/?)+(?:\s[a-z][\w'-]*)?)")


_LABEL = re.compile(
    r"(?:\b[A-Z][\w'-]*|\b(?:line|page|room|number|no\.|item|section|chapter|minute|form|table"
    r"|box|step|version)|#)\s?\Z"
)


@lru_cache(maxsize=20_000)
def find_amounts(sentence: str) -> tuple[LocatedAmount, ...]:
    """The amounts that a sentence claims, with the noun behind them.

    Codes, dates and labels such as `Bay 16` are none.
    """
    text = normalise(sentence)
    codes = [match.span() for match in CODE.finditer(text)]
    found: list[LocatedAmount] = []
    for atom, start, end in locate_values(text):
        if atom.kind != QUANTITY or any(first <= start < last for first, last in codes):
            continue
        noun = _NOUN.match(text, end)
        words = noun[1].split() if noun else []
        if words and words[0] in STOPWORDS:
            words = []
        if atom.is_bare and not words and _LABEL.search(text, max(0, start - 24), start):
            continue
        found.append(LocatedAmount(atom, text[start:end], start, words[0] if words else ""))
    return tuple(found)


def find_current(values: Sequence[LocatedAmount], sentence: str) -> Sequence[LocatedAmount]:
    """The values without those that the sentence says are past: `45, no longer 20`."""
    text = normalise(sentence)
    kept = [value for value in values if not is_superseded(text, value.start)]
    return kept or values


_PAST = re.compile(
    r"(?:\bnot|n't|\bno longer|\brather than|\binstead of|\bnever|\bup from|\bdown from|\bwas"
    r"|\bwere|\bonce"
    r"|\bfrom|\bformerly|\bpreviously|\breplac\w+|\bearlier|\bold"
    r"|\bin place of)\s(?:[a-z]+\s){0,2}\Z",
    re.IGNORECASE,
)


def is_superseded(text: str, start: int) -> bool:
    """Whether the words before a value deny it or say that it is past."""
    return (
        is_denied_before(text, start) or _PAST.search(text, max(0, start - 32), start) is not None
    )


@lru_cache(maxsize=20_000)
def find_times(sentence: str) -> tuple[LocatedAmount, ...]:
    """The times of day in a sentence."""
    text = normalise(sentence)
    return tuple(
        LocatedAmount(atom, text[start:end], start)
        for atom, start, end in locate_values(text)
        if atom.kind == TIME
    )


def find_names(sentence: str, known: frozenset[str] = frozenset()) -> list[str]:
    """Runs of capitalised words, without those known from the question."""
    familiar = known | STOPWORDS
    return [
        name
        for name in _find_capitals(sentence)
        if not {word.lower() for word in name.split()} <= familiar
    ]


@lru_cache(maxsize=20_000)
def _find_capitals(sentence: str) -> tuple[str, ...]:
    """A single word that begins the sentence, a code and a weekday or month are no names."""
    found: list[str] = []
    for match in _NAME.finditer(sentence):
        words = match[0].removesuffix("'s").removesuffix("’s").split()
        if match.start() == 0 and (words[0].lower() in STOPWORDS or len(words) == 1):
            words = words[1:]
        kept = [
            word
            for word in words
            if word.lower().rstrip("s") not in CALENDAR_WORDS and not any(map(str.isdigit, word))
        ]
        if kept and not CODE.match(sentence, match.start()):
            found.append(" ".join(kept))
    return tuple(found)


_FUZZY = re.compile(
    r"\b(?P<which>last|this past|this|next|the following|past)\s(?P<unit>week|weekend|month|year"
    r"|summer|winter"
    r"|spring|fall|autumn|night)\b"
    r"|\b(?P<count>a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}|a few|several"
    r"|a couple of)"
    r"\s(?P<units>week|month|year)s?\s(?P<side>ago|from now)\b"
    r"|\b(?:in|last|this past)\s(?P<month>January|February|March|April|May|June|July|August"
    r"|September|October|November|December)\b",
    re.IGNORECASE,
)
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_COUNTS = {
    word: n
    for n, word in enumerate("zero one two three four five six seven eight nine ten".split())
}


@lru_cache(maxsize=20_000)
def resolve_dates(sentence: str, on: date | None) -> tuple[str, ...]:
    """The days, months or years that a sentence names; relative ones count from its own date."""
    text = normalise(sentence)
    if on is not None:
        text = expand_relative_dates(text, on)
    found: list[tuple[int, str]] = []
    for atom, start, end in locate_values(text):
        if atom.kind == DATE:
            if not is_denied_before(text, start):
                found.append((start, format_date(atom, on)))
        elif atom.kind in {MONTH, YEAR}:
            found.append((start, text[start:end]))
    if on is not None:
        found += list(_resolve_fuzzy(text, on))
    return tuple(shown for _, shown in sorted(found))


def find_days(sentence: str, on: date | None) -> list[date]:
    """The exact days that a sentence names."""
    return [
        date.fromisoformat(shown) for shown in resolve_dates(sentence, on) if _ISO.fullmatch(shown)
    ]


def format_date(atom: ValueAtom, on: date | None) -> str:
    """A date in full; without a year, the one nearest to the day it was said."""
    day, _, year = atom.value.partition("/")
    month, number = (int(part) for part in day.split("-"))
    if not year and on is not None:
        near = [
            each for each in (on.year - 1, on.year, on.year + 1) if _exists(each, month, number)
        ]
        year = (
            str(min(near, key=lambda each: abs((date(each, month, number) - on).days)))
            if near
            else ""
        )
    return f"{year}-{month:02}-{number:02}" if year else f"{MONTHS[month - 1]} {number}"


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _resolve_fuzzy(text: str, on: date) -> Iterator[tuple[int, str]]:
    for match in _FUZZY.finditer(text):
        if match["month"]:
            number = MONTHS.index(match["month"].capitalize()) + 1
            year = on.year if number <= on.month else on.year - 1
            yield match.start(), f"{match['month'].capitalize()} {year}"
        elif match["unit"]:
            yield match.start(), _resolve_unit(match["which"].lower(), match["unit"].lower(), on)
        else:
            yield match.start(), _resolve_count(match, on)


def _resolve_unit(which: str, unit: str, on: date) -> str:
    shift = {"next": 1, "the following": 1, "this": 0}.get(which, -1)
    day = spell_date(on)
    if unit == "year":
        return str(on.year + shift)
    if unit == "month":
        return _shift_month(on, shift)
    if unit == "night":
        return (on + timedelta(days=min(shift, 0))).isoformat()
    if unit in {"week", "weekend"}:
        side = {1: "after", 0: "of", -1: "before"}[shift]
        return f"the {unit} {side} {day}"
    return f"{unit} {on.year + (shift if shift > 0 else -1 if shift and on.month < 6 else 0)}"


def _resolve_count(match: re.Match[str], on: date) -> str:
    word, unit, ahead = (
        match["count"].lower(),
        match["units"].lower(),
        match["side"].lower() != "ago",
    )
    if word in {"a few", "several", "a couple of"}:
        return f"{word} {unit}s {'after' if ahead else 'before'} {spell_date(on)}"
    number = int(word) if word.isdigit() else _COUNTS.get(word, 1)
    shift = number if ahead else -number
    if unit == "year":
        return str(on.year + shift)
    if unit == "month":
        return _shift_month(on, shift)
    return (on + timedelta(weeks=shift)).isoformat()


def _shift_month(on: date, shift: int) -> str:
    place = on.year * 12 + on.month - 1 + shift
    return f"{MONTHS[place % 12]} {place // 12}"


def spell_date(on: date) -> str:
    """A date in words: `9 June 2023`."""
    return f"{on.day} {MONTHS[on.month - 1]} {on.year}"
