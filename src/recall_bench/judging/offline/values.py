"""Finds the amounts, dates, times and identifiers in a text."""

import re
from collections.abc import Callable, Iterator

from recall_bench.judging.offline.atoms import DATE, IDENTIFIER, MONTH, QUANTITY, TIME, YEAR, Atom
from recall_bench.judging.offline.number_words import SPELLED_INITIALS, SPELLED_NUMBER, number_of

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SCALES = {"t": 1e3, "k": 1e3, "m": 1e6, "b": 1e9}
_CURRENCIES = {"$": "usd", "u": "usd", "€": "eur", "e": "eur", "£": "gbp", "g": "gbp"}
_UNITS = {
    "percent": "%", "pct": "%", "percentage point": "%", "basis point": "bp", "times": "x",
    "sec": "second", "min": "minute", "hr": "hour", "yr": "year",
    "st": "th", "nd": "th", "rd": "th", "dollar": "usd", "euro": "eur", "pound": "gbp",
}  # fmt: skip
_DURATIONS = {
    "minute": (1, "min"), "hour": (60, "min"), "day": (1_440, "min"), "week": (10_080, "min"),
    "month": (1, "mon"), "year": (12, "mon"),
}  # fmt: skip

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|(?-i:M)ay|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_ORDINAL = r"(?:st|nd|rd|th)?"
_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_SCALE = r"(?:\s?(?:thousand|million|billion)|(?:mm|mn|bn|k|m|b))\b"
_UNIT = (
    r"(?:%|(?:percentage\spoint|basis\spoint|dollar|euro|pound|sec(?:ond)?|min(?:ute)?|hr|hour"
    r"|day|week|month|year|yr)s?\b|(?:percent|pct|bps?|times|usd|eur|gbp|x|st|nd|rd|th|kg|mg|ml"
    r"|km|cm|ms|mb|gb|tb)\b)"
)
_RANGE_SCALE = rf"(?:({_SCALE})|(?=\s?(?:-|to\s)\s?[$€£]?{_NUMBER}({_SCALE})))?"

# The first letter decides which alternatives are tried: most words are none of them, and a
# history has millions. What is repeated before something that may not come is bounded, or a
# hostile answer would take for ever.
_VALUES = re.compile(
    rf"""(?<![\w.])(?:
      (?=\d)(?i:
          (?P<iso>(\d{{4}})-(\d\d)-(\d\d)(?!\d))
        | (?P<slashed>(\d\d?)/(\d\d?)/(\d{{4}})(?!\d))
        | (?P<dotted>(\d\d?)\.\s?(\d\d?)\.\s?(\d{{4}})(?!\d))
        | (?P<day_month>(\d\d?){_ORDINAL}\s(?:of\s)?({_MONTH})(?:,?\s(\d{{4}})\b)?)
        | (?P<clock>(\d\d?):(\d\d)(?::\d\d)?(?!\d)(?:\s?([ap])\.?m\b\.?)?)
        | (?P<oclock>(\d\d?)\s?([ap])\.?m\b\.?)
        | (?P<serial>(\d+(?:\.\d+){{2,}}|\d+-[a-z]+\d\w*
            |(?!{_NUMBER}(?:{_SCALE}|{_UNIT}))\d\w{{0,64}}[a-z_]\w*(?:\.\w+)*))
        | (?P<number>({_NUMBER})({_SCALE})?(?:[\s-]?({_UNIT}))?))
    | (?=[$€£@\#])(?i:
          (?P<money>([$€£])\s?({_NUMBER}){_RANGE_SCALE})
        | (?P<handle>(@\w[\w-]*|\#\d+)))
    | (?=[JFMASONDjfmasond])(?i:
          (?P<month_day>({_MONTH})\s(\d\d?){_ORDINAL}(?![\w:])(?:,?\s(\d{{4}})\b)?)
        | (?P<month_year>({_MONTH})\s(\d{{4}})\b)
        | (?P<midday>(noon|midnight)\b))
    | (?=[UEGueg])(?i:(?P<currency>((?:usd|eur|gbp)\s)({_NUMBER}){_RANGE_SCALE}))
    | (?=[\w.+-]{{0,64}}[\d_@])
          (?P<identifier>([A-Z][A-Z0-9]*-\d+\b|[\w.+-]{{1,64}}@[\w-]+(?:\.\w+)+
            |(?=\w{{0,64}}[\d_])[A-Za-z_]\w*(?:\.\w+)*))
    | (?=[{SPELLED_INITIALS}])(?i:(?P<spelled>({SPELLED_NUMBER})(?:[\s-]({_UNIT}))?))
    )""",
    re.VERBOSE,
)
_DENIED = re.compile(
    r"(?:\bnot|n't|\bno longer|\brather than|\binstead of|\bnever)"
    r"\s(?:(?:at|on|by|for|in|to|the|a|an|about|around|from)\s){0,2}$",
    re.IGNORECASE,
)
_DENIAL_REACH = 32


def values(text: str) -> Iterator[Atom]:
    """All values of a plain text, in order, repeats included."""
    return map(_read, _VALUES.finditer(text))


def split_values(text: str) -> tuple[list[Atom], str]:
    """The values that a plain text claims, and the text without any.

    What is named only to be denied, as in "not $40 but $50", is not claimed.
    """
    claimed: list[Atom] = []

    def cut(match: re.Match[str]) -> str:
        start = match.start()
        if not _DENIED.search(text, max(0, start - _DENIAL_REACH), start):
            claimed.append(_read(match))
        return " "

    rest = _VALUES.sub(cut, text)
    return claimed, rest


def _read(match: re.Match[str]) -> Atom:
    reader = str(match.lastgroup)
    return _READERS[reader](match.groups()[match.re.groupindex[reader] :])


def _date(year: str | None, month: int, day: int) -> Atom:
    core = f"{month:02}-{day:02}"
    return Atom(DATE, f"{core}/{year}" if year else core, core)


def _slashed(first: int, second: int, year: str) -> Atom:
    # Written with slashes, the month comes first unless it cannot be one.
    return _date(year, second, first) if first > 12 else _date(year, first, second)


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _month(name: str, year: str) -> Atom:
    value = f"{_month_number(name):02}/{year}"
    return Atom(MONTH, value, value)


def _clock(hour: str, minute: str, half: str | None) -> Atom:
    hours = int(hour)
    core = f"{hours % 12}:{minute}"
    if half is None and (hours > 12 or hour.startswith("0")):
        half = "p" if hours > 12 else "a"
    return Atom(TIME, f"{core}{half.lower()}" if half else core, core)


def _quantity(number: float, unit: str | None) -> Atom:
    core = f"{number:.12g}"
    if not unit:
        return Atom(QUANTITY, core, core)
    name = unit.lower()
    name = _UNITS.get(name) or _UNITS.get(name.removesuffix("s")) or name.removesuffix("s")
    factor, dimension = _DURATIONS.get(name, (0, ""))
    measure = f"{number * factor:.12g} {dimension}" if factor else ""
    return Atom(QUANTITY, f"{core} {name}", core, measure)


def _scaled(number: str, scale: str | None) -> float:
    factor = _SCALES[scale.strip()[0].lower()] if scale else 1.0
    return float(number.replace(",", "")) * factor


_Groups = tuple[str, ...]


def _money(groups: _Groups) -> Atom:
    sign, number, own_scale, range_scale, *_ = groups
    return _quantity(_scaled(number, own_scale or range_scale), _CURRENCIES[sign[0].lower()])


def _number(digits: str, scale: str | None, unit: str | None) -> Atom:
    if scale is None and unit is None and re.fullmatch(r"(?:19|20)\d\d", digits):
        return Atom(YEAR, digits, digits)
    return _quantity(_scaled(digits, scale), unit)


def _identifier(groups: _Groups) -> Atom:
    name = groups[0].lower().rstrip(".")
    return Atom(IDENTIFIER, name, name)


_READERS: dict[str, Callable[[_Groups], Atom]] = {
    "iso": lambda g: _date(g[0], int(g[1]), int(g[2])),
    "slashed": lambda g: _slashed(int(g[0]), int(g[1]), g[2]),
    "dotted": lambda g: _date(g[2], int(g[1]), int(g[0])),
    "month_day": lambda g: _date(g[2], _month_number(g[0]), int(g[1])),
    "day_month": lambda g: _date(g[2], _month_number(g[1]), int(g[0])),
    "month_year": lambda g: _month(g[0], g[1]),
    "clock": lambda g: _clock(g[0], g[1], g[2]),
    "oclock": lambda g: _clock(g[0], "00", g[1]),
    "midday": lambda g: _clock("12", "00", "p" if g[0].lower() == "noon" else "a"),
    "money": _money,
    "currency": _money,
    "identifier": _identifier,
    "serial": _identifier,
    "handle": _identifier,
    "number": lambda g: _number(g[0], g[1], g[2]),
    "spelled": lambda g: _quantity(float(number_of(g[0])), g[1]),
}
