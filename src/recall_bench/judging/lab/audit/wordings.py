"""The same value in other words, each with exactly the same meaning.

A wording comes with the name of its recipe, so that a judge's weakness can be traced to one.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal

from recall_bench.core.number_words import (
    ROUND_NUMBERS,
    SMALL_ORDINALS,
    format_ordinal,
    spell_number,
)
from recall_bench.core.value_patterns import MONTHS
from recall_bench.judging.lab.audit.answer_key import AuditValue, ValueKind
from recall_bench.judging.lab.audit.phrase_bank import SYNONYMS

_SYNONYM_PATTERNS = tuple(
    (re.compile(rf"(?<![\w-])(?:{pattern})(?:(?<=\s)|(?![\w-]))", re.IGNORECASE), words)
    for pattern, words in SYNONYMS
)
_NUMBER_WORD = re.compile(rf"(?<![\w-])({'|'.join(ROUND_NUMBERS)})(?![\w-])")
_ORDINAL_WORD = re.compile(rf"(?<![\w-])(?<!a )(?<!top )({'|'.join(SMALL_ORDINALS)})(?![\w-])")
_ARTICLE = re.compile(r"(?:a|an|the) ")
_HYPHEN = re.compile(r"(?<=[a-z]{3})-(?=[a-z]{3})")
_BRITISH = (
    (re.compile(r"(col|fav|neighb|hum|lab)or(?=\w*\b)"), r"\1our"),
    (re.compile(r"(col|fav|neighb|hum|lab)our(?=\w*\b)"), r"\1or"),
    (re.compile(r"\bcentre"), "center"),
    (re.compile(r"\bcenter"), "centre"),
    (re.compile(r"\blicense"), "licence"),
    (re.compile(r"\blicence"), "license"),
    (re.compile(r"\bgray"), "grey"),
    (re.compile(r"\bcounselor"), "counsellor"),
    (re.compile(r"(\w{4,})ize(d|s)?\b"), r"\1ise\2"),
)


def list_paraphrases(phrase: str) -> Iterator[tuple[str, str]]:
    """Ways to say the phrase, each with its recipe."""
    swapped = [
        pattern.sub(words, phrase) for pattern, words in _SYNONYM_PATTERNS if pattern.search(phrase)
    ]
    for text in swapped:
        yield "synonym", text
    if len(swapped) > 1:
        yield "synonyms", _replace_all(phrase)
    if _NUMBER_WORD.search(phrase):
        yield "figures", _NUMBER_WORD.sub(lambda match: str(ROUND_NUMBERS[match[1]]), phrase)
    if _ORDINAL_WORD.search(phrase):
        yield (
            "figures",
            _ORDINAL_WORD.sub(lambda match: format_ordinal(SMALL_ORDINALS[match[1]]), phrase),
        )
    for pattern, spelling in _BRITISH:
        if pattern.search(phrase):
            yield "other spelling", pattern.sub(spelling, phrase)
    if _HYPHEN.search(phrase):
        yield "no hyphen", _HYPHEN.sub(" ", phrase)
    if _ARTICLE.match(phrase) and len(phrase.split()) > 2:
        yield "telegram", _ARTICLE.sub("", phrase, count=1)
    if " and " in phrase:
        yield "ampersand", phrase.replace(" and ", " & ")


def _replace_all(phrase: str) -> str:
    """Every substitution at once; of two for the same words, the longer one."""
    hits = [
        (match.end() - match.start(), match.start(), match.end(), words)
        for pattern, words in _SYNONYM_PATTERNS
        for match in pattern.finditer(phrase)
    ]
    taken: list[tuple[int, int, str]] = []
    for _, start, end, words in sorted(hits, key=lambda hit: (-hit[0], hit[1])):
        if all(end <= other or start >= past for other, past, _ in taken):
            taken.append((start, end, words))
    for start, end, words in sorted(taken, reverse=True):
        phrase = phrase[:start] + words + phrase[end:]
    return phrase


Wording = tuple[str, str]
"""The recipe and the text."""

_CURRENCIES = {"$": ("dollars", "USD"), "€": ("euros", "EUR"), "£": ("pounds", "GBP")}
_POWERS = {"k": 3, "K": 3, "thousand": 3, "M": 6, "million": 6, "bn": 9, "B": 9, "billion": 9}
_SCALE_WORDS = {3: "thousand", 6: "million", 9: "billion"}
_SPELLED_BELOW = 1000
"""Larger figures are not spelled out, except amounts of money."""

_SHORT = {
    "minutes": "min",
    "minute": "min",
    "hours": "h",
    "hour": "h",
    "seconds": "s",
    "second": "s",
    "kg": "kilograms",
    "km": "kilometres",
    "ms": "milliseconds",
    "mg": "milligrams",
    "percent": "%",
    "weeks": "wks",
    "years": "yrs",
}
_LARGER = {
    "seconds": (60, "minute"),
    "minutes": (60, "hour"),
    "days": (7, "week"),
    "months": (12, "year"),
    "hours": (24, "day"),
}
_SMALLER = {"hours": (60, "minutes"), "weeks": (7, "days"), "years": (12, "months")}
_NEARBY = 15
"""Days from the asking within which `four days ago` is used."""


def list_wordings(value: AuditValue, aliases: tuple[str, ...], asked: date) -> list[Wording]:
    """Other ways to write the value on the day of asking, none as the dataset writes it."""
    found = [("alias", alias) for alias in aliases]
    found += _RECIPES[value.kind](value, asked)
    if value.kind is ValueKind.DATE and any("20" not in alias for alias in aliases):
        found += _word_date_without_year(value)
    taken = {value.text.casefold()}
    fresh: list[Wording] = []
    for recipe, text in found:
        if text.casefold() not in taken:
            taken.add(text.casefold())
            fresh.append((recipe, text))
    return fresh


def _word_date(value: AuditValue, asked: date) -> Iterator[Wording]:
    day = value.day or asked
    month, short = MONTHS[day.month - 1], MONTHS[day.month - 1][:3]
    yield "day first", f"{day.day} {month} {day.year}"
    yield "month first", f"{month} {day.day}, {day.year}"
    yield "ISO", day.isoformat()
    yield "short month", f"{short} {day.day}, {day.year}"
    yield "short month, day first", f"{day.day} {short} {day.year}"
    yield "ordinal", f"{month} {format_ordinal(day.day)}, {day.year}"
    yield "the nth of", f"the {format_ordinal(day.day)} of {month} {day.year}"
    yield "weekday", f"{day:%A}, {day.day} {month} {day.year}"
    if day.day > len(MONTHS):
        # With a smaller day, day and month could be confused.
        yield "dots", f"{day.day:02}.{day.month:02}.{day.year}"
        yield "slashes, month first", f"{day.month}/{day.day}/{day.year}"
        yield "slashes, day first", f"{day.day}/{day.month}/{day.year}"
    if relative := _word_relative_date(day, asked):
        yield "relative", relative


def _word_relative_date(day: date, asked: date) -> str | None:
    off = (day - asked).days
    near = {
        0: "today",
        1: "tomorrow",
        -1: "yesterday",
        7: "a week from today",
        -7: "a week ago today",
    }
    if off in near:
        return near[off]
    if 0 < off <= _NEARBY:
        return f"{off} days from today"
    return f"{-off} days ago" if -_NEARBY <= off < 0 else None


def _word_date_without_year(value: AuditValue) -> Iterator[Wording]:
    """Without the year, where the dataset accepts that."""
    if value.day is not None:
        month = MONTHS[value.day.month - 1]
        yield "no year, ordinal", f"the {format_ordinal(value.day.day)} of {month}"
        yield "no year, weekday", f"{value.day:%A}, {month} {value.day.day}"


def _word_time(value: AuditValue, asked: date) -> Iterator[Wording]:  # noqa: ARG001
    hours, minutes = divmod(value.minutes or 0, 60)
    half = "am" if hours < 12 else "pm"
    twelve = (hours - 1) % 12 + 1
    yield "twelve-hour clock", f"{twelve}:{minutes:02} {half}"
    yield "twelve-hour clock, dots", f"{twelve}:{minutes:02} {half[0]}.m."
    yield "military", f"{hours:02}{minutes:02} hours"
    yield "h", f"{hours}h{minutes:02}"
    if minutes == 0 and hours % 12:
        yield "on the hour", f"{twelve} {half}"
        yield "o'clock", f"{spell_number(twelve)} o'clock {_name_part_of_day(hours)}"
    elif minutes == 30 and hours % 12:
        yield "half past", f"half past {spell_number(twelve)} {_name_part_of_day(hours)}"
    elif minutes in {15, 45} and hours % 12 and hours % 12 != 11:
        hour = twelve if minutes == 15 else twelve % 12 + 1
        side = "past" if minutes == 15 else "to"
        yield "quarter", f"a quarter {side} {spell_number(hour)} {_name_part_of_day(hours)}"


def _name_part_of_day(hours: int) -> str:
    if hours < 12:
        return "in the morning"
    return "in the afternoon" if hours < 18 else "in the evening"


def _word_money(value: AuditValue, asked: date) -> Iterator[Wording]:  # noqa: ARG001
    name, code = _CURRENCIES[value.currency]
    amount = (value.number or Decimal(0)).scaleb(_POWERS.get(value.unit, 0))
    whole = f"{amount:,.2f}" if amount % 1 else f"{amount:,.0f}"
    yield "no separators", f"{value.currency}{whole.replace(',', '')}"
    yield "currency word", f"{whole} {name}"
    yield "currency code", f"{code} {whole}"
    if amount % 1 == 0:
        yield "in words", f"{spell_number(int(amount))} {name}"
        yield "with cents", f"{value.currency}{whole}.00"
    for power, word in _SCALE_WORDS.items():
        scaled = amount.scaleb(-power)
        short = f"{scaled.normalize():f}"
        if 1 <= scaled < 1000 and len(short) <= 6:
            yield f"in {word}s", f"{value.currency}{short} {word}"
            letter = {3: "k", 6: "M", 9: "bn"}[power]
            yield f"in {word}s, short", f"{value.currency}{short}{letter}"


def _word_percent(value: AuditValue, asked: date) -> Iterator[Wording]:  # noqa: ARG001
    number = value.number or Decimal(0)
    yield "percent", f"{number} percent"
    yield "per cent", f"{number} per cent"
    yield "pct", f"{number} pct"
    yield "in words", f"{spell_number(number)} percent"
    yield "spaced", f"{number} %"


def _word_measure(value: AuditValue, asked: date) -> Iterator[Wording]:  # noqa: ARG001
    number, unit = value.number or Decimal(0), value.unit.strip()
    joint = "" if unit[:1] in {"°", "×"} else " "
    if number < _SPELLED_BELOW and unit[:1].isalpha():
        yield "in words", f"{spell_number(number)} {unit}"
        yield "in words and figures", f"{spell_number(number)} ({number}) {unit}"
    if number >= 1000:
        yield "no separators", f"{number}{joint}{unit}"
    if unit in _SHORT:
        yield "other unit name", f"{number} {_SHORT[unit]}"
    if number == 12 and unit[:1].isalpha() and unit not in _LARGER:
        yield "dozen", f"a dozen {unit}"
    yield from _convert_units(number, unit)


def _convert_units(number: Decimal, unit: str) -> Iterator[Wording]:
    if number % 1:
        return
    if unit in _LARGER:
        size, larger = _LARGER[unit]
        many, rest = divmod(int(number), size)
        if many and not rest:
            yield "larger unit", f"{spell_number(many)} {larger}{'s' if many > 1 else ''}"
        elif many and 2 * rest == size and larger != "day":
            yield "larger unit and a half", _format_half(many, larger)
        elif many:
            smaller = unit if rest > 1 else unit[:-1]
            yield "mixed units", f"{many} {larger}{'s' if many > 1 else ''} and {rest} {smaller}"
    if unit in _SMALLER and number > 1:
        size, smaller = _SMALLER[unit]
        yield "smaller unit", f"{int(number) * size} {smaller}"


def _format_half(many: int, unit: str) -> str:
    if many == 1:
        return f"{'an' if unit == 'hour' else 'a'} {unit} and a half"
    return f"{spell_number(many)} and a half {unit}s"


def _word_number(value: AuditValue, asked: date) -> Iterator[Wording]:  # noqa: ARG001
    number = value.number or Decimal(0)
    yield "in words", spell_number(number)
    yield "in words and figures", f"{spell_number(number)} ({number})"
    yield "in all", f"{number} in all"
    yield "a total of", f"a total of {spell_number(number)}"
    if number == 12:
        yield "dozen", "a dozen"


def _word_code(value: AuditValue, asked: date) -> Iterator[Wording]:  # noqa: ARG001
    yield "lower case", value.text.lower()
    if "-" in value.text and any(mark.isalpha() for mark in value.text):
        yield "spaced", value.text.replace("-", " ")
        yield "joined", value.text.replace("-", "")
    yield "quoted", f"“{value.text}”"


def _word_person(value: AuditValue, asked: date) -> Iterator[Wording]:  # noqa: ARG001
    *firsts, last = value.text.split()
    if firsts:
        first = " ".join(firsts)
        yield "surname first", f"{last}, {first}"
        yield "initial", f"{first[0]}. {last}"
        yield "capitals", f"{first} {last.upper()}"


def _word_name(value: AuditValue, asked: date) -> Iterator[Wording]:  # noqa: ARG001
    yield "quoted", f"“{value.text}”"
    yield "emphasised", f"**{value.text}**"
    yield "lower case", value.text.lower()
    yield "capitals", value.text.upper()


def _word_phrase(value: AuditValue, asked: date) -> Iterator[Wording]:  # noqa: ARG001
    yield from list_paraphrases(value.text)


_RECIPES: dict[ValueKind, Callable[[AuditValue, date], Iterator[Wording]]] = {
    ValueKind.DATE: _word_date,
    ValueKind.TIME: _word_time,
    ValueKind.MONEY: _word_money,
    ValueKind.PERCENT: _word_percent,
    ValueKind.MEASURE: _word_measure,
    ValueKind.NUMBER: _word_number,
    ValueKind.CODE: _word_code,
    ValueKind.PERSON: _word_person,
    ValueKind.NAME: _word_name,
    ValueKind.PHRASE: _word_phrase,
}
