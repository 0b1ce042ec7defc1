"""The memory all built-in systems share: pages in, a shelf to read from, copies for nothing."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from recall_bench.core.errors import DataError, SystemFault
from recall_bench.core.memory import Answer, Holdings, Memory, SystemCard
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.builtin.passage_index import (
    Indexer,
    PassageIndex,
    PreparedDocument,
    list_days,
    measure_index,
)
from recall_bench.systems.builtin.word_index import Bm25Index, VocabularyState, WordTableState

Answerer = Callable[[PassageIndex, Question], Answer]
"""Answers from what is on the shelf and nothing else. Asking it changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """All that a memory has and a new one of its system has not. It can be pickled."""

    scenario: str
    shelf: PassageIndex
    """Without the word index, which follows from the rest."""
    prepared: tuple[PreparedDocument, ...]
    vocabulary: VocabularyState | None
    lexicon: WordTableState | None


class IndexMemory:
    """Keeps a story as a catalogue prepares it, and answers as its reader reads it.

    The reader of one that is confided in knows the texts itself, and of the story needs to know no
    more than which days were lived.
    """

    def __init__(
        self,
        catalogue: Indexer,
        reader: Answerer,
        *,
        window: int | None = None,
        is_confided: bool = False,
    ) -> None:
        self._indexer = catalogue
        self._knows_evidence = is_confided
        self._answerer = reader
        self._window = window
        self.scenario = ""
        self._index = PassageIndex()
        self._prepared: list[PreparedDocument] = []

    async def ingest(self, episode: Episode) -> None:
        """Prepare the episode; it can be asked about once settled."""
        self._prepared.append(self._indexer.prepare(episode))

    async def settle(self) -> None:
        """Put what came in on the shelf; with a window, the days inside it and no others."""
        if not self._prepared:
            return
        if self._window is None:
            self._index = self._indexer.extend(self._index, self._prepared)
            self._prepared = []
        else:
            oldest = self._prepared[-1].page.day - self._window + 1
            self._prepared = [each for each in self._prepared if each.page.day >= oldest]
            self._index = self._indexer.extend(PassageIndex(), self._prepared)

    async def answer(self, question: Question) -> Answer:
        """Answer from the shelf, which stays as it is."""
        return self._answerer(self._index, question)

    async def holdings(self) -> Holdings:
        """The days that can be found something of, and what all of it takes.

        Where it is confided in, those lived: their texts are the reader's and have no size here.
        """
        if self._knows_evidence:
            return Holdings(days=tuple(page.day for page in self._index.pages))
        size = measure_index(self._index, self._prepared, self._indexer)
        return Holdings(days=list_days(self._index), bytes=size)

    async def close(self) -> None:
        """Let go of the story."""
        self._index, self._prepared = PassageIndex(), []

    def copy(self) -> "IndexMemory":
        """A memory in the same state. The two share what never changes and nothing else."""
        twin = IndexMemory(
            self._indexer, self._answerer, window=self._window, is_confided=self._knows_evidence
        )
        twin.scenario = self.scenario
        twin._index, twin._prepared = self._index, list(self._prepared)
        return twin

    @property
    def state(self) -> IndexState:
        """What another process needs beside its own system to have this memory."""
        vocabulary, lexicon = self._indexer.vocabulary, self._indexer.lexicon
        return IndexState(
            scenario=self.scenario,
            shelf=replace(self._index, words=None),
            prepared=tuple(self._prepared),
            vocabulary=None if vocabulary is None else vocabulary.state,
            lexicon=None if lexicon is None else lexicon.state,
        )

    def restore(self, held: IndexState) -> None:
        """Be the memory that held this; it must have lived nothing yet."""
        catalogue, shelf = self._indexer, held.shelf
        if catalogue.vocabulary is not None and held.vocabulary is not None:
            catalogue.vocabulary.restore(held.vocabulary)
        if catalogue.lexicon is not None and held.lexicon is not None:
            catalogue.lexicon.restore(held.lexicon)
        if catalogue.formula is not None and shelf.postings is not None:
            shelf = replace(shelf, words=Bm25Index(shelf.postings, catalogue.formula))
        self._index, self._prepared = shelf, list(held.prepared)


_PACKED_FILE = "memory.pickle"


class IndexSnapshots:
    """Snapshots for nothing: all a story memory holds can be shared.

    To travel it is written down; whoever unpacks it has the reader and the catalogue already.
    """

    def __init__(self, opened: Callable[[str], IndexMemory]) -> None:
        self._create_memory = opened
        self._kept: dict[str, IndexMemory] = {}
        self._count = 0

    async def save(self, memory: Memory) -> str:
        """Keep the memory's present state."""
        if not isinstance(memory, IndexMemory):
            raise SystemFault(f"a {type(memory).__name__} is not a memory of this system")
        return self._keep(memory.copy())

    async def open(self, token: str) -> Memory:
        """A new memory in the saved state."""
        return self._get_snapshot(token).copy()

    async def drop(self, token: str) -> None:
        """Forget the saved state."""
        self._kept.pop(token, None)

    async def pack(self, token: str, place: Path) -> None:
        """Write down what the memory held."""
        with (place / _PACKED_FILE).open("wb") as file:
            pickle.dump(self._get_snapshot(token).state, file, protocol=pickle.HIGHEST_PROTOCOL)

    async def unpack(self, place: Path) -> str:
        """Keep a memory that holds what was written down."""
        try:
            held = pickle.loads((place / _PACKED_FILE).read_bytes())  # noqa: S301  we wrote it ourselves
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise DataError(
                f"{place / _PACKED_FILE} holds no packed memory ({error}); pack the state again"
            ) from error
        memory = self._create_memory(held.scenario)
        memory.restore(held)
        return self._keep(memory)

    async def discard(self, place: Path) -> None:
        """There is nothing outside the folder."""

    def _keep(self, memory: IndexMemory) -> str:
        self._count += 1
        token = str(self._count)
        self._kept[token] = memory
        return token

    def _get_snapshot(self, token: str) -> IndexMemory:
        if token not in self._kept:
            raise SystemFault(f"no state is saved as {token!r}; it was dropped or never saved")
        return self._kept[token]


class IndexSystem:
    """Opens a story memory for each scenario."""

    def __init__(self, card: SystemCard, opened: Callable[[str], IndexMemory]) -> None:
        self.card = card
        self._factory = opened
        self.snapshots = IndexSnapshots(self._create_memory)

    async def open(self, scenario: str) -> Memory:
        """A memory that has lived nothing yet."""
        return self._create_memory(scenario)

    async def close(self) -> None:
        """Nothing to release: memories own what they hold."""

    def _create_memory(self, scenario: str) -> IndexMemory:
        memory = self._factory(scenario)
        memory.scenario = scenario
        return memory
