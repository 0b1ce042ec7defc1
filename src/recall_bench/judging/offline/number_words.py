"""Numbers written in words."""

import re

_DIGIT_WORDS = "zero|one|two|three|four|five|six|seven|eight|nine"
_ONES_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9,
}  # fmt: skip
_TEEN_WORDS = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TEN_WORDS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90,
}  # fmt: skip
_POWER_WORDS = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_NUMBER_WORDS = _ONES_WORDS | _TEEN_WORDS | _TEN_WORDS

ORDINAL_WORDS = {
    word: number
    for number, word in enumerate(
        "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=3
    )
}
"""Places in a row; "first" and "second" mean too much else."""

_ONES_PATTERN = "|".join(_ONES_WORDS)
_UP_TO_99 = rf"(?:(?:{'|'.join(_TEN_WORDS)})(?:[\s-](?:{_ONES_PATTERN}))?|{'|'.join(_TEEN_WORDS)}|{_ONES_PATTERN})\b"
_UP_TO_999 = rf"{_UP_TO_99}(?:\shundred\b(?:\s(?:and\s)?{_UP_TO_99})?)?"
_POWER_PATTERN = rf"(?:{'|'.join(_POWER_WORDS)})\b"
_WHOLE_PATTERN = rf"{_UP_TO_999}(?:\s{_POWER_PATTERN}(?:,?\s(?:and\s)?{_UP_TO_999})?){{0,3}}"

# A single "one" is a pronoun more often than a number. It is one where it is counted out loud,
# measures a duration, or is all there is.
_PRONOUN = rf"one\b(?!\s(?:hundred|{_POWER_PATTERN}))"
_COUNTED_ONE = (
    r"(?:(?<=only\s)|(?<=just\s)|(?<=exactly\s))one\b"
    r"|one\b(?=[\s-](?:minute|hour|day|week|month|year)\b)"
    r"|(?<!.)one\b(?=\W*$)"
)

_DECIMALS = rf"\spoint(?:\s(?:{_DIGIT_WORDS})\b)+"

NUMBER_WORDS_PATTERN = (
    rf"(?:(?!{_PRONOUN}){_WHOLE_PATTERN}(?:{_DECIMALS}|\sdozen\b)?|(?:one|zero){_DECIMALS}|dozen\b"
    rf"|{_COUNTED_ONE})"
)
"""Matches a number in words, whatever its case if the pattern ignores case."""

NUMBER_WORDS_START = "[OTFSENotfsen]|[Dd]oz|[Zz]er"
"""What every number in words begins with: most words do not."""


def parse_number_words(words: str) -> float:
    """The number that the words spell."""
    whole, point, decimals = words.lower().partition(" point ")
    if point:
        digits = "".join(str(_ONES_WORDS.get(word, 0)) for word in decimals.split())
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
