"""The memory all built-in systems share: pages in, a shelf to read from, copies for nothing."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from recall_bench.core.history import Episode
from recall_bench.core.memory import Answer, Holdings, Memory, SystemCard
from recall_bench.core.question import Question
from recall_bench.errors import DataError, SystemFault
from recall_bench.systems.builtin.holdings import days_on, size_of
from recall_bench.systems.builtin.lexical import Learnt, WordIndex
from recall_bench.systems.builtin.reranking import Measured
from recall_bench.systems.builtin.shelf import Catalogue, Prepared, Shelf

Reader = Callable[[Shelf, Question], Answer]
"""Answers from what is on the shelf and nothing else. Asking it changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """All that a memory has and a new one of its system has not. It can be pickled."""

    scenario: str
    shelf: Shelf
    """Without the word index, which follows from the rest."""
    prepared: tuple[Prepared, ...]
    vocabulary: Learnt | None
    lexicon: Measured | None


class StoryMemory:
    """Keeps a story as a catalogue prepares it, and answers as its reader reads it.

    The reader of one that is confided in knows the texts itself, and of the story needs to know no
    more than which days were lived.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        reader: Reader,
        *,
        window: int | None = None,
        is_confided: bool = False,
    ) -> None:
        self._catalogue = catalogue
        self._is_confided = is_confided
        self._reader = reader
        self._window = window
        self.scenario = ""
        self._shelf = Shelf()
        self._prepared: list[Prepared] = []

    async def ingest(self, episode: Episode) -> None:
        """Prepare the episode; it can be asked about once settled."""
        self._prepared.append(self._catalogue.prepared(episode))

    async def settle(self) -> None:
        """Put what came in on the shelf; with a window, the days inside it and no others."""
        if not self._prepared:
            return
        if self._window is None:
            self._shelf = self._catalogue.shelve(self._shelf, self._prepared)
            self._prepared = []
        else:
            oldest = self._prepared[-1].page.day - self._window + 1
            self._prepared = [each for each in self._prepared if each.page.day >= oldest]
            self._shelf = self._catalogue.shelve(Shelf(), self._prepared)

    async def answer(self, question: Question) -> Answer:
        """Answer from the shelf, which stays as it is."""
        return self._reader(self._shelf, question)

    async def holdings(self) -> Holdings:
        """The days that can be found something of, and what all of it takes.

        Where it is confided in, those lived: their texts are the reader's and have no size here.
        """
        if self._is_confided:
            return Holdings(days=tuple(page.day for page in self._shelf.pages))
        size = size_of(self._shelf, self._prepared, self._catalogue)
        return Holdings(days=days_on(self._shelf), bytes=size)

    async def close(self) -> None:
        """Let go of the story."""
        self._shelf, self._prepared = Shelf(), []

    def copy(self) -> "StoryMemory":
        """A memory in the same state. The two share what never changes and nothing else."""
        twin = StoryMemory(
            self._catalogue, self._reader, window=self._window, is_confided=self._is_confided
        )
        twin.scenario = self.scenario
        twin._shelf, twin._prepared = self._shelf, list(self._prepared)
        return twin

    @property
    def held(self) -> Held:
        """What another process needs beside its own system to have this memory."""
        vocabulary, lexicon = self._catalogue.vocabulary, self._catalogue.lexicon
        return Held(
            scenario=self.scenario,
            shelf=replace(self._shelf, words=None),
            prepared=tuple(self._prepared),
            vocabulary=None if vocabulary is None else vocabulary.learnt,
            lexicon=None if lexicon is None else lexicon.learnt,
        )

    def hold(self, held: Held) -> None:
        """Be the memory that held this; it must have lived nothing yet."""
        catalogue, shelf = self._catalogue, held.shelf
        if catalogue.vocabulary is not None and held.vocabulary is not None:
            catalogue.vocabulary.learn(held.vocabulary)
        if catalogue.lexicon is not None and held.lexicon is not None:
            catalogue.lexicon.learn(held.lexicon)
        if catalogue.formula is not None and shelf.postings is not None:
            shelf = replace(shelf, words=WordIndex(shelf.postings, catalogue.formula))
        self._shelf, self._prepared = shelf, list(held.prepared)


_PACKED = "memory.pickle"


class Copies:
    """Snapshots for nothing: all a story memory holds can be shared.

    To travel it is written down; whoever unpacks it has the reader and the catalogue already.
    """

    def __init__(self, opened: Callable[[str], StoryMemory]) -> None:
        self._opened = opened
        self._kept: dict[str, StoryMemory] = {}
        self._count = 0

    async def save(self, memory: Memory) -> str:
        """Keep the memory's present state."""
        if not isinstance(memory, StoryMemory):
            raise SystemFault(f"a {type(memory).__name__} is not a memory of this system")
        return self._keep(memory.copy())

    async def open(self, token: str) -> Memory:
        """A new memory in the saved state."""
        return self._saved(token).copy()

    async def drop(self, token: str) -> None:
        """Forget the saved state."""
        self._kept.pop(token, None)

    async def pack(self, token: str, place: Path) -> None:
        """Write down what the memory held."""
        with (place / _PACKED).open("wb") as file:
            pickle.dump(self._saved(token).held, file, protocol=pickle.HIGHEST_PROTOCOL)

    async def unpack(self, place: Path) -> str:
        """Keep a memory that holds what was written down."""
        try:
            held = pickle.loads((place / _PACKED).read_bytes())  # noqa: S301  we wrote it ourselves
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise DataError(
                f"{place / _PACKED} holds no packed memory ({error}); pack the state again"
            ) from error
        memory = self._opened(held.scenario)
        memory.hold(held)
        return self._keep(memory)

    async def discard(self, place: Path) -> None:
        """There is nothing outside the folder."""

    def _keep(self, memory: StoryMemory) -> str:
        self._count += 1
        token = str(self._count)
        self._kept[token] = memory
        return token

    def _saved(self, token: str) -> StoryMemory:
        if token not in self._kept:
            raise SystemFault(f"no state is saved as {token!r}; it was dropped or never saved")
        return self._kept[token]


class StorySystem:
    """Opens a story memory for each scenario."""

    def __init__(self, card: SystemCard, opened: Callable[[str], StoryMemory]) -> None:
        self.card = card
        self._opened = opened
        self.snapshots = Copies(self._new)

    async def open(self, scenario: str) -> Memory:
        """A memory that has lived nothing yet."""
        return self._new(scenario)

    async def close(self) -> None:
        """Nothing to release: memories own what they hold."""

    def _new(self, scenario: str) -> StoryMemory:
        memory = self._opened(scenario)
        memory.scenario = scenario
        return memory
