"""Numbers as people say them."""

from decimal import Decimal

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = ((10**9, "billion"), (10**6, "million"), (10**3, "thousand"))

_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
).split()

SMALL = {word: number for number, word in enumerate(_ONES) if 2 <= number <= 12}
"""The number words that stand in a sentence as such: `two`, never the pronoun `one`."""

COUNTED = SMALL | {word: 10 * tens for tens, word in enumerate(_TENS) if tens >= 2}
"""The same, and the round ones up to ninety."""

SMALL_ORDINALS = {word: number for number, word in enumerate(_ORDINALS) if number >= 3}
"""Ordinals that are always a count: `second` and `first` are often something else."""


def spelled(number: Decimal | int) -> str:
    """`four hundred and twelve`, `three point eight`."""
    whole, _, rest = f"{Decimal(number):f}".partition(".")
    said = _whole(int(whole))
    if rest:
        said += " point " + " ".join(_ONES[int(digit)] for digit in rest)
    return said


def ordinal(number: int) -> str:
    """`1st`, `22nd`, `13th`."""
    last = (
        "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{last}"


def word_of(number: int) -> str:
    """The word for a number up to nineteen."""
    return _ONES[number]


def ordinal_word(number: int) -> str:
    """The word for a place up to the twelfth."""
    return _ORDINALS[number]


def _whole(number: int) -> str:
    if number < len(_ONES):
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        return f"{_ONES[hundreds]} hundred" + (f" and {_whole(rest)}" if rest else "")
    scale, name = next((scale, name) for scale, name in _SCALES if number >= scale)
    many, rest = divmod(number, scale)
    joint = " and " if 0 < rest < 100 else " "
    return f"{_whole(many)} {name}" + (f"{joint}{_whole(rest)}" if rest else "")
