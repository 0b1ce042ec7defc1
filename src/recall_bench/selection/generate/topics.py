"""What a memory is about, in pieces that fit into a sentence of the user's.

A piece is taken from what the memory says itself: its hint, its keywords, its first sentences. The
name of its file is never looked at, but for pieces that give it away.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import PurePosixPath

from recall_bench.core.history import Episode, compute_story_date
from recall_bench.core.sentences import read_sentences
from recall_bench.selection.files.memory_file import MemoryFile
from recall_bench.selection.generate.english import (
    JOINING,
    UNCLEAR,
    WordCasing,
    convert_to_first_person,
    parse_claim,
    strip_markup,
)


class TopicKind(StrEnum):
    """How a piece fits into a sentence."""

    THING = "thing"
    """A noun with its article, or a name: *the night train to Lisbon*."""
    DOING = "doing"
    """*booking a flight*."""
    WISH = "wish"
    """What comes after *I want to*: *book a flight*."""
    CASE = "case"
    """*before a release goes out*."""
    CLAIM = "claim"
    """What comes after *that*: *the rent is due on the third*."""
    MINE = "mine"
    """The same, of the user: *I prefer aisle seats*."""
    QUOTE = "quote"
    """Anything, word for word."""


@dataclass(frozen=True, slots=True)
class MemoryTopic:
    """One piece."""

    kind: TopicKind
    text: str


SENTENCES = 4
"""How much of a memory is looked at for statements."""
_LONGEST_CLAIM, _LONGEST_QUOTE, _LONGEST_HINT = 20, 16, 16
_FEWEST = 3
"""A quotation of fewer words says too little."""
_AT = compute_story_date(date(2000, 1, 1), 1)
"""A memory has no date, and an episode must."""

_PREAMBLE = re.compile(
    r"(?:always |only )?"
    r"(?:recall|remember|read|load|use|apply|consult|check|include|relevant|useful|needed)"
    r"(?: (?:this|it|the)(?: (?:memory|file|note))?)?,? "
    r"(?=(?:when|whenever|if|while|before|after|once|for|about|on|regarding|concerning|during)\b)",
    re.IGNORECASE,
)
_NO_VERB = (
    r"(?!(?:any|every|no|some)?thing\b"
    r"|(?:ceiling|during|evening|herring|king|morning|ring|sibling|spring|string|wedding|wing)\b)"
)
_WHO = r"(?:the user|user|they|someone|somebody|anyone|i|we)"
_WHEN = r"(?:when|whenever|if|while|before|after|once)"
_SPOKEN = re.compile(
    rf"{_WHEN} (?:it is|it comes to|{_WHO} (?:is |are )?"
    r"(?:ask(?:s|ing)?|mention(?:s|ing)?|talk(?:s|ing)?|speak(?:s|ing)?|discuss(?:es|ing)?|"
    r"bring(?:s|ing)? up|wonder(?:s|ing)?))"
    r"(?: for help with| for help on| about| of| for| on)? (.+)",
    re.IGNORECASE,
)
_WANTED = re.compile(
    rf"{_WHEN} {_WHO} (?:wants?|needs?|plans?|tries|is trying|is planning|decides?|has) to (.+)",
    re.IGNORECASE,
)
_DONE = re.compile(rf"{_WHEN} (?:{_WHO} (?:is|are) )?({_NO_VERB}[a-z]+ing\b.*)", re.IGNORECASE)
_CASE = re.compile(r"(?:when|whenever|if|before|after|once) .+", re.IGNORECASE)
_ABOUT = re.compile(r"(?:about|for|on|regarding|concerning|during) (.+)", re.IGNORECASE)
_GERUND = re.compile(rf"{_NO_VERB}[a-z]+ing\b")
_CUT = re.compile(r"\s*(?:[,;:(]|\s[-–—]\s).*")
_PATH = re.compile(r"memory/|\.md\b")


def extract_topics(memory: MemoryFile, casing: WordCasing) -> tuple[MemoryTopic, ...]:
    """Everything that can be said about it, each once; nothing that gives its file's name away.

    A file's name of one word that the memory uses itself may be said if there is nothing else.
    """
    found = tuple(dict.fromkeys(_iterate_topics(memory, casing)))
    found = tuple(topic for topic in found if not _PATH.search(topic.text))
    stem = _split_words(PurePosixPath(memory.name).stem)
    discreet = tuple(
        topic for topic in found if not _contains_words(_split_words(topic.text), stem)
    )
    return discreet or (found if len(stem) == 1 else ())


def learn_casing(memories: Iterable[MemoryFile]) -> WordCasing:
    """What the memories' prose shows; keywords are written small whatever they mean."""
    return WordCasing(f"{memory.hint or ''}\n{memory.body}" for memory in memories)


def _iterate_topics(memory: MemoryFile, casing: WordCasing) -> Iterator[MemoryTopic]:
    for line in (memory.hint or "").splitlines():
        hinted = _parse_hint(strip_markup(line), casing)
        if hinted is not None:
            yield hinted
    yield from _pair_keywords(memory.keywords, casing)
    for sentence in _select_sentences(memory.body):
        yield from _parse_statement(sentence, casing)


def _parse_hint(hint: str, casing: WordCasing) -> MemoryTopic | None:
    """When to recall it, as a piece; None if that is not understood."""
    is_users = re.search(r"\b(?:user|they)\b", hint, re.IGNORECASE) is not None
    found = _match_hint(re.split(r"[:;]| [-–—] ", _PREAMBLE.sub("", hint, count=1))[0])
    text: str | None = casing.adjust_case(strip_markup(found.text), is_name=False)
    if text and is_users:
        text = convert_to_first_person(text)
    if text and len(text.split()) > _LONGEST_HINT:
        text = strip_markup(re.split(r"\s*[,(]|\s+(?:or|and)\s", text, maxsplit=1)[0])
    least = _FEWEST if found.kind is TopicKind.CASE else 1
    return (
        MemoryTopic(found.kind, text)
        if text and least <= len(text.split()) <= _LONGEST_HINT
        else None
    )


def _match_hint(hint: str) -> MemoryTopic:
    if found := _WANTED.fullmatch(hint):
        return MemoryTopic(TopicKind.WISH, found[1])
    if found := _SPOKEN.fullmatch(hint) or _DONE.fullmatch(hint) or _ABOUT.fullmatch(hint):
        if wish := re.fullmatch(r"(?:how )?to (.+)", found[1]):
            return MemoryTopic(TopicKind.WISH, wish[1])
        return MemoryTopic(
            TopicKind.DOING if _GERUND.match(found[1]) else TopicKind.THING, found[1]
        )
    return MemoryTopic(TopicKind.CASE if _CASE.fullmatch(hint) else TopicKind.THING, hint)


def _pair_keywords(keywords: tuple[str, ...], casing: WordCasing) -> Iterator[MemoryTopic]:
    """The keywords two by two; a last one by itself only if it is the only one."""
    words = [
        casing.capitalise_names(strip_markup(word))
        for word in keywords
        if re.search(r"[^\W\d_]", word)
    ]
    for one, two in zip(words[0::2], words[1::2], strict=False):
        yield MemoryTopic(TopicKind.THING, f"{one} and {two}")
    if len(words) == 1:
        yield MemoryTopic(TopicKind.THING, words[0])


def _select_sentences(body: str) -> list[str]:
    """The first sentences, headings and tables left out; those that point elsewhere if need be."""
    if not body.strip():
        return []
    found = read_sentences(Episode(id="memory", day=1, at=_AT, text=body))
    told = [strip_markup(sentence.text) for sentence in found]
    prose = [text for text in told if "|" not in text]
    telling = [text for text in prose if len(re.findall(r"[^\W\d_]+", text)) >= _FEWEST]
    clear = [text for text in telling if text.split()[0].lower() not in UNCLEAR]
    return (clear or telling)[:SENTENCES]


def _parse_statement(sentence: str, casing: WordCasing) -> Iterator[MemoryTopic]:
    is_whole = sentence.split(maxsplit=1)[0].lower() not in JOINING
    clause = _CUT.sub("", sentence) if is_whole else sentence
    parts = (clause, sentence) if len(clause.split()) > _FEWEST else (sentence,)
    for part in parts:
        claim = parse_claim(part, casing) if len(part.split()) <= _LONGEST_CLAIM else None
        if claim is not None:
            yield MemoryTopic(
                TopicKind.MINE if claim.subject is None else TopicKind.CLAIM, claim.text
            )
            if claim.subject is not None:
                yield MemoryTopic(TopicKind.THING, claim.subject)
            return
    quote = next((part for part in reversed(parts) if len(part.split()) <= _LONGEST_QUOTE), None)
    quote = quote or " ".join(sentence.split()[: _LONGEST_QUOTE - 4]) + " …"
    yield MemoryTopic(TopicKind.QUOTE, re.sub('["“”]', "'", quote))


def _split_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _contains_words(words: list[str], sought: list[str]) -> bool:
    """Whether the sought words stand there in a row."""
    length = len(sought)
    return bool(sought) and any(
        words[place : place + length] == sought for place in range(len(words) - length + 1)
    )
