"""Numbers as people say them."""

from decimal import Decimal

_SPELLED_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_SPELLED_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
_SPELLED_SCALES = ((10**9, "billion"), (10**6, "million"), (10**3, "thousand"))

_SPELLED_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
).split()

SMALL_NUMBERS = {word: number for number, word in enumerate(_SPELLED_ONES) if 2 <= number <= 12}
"""The number words that stand in a sentence as such: `two`, never the pronoun `one`."""

ROUND_NUMBERS = SMALL_NUMBERS | {
    word: 10 * tens for tens, word in enumerate(_SPELLED_TENS) if tens >= 2
}
"""The same, and the round ones up to ninety."""

SMALL_ORDINALS = {word: number for number, word in enumerate(_SPELLED_ORDINALS) if number >= 3}
"""Ordinals that are always a count: `second` and `first` are often something else."""


def spell_number(number: Decimal | int) -> str:
    """`four hundred and twelve`, `three point eight`."""
    whole, _, rest = f"{Decimal(number):f}".partition(".")
    said = _spell_whole(int(whole))
    if rest:
        said += " point " + " ".join(_SPELLED_ONES[int(digit)] for digit in rest)
    return said


def format_ordinal(number: int) -> str:
    """`1st`, `22nd`, `13th`."""
    last = (
        "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{last}"


def spell_small(number: int) -> str:
    """The word for a number up to nineteen."""
    return _SPELLED_ONES[number]


def spell_ordinal(number: int) -> str:
    """The word for a place up to the twelfth."""
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
    scale, name = next((scale, name) for scale, name in _SPELLED_SCALES if number >= scale)
    many, rest = divmod(number, scale)
    joint = " and " if 0 < rest < 100 else " "
    return f"{_spell_whole(many)} {name}" + (f"{joint}{_spell_whole(rest)}" if rest else "")
