"""Texts made comparable: typography levelled, sentences cut, words reduced to stems."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from recall_bench.text.multilingual_text import (
    FOREIGN_STOPWORDS,
    is_arabic,
    is_particle,
    normalise_multilingual_text,
)
from recall_bench.text.multilingual_values import pick_multilingual_signs

if TYPE_CHECKING:
    from Stemmer import Stemmer

TYPOGRAPHY = {
    **dict.fromkeys("‘’ʼ′", "'"),
    **dict.fromkeys("“”„«»″", '"'),
    **dict.fromkeys("‐‑‒–—−", "-"),
    **dict.fromkeys("\u00a0\u2009\u202f", " "),
}
"""Typographic quotes, dashes and blanks, and the plain ones."""

_DIGITS = {
    chr(zero + digit): str(digit)
    for zero in (0x660, 0x6F0, 0x966, 0x9E6, 0xE50, 0xFF10)
    for digit in range(10)
}
"""Arabic, Persian, Devanagari, Bengali, Thai and full-width digits."""
_LEVEL = {**TYPOGRAPHY, **_DIGITS, "…": "...", "•": "-", "→": ">"}
"""Signs outside ASCII, and what stands for each in ASCII."""

WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
"""The same in lower-case ASCII."""
_ASCII_WORDS = str.maketrans(
    {sign: " " for sign in map(chr, range(128)) if not sign.isalnum() and sign != "'"}
)
"""Makes blanks of all signs that no word holds."""
_ACCENT = re.compile(r"[\u0300-\u036f]")
_SENTENCE_END = re.compile(
    r"[.!?。\n](?:(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[¿¡]*[A-Z0-9$\u0621-\u064a])|(?<=。)\s*|(?<=\n)\n*)"
)
"""The last sign of a sentence, and what follows up to the next; a set of signs is found fastest."""
_ABBREVIATION = re.compile(
    r"\b(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Inc|Ltd|Corp|Co|Mr|Ms|Mrs|Dr|St|vs|No|e\.g|i\.e|a\.m|p\.m|[A-Z])\.$"
)
_LONGEST_END = len(" Corp.")
"""The longest abbreviation, with the character before it."""

FUNCTION_WORDS = frozenset(
    """
    a about after all also an and any are as at be because been before being but by can could
    did do does for from had has have he her him his how i if in into is it its me my no not of
    on or our she so than that the their them then there these they this those to was we were
    what when where which while who whom whose why will with would you your
    """.split()
)
"""Articles, pronouns, prepositions and the like, without those that may matter in a reference."""

TEXT_STOPWORDS = FUNCTION_WORDS | frozenset(
    """
    am both done during each having itself just might more most must nor off once only other out
    over own s same should some such through too under until up upon us within yes
    """.split()
)
"""Words without content, for comparing the texts of a dataset."""

STOPWORDS = (
    (TEXT_STOPWORDS - {"s"})
    | FOREIGN_STOPWORDS
    | frozenset(
        """
        again doing either further get gets got here hers let like may per very yet
        """.split()
    )
)
"""Words without content, for judging answers. Negations are read elsewhere, by stance."""


_SHORT = 600
"""The characters of a text that is worth keeping: longer ones are rarely read twice."""


def normalise(text: str) -> str:
    """The text without emphasis and accents, with straight quotes and plain hyphens and blanks."""
    return _normalise_short(text) if len(text) <= _SHORT else _normalise_anew(text)


def _normalise_anew(text: str) -> str:
    text = normalise_multilingual_text(text.replace("*", "").replace("`", ""))
    if text.isascii():
        return text
    for sign in _LEVEL.keys() & set(pick_multilingual_signs(text)):
        text = text.replace(sign, _LEVEL[sign])
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text)
    # A text has few different accents, and a search for one is faster than a pattern.
    for accent in set(_ACCENT.findall(pick_multilingual_signs(text))):
        text = text.replace(accent, "")
    return unicodedata.normalize("NFC", text)


_normalise_short = lru_cache(maxsize=4096)(_normalise_anew)


def split_normalised(text: str) -> list[str]:
    """The sentences and list entries of a normalised text, in order, none of them blank.

    `split_sentences` is for prose: it does not split at line breaks, and also has typographic
    signs, which normalised text lacks, and other abbreviations. The two stay apart, because the
    marks of the offline judge depend on this one.
    """
    ends = [match.span() for match in _SENTENCE_END.finditer(text)]
    if not ends:
        stripped = text.strip()
        return [stripped] if stripped else []
    sentences: list[str] = []
    start, last = 0, ""
    for first, following in (*ends, (len(text), 0)):
        # A sentence keeps its last sign, other than a line break, which is stripped.
        stripped = text[start : first + 1].strip()
        start = following
        if last[-1:] == "." and _ABBREVIATION.search(last[-_LONGEST_END:]):
            sentences[-1] = last = f"{last} {stripped}"
        elif stripped:
            sentences.append(stripped)
            last = stripped
    return sentences


def remove_echo(text: str, question: str) -> str:
    """The text without the question, where it repeats it word for word."""
    echo = normalise(question).strip()
    place = text.lower().find(echo.lower())
    if place < 0 or not echo:
        return text
    return f"{text[:place]} {text[place + len(echo) :]}"


def split_words(text: str) -> list[str]:
    """Every word and number of a normalised text, lower case, possessives removed."""
    lower = text.lower()
    if not lower.isascii():
        return [word.removesuffix("'s") for word in WORD.findall(lower)]
    pieces = lower.translate(_ASCII_WORDS).split()
    if "'" not in lower:
        return pieces
    words: list[str] = []
    for piece in pieces:
        if "'" in piece:
            words += [word.removesuffix("'s") for word in _ASCII_WORD.findall(piece)]
        else:
            words.append(piece)
    return words


@cache
def load_stemmer(language: str = "english") -> "Stemmer":
    """Return the one stemmer for a language."""
    from Stemmer import Stemmer

    return Stemmer(language)


class Stems:
    """Reduces words to stems and caches them; `forms` are irregular words with their stems."""

    def __init__(self, forms: Mapping[str, str] | None = None) -> None:
        self._known = _KnownStems({**(forms or {}), **dict.fromkeys(STOPWORDS, "")})

    def stem(self, found: Iterable[str]) -> list[str]:
        """The stems of the content words in `found`."""
        return list(filter(None, map(self._known.__getitem__, found)))


class _KnownStems(dict[str, str]):
    """Words with their stems; that of a new one is found when it is asked for."""

    def __missing__(self, word: str) -> str:
        self[word] = stem = _find_stem(word)
        return stem


def _find_stem(word: str) -> str:
    if word.isascii():
        return str(load_stemmer().stemWord(word))
    if is_particle(word):
        return ""
    return str((load_stemmer("arabic") if is_arabic(word) else load_stemmer()).stemWord(word))
