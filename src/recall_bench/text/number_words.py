"""Numbers in words: `twenty-one` is read as 21, and 21 is written as `twenty-one`."""

import re
from decimal import Decimal

SPELLED_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_SPELLED_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
_SPELLED_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
).split()
POWER_WORDS = {"billion": 10**9, "million": 10**6, "thousand": 10**3}
GROUP_WORDS = {"dozen": 12, "score": 20}
TEN_WORDS = {word: 10 * tens for tens, word in enumerate(_SPELLED_TENS) if tens >= 2}
NUMBER_WORDS = {word: number for number, word in enumerate(SPELLED_ONES) if number} | TEN_WORDS

SMALL_NUMBERS = {word: number for word, number in NUMBER_WORDS.items() if 2 <= number <= 12}
"""Number words that are always numbers: `two`, but not the pronoun `one`."""

ROUND_NUMBERS = SMALL_NUMBERS | TEN_WORDS
"""The same, and the round ones up to ninety."""

SMALL_ORDINALS = {word: number for number, word in enumerate(_SPELLED_ORDINALS) if number >= 3}
"""Ordinals by word; "first" and "second" have too many other meanings."""

_ONES_PATTERN = "|".join(SPELLED_ONES[1:10])
_UP_TO_99 = (
    rf"(?:(?:{'|'.join(TEN_WORDS)})(?:[\s-](?:{_ONES_PATTERN}))?"
    rf"|{'|'.join(SPELLED_ONES[10:])}|{_ONES_PATTERN})\b"
)
_UP_TO_999 = rf"{_UP_TO_99}(?:\shundred\b(?:\s(?:and\s)?{_UP_TO_99})?)?"
POWER_PATTERN = rf"(?:{'|'.join(POWER_WORDS)})\b"
_WHOLE_PATTERN = rf"{_UP_TO_999}(?:\s{POWER_PATTERN}(?:,?\s(?:and\s)?{_UP_TO_999})?){{0,3}}"

# A single "one" is usually a pronoun. It is a number after "only", "just" or "exactly", before a
# unit of time, or alone.
_PRONOUN = rf"one\b(?!\s(?:hundred|{POWER_PATTERN}))"
_COUNTED_ONE = (
    r"(?:(?<=only\s)|(?<=just\s)|(?<=exactly\s)|(?<=minus\s)|(?<=plus\s))one\b"
    r"|one\b(?=[\s-](?:minute|hour|day|week|month|year)\b)"
    r"|(?<!.)one\b(?=\W*$)"
)

_DECIMALS = rf"\spoint(?:\s(?:zero|{_ONES_PATTERN})\b)+"

NUMBER_WORDS_PATTERN = (
    rf"(?:(?!{_PRONOUN}){_WHOLE_PATTERN}(?:{_DECIMALS}|\s(?:dozen|score)\b)?|(?:one|zero){_DECIMALS}|dozen\b"
    rf"|{_COUNTED_ONE})"
)
"""Matches a number in words; case-insensitive if the pattern is."""

_AFTER_POWER = rf"(?:,?\s(?:and\s)?{_UP_TO_999})?"
A_HUNDRED_PATTERN = (
    rf"(?:hundred\b(?:\s(?:and\s)?{_UP_TO_99})?(?:\s{POWER_PATTERN}{_AFTER_POWER})?"
    rf"|{POWER_PATTERN}{_AFTER_POWER})"
)
"""Matches what follows the article in `a hundred and fifty` and `a thousand two hundred`."""

NUMBER_WORDS_START = "[OTFSENotfsen]|[Dd]oz|[Zz]er"
"""The first letters of every number in words."""


def parse_number_words(words: str) -> float:
    """The number that the words spell."""
    whole, point, decimals = words.lower().partition(" point ")
    if point:
        digits = "".join(str(NUMBER_WORDS.get(word, 0)) for word in decimals.split())
        return float(f"{_parse_whole(whole)}.{digits}")
    return float(_parse_whole(whole))


def _parse_whole(words: str) -> int:
    total, group = 0, 0
    for word in re.split(r"[\s,-]+", words):
        if word in NUMBER_WORDS:
            group += NUMBER_WORDS[word]
        elif word == "hundred":
            group *= 100
        elif word in GROUP_WORDS:
            group = GROUP_WORDS[word] * (group or 1)
        elif word in POWER_WORDS:
            total += group * POWER_WORDS[word]
            group = 0
    return total + group


def spell_number(number: Decimal | int) -> str:
    """Spell a number: `four hundred and twelve`, `three point eight`."""
    whole, _, rest = f"{Decimal(number):f}".partition(".")
    words = _spell_whole(int(whole))
    if rest:
        words += " point " + " ".join(SPELLED_ONES[int(digit)] for digit in rest)
    return words


def format_ordinal(number: int) -> str:
    """Format an ordinal: `1st`, `22nd`, `13th`."""
    last = (
        "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{last}"


def _spell_whole(number: int) -> str:
    if number < len(SPELLED_ONES):
        return SPELLED_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _SPELLED_TENS[tens] + (f"-{SPELLED_ONES[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        return f"{SPELLED_ONES[hundreds]} hundred" + (f" and {_spell_whole(rest)}" if rest else "")
    name, scale = next(pair for pair in POWER_WORDS.items() if number >= pair[1])
    many, rest = divmod(number, scale)
    joint = " and " if 0 < rest < 100 else " "
    return f"{_spell_whole(many)} {name}" + (f"{joint}{_spell_whole(rest)}" if rest else "")
