"""Topics of a memory, in forms that fit into a user's sentence.

Topics come from the memory's hint, keywords and first sentences, never from its file name; topics
that give the file name away are dropped. Nothing is reworded: text that is not a hint of a known
form or a keyword is quoted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import PurePosixPath

from recall_bench.core.scenario import Episode, compute_story_date
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.text.sentences import read_sentences

SENTENCES = 4
"""Sentences of a memory that are quoted."""
_LONGEST = 16
"""Most words of a hint or a quote."""
_FEWEST = 3
"""Fewest words of a quote."""
_AT = compute_story_date(date(2000, 1, 1), 1)
"""An episode needs a date, a memory has none."""
_POINTING = frozenset("it its he she they this that these those there here".split())
"""First words of a sentence that is unclear out of context."""

_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}(?!\w)|~~")
_PATH = re.compile(r"memory/|\.md\b")
_CUT = re.compile(r"\s*(?:[,;:(]|\s[-–—]\s).*")
_PREAMBLE = re.compile(
    r"(?:always |only )?"
    r"(?:recall|remember|read|load|use|apply|consult|check|include|relevant|useful|needed)"
    r"(?: (?:this|it|the)(?: (?:memory|file|note))?)?,? "
    r"(?=(?:when|whenever|if|while|before|after|once|for|about|on|regarding|concerning|during)\b)",
    re.IGNORECASE,
)
_USER = re.compile(r"\b(?:users?|they|their)\b", re.IGNORECASE)
_WHO = r"(?:when|whenever|if|while|before|after|once) (?:the user|user|they|someone|anyone|i|we)"


class TopicKind(StrEnum):
    """The form of a topic in a sentence."""

    THING = "thing"
    """A noun with its article, or a name: *the night train to Lisbon*."""
    WISH = "wish"
    """What comes after *I want to*: *book a flight*."""
    CASE = "case"
    """*before a release goes out*."""
    QUOTE = "quote"
    """Anything, verbatim."""


_HINTS = (
    (rf"{_WHO} (?:wants?|needs?|plans?|tries|decides?|has) to (.+)", TopicKind.WISH),
    (
        (
            rf"{_WHO} (?:is |are )?(?:ask|mention|talk|speak|discuss)\w*"
            r"(?: for help with| about| of| for| on)? (.+)"
        ),
        TopicKind.THING,
    ),
    (r"(?:about|for|on|regarding|concerning|during) (.+)", TopicKind.THING),
    (r"((?:when|whenever|if|before|after|once) .+)", TopicKind.CASE),
    (r"(.+)", TopicKind.THING),
)
"""What a hint looks like, and the topic in it; the first that fits decides."""


@dataclass(frozen=True, slots=True)
class MemoryTopic:
    """One topic of a memory."""

    kind: TopicKind
    text: str


def extract_topics(memory: MemoryFile) -> tuple[MemoryTopic, ...]:
    """All topics, each once, without those that give the file name away.

    A file name of one word that the memory itself uses is allowed if there is nothing else.
    """
    every = (*_list_hints(memory), *_pair_keywords(memory.keywords), *_list_quotes(memory.body))
    topics = tuple(dict.fromkeys(topic for topic in every if not _PATH.search(topic.text)))
    stem = _split_words(PurePosixPath(memory.name).stem)
    discreet = tuple(t for t in topics if not _contains_words(_split_words(t.text), stem))
    return discreet or (topics if len(stem) == 1 else ())


def strip_markup(text: str) -> str:
    """The text without Markdown, on one line, without final punctuation."""
    bare = _MARKS.sub("", _LINK.sub(r"\1", text))
    return " ".join(bare.split()).strip(" .!?;:,-–—…|>#")


def _list_hints(memory: MemoryFile) -> Iterator[MemoryTopic]:
    """Every line of the hint as a topic, unless it speaks of the user or is long."""
    for line in (memory.hint or "").splitlines():
        hint = re.split(r"[:;]| [-–—] ", _PREAMBLE.sub("", strip_markup(line), count=1))[0]
        for pattern, kind in _HINTS:
            if match := re.fullmatch(pattern, hint.strip(), re.IGNORECASE):
                text = strip_markup(match[1])
                first = text.partition(" ")[0]
                # A word that is also written small is no name.
                if kind is TopicKind.CASE or re.search(rf"\b{first.lower()}\b", memory.body):
                    text = text[:1].lower() + text[1:]
                if text and len(text.split()) <= _LONGEST and not _USER.search(text):
                    yield MemoryTopic(kind, text)
                break


def _pair_keywords(keywords: tuple[str, ...]) -> Iterator[MemoryTopic]:
    """The keywords in pairs; a single one only if there is no other."""
    words = [strip_markup(word) for word in keywords if re.search(r"[^\W\d_]", word)]
    for one, two in zip(words[0::2], words[1::2], strict=False):
        yield MemoryTopic(TopicKind.THING, f"{one} and {two}")
    if len(words) == 1:
        yield MemoryTopic(TopicKind.THING, words[0])


def _list_quotes(body: str) -> Iterator[MemoryTopic]:
    """The first sentences without headings and tables; unclear ones only if there are no others."""
    if not body.strip():
        return
    sentences = read_sentences(Episode(id="memory", day=1, at=_AT, text=body))
    prose = [text for s in sentences if "|" not in (text := strip_markup(s.text))]
    telling = [text for text in prose if len(re.findall(r"[^\W\d_]+", text)) >= _FEWEST]
    clear = [text for text in telling if text.split()[0].lower() not in _POINTING]
    for sentence in (clear or telling)[:SENTENCES]:
        clause = _CUT.sub("", sentence)
        quote = next((t for t in (sentence, clause) if _FEWEST < len(t.split()) <= _LONGEST), None)
        quote = quote or " ".join(sentence.split()[: _LONGEST - 4])
        yield MemoryTopic(TopicKind.QUOTE, re.sub('["“”]', "'", quote))


def _split_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _contains_words(words: list[str], sought: list[str]) -> bool:
    """Whether the words contain the sought ones in a row."""
    length = len(sought)
    return bool(sought) and any(
        words[place : place + length] == sought for place in range(len(words) - length + 1)
    )
