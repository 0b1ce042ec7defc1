"""Find planted strings in answers and listings.

A planted string is rare: a coined name, a code, an amount. Whether it is there decides a figure
without a judge, so case, blanks, the form of numbers, dashes and apostrophes must not matter, and
parts of longer words must not count.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_DIGIT_GROUPS = re.compile(r"(?<=\d)(?:,(?=\d)|[\s.'](?=\d{3}(?!\d)))")
_BLANKS = re.compile(r"\s+")
_SPELLING = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)
"""One dash, one apostrophe, and no invisible characters."""


def normalise(text: str) -> str:
    """Return the text in one form of case, blanks, dashes, apostrophes and groups of digits.

    >>> normalise("KX\u20112291 costs  £4,318")
    'kx-2291 costs £4318'
    """
    return _DIGIT_GROUPS.sub("", _fold(text))


def contains(text: str, planted: str) -> bool:
    """Whether the text contains the planted string as whole words.

    >>> contains("It is now with Tavenholt.", "tavenholt")
    True
    >>> contains("Tavenholting is a hobby.", "Tavenholt")
    False
    """
    return bool(find_planted(text, (planted,)))


def find_planted(text: str, planted: Iterable[str]) -> tuple[str, ...]:
    """Return the planted strings that the text contains, each once, in their order.

    >>> find_planted("By May 5 120 had left.", ["120"])
    ('120',)
    """
    strings = tuple(dict.fromkeys(planted))
    if not strings:
        return ()
    folded = _fold(text)
    joined = _DIGIT_GROUPS.sub("", folded)
    # Digits that stand side by side may be one number, or two.
    forms = (joined,) if joined == folded else (joined, folded)
    return tuple(
        string for string in strings if any(_is_in(form, _read_forms(string)) for form in forms)
    )


def _fold(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).translate(_SPELLING).casefold()
    return _BLANKS.sub(" ", plain)


@lru_cache(4096)
def _read_forms(planted: str) -> tuple[str, ...]:
    folded = _fold(planted).strip()
    return tuple(dict.fromkeys(form for form in (_DIGIT_GROUPS.sub("", folded), folded) if form))


def _is_in(text: str, forms: Iterable[str]) -> bool:
    """Whether one of the forms stands in the text as whole words."""
    # Most texts contain none, and a plain search is far quicker.
    candidates = [form for form in forms if form in text]
    return any(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text) for form in candidates)
