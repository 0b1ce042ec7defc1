"""Numbers written in words."""

import re

_DIGITS = "zero|one|two|three|four|five|six|seven|eight|nine"
_UNITS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9,
}  # fmt: skip
_TEENS = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90,
}  # fmt: skip
_POWERS = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SMALL = _UNITS | _TEENS | _TENS

PLACES = {
    word: number
    for number, word in enumerate(
        "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=3
    )
}
"""Places in a row; "first" and "second" mean too much else."""

_UNIT = "|".join(_UNITS)
_UP_TO_99 = rf"(?:(?:{'|'.join(_TENS)})(?:[\s-](?:{_UNIT}))?|{'|'.join(_TEENS)}|{_UNIT})\b"
_UP_TO_999 = rf"{_UP_TO_99}(?:\shundred\b(?:\s(?:and\s)?{_UP_TO_99})?)?"
_POWER = rf"(?:{'|'.join(_POWERS)})\b"
_WHOLE = rf"{_UP_TO_999}(?:\s{_POWER}(?:,?\s(?:and\s)?{_UP_TO_999})?){{0,3}}"

# A single "one" is a pronoun more often than a number. It is one where it is counted out loud,
# measures a duration, or is all there is.
_PRONOUN = rf"one\b(?!\s(?:hundred|{_POWER}))"
_COUNTED_ONE = (
    r"(?:(?<=only\s)|(?<=just\s)|(?<=exactly\s))one\b"
    r"|one\b(?=[\s-](?:minute|hour|day|week|month|year)\b)"
    r"|(?<!.)one\b(?=\W*$)"
)

_DECIMALS = rf"\spoint(?:\s(?:{_DIGITS})\b)+"

SPELLED_NUMBER = (
    rf"(?:(?!{_PRONOUN}){_WHOLE}(?:{_DECIMALS}|\sdozen\b)?|(?:one|zero){_DECIMALS}|dozen\b"
    rf"|{_COUNTED_ONE})"
)
"""Matches a number in words, whatever its case if the pattern ignores case."""

SPELLED_OPENINGS = "[OTFSENotfsen]|[Dd]oz|[Zz]er"
"""What every number in words begins with: most words do not."""


def number_of(words: str) -> float:
    """The number that the words spell."""
    whole, point, decimals = words.lower().partition(" point ")
    if point:
        digits = "".join(str(_UNITS.get(word, 0)) for word in decimals.split())
        return float(f"{_whole(whole)}.{digits}")
    return float(_whole(whole))


def _whole(words: str) -> int:
    total, group = 0, 0
    for word in re.split(r"[\s,-]+", words):
        if word in _SMALL:
            group += _SMALL[word]
        elif word == "hundred":
            group *= 100
        elif word == "dozen":
            group = 12 * (group or 1)
        elif word in _POWERS:
            total += group * _POWERS[word]
            group = 0
    return total + group
