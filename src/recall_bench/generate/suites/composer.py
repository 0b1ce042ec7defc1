"""Compose prompts without a model, from the memories' own words.

A sentence quotes a topic of a memory and must fit that memory better than any dissimilar one. So it
asks for this memory and for no other. The same draw gives the same prompt everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product, zip_longest

from recall_bench.core.usage import Usage
from recall_bench.datasets.selection.memory_file import MemoryFile
from recall_bench.generate.suites.relevance import STRONG, MemoryRelevance
from recall_bench.generate.suites.sample import OFFLINE, DrawRefusal, SampleRandom, SuiteDraft
from recall_bench.generate.suites.small_talk import list_messages
from recall_bench.generate.suites.topics import MemoryTopic, TopicKind, extract_topics, learn_casing

ALONE: dict[TopicKind, tuple[str, ...]] = {
    TopicKind.THING: (
        "What do we have on {}?",
        "Can you remind me about {}?",
        "What was the story with {} again?",
        "Fill me in on {} before I get started.",
        "I have to deal with {} today, so what should I keep in mind?",
        "Where did we leave things with {}?",
        "Somebody asked me about {} this morning, and I drew a blank.",
    ),
    TopicKind.DOING: (
        "I'm about to start {}, so what should I keep in mind?",
        "Can you give me a hand with {}?",
        "What did we settle on for {}?",
        "Anything I should know before {}?",
        "Next on my list is {}.",
    ),
    TopicKind.WISH: (
        "I want to {}, so where do I start?",
        "I need to {} this week.",
        "Could you help me {}?",
        "What is the best way to {}?",
        "It's about time to {}, and I'd rather not get it wrong.",
    ),
    TopicKind.CASE: (
        "What do we usually do {}?",
        "I never remember what to do {}.",
        "What is there to think of {}?",
        "Walk me through what happens {}.",
    ),
    TopicKind.CLAIM: (
        "Is it still the case that {}?",
        "Am I right that {}?",
        "I could have sworn that {}, or did that change?",
        "Can you settle whether {}?",
        "Let's assume that {} and go from there.",
    ),
    TopicKind.MINE: (
        "Did I ever mention that {}?",
        "Please bear in mind that {}.",
        "You do remember that {}, right?",
        "Given that {}, what would you suggest?",
    ),
    TopicKind.QUOTE: (
        'I found a scribble that says "{}", what was that about?',
        'Does "{}" still apply?',
        'My old notes read "{}", is that still up to date?',
        'What did I mean by "{}"?',
    ),
}
"""Sentences about one topic."""

ABOUT: dict[TopicKind, str] = {
    TopicKind.THING: "{}",
    TopicKind.DOING: "{}",
    TopicKind.WISH: "how to {}",
    TopicKind.CASE: "what to do {}",
    TopicKind.CLAIM: "whether {}",
    TopicKind.MINE: "the fact that {}",
    TopicKind.QUOTE: 'my note "{}"',
}
"""A topic as a noun, so that two fit into one sentence."""

TOGETHER: tuple[str, ...] = (
    "I have a question about {}, and another one about {}.",
    "Two things are on my mind today: {}, and {}.",
    "Can you look into {}, and then into {}?",
    "Before I forget, let's talk about {}, and also about {}.",
    "Please tell me what you know about {}, and about {}.",
)

FRAMES: tuple[tuple[str, str], ...] = (
    ("", ""),
    ("", ""),
    ("Quick question.", ""),
    ("Hi again.", ""),
    ("", "Thanks!"),
    ("", "No rush."),
    ("I only have a minute.", ""),
    ("", "A short answer will do."),
    ("Sorry to bother you with this.", ""),
)
"""Text before and after, if there is room."""


@dataclass(frozen=True, slots=True)
class Phrasing:
    """A sentence and its pattern."""

    pattern: str
    text: str


def phrase_alone(topic: MemoryTopic) -> tuple[Phrasing, ...]:
    """Every sentence about one topic."""
    return tuple(Phrasing(pattern, pattern.format(topic.text)) for pattern in ALONE[topic.kind])


def phrase_together(one: MemoryTopic, two: MemoryTopic) -> tuple[Phrasing, ...]:
    """Every sentence about two topics."""
    nouns = [ABOUT[topic.kind].format(topic.text) for topic in (one, two)]
    return tuple(Phrasing(pattern, pattern.format(*nouns)) for pattern in TOGETHER)


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
        topics = [_shuffle_topics(self._topics[memory.name], last, chance) for memory in about]
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


def _shuffle_topics(
    topics: Sequence[MemoryTopic], last: frozenset[TopicKind], chance: SampleRandom
) -> list[MemoryTopic]:
    """In random order, with some kinds last."""
    return sorted(chance.shuffle(topics), key=lambda topic: topic.kind in last)


def _group_memories(picked: Sequence[MemoryFile]) -> list[tuple[MemoryFile, ...]]:
    """At most three groups of at most two, larger groups first; the rest is left out."""
    asked = list(picked)[: 2 * SENTENCES]
    doubled = max(0, len(asked) - SENTENCES)
    pairs = [tuple(asked[2 * n : 2 * n + 2]) for n in range(doubled)]
    return pairs + [(memory,) for memory in asked[2 * doubled :]]


def _add_frame(sentences: list[str], chance: SampleRandom) -> list[str]:
    before, after = chance.choose(FRAMES)
    framed = [text for text in (before, *sentences, after) if text]
    return framed if len(framed) <= SENTENCES else sentences
