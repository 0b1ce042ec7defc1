"""Texts made comparable: typography levelled, words reduced to stems."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from Stemmer import Stemmer

_LEVEL = str.maketrans(
    {
        **dict.fromkeys("‘’ʼ′", "'"),
        **dict.fromkeys("“”„«»″", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f", " "),
        "*": None,
    }
)
_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")

CALENDAR_WORDS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays"
    " fridays saturdays sundays january february march april may june july august september"
    " october november december mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept"
    " oct nov dec".split()
)
"""The names of months and weekdays."""

STOPWORDS = frozenset(
    "a about after all also am an and any are as at be because been before being both but by can"
    " could did do does done during each for from had has have having he her him his how i if in"
    " into is it its itself just me might more most must my no nor not of off on once only or other"
    " our out over own s same she should so some such than that the their them then there these"
    " they this those through to too under until up upon us was we were what when where which while"
    " who whom whose why will with within would yes you your".split()
)
"""Words that carry no content of their own."""


def normalise_text(text: str) -> str:
    """The text with straight quotes and plain hyphens and blanks, without emphasis."""
    return text.translate(_LEVEL) if "*" in text or not text.isascii() else text


def split_words(text: str) -> list[str]:
    """Every word and number of a text, lower case, in order."""
    return _WORD.findall(text.lower())


def collect_stems(text: str) -> frozenset[str]:
    """The stems of the words with content in a text."""
    return frozenset(
        _find_stem(word) for word in split_words(normalise_text(text)) if word not in STOPWORDS
    )


def collect_topics(text: str) -> frozenset[str]:
    """The same without numbers, months and weekdays, which say when or how much of anything."""
    return frozenset(
        _find_stem(word)
        for word in split_words(normalise_text(text))
        if word not in STOPWORDS and word not in CALENDAR_WORDS and not _DIGIT.search(word)
    )


@lru_cache(maxsize=200_000)
def _find_stem(word: str) -> str:
    return str(_load_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _load_stemmer() -> "Stemmer":
    from Stemmer import Stemmer

    return Stemmer("english")


def measure_likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of words two texts have in common; 0 for two without any."""
    return len(one & other) / (len(one | other) or 1)
