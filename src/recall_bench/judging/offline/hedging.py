"""Answers that name the right thing as one of several, and do not say which it is."""

import re
from collections.abc import Callable

from recall_bench.core.text import STOPWORDS
from recall_bench.core.text_values import CALENDAR_WORDS
from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.relations import find_mentions
from recall_bench.judging.offline.required_part import RequiredPart

TextSpan = tuple[int, int]
"""The start and end of a value in a text."""

_OR_AFTER = re.compile(r"[^.;\w]{0,3}(?:\w+[^.;\w]{1,3}){0,2}\bor\b", re.IGNORECASE)
_OR_BEFORE = re.compile(r"\bor\b\W+(?:\w+\W+){0,2}$", re.IGNORECASE)
_LEAD = r"(?:(?:in|on|at|by|to|from|with|perhaps|maybe)\s)?(?:the\s|an?\s)?"
_ENTRY = rf"{_LEAD}[\w'.-]+(?:\s[\w'-]+){{0,3}}"
_CHOICE_AFTER = re.compile(
    rf"(?:,\s{_ENTRY}){{0,5}},?\s(?:or|or\selse|perhaps|maybe|possibly)\s(?:else\s)?"
    r"(?P<other>(?!(?:so|more|less|thereabouts|rather|about|later|earlier|not|at least|at most"
    rf"|whether|if|when)\b){_ENTRY})",
    re.IGNORECASE,
)
_CHOICE_BEFORE = re.compile(rf"(?P<other>[\w'-]+),?\s(?:or|or\selse)\s{_LEAD}$", re.IGNORECASE)
_ONE_OF = re.compile(r"\bone of\s[^.;]*$", re.IGNORECASE)
_RANGE_FIRST = re.compile(r"\bbetween\s(?:the\s|about\s)?$", re.IGNORECASE)
_RANGE_LAST = re.compile(r"\bbetween\s[^.;]{1,40}\sand\s(?:the\s)?$", re.IGNORECASE)
_LIST_BREAK = re.compile(r"\s*(?:,|;|\n|\band\b|\bor\b)\s*(?:and\s|or\s|[-*]\s)?")
LIST_ENTRIES = 3
"""From so many entries on, a sentence of nothing but names is a list of candidates."""
ENTRY_WORDS = 4


def is_one_of_several(text: str, place: TextSpan) -> bool:
    """Whether the text offers an alternative to the value."""
    return bool(_OR_AFTER.match(text, place[1]) or _OR_BEFORE.search(text, 0, place[0]))


def is_end_of_range(text: str, place: TextSpan) -> bool:
    """Whether the text says "between" this value and another."""
    return bool(_RANGE_FIRST.search(text, 0, place[0]) or _RANGE_LAST.search(text, 0, place[1]))


def is_only_offered(part: RequiredPart, sentence: str, reader: ContentReader) -> bool:
    """Whether a sentence names a part in words, each time with an alternative."""
    spans = find_mentions(part, sentence, reader)
    own = {word for _, word in part.words}
    return bool(spans) and all(_has_alternative(sentence, span, own) for span in spans)


def _has_alternative(text: str, span: TextSpan, own: set[str]) -> bool:
    before, after = text[: span[0]], _CHOICE_AFTER.match(text, span[1])
    if _ONE_OF.search(before):
        return True
    other = after or _CHOICE_BEFORE.search(before)
    if other is None:
        return False
    return not own.intersection(other["other"].lower().split())


def is_listed_among_others(
    part: RequiredPart, sentence: str, is_known: Callable[[str], bool], reader: ContentReader
) -> bool:
    """Whether a sentence is a list of short entries, most of them unknown, and one is the part."""
    entries = [entry for entry in _LIST_BREAK.split(sentence.strip(" .!")) if entry]
    if len(entries) < LIST_ENTRIES or any(len(e.split()) > ENTRY_WORDS for e in entries):
        return False
    others = [entry for entry in entries if not find_mentions(part, entry, reader)]
    if len(others) == len(entries) or any(_is_clause(entry) for entry in entries):
        return False
    return not any(map(is_known, others))


def _is_clause(entry: str) -> bool:
    """Whether it says something: a clause, a time, or an amount."""
    return any(
        (word in STOPWORDS and word not in {"the", "a", "an"})
        or word in CALENDAR_WORDS
        or word == "every"
        or word[:1].isdigit()
        for word in entry.lower().split()
    )
