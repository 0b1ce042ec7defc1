"""Prompts without a model: what memories say, put into the mouth of their user.

A memory is brought up with a piece of its own, in a sentence that fits it better than any memory
that is unlike it. So the sentence asks for this memory, and the others are left out for a
reason. The same draw makes the same prompt everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product, zip_longest

from recall_bench.core.usage import Usage
from recall_bench.selection.files.memory_file import MemoryFile
from recall_bench.selection.generate.chance import SampleRandom
from recall_bench.selection.generate.draft import DrawRefusal, SuiteDraft
from recall_bench.selection.generate.phrases import FRAMES, Phrasing, phrase_alone, phrase_together
from recall_bench.selection.generate.request import OFFLINE
from recall_bench.selection.generate.small_talk import list_messages
from recall_bench.selection.generate.support import STRONG, MemoryRelevance
from recall_bench.selection.generate.topics import (
    MemoryTopic,
    TopicKind,
    extract_topics,
    learn_casing,
)

SENTENCES = 3
"""The longest prompt."""
TRIES = 24
"""How many sentences are weighed for one memory before it is left out."""
CLEAR = 0.9
"""A sentence is clear if it fits every other memory at most this well, as a share of how well it
fits the one that is asked for."""
NEAR = 0.75
"""A memory like the one that is asked for is relevant if the sentence fits it this well too, as a
share of how well it fits the first."""

_TELLING = frozenset({TopicKind.QUOTE})
"""What recites a memory, where a user would ask for it."""


@dataclass(frozen=True, slots=True)
class _ComposedSentence:
    text: str
    about: tuple[MemoryFile, ...]


class PromptComposer:
    """Composes from the memories' own content."""

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
        """A sentence for each of the memories, or for two if there are more than three."""
        groups = _group_memories(picked)
        used: set[str] = set()
        found = [self._choose_sentence(group, used, chance) for group in groups]
        sentences = [sentence for sentence in found if sentence is not None]
        if not sentences:
            names = ", ".join(memory.name for memory in picked)
            return DrawRefusal(f"nothing that {names} say can be asked for and mean only that")
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
        """Nothing is held."""

    def _choose_sentence(
        self, about: tuple[MemoryFile, ...], used: set[str], chance: SampleRandom
    ) -> _ComposedSentence | None:
        """The first sentence, in a drawn order, that asks for these memories and no others.

        A pattern is used once in a prompt.
        """
        for way in self._list_phrasings(about, chance):
            if way.pattern not in used and self._is_clear(way.text, about):
                used.add(way.pattern)
                return _ComposedSentence(way.text, about)
        # Two that cannot be asked for together may be one by one; the sentence is the first's.
        return self._choose_sentence(about[:1], used, chance) if len(about) > 1 else None

    def _list_phrasings(
        self, about: tuple[MemoryFile, ...], chance: SampleRandom
    ) -> list[Phrasing]:
        """Sentences to try, what is only quoted last."""
        last = _TELLING if len(about) == 1 else _TELLING | {TopicKind.CLAIM}
        topics = [_shuffle_topics(self._topics[memory.name], last, chance) for memory in about]
        if len(topics) == 1:
            ways = [chance.shuffle(phrase_alone(topic)) for topic in topics[0]]
            return [way for some in zip_longest(*ways) for way in some if way][:TRIES]
        pairs = islice(product(*topics), TRIES)
        return [way for one, two in pairs for way in chance.sample(phrase_together(one, two), 2)]

    def _is_clear(self, text: str, about: tuple[MemoryFile, ...]) -> bool:
        """Whether the sentence is about these memories, and nothing unlike them comes near."""
        fits = self._support.score_memories(text)
        own = {memory.name for memory in about}
        least = min(fits[name] for name in own)
        alike = own.union(*(self._support.find_alike(name) for name in own))
        rival = max((fit for name, fit in fits.items() if name not in alike), default=0.0)
        return least >= STRONG and rival <= CLEAR * least

    def _find_relevant(self, sentence: _ComposedSentence, picked: Sequence[MemoryFile]) -> set[str]:
        """The memories it asks for, and with them those like them, as far as they are labelled."""
        own = {memory.name for memory in sentence.about}
        labelled = None if self._is_pooled else {memory.name for memory in picked}
        fits = self._support.score_memories(sentence.text)
        least = NEAR * min(fits[name] for name in own)
        alike = set[str]().union(*(self._support.find_alike(name) for name in own))
        return own | {
            name for name in alike if fits[name] >= least and (labelled is None or name in labelled)
        }


def _shuffle_topics(
    topics: Sequence[MemoryTopic], last: frozenset[TopicKind], chance: SampleRandom
) -> list[MemoryTopic]:
    """In a drawn order, but some kinds after all others."""
    return sorted(chance.shuffle(topics), key=lambda topic: topic.kind in last)


def _group_memories(picked: Sequence[MemoryFile]) -> list[tuple[MemoryFile, ...]]:
    """At most three groups of at most two, the first ones larger; the rest is not asked for."""
    asked = list(picked)[: 2 * SENTENCES]
    doubled = max(0, len(asked) - SENTENCES)
    pairs = [tuple(asked[2 * n : 2 * n + 2]) for n in range(doubled)]
    return pairs + [(memory,) for memory in asked[2 * doubled :]]


def _add_frame(sentences: list[str], chance: SampleRandom) -> list[str]:
    before, after = chance.choose(FRAMES)
    framed = [text for text in (before, *sentences, after) if text]
    return framed if len(framed) <= SENTENCES else sentences
