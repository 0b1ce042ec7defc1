"""Compose prompts without a model, from the memories' own words.

A sentence quotes a topic of a memory and must fit that memory better than any dissimilar one. So it
asks for this memory and for no other. The same draw gives the same prompt everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product, zip_longest

from recall_bench.core.usage import Usage
from recall_bench.datasets.selection.memory_file import MemoryFile
from recall_bench.generate.suites.phrases import list_messages, load_phrases
from recall_bench.generate.suites.relevance import STRONG, MemoryRelevance
from recall_bench.generate.suites.sample import OFFLINE, DrawRefusal, SampleRandom, SuiteDraft
from recall_bench.generate.suites.topics import MemoryTopic, TopicKind, extract_topics, learn_casing


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

_TELLING = frozenset({TopicKind.QUOTE})
"""Topics that quote a memory, which users rarely do."""


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
        casing = learn_casing(memories)
        self._topics = {memory.name: extract_topics(memory, casing) for memory in memories}

    async def write(
        self, picked: Sequence[MemoryFile], chance: SampleRandom
    ) -> SuiteDraft | DrawRefusal:
        """A sentence for each memory, or for each pair if there are more than three."""
        groups = _group_memories(picked)
        used: set[str] = set()
        found = [self._choose_sentence(group, used, chance) for group in groups]
        sentences = [sentence for sentence in found if sentence is not None]
        if not sentences:
            names = ", ".join(memory.name for memory in picked)
            return DrawRefusal(f"no sentence asks for {names} and nothing else")
        texts = _add_frame([sentence.text for sentence in sentences], chance)
        expected = {
            name for sentence in sentences for name in self._find_relevant(sentence, picked)
        }
        return SuiteDraft(prompt=" ".join(texts), expected=tuple(sorted(expected)))

    async def chat(
        self,
        category: str,
        before: Sequence[str],  # noqa: ARG002 - repeats are refused for everybody
        chance: SampleRandom,
    ) -> SuiteDraft | DrawRefusal:
        """One of our own messages."""
        return SuiteDraft(prompt=chance.choose(list_messages(category)), expected=())

    async def close(self) -> None:
        """Nothing to release."""

    def _choose_sentence(
        self, about: tuple[MemoryFile, ...], used: set[str], chance: SampleRandom
    ) -> _ComposedSentence | None:
        """The first sentence, in random order, that asks for these memories and no others.

        A pattern is used once per prompt.
        """
        for way in self._list_phrasings(about, chance):
            if way.pattern not in used and self._is_clear(way.text, about):
                used.add(way.pattern)
                return _ComposedSentence(way.text, about)
        # Two memories without a joint sentence: ask for the first alone.
        return self._choose_sentence(about[:1], used, chance) if len(about) > 1 else None

    def _list_phrasings(
        self, about: tuple[MemoryFile, ...], chance: SampleRandom
    ) -> list[Phrasing]:
        """Sentences to try, quotes last."""
        last = _TELLING if len(about) == 1 else _TELLING | {TopicKind.CLAIM}
        topics = [
            sorted(chance.shuffle(self._topics[memory.name]), key=lambda topic: topic.kind in last)
            for memory in about
        ]
        if len(topics) == 1:
            ways = [chance.shuffle(phrase_alone(topic)) for topic in topics[0]]
            return [way for some in zip_longest(*ways) for way in some if way][:TRIES]
        pairs = islice(product(*topics), TRIES)
        return [way for one, two in pairs for way in chance.sample(phrase_together(one, two), 2)]

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
    asked = list(picked)[: 2 * SENTENCES]
    doubled = max(0, len(asked) - SENTENCES)
    pairs = [tuple(asked[2 * n : 2 * n + 2]) for n in range(doubled)]
    return pairs + [(memory,) for memory in asked[2 * doubled :]]


def _add_frame(sentences: list[str], chance: SampleRandom) -> list[str]:
    before, after = chance.choose(load_phrases().frames)
    framed = [text for text in (before, *sentences, after) if text]
    return framed if len(framed) <= SENTENCES else sentences
