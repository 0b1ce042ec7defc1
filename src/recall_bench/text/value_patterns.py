"""Patterns and tables for values in text: months, weekdays, numbers, scales, currencies, times.

The readers differ in what they accept: `values` reads the answers of systems, `text_values` the
texts of datasets, `date_spans` questions. All are built from the parts here. The patterns are
written for exact case; a reader may put them into a group that ignores case.
"""

from recall_bench.text.cued_pattern import CuedPattern

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_MONTH_PREFIXES = tuple(month[:3] for month in MONTHS)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# `may` is a verb more often than a month, so its capital counts even where case does not.
MONTH_PATTERN = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|(?-i:M)ay|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
WEEKDAY_PATTERN = (
    r"(?:Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:r(?:s(?:day)?)?)?|Fri(?:day)?"
    r"|Sat(?:urday)?|Sun(?:day)?)"
)
ORDINAL_ENDING = r"(?:st|nd|rd|th)?"
NUMBER_PATTERN = r"\d+(?:,\d{3})*(?:\.\d+)?"
SCALE_PATTERN = r"(?:\s?(?:thousand|million|billion)|(?:mm|mn|bn|[kKmMbB]))\b"
RANGE_SCALE_PATTERN = (
    rf"(?:({SCALE_PATTERN})|(?=\s?(?:-|to\s)\s?[$€£]?{NUMBER_PATTERN}({SCALE_PATTERN})))?"
)
"""The scale of an amount, or that of the end of its range: `$2 to 3 million`."""

CURRENCY_CODES = {"$": "usd", "€": "eur", "£": "gbp"}
_SCALE_FACTORS = {"t": 1e3, "k": 1e3, "m": 1e6, "b": 1e9}

_DENIAL = CuedPattern(
    r"(?:\bnot|n't|\bno longer|\brather than|\binstead of|\bnever)"
    r"\s(?:(?:at|on|by|for|in|to|the|a|an|about|around|from)\s){0,2}$",
    *("not", "n't", "no longer", "rather than", "instead of", "never"),
)
_DENIAL_REACH = 32


def parse_month(name: str) -> int:
    """Return the number of a month by its name, however it is cut short."""
    return _MONTH_PREFIXES.index(name[:3].capitalize()) + 1


def scale_number(number: str, scale: str | None) -> float:
    """Return a number with its scale word or letter applied: `2.5 million`."""
    factor = _SCALE_FACTORS[scale.strip()[0].lower()] if scale else 1.0
    return float(number.replace(",", "")) * factor


def normalise_clock(hour: str, minute: str, half: str | None) -> tuple[str, str]:
    """Return a time of day with its half (`6:30p`) as far as that is known, and without it."""
    hours = int(hour)
    core = f"{hours % 12}:{minute}"
    if half is None and (hours > 12 or hour.startswith("0")):
        half = "p" if hours > 12 else "a"
    return (f"{core}{half.lower()}" if half else core), core


def is_denied_before(text: str, start: int) -> bool:
    """Whether the words before `start` deny what follows, as in "not $40 but $50"."""
    if not text[start - 1 : start].isspace():
        return False
    return _DENIAL.search_between(text, max(0, start - _DENIAL_REACH), start) is not None
