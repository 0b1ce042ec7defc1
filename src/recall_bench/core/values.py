"""Numbers, dates, times and other values in the answers of systems, in any spelling."""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from recall_bench.core.value_patterns import (
    CURRENCY_CODES,
    MONTH_PATTERN,
    NUMBER_PATTERN,
    ORDINAL_ENDING,
    RANGE_SCALE_PATTERN,
    SCALE_PATTERN,
    WEEKDAYS,
    is_denied_before,
    normalise_clock,
    parse_month,
    scale_number,
)

_SPELLED_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_SPELLED_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
_SPELLED_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
).split()
_POWER_WORDS = {"billion": 10**9, "million": 10**6, "thousand": 10**3}
_TEN_WORDS = {word: 10 * tens for tens, word in enumerate(_SPELLED_TENS) if tens >= 2}
_NUMBER_WORDS = {word: number for number, word in enumerate(_SPELLED_ONES) if number} | _TEN_WORDS

SMALL_NUMBERS = {word: number for word, number in _NUMBER_WORDS.items() if 2 <= number <= 12}
"""Number words that are always numbers: `two`, but not the pronoun `one`."""

ROUND_NUMBERS = SMALL_NUMBERS | _TEN_WORDS
"""The same, and the round ones up to ninety."""

SMALL_ORDINALS = {word: number for number, word in enumerate(_SPELLED_ORDINALS) if number >= 3}
"""Ordinals by word; "first" and "second" have too many other meanings."""

_ONES_PATTERN = "|".join(_SPELLED_ONES[1:10])
_UP_TO_99 = (
    rf"(?:(?:{'|'.join(_TEN_WORDS)})(?:[\s-](?:{_ONES_PATTERN}))?"
    rf"|{'|'.join(_SPELLED_ONES[10:])}|{_ONES_PATTERN})\b"
)
_UP_TO_999 = rf"{_UP_TO_99}(?:\shundred\b(?:\s(?:and\s)?{_UP_TO_99})?)?"
_POWER_PATTERN = rf"(?:{'|'.join(_POWER_WORDS)})\b"
_WHOLE_PATTERN = rf"{_UP_TO_999}(?:\s{_POWER_PATTERN}(?:,?\s(?:and\s)?{_UP_TO_999})?){{0,3}}"

# A single "one" is usually a pronoun. It is a number after "only", "just" or "exactly", before a
# unit of time, or alone.
_PRONOUN = rf"one\b(?!\s(?:hundred|{_POWER_PATTERN}))"
_COUNTED_ONE = (
    r"(?:(?<=only\s)|(?<=just\s)|(?<=exactly\s))one\b"
    r"|one\b(?=[\s-](?:minute|hour|day|week|month|year)\b)"
    r"|(?<!.)one\b(?=\W*$)"
)

_DECIMALS = rf"\spoint(?:\s(?:zero|{_ONES_PATTERN})\b)+"

NUMBER_WORDS_PATTERN = (
    rf"(?:(?!{_PRONOUN}){_WHOLE_PATTERN}(?:{_DECIMALS}|\sdozen\b)?|(?:one|zero){_DECIMALS}|dozen\b"
    rf"|{_COUNTED_ONE})"
)
"""Matches a number in words; case-insensitive if the pattern is."""

NUMBER_WORDS_START = "[OTFSENotfsen]|[Dd]oz|[Zz]er"
"""The first letters of every number in words."""


def parse_number_words(words: str) -> float:
    """The number that the words spell."""
    whole, point, decimals = words.lower().partition(" point ")
    if point:
        digits = "".join(str(_NUMBER_WORDS.get(word, 0)) for word in decimals.split())
        return float(f"{_parse_whole(whole)}.{digits}")
    return float(_parse_whole(whole))


def _parse_whole(words: str) -> int:
    total, group = 0, 0
    for word in re.split(r"[\s,-]+", words):
        if word in _NUMBER_WORDS:
            group += _NUMBER_WORDS[word]
        elif word == "hundred":
            group *= 100
        elif word == "dozen":
            group = 12 * (group or 1)
        elif word in _POWER_WORDS:
            total += group * _POWER_WORDS[word]
            group = 0
    return total + group


QUANTITY, DATE, MONTH, YEAR, TIME = "quantity", "date", "month", "year", "time"
IDENTIFIER = "identifier"

_DIGIT_RUN = re.compile(r"\d+")


class ValueAtom(NamedTuple):
    """One value. Its `core` is the value without the part that is often left out."""

    kind: str
    value: str
    core: str
    measure: str = ""
    """A duration in the smallest unit of its dimension, so that two weeks equal fourteen days."""

    @property
    def is_bare(self) -> bool:
        """Whether the part that is often left out is missing."""
        return self.value == self.core

    def matches(self, other: "ValueAtom") -> bool:
        """Whether the two may be the same value.

        The tolerances are these and no others: an amount matches the same amount without its unit,
        a date the same day without its year, a time the same time without am or pm, and a duration
        the same duration in other units.
        """
        if self.core == other.core and self.kind == other.kind:
            return self.value == other.value or self.is_bare or other.is_bare
        return self.measure != "" and self.measure == other.measure

    def is_rival_of(self, other: "ValueAtom") -> bool:
        """Whether the two are different answers to one question: same kind, same unit, no match."""
        if self.kind != other.kind or self.matches(other):
            return False
        if self.kind == IDENTIFIER:
            return _find_series(self.value) == _find_series(other.value)
        return self.kind != QUANTITY or _find_dimension(self) == _find_dimension(other)


def _find_dimension(quantity: ValueAtom) -> str:
    if quantity.measure:
        return quantity.measure.partition(" ")[2]
    return quantity.value.removeprefix(quantity.core)


def _find_series(identifier: str) -> str:
    """What identifiers of one series share: `inc-204` and `inc-31` do, `inc-204` and `v2` not."""
    return "@" if identifier.startswith("@") else _DIGIT_RUN.sub("0", identifier)


_UNITS = {
    "percent": "%", "per cent": "%", "pct": "%", "percentage point": "%", "basis point": "bp",
    "times": "x", "s": "second", "sec": "second", "min": "minute", "h": "hour", "hr": "hour",
    "wk": "week", "yr": "year", "ms": "ms", "millisecond": "ms", "kilogram": "kg", "gram": "g",
    "milligram": "mg", "kilometre": "km", "kilometer": "km", "metre": "m", "meter": "m",
    "st": "th", "nd": "th", "rd": "th", "dollar": "usd", "euro": "eur", "pound": "gbp",
}  # fmt: skip
_DURATIONS = {
    "ms": (0.001, "s"), "second": (1, "s"), "minute": (60, "s"), "hour": (3_600, "s"),
    "day": (86_400, "s"), "week": (604_800, "s"), "month": (1, "mon"), "year": (12, "mon"),
}  # fmt: skip

_UNIT = (
    r"(?:%|(?:percentage\spoint|basis\spoint|dollar|euro|pound|(?:milli)?second|sec|min(?:ute)?|hr"
    r"|hour|day|week|wk|month|year|yr|(?:kilo|milli)?gram|kilomet(?:re|er)|met(?:re|er))s?\b"
    r"|(?:per\s?cent|pct|bps?|times|usd|eur|gbp|x|st|nd|rd|th|kg|mg|ml|km|cm|ms|mb|gb|tb|h"
    r"|(?<=\s)s|(?<=\s)g)\b)"
)
_DURATION_UNIT = r"(?:minute|hour|day|week|month|year)"
_PART_OF_DAY = r"\s(?:in\sthe|at)\s(morning|afternoon|evening|night)\b"
_HOUR_WORD = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|1[0-2]|[1-9])\b"
# The first letter decides which alternatives are tried: most words are none of them, and a history
# has millions. Repetitions before something optional are bounded, or a hostile answer would take
# for ever.
_VALUES = re.compile(
    rf"""(?<![\w.])(?:
      (?=\d)(?i:
          (?P<iso>(\d{{4}})-(\d\d)-(\d\d)(?!\d))
        | (?P<slashed>(\d\d?)/(\d\d?)/(\d{{4}})(?!\d))
        | (?P<dotted>(\d\d?)\.\s?(\d\d?)\.\s?(\d{{4}})(?!\d))
        | (?P<day_month>(\d\d?){ORDINAL_ENDING}\s(?:of\s)?({MONTH_PATTERN})(?:,?\s(\d{{4}})\b)?)
        | (?P<clock>(\d\d?):(\d\d)(?::\d\d)?(?!\d)(?:\s?([ap])\.?m\b\.?|{_PART_OF_DAY})?)
        | (?P<military>([01]\d|2[0-3])([0-5]\d)\s(?:hours|hrs)\b)
        | (?P<h_clock>([01]?\d|2[0-3])h([0-5]\d)\b)
        | (?P<o_clock>(\d\d?)\so'?clock\b(?:{_PART_OF_DAY})?)
        | (?P<oclock>(\d\d?)\s?([ap])\.?m\b\.?)
        | (?P<serial>(\d+(?:\.\d+){{2,}}|\d+-[a-z]+\d\w*
            |(?!{NUMBER_PATTERN}(?:{SCALE_PATTERN}|{_UNIT}))\d\w{{0,64}}[a-z_]\w*(?:\.\w+)*))
        | (?P<number>({NUMBER_PATTERN})({SCALE_PATTERN})?(\sand\sa\shalf\b)?(?:[\s-]?({_UNIT}))?))
    | (?=[$€£@\#])(?i:
          (?P<money>([$€£])\s?({NUMBER_PATTERN}){RANGE_SCALE_PATTERN})
        | (?P<handle>(@\w[\w-]*|\#\d+)))
    | (?=[JFMASONDjfmasond])(?i:
          (?P<month_day>({MONTH_PATTERN})\s(\d\d?){ORDINAL_ENDING}(?![\w:])(?:,?\s(\d{{4}})\b)?)
        | (?P<month_year>({MONTH_PATTERN})\s(\d{{4}})\b)
        | (?P<midday>(noon|midnight)\b))
    | (?=[UEGueg])(?i:(?P<currency>((?:usd|eur|gbp)\s)({NUMBER_PATTERN}){RANGE_SCALE_PATTERN}))
    | (?=[\w.+-]{{0,64}}[\d_@])
          (?P<identifier>([A-Z][A-Z0-9]*-\d+\b|[\w.+-]{{1,64}}@[\w-]+(?:\.\w+)+
            |(?=\w{{0,64}}[\d_])[A-Za-z_]\w*(?:\.\w+)*))
    | (?=(?:[Aa]n?|[Oo]ne|[Hh]alf|[Qq]uarter)\s)(?i:
          (?P<past>(half(?=\spast)|(?:a\s)?quarter)\s(past|to)\s({_HOUR_WORD})(?:\so'?clock\b)?(?:{_PART_OF_DAY})?)
        | (?P<half_of>half\san?\s({_DURATION_UNIT})\b)
        | (?P<one_and_half>(?:an?|one)\s({_DURATION_UNIT})\sand\sa\shalf\b))
    | (?={NUMBER_WORDS_START})(?i:
          (?P<spelled_clock>(?=[a-z]{{3,6}}\so)({_HOUR_WORD})\so'?clock\b(?:{_PART_OF_DAY})?)
        | (?P<spelled>({NUMBER_WORDS_PATTERN})(\sand\sa\shalf\b)?(?:\s\({NUMBER_PATTERN}\))?
            (?:[\s-]({_UNIT}))?))
    )""",
    re.VERBOSE,
)
_JOINT = re.compile(r"(?:,?\sand\s|,\s|\s)", re.IGNORECASE)


def find_values(text: str) -> Iterator[ValueAtom]:
    """All values of a normalised text, in order, repeats included."""
    return (atom for atom, _, _ in locate_values(text))


def locate_values(text: str) -> Iterator[tuple[ValueAtom, int, int]]:
    """Each value with its start and end.

    A duration in falling units, as in "3 weeks and 1 day", is one value.
    """
    held: tuple[ValueAtom, int, int] | None = None
    for match in _VALUES.finditer(text):
        atom, start = _parse_match(match), match.start()
        if held is not None:
            whole = _join_durations(held[0], atom) if atom.measure and held[0].measure else None
            if whole is not None and _JOINT.fullmatch(text, held[2], start):
                held = (whole, held[1], match.end())
                continue
            yield held
        held = (atom, start, match.end())
    if held is not None:
        yield held


def _join_durations(larger: ValueAtom, smaller: ValueAtom) -> ValueAtom | None:
    """Two durations as one, if the second has a smaller unit of the same dimension."""
    amount, _, dimension = larger.measure.partition(" ")
    rest, _, other = smaller.measure.partition(" ")
    unit = smaller.value.removeprefix(smaller.core).strip()
    if dimension != other or _measure_unit(smaller) >= _measure_unit(larger):
        return None
    factor = _DURATIONS[unit][0]
    return _make_quantity((float(amount) + float(rest)) / factor, unit)


def _measure_unit(duration: ValueAtom) -> float:
    return _DURATIONS[duration.value.removeprefix(duration.core).strip()][0]


def split_values(text: str) -> tuple[list[ValueAtom], str]:
    """The values that a normalised text claims, and the text without any value.

    A denied value, as in "not $40 but $50", is not claimed.
    """
    claimed: list[ValueAtom] = []
    rest: list[str] = []
    end = 0
    for atom, start, past in locate_values(text):
        rest.append(text[end:start])
        end = past
        if not is_denied_before(text, start):
            claimed.append(atom)
    rest.append(text[end:])
    return claimed, " ".join(rest)


def _parse_match(match: re.Match[str]) -> ValueAtom:
    reader = str(match.lastgroup)
    return _READERS[reader](match.groups()[match.re.groupindex[reader] :])


def _make_date(year: str | None, month: int, day: int) -> ValueAtom:
    core = f"{month:02}-{day:02}"
    return ValueAtom(DATE, f"{core}/{year}" if year else core, core)


def _make_slash_date(first: int, second: int, year: str) -> ValueAtom:
    # With slashes, the month comes first unless it cannot be a month.
    return _make_date(year, second, first) if first > 12 else _make_date(year, first, second)


def _make_month(name: str, year: str) -> ValueAtom:
    value = f"{parse_month(name):02}/{year}"
    return ValueAtom(MONTH, value, value)


def _make_clock(hour: str, minute: str, half: str | None) -> ValueAtom:
    return ValueAtom(TIME, *normalise_clock(hour, minute, half))


def _make_full_clock(hour: str, minute: str) -> ValueAtom:
    return _make_clock(hour, minute, "p" if int(hour) >= 12 else "a")


def _parse_half_of_day(part: str | None) -> str | None:
    return {"morning": "a", "afternoon": "p", "evening": "p"}.get((part or "").lower())


def _parse_hour(word: str) -> str:
    return word if word.isdigit() else f"{parse_number_words(word):.0f}"


def _make_past_clock(minutes: str, side: str, word: str, part: str | None) -> ValueAtom:
    hour = int(_parse_hour(word))
    if side.lower() == "to":
        return _make_clock(str((hour - 2) % 12 + 1), "45", _parse_half_of_day(part))
    return _make_clock(
        str(hour), "30" if minutes.lower() == "half" else "15", _parse_half_of_day(part)
    )


def _make_quantity(number: float, unit: str | None) -> ValueAtom:
    core = f"{number:.12g}"
    if not unit:
        return ValueAtom(QUANTITY, core, core)
    name = unit.lower()
    name = _UNITS.get(name) or _UNITS.get(name.removesuffix("s")) or name.removesuffix("s")
    factor, dimension = _DURATIONS.get(name, (0, ""))
    measure = f"{number * factor:.12g} {dimension}" if factor else ""
    return ValueAtom(QUANTITY, f"{core} {name}", core, measure)


_Groups = tuple[str, ...]


def _make_money(groups: _Groups) -> ValueAtom:
    sign, number, own_scale, range_scale, *_ = groups
    code = CURRENCY_CODES.get(sign, sign.strip().lower())
    return _make_quantity(scale_number(number, own_scale or range_scale), code)


def _make_number(digits: str, scale: str | None, half: str | None, unit: str | None) -> ValueAtom:
    if half:
        return _make_quantity(scale_number(digits, scale) + 0.5, unit)
    if scale is None and unit is None and re.fullmatch(r"(?:19|20)\d\d", digits):
        return ValueAtom(YEAR, digits, digits)
    return _make_quantity(scale_number(digits, scale), unit)


def _make_identifier(groups: _Groups) -> ValueAtom:
    name = groups[0].lower().rstrip(".")
    return ValueAtom(IDENTIFIER, name, name)


_READERS: dict[str, Callable[[_Groups], ValueAtom]] = {
    "iso": lambda g: _make_date(g[0], int(g[1]), int(g[2])),
    "slashed": lambda g: _make_slash_date(int(g[0]), int(g[1]), g[2]),
    "dotted": lambda g: _make_date(g[2], int(g[1]), int(g[0])),
    "month_day": lambda g: _make_date(g[2], parse_month(g[0]), int(g[1])),
    "day_month": lambda g: _make_date(g[2], parse_month(g[1]), int(g[0])),
    "month_year": lambda g: _make_month(g[0], g[1]),
    "clock": lambda g: _make_clock(g[0], g[1], g[2] or _parse_half_of_day(g[3])),
    "military": lambda g: _make_full_clock(g[0], g[1]),
    "h_clock": lambda g: _make_full_clock(g[0], g[1]),
    "o_clock": lambda g: _make_clock(g[0], "00", _parse_half_of_day(g[1])),
    "spelled_clock": lambda g: _make_clock(_parse_hour(g[0]), "00", _parse_half_of_day(g[1])),
    "past": lambda g: _make_past_clock(g[0], g[1], g[2], g[3]),
    "half_of": lambda g: _make_quantity(0.5, g[0]),
    "one_and_half": lambda g: _make_quantity(1.5, g[0]),
    "oclock": lambda g: _make_clock(g[0], "00", g[1]),
    "midday": lambda g: _make_clock("12", "00", "p" if g[0].lower() == "noon" else "a"),
    "money": _make_money,
    "currency": _make_money,
    "identifier": _make_identifier,
    "serial": _make_identifier,
    "handle": _make_identifier,
    "number": lambda g: _make_number(g[0], g[1], g[2], g[3]),
    "spelled": lambda g: _make_quantity(parse_number_words(g[0]) + (0.5 if g[1] else 0.0), g[2]),
}


_DAY_OFFSETS = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
_DAY_NAMES = "|".join(name.replace(" ", r"\s") for name in _DAY_OFFSETS)
_COUNT = rf"(?:an?|one|\d{{1,3}}|{NUMBER_WORDS_PATTERN})"
_AWAY = r"(?:ago|from\s(?:today|now)|hence)"
_RELATIVE_DATE = re.compile(
    rf"""\b(?:
      (?P<named>{_DAY_NAMES})
    | (?P<weeks>{_COUNT})\sweeks?(?:\sand\s(?P<odd>{_COUNT})\sdays?)?\s(?P<weekly>{_AWAY})
      (?:\stoday)?
    | (?P<days>{_COUNT})\sdays?\s(?P<daily>{_AWAY})
    | (?P<side>last|this\spast|next)\s(?P<weekday>{"|".join(WEEKDAYS)})
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)


def expand_relative_dates(text: str, today: date) -> str:
    """The text with relative dates written out as absolute ones.

    Only what names one day is written out: "three days ago" does, "three months ago" does not.
    """
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
    ahead = (WEEKDAYS.index(name.capitalize()) - today.weekday()) % 7
    if side.lower() == "next":
        return today + timedelta(days=ahead or 7)
    return today - timedelta(days=(7 - ahead) or 7)


def _parse_count(words: str | None) -> int:
    if words is None:
        return 0
    if words.lower() in {"a", "an", "one"}:
        return 1
    return int(words) if words.isdigit() else int(parse_number_words(words))


def spell_number(number: Decimal | int) -> str:
    """Spell a number: `four hundred and twelve`, `three point eight`."""
    whole, _, rest = f"{Decimal(number):f}".partition(".")
    said = _spell_whole(int(whole))
    if rest:
        said += " point " + " ".join(_SPELLED_ONES[int(digit)] for digit in rest)
    return said


def format_ordinal(number: int) -> str:
    """Format an ordinal: `1st`, `22nd`, `13th`."""
    last = (
        "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{last}"


def spell_small(number: int) -> str:
    """The word for a number up to nineteen."""
    return _SPELLED_ONES[number]


def spell_ordinal(number: int) -> str:
    """The word for an ordinal up to the twelfth."""
    return _SPELLED_ORDINALS[number]


def _spell_whole(number: int) -> str:
    if number < len(_SPELLED_ONES):
        return _SPELLED_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _SPELLED_TENS[tens] + (f"-{_SPELLED_ONES[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        return f"{_SPELLED_ONES[hundreds]} hundred" + (f" and {_spell_whole(rest)}" if rest else "")
    name, scale = next(pair for pair in _POWER_WORDS.items() if number >= pair[1])
    many, rest = divmod(number, scale)
    joint = " and " if 0 < rest < 100 else " "
    return f"{_spell_whole(many)} {name}" + (f"{joint}{_spell_whole(rest)}" if rest else "")
