"""Answers that name the right thing as one of several, and do not say which it is."""

import re
from collections.abc import Callable, Iterator, Sequence

from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.relations import find_mentions
from recall_bench.judging.offline.required_part import RequiredPart, find_unit
from recall_bench.text.text import STOPWORDS, split_words
from recall_bench.text.text_values import CALENDAR_WORDS
from recall_bench.text.values import locate_values

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
_LIST_BREAK = re.compile(r"\s*(?:,(?!\d{3}\b)|;|\n|\band\b|\bor\b)\s*(?:and\s|or\s|[-*]\s)?")
_DOUBT = (
    r"(?:or|or else|perhaps|maybe|possibly|either|alternatively|otherwise"
    r"|(?<!thing )(?<!body )(?<!one )else|could be|might be)"
)
_ENTRY_BREAK = re.compile(
    rf"\s*(?:,(?!\d{{3}}\b)|;|\n|\b{_DOUBT}\b)[\s,]*(?:(?:and|{_DOUBT})\s|[-*]\s)*", re.IGNORECASE
)
_IN_DOUBT = re.compile(rf"\b{_DOUBT}\b", re.IGNORECASE)
_LIST_OPENS = re.compile(
    r"^[\s*-]*(?:(?:it|that|this|the answer|they)\s"
    r"(?:is|was|were|could be|might be|may be|may have been)"
    r"|either|perhaps|maybe|possibly|one of)?[\s:]*",
    re.IGNORECASE,
)
_NO_LIST = re.compile(
    r"(?<!\bMrs)(?<!\bMr)(?<!\bMs)(?<!\bDr)[.!?:]\s|\b(?:i\.e\.|that is|namely|in other words)",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d[\d.,]*")
_ARTICLE = re.compile(r"\b(?:the|an?)\s", re.IGNORECASE)
LIST_ENTRIES = 3
"""From this many entries on, a sentence of nothing but names is a list of candidates."""
ENTRY_WORDS = 4
TERM_WORDS = 6
LEAD_WORDS = 2
"""Words that an entry of a list may have beside the right thing."""
MIN_UNRELATED_ENTRIES = 3
"""Entries of a list that have to do with neither the question nor a number that is asked for."""
TERM_SHARE = 2 / 3
"""The least share of short terms among the other entries of a list of candidates."""


def is_one_of_several(text: str, place: TextSpan) -> bool:
    """Whether the text offers an alternative to the value."""
    return bool(_OR_AFTER.match(text, place[1]) or _OR_BEFORE.search(text, 0, place[0]))


def is_end_of_range(text: str, place: TextSpan) -> bool:
    """Whether the text says "between" this value and another."""
    return bool(_RANGE_FIRST.search(text, 0, place[0]) or _RANGE_LAST.search(text, 0, place[0]))


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


def is_list_of_candidates(
    parts: Sequence[RequiredPart],
    text: str,
    is_known: Callable[[str], bool],
    reader: ContentReader,
) -> bool:
    """Whether a whole answer is a list of short entries with more of a kind than are asked for.

    In doubt ("or", "perhaps") one other entry is enough, and so it is beside several parts; in a
    plain list beside a single part it takes two, or one in the same unit. Beside a number, words
    that have nothing to do with the question are candidates only where there are several.
    """
    text = _LIST_OPENS.sub("", text).rstrip(" .!")
    if _NO_LIST.search(text):
        return False
    located = locate_values(text)
    mentions = [span for part in parts for span in find_mentions(part, text, reader)]
    whole = [*mentions, *((start, end) for _, start, end in located)]
    entries = [text[start:end] for start, end in _split_entries(text, whole)]
    held = [[part for part in parts if find_mentions(part, entry, reader)] for entry in entries]
    others = [entry for entry, own in zip(entries, held, strict=True) if not own]
    longest = max(len(part.text.split()) for part in parts) if parts else 0
    is_sentence = any(
        own and len(_ARTICLE.sub("", entry).split()) > longest + LEAD_WORDS
        for entry, own in zip(entries, held, strict=True)
    )
    if len(others) == len(entries) or is_sentence:
        return False
    terms = [entry for entry in others if len(entry.split()) <= TERM_WORDS and _is_term(entry)]
    if len(terms) < TERM_SHARE * len(others):
        return False
    units = {find_unit(part.value) for part in parts if part.value is not None}
    units |= {find_unit(atom) for atom, *_ in located if any(part.is_value(atom) for part in parts)}
    has_words = any(part.value is None for part in parts)
    series = {_FIGURE.sub("0", part.text.lower()) for part in parts if part.value is None}
    own = {word for part in parts for word in split_words(part.text)}
    rivals = strangers = 0
    for entry in terms:
        values, rest = reader.split_parts(entry)
        if values or _FIGURE.search(entry):
            is_alike = any(find_unit(value) in units for value in values) and own.issuperset(rest)
            rivals += 2 * (is_alike or _FIGURE.sub("0", entry.lower()) in series)
        elif not is_known(entry):
            rivals += has_words
            strangers += bool(reader.read_phrase(entry).content)
    if strangers >= MIN_UNRELATED_ENTRIES:
        return True
    is_loose = len(parts) == 1 and _IN_DOUBT.search(text) is None and "\n" not in text
    return rivals > is_loose


def _split_entries(text: str, whole: Sequence[TextSpan]) -> Iterator[TextSpan]:
    """The spans of the entries of a list; what is whole is not split."""
    start = 0
    for match in _ENTRY_BREAK.finditer(text):
        if any(first < match.end() and match.start() < last for first, last in whole):
            continue
        if text[start : match.start()].strip():
            yield start, match.start()
        start = match.end()
    if text[start:].strip():
        yield start, len(text)


def _is_term(entry: str) -> bool:
    """Whether an entry has no word that would make it a clause."""
    return _CLAUSE_WORDS.isdisjoint(entry.lower().split())


_CLAUSE_WORDS = frozenset(
    """
    i you he she it we they who which that there is was were are be been being has have had do
    does did can could will would should because so then but if when while since also only from
    instead formerly previously before until now including counting against not
    """.split()
)


def _is_clause(entry: str) -> bool:
    """Whether it says something: a clause, a time, or an amount."""
    return any(
        (word in STOPWORDS and word not in {"the", "a", "an"})
        or word in CALENDAR_WORDS
        or word == "every"
        or word[:1].isdigit()
        for word in entry.lower().split()
    )
