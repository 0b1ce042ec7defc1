"""Words of other languages that decide how a text stands to a question, with their English."""

import re
from functools import cache
from pathlib import Path

import msgspec

from recall_bench.text.languages import get_language
from recall_bench.text.number_words import spell_number

CuePairs = tuple[tuple[str, str], ...]
"""Patterns, each with the English words for what it matches."""

OPENERS = re.compile(
    r"^(\W*(?:On \d{4}-\d\d-\d\d(?: \([^()]*\))?: )?)"
    r"(?:(?P<yes>Ja(?=\W*$|[,.;:!])|Jawohl\b|Sí\b|はい(?=$|[、。,])|نعم(?!\w)|أجل(?!\w))"
    r"|(?P<never>Nie(?:mals)?\b|Nunca\b|Jamás\b)"
    r"|(?P<nothing>Nichts\b|Nada\b)|(?P<nobody>Niemand\b|Nadie\b)"
    r"|(?P<no>Nein\b|Kein(?:e[mnrs]?)?\b|Ning(?:ún|un[oa])\b|いいえ|いえ(?=[、。,])"
    r"|لا(?=\W*$|[،,.])|كلا(?!\w)))"
)


_ASKED = re.compile(r"[?？؟]\W*$|か[。?？]?\s*$")
_JAPANESE_WH = re.compile(r"what|when|who|where|why|which|how")


def translate_cues(text: str, code: str) -> str:
    """The text with the words that matter for its stance in English."""
    text = _replace_cues(text, _list_number_cues(code))
    if _ASKED.search(text):
        text = _replace_cues(text, _load_cues()["questions"][code])
        if code == "ja" and not _JAPANESE_WH.search(text):
            text = f"Did {text}"
    return _replace_cues(text, _load_cues()["cues"][code])


@cache
def _load_cues() -> dict[str, dict[str, CuePairs]]:
    import tomllib

    content = Path(__file__).with_name("multilingual_cues.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(content), dict[str, dict[str, CuePairs]])


def _replace_cues(text: str, cues: CuePairs) -> str:
    for pattern, english in cues:
        text = _compile_cue(pattern).sub(english, text)
    return text


@cache
def _compile_cue(pattern: str) -> re.Pattern[str]:
    # Most texts are English, and no cue is looked for in them.
    return re.compile(pattern, re.IGNORECASE)


@cache
def _list_number_cues(code: str) -> CuePairs:
    """The words for two to twelve; one is an article as well."""
    words = list(enumerate(get_language(code).numbers))[2:13]
    if code == "ja":
        return tuple((f"{word}つ", f" {number} ") for number, word in words[:8])
    return tuple(
        (rf"(?<!\w)(?:ال)?{word.removesuffix('ة')}ة?(?!\w)", spell_number(number))
        for number, word in words
    )
