"""Compose prompts without a model, from the memories' own words.

A sentence quotes a topic of a memory and must fit that memory better than any dissimilar one, by
words and meaning. So it asks for this memory and for no other. The same draw gives the same prompt
everywhere.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice, product, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recall_bench.core.record import Record
from recall_bench.core.usage import Usage
from recall_bench.features.selection.generation.sample import (
    OFFLINE,
    DrawRefusal,
    SampleRandom,
    SuiteDraft,
)
from recall_bench.features.selection.generation.topics import (
    MemoryTopic,
    TopicKind,
    extract_topics,
)
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.retrieval_selector import (
    CUT_OFF,
    HybridSelectorOptions,
    MemoryIndex,
    RetrievalSettings,
    build_search_text,
)
from recall_bench.systems.builtin.word_index import Bm25, list_stop_words
from recall_bench.systems.models.static_embedding import compute_similarity, embed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


STRONG = CUT_OFF["hybrid"].threshold
"""The fit from which a text is about a memory, as calibrated for the built-in hybrid."""

SAME_WORDS, SAME_MEANING, SAME_KEYWORDS = 0.4, 0.9, 0.5
"""Share of words, cosine and share of keywords from which two memories are alike.

Of 3,663 pairs of LoCoMo's session summaries from one chat, about the same two people, the first two
call 6 alike; of 272 summaries with a sentence removed and the rest reordered, they find every one.
"""

_KEYWORDS = 2
"""Fewest common keywords: one may be chance."""


class MemoryRelevance:
    """One folder of memories, indexed once."""

    def __init__(self, memories: Sequence[MemoryFile]) -> None:
        self._memories = tuple(memories)
        options = HybridSelectorOptions()
        means = RetrievalSettings(
            formula=Bm25(options.k1, options.b),
            weight=options.weight,
            k=len(self._memories),
            cut_off=CUT_OFF["hybrid"],
        )
        self._index = MemoryIndex(self._memories, means)
        self._places = {memory.name: place for place, memory in enumerate(self._memories)}

    def score_memories(self, text: str) -> Mapping[str, float]:
        """The best fit of each memory to a sentence of the text, from 0 to 1."""
        best = self._index.score_prompt(text).max(axis=0)
        return dict(zip(self._index.names, best.tolist(), strict=True))

    def find_alike(self, name: str) -> frozenset[str]:
        """The other memories with nearly the same text or the same keywords."""
        place = self._places[name]
        cosines = compute_similarity(self._vectors, self._vectors[place])
        return frozenset(
            other.name
            for near, other in zip(cosines.tolist(), self._memories, strict=True)
            if other.name != name and (near >= SAME_MEANING or self._share_words(place, other.name))
        )

    def _share_words(self, place: int, other: str) -> bool:
        there = self._places[other]
        overlap = _measure_overlap(self._words[place], self._words[there])
        one, two = self._keywords[place], self._keywords[there]
        return overlap >= SAME_WORDS or (
            len(one & two) >= _KEYWORDS and _measure_overlap(one, two) >= SAME_KEYWORDS
        )

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        return embed([build_search_text(memory) for memory in self._memories])

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        empty = list_stop_words()
        return [
            frozenset(re.findall(r"\w+", memory.body.lower())) - empty for memory in self._memories
        ]

    @cached_property
    def _keywords(self) -> list[frozenset[str]]:
        return [frozenset(map(str.casefold, memory.keywords)) for memory in self._memories]


def _measure_overlap(one: frozenset[str], two: frozenset[str]) -> float:
    """The Jaccard index; 0 if one of them is empty."""
    return len(one & two) / len(one | two) if one and two else 0.0


_PHRASES = Path(__file__).parent / "phrases.toml"
_EITHER = re.compile(r"\{([^{}]*)\}")


class ChatCategory(Record, frozen=True, kw_only=True):
    """A kind of message that needs no memory."""

    brief: str
    """The description for a model that writes one."""
    patterns: tuple[str, ...]
    """Our own messages; `{a|b}` is either of the two."""


class PhraseBook(Record, frozen=True, kw_only=True):
    """The content of `phrases.toml`."""

    alone: dict[TopicKind, tuple[str, ...]]
    """Sentences about one topic."""
    about: dict[TopicKind, str]
    """A topic as a noun, so that two fit into one sentence."""
    together: tuple[str, ...]
    """Sentences about two topics."""
    frames: tuple[tuple[str, str], ...]
    """Text before and after, if there is room."""
    small_talk: dict[str, ChatCategory]


@cache
def load_phrases() -> PhraseBook:
    """Return all phrases."""
    return msgspec.convert(tomllib.loads(_PHRASES.read_text(encoding="utf-8")), PhraseBook)


@cache
def list_messages(category: str) -> tuple[str, ...]:
    """All our own messages of a category of small talk."""
    patterns = load_phrases().small_talk[category].patterns
    return tuple(text for pattern in patterns for text in _expand_pattern(pattern))


def _expand_pattern(pattern: str) -> list[str]:
    parts = _EITHER.split(pattern)
    choices = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]


@dataclass(frozen=True, slots=True)
class Phrasing:
    """A sentence and its pattern."""

    pattern: str
    text: str


def phrase_alone(topic: MemoryTopic) -> tuple[Phrasing, ...]:
    """Every sentence about one topic."""
    patterns = load_phrases().alone[topic.kind]
    return tuple(Phrasing(pattern, pattern.format(topic.text)) for pattern in patterns)


def phrase_together(one: MemoryTopic, two: MemoryTopic) -> tuple[Phrasing, ...]:
    """Every sentence about two topics."""
    phrases = load_phrases()
    nouns = [phrases.about[topic.kind].format(topic.text) for topic in (one, two)]
    return tuple(Phrasing(pattern, pattern.format(*nouns)) for pattern in phrases.together)


SENTENCES = 3
"""Most sentences in a prompt."""
TRIES = 24
"""Sentences tried for one memory before it is left out."""
CLEAR = 0.9
"""A sentence is clear if its fit to any other memory is at most this share of its own fit."""
NEAR = 0.75
"""A similar memory is relevant if the sentence fits it at least this share of its own fit."""


@dataclass(frozen=True, slots=True)
class _ComposedSentence:
    text: str
    about: tuple[MemoryFile, ...]


class PromptComposer:
    """Composes prompts from the memories' content."""

    name = OFFLINE
    usage = Usage()

    def __init__(
        self, memories: Sequence[MemoryFile], support: MemoryRelevance, *, is_pooled: bool
    ) -> None:
        self._support = support
        self._is_pooled = is_pooled
        self._topics = {memory.name: extract_topics(memory) for memory in memories}

    async def write(
        self, picked: Sequence[MemoryFile], rng: SampleRandom
    ) -> SuiteDraft | DrawRefusal:
        """A sentence for each memory, or for each pair if there are more than three."""
        groups = _group_memories(picked)
        in_use: set[str] = set()
        results = [self._choose_sentence(group, in_use, rng) for group in groups]
        sentences = [sentence for sentence in results if sentence is not None]
        if not sentences:
            names = ", ".join(memory.name for memory in picked)
            return DrawRefusal(f"no sentence asks for {names} and nothing else")
        texts = _add_frame([sentence.text for sentence in sentences], rng)
        expected = {
            name for sentence in sentences for name in self._find_relevant(sentence, picked)
        }
        return SuiteDraft(prompt=" ".join(texts), expected=tuple(sorted(expected)))

    async def chat(
        self,
        category: str,
        before: Sequence[str],  # noqa: ARG002 - repeats are refused for all
        rng: SampleRandom,
    ) -> SuiteDraft | DrawRefusal:
        """One of our own messages."""
        return SuiteDraft(prompt=rng.choose(list_messages(category)), expected=())

    def _choose_sentence(
        self, about: tuple[MemoryFile, ...], used: set[str], rng: SampleRandom
    ) -> _ComposedSentence | None:
        """The first sentence, in random order, that asks for these memories and no others.

        A pattern is used once per prompt.
        """
        for way in self._list_phrasings(about, rng):
            if way.pattern not in used and self._is_clear(way.text, about):
                used.add(way.pattern)
                return _ComposedSentence(way.text, about)
        # Two memories without a joint sentence: ask for the first alone.
        return self._choose_sentence(about[:1], used, rng) if len(about) > 1 else None

    def _list_phrasings(self, about: tuple[MemoryFile, ...], rng: SampleRandom) -> list[Phrasing]:
        """Sentences to try; quotes last, which users rarely write."""
        topics = [
            sorted(
                rng.shuffle(self._topics[memory.name]),
                key=lambda topic: topic.kind is TopicKind.QUOTE,
            )
            for memory in about
        ]
        if len(topics) == 1:
            ways = [rng.shuffle(phrase_alone(topic)) for topic in topics[0]]
            return [way for some in zip_longest(*ways) for way in some if way][:TRIES]
        pairs = islice(product(*topics), TRIES)
        return [way for one, two in pairs for way in rng.sample(phrase_together(one, two), 2)]

    def _is_clear(self, text: str, about: tuple[MemoryFile, ...]) -> bool:
        """Whether the sentence fits these memories, and no dissimilar one comes near."""
        fits = self._support.score_memories(text)
        own = {memory.name for memory in about}
        least = min(fits[name] for name in own)
        alike = own.union(*(self._support.find_alike(name) for name in own))
        rival = max((fit for name, fit in fits.items() if name not in alike), default=0.0)
        return least >= STRONG and rival <= CLEAR * least

    def _find_relevant(self, sentence: _ComposedSentence, picked: Sequence[MemoryFile]) -> set[str]:
        """The memories it asks for, and similar ones as far as they are labelled."""
        own = {memory.name for memory in sentence.about}
        labelled = None if self._is_pooled else {memory.name for memory in picked}
        fits = self._support.score_memories(sentence.text)
        least = NEAR * min(fits[name] for name in own)
        alike = set[str]().union(*(self._support.find_alike(name) for name in own))
        return own | {
            name for name in alike if fits[name] >= least and (labelled is None or name in labelled)
        }


def _group_memories(picked: Sequence[MemoryFile]) -> list[tuple[MemoryFile, ...]]:
    """At most three groups of at most two, larger groups first; the rest is left out."""
    memories = list(picked)[: 2 * SENTENCES]
    doubled = max(0, len(memories) - SENTENCES)
    pairs = [tuple(memories[2 * n : 2 * n + 2]) for n in range(doubled)]
    return pairs + [(memory,) for memory in memories[2 * doubled :]]


def _add_frame(sentences: list[str], rng: SampleRandom) -> list[str]:
    before, after = rng.choose(load_phrases().frames)
    framed = [text for text in (before, *sentences, after) if text]
    return framed if len(framed) <= SENTENCES else sentences
