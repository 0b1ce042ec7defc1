"""Languages other than English: calendar, numbers, yes and no.

German, Spanish, Japanese and Arabic. A text in another language is read as English: words are
compared as they stand, and only dates in figures, times and numbers are understood.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """One language, as far as dates, numbers and short answers go."""

    code: str
    name: str
    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    bare_date: str
    """Day and month, with the fields d, m, month, weekday and y."""
    full_date: str
    """With the year."""
    long_date: str
    """With the weekday."""
    day: str = "{d}"
    month: str = "{month}"
    has_decimal_comma: bool = False
    """Whether 1.450,50 means what 1,450.50 means in English."""
    is_spaced: bool = True
    """Whether blanks stand between words."""
    numbers: tuple[str, ...] = ()
    """The words for the small numbers, from zero; English has all of them in `values`."""
    yes: tuple[str, ...]
    denials: tuple[str, ...]
    """How a sentence that denies begins; without blanks between words, what it holds."""
    days: str
    """A number of days."""
    joint: str
    """What joins the last two of a list."""
    comma: str = ", "
    prefixes: str = ""
    """A pattern of what may be attached before a word."""
    marks: tuple[str, ...] = ()
    """Lines of frequent words, for languages that are written with Latin letters."""
    english_marks: tuple[str, ...] = ()
    """Lines of frequent English words that the language has as well."""


LANGUAGE_CODES = ("en", "de", "es", "ja", "ar")
"""The languages whose dates, numbers and short answers are understood."""


@cache
def _load_languages() -> dict[str, Language]:
    content = Path(__file__).with_name("languages.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, Language])


def get_language(code: str) -> Language:
    """The language with this code; KeyError if it is not one of `LANGUAGE_CODES`."""
    return _load_languages()[code]


@cache
def list_foreign_languages() -> tuple[Language, ...]:
    """Every language but English."""
    return tuple(language for code, language in _load_languages().items() if code != "en")


def is_denial(text: str, language: Language) -> bool:
    """Whether a sentence begins with a denial, or holds one where no blanks part the words."""
    if not language.is_spaced:
        return any(word in text for word in language.denials)
    first = re.match(r"\W*(\w+)", text)
    return first is not None and first[1].casefold() in language.denials


def is_affirmation(text: str, language: Language) -> bool:
    """Whether a sentence begins with a yes."""
    start = re.sub(r"\A\W+", "", text).casefold()
    end = r"\b" if language.is_spaced else ""
    return any(re.match(re.escape(yes.casefold()) + end, start) for yes in language.yes)


def join_list(parts: Sequence[str], language: Language) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = parts or ("",)
    return f"{language.comma.join(first)}{language.joint}{last}" if first else last
