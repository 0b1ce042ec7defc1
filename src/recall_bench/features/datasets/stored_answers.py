"""A system whose answers are read from what its memories list as stored.

It ingests as any other and is asked nothing. The answer to a question is the listed entry that is
most like the reference; the judge decides whether that entry states it. The question itself does
not hold the reference, which a judge would not count as stated.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from recall_bench.core.errors import NotOffered, UsageError
from recall_bench.core.memory import (
    Answer,
    ListingMemory,
    Memory,
    MemorySystem,
    MeteringSystem,
    Offer,
    SystemCard,
    get_worker_limit,
    list_offers,
)
from recall_bench.core.scenario import Episode, Question, Scenario, hash_question_id
from recall_bench.core.usage import Usage
from recall_bench.text.words import normalise_words

NOTHING = "Nothing is stored."
"""The answer of a memory without entries."""


def read_from_store(system: MemorySystem, load: Callable[[str], Scenario]) -> "StoredAnswers":
    """Wrap a system; UsageError if it does not list what it stored."""
    if Offer.STORED not in list_offers(system):
        raise UsageError(
            f"--protocol: {system.card.name} does not list what it stored (`{Offer.STORED}`), so "
            "these measures are not offered; take --protocol strict"
        )
    return StoredAnswers(system, load)


class StoredAnswers:
    """The wrapped system: the same memories, asked by looking through what they list."""

    snapshots = None

    def __init__(self, inner: MemorySystem, load: Callable[[str], Scenario]) -> None:
        self._inner = inner
        self._load = load
        card = inner.card
        self.card: SystemCard = card.replace(
            answers=True, config={**card.config, "answers_from": str(Offer.STORED)}
        )

    @property
    def max_shards(self) -> int | None:
        """How many workers may use the inner system."""
        return get_worker_limit(self._inner)

    def drain(self) -> Usage:
        """What the inner system spent on models since the last call."""
        return self._inner.drain() if isinstance(self._inner, MeteringSystem) else Usage()

    async def open(self, scenario: str) -> Memory:
        """Open an empty memory of the inner system."""
        statements = {
            hash_question_id(scenario, item.id): item.truth.reference
            for item in self._load(scenario).items
        }
        return _StoredMemory(await self._inner.open(scenario), statements)

    async def close(self) -> None:
        """Close the inner system."""
        await self._inner.close()


class _StoredMemory:
    """One memory, whose listing is read once after every change."""

    def __init__(self, inner: Memory, statements: Mapping[str, str]) -> None:
        self._inner = inner
        self._statements = statements
        """The reference of each question, by its public id."""
        self._entries: list[StoredText] | None = None
        self._earlier: frozenset[str] = frozenset()
        """What was listed before the last session that was asked about."""

    async def ingest(self, episode: Episode) -> None:
        if self._entries is not None:
            self._earlier = frozenset(entry.text for entry in self._entries)
        self._entries = None
        await self._inner.ingest(episode)

    async def settle(self) -> None:
        self._entries = None
        await self._inner.settle()

    async def answer(self, question: Question) -> Answer:
        if self._entries is None:
            if not isinstance(self._inner, ListingMemory):
                raise NotOffered("this memory does not list what it stored")
            listed = await self._inner.list_stored()
            texts = dict.fromkeys(entry.text for entry in listed)
            self._entries = [
                StoredText(text, frozenset(normalise_words(text)), is_new=text not in self._earlier)
                for text in texts
            ]
        closest = find_closest(self._statements[question.id], self._entries)
        return Answer(text=closest or NOTHING)

    async def close(self) -> None:
        await self._inner.close()


class StoredText(NamedTuple):
    """One entry of a listing, and its words."""

    text: str
    words: frozenset[str]
    is_new: bool = False
    """Whether it was not listed before the last session."""


def find_closest(statement: str, entries: Sequence[StoredText]) -> str | None:
    """Return the entry that is most like a statement; None without entries.

    That is the one with the greatest share of words in common, so that a long text does not win by
    its length. Of what a session left and what was there before, the latter is taken only if it
    has more words of the statement: the old value of an update is as like it as the new one.
    """
    words = frozenset(normalise_words(statement))

    def measure(entry: StoredText) -> tuple[float, int]:
        same = len(words & entry.words)
        return 2 * same / ((len(words) + len(entry.words)) or 1), -len(entry.text)

    kinds = ([entry for entry in entries if entry.is_new is kind] for kind in (True, False))
    best = [max(each, key=measure) for each in kinds if each]
    chosen = max(best, key=lambda each: len(words & each.words), default=None)
    return None if chosen is None else chosen.text
