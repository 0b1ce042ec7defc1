"""The memory of all built-in systems: an immutable index, so that copies cost nothing."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

from anyio.to_thread import run_sync

from recall_bench.core.errors import NotOffered
from recall_bench.core.memory import (
    Answer,
    EraseReply,
    EraseScope,
    Holdings,
    RetrievalReply,
    StoredEntry,
    SystemCard,
)
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.builtin.no_memory import ERASING
from recall_bench.systems.builtin.passage_index import (
    Indexer,
    PassageIndex,
    PreparedDocument,
    list_days,
    measure_index,
)
from recall_bench.systems.snapshots import PackedSnapshots

if TYPE_CHECKING:
    from recall_bench.systems.builtin.word_index import VocabularyState, WordTableState

T = TypeVar("T")
Given = TypeVarTuple("Given")

Answerer = Callable[[PassageIndex, Question], Answer | RetrievalReply]
"""Answers or finds passages, from the index alone, and changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """All that a memory holds beyond a new one of its system; it can be pickled."""

    scenario: str
    index: PassageIndex
    """Without the word index, which is rebuilt from the rest."""
    prepared: tuple[PreparedDocument, ...]
    vocabulary: VocabularyState | None
    lexicon: WordTableState | None
    kept_days: str | None = None
    is_pending: bool = False


class IndexMemory:
    """Keeps episodes as the indexer prepares them, and answers with the answerer.

    With `knows_evidence` the answerer has the texts itself and needs only the ingested days.
    """

    def __init__(
        self,
        indexer: Indexer,
        reader: Answerer,
        *,
        window: int | None = None,
        knows_evidence: bool = False,
        in_thread: bool = False,
    ) -> None:
        """With `in_thread` it calls models that make others wait, so it works in a thread."""
        self._in_thread = in_thread
        self._lock = RLock()
        self.indexer = indexer
        """What prepares its episodes."""
        self._knows_evidence = knows_evidence
        self.answerer = reader
        self._window = window
        self.scenario = ""
        self.renew: Callable[[], IndexMemory] | None = None
        """Makes an empty memory like this one; None if it cannot erase."""
        self._kept_days: str | None = None
        """How many days before the latest are kept, if there is such a rule."""
        self._index = PassageIndex()
        self._prepared: list[PreparedDocument] = []
        """What is not in the index yet; with a window also what is, to build it again."""
        self._is_pending = False
        """Whether something was ingested that is not in the index yet."""

    async def ingest(self, episode: Episode) -> None:
        """Prepare the episode; it is indexed when a question is asked or the memory settles."""
        prepared = await self._call(self.indexer.prepare, episode)
        with self._lock:
            self._prepared.append(prepared)
            self._is_pending = True

    async def settle(self) -> None:
        """Add what was ingested to the index; with a window, only the days inside it."""
        await self._call(self._index_pending)

    async def _call(self, work: Callable[[*Given], T], *given: *Given) -> T:
        if not self._in_thread:
            return work(*given)
        return await run_sync(work, *given, abandon_on_cancel=True)

    def _index_pending(self) -> None:
        if not self._is_pending:
            return
        with self._lock:
            if not self._is_pending:
                return
            if self._window is None:
                self._index = self.indexer.extend(self._index, self._prepared)
                self._prepared = []
            else:
                oldest = self._prepared[-1].document.day - self._window + 1
                self._prepared = [
                    waiting for waiting in self._prepared if waiting.document.day >= oldest
                ]
                self._index = self.indexer.extend(PassageIndex(), self._prepared)
            if self._kept_days is not None:
                self._erase_entries(EraseScope.DAYS, self._kept_days)
            # Last: a thread that does not see it searches the index.
            self._is_pending = False

    async def erase(self, scope: EraseScope, value: str) -> EraseReply:
        """Erase entries, their words and vectors, and the summaries made from them.

        A subject is in every entry with all of its words, a person in every entry with the name.
        """
        count = await self._call(self._erase_entries, scope, value)
        if scope is EraseScope.DAYS:
            self._kept_days = value
            return EraseReply(confirmed=True, count=count)
        return EraseReply(confirmed=count > 0, count=count)

    async def list_stored(self) -> tuple[StoredEntry, ...]:
        """Every chunk and summary, with what a search finds it by."""
        if self.renew is None:
            raise NotOffered("this built-in does not list what it holds")
        from recall_bench.systems.builtin.index_erasure import list_entries

        return tuple(list_entries(self._index, self._prepared))

    async def answer(self, question: Question) -> Answer | RetrievalReply:
        """Answer from the index, which then has everything ingested before."""
        return await self._call(self._answer, question)

    def _answer(self, question: Question) -> Answer | RetrievalReply:
        self._index_pending()
        with self._lock:
            answerer, index = self.answerer, self._index
        return answerer(index, question)

    async def holdings(self) -> Holdings:
        """The days that can be found, and the size of everything.

        With `knows_evidence` the ingested days, without a size: the texts are the answerer's.
        """
        await self._call(self._index_pending)
        if self._knows_evidence:
            return Holdings(days=tuple(document.day for document in self._index.documents))
        size = measure_index(self._index, self._prepared, self.indexer)
        return Holdings(days=list_days(self._index), bytes=size)

    async def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._index, self._prepared, self._is_pending = PassageIndex(), [], False

    def copy(self) -> IndexMemory:
        """A memory in the same state, which shares only what is immutable."""
        twin = IndexMemory(
            self.indexer,
            self.answerer,
            window=self._window,
            knows_evidence=self._knows_evidence,
            in_thread=self._in_thread,
        )
        with self._lock:
            twin.scenario, twin.renew, twin._kept_days = self.scenario, self.renew, self._kept_days
            twin._index, twin._prepared = self._index, list(self._prepared)
            twin._is_pending = self._is_pending
        return twin

    def dump(self) -> bytes:
        """What another process needs, beside its own system, to restore this memory."""
        vocabulary, lexicon = self.indexer.vocabulary, self.indexer.lexicon
        state = IndexState(
            scenario=self.scenario,
            index=replace(self._index, words=None),
            prepared=tuple(self._prepared),
            vocabulary=None if vocabulary is None else vocabulary.state,
            lexicon=None if lexicon is None else lexicon.state,
            kept_days=self._kept_days,
            is_pending=self._is_pending,
        )
        return pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL)

    def restore(self, state: IndexState) -> None:
        """Take over the state of another memory; this one must be empty."""
        indexer, index = self.indexer, state.index
        if indexer.vocabulary is not None and state.vocabulary is not None:
            indexer.vocabulary.restore(state.vocabulary)
        if indexer.lexicon is not None and state.lexicon is not None:
            indexer.lexicon.restore(state.lexicon)
        if indexer.formula is not None and index.postings is not None:
            from recall_bench.systems.builtin.word_index import Bm25Index

            index = replace(index, words=Bm25Index(index.postings, indexer.formula))
        self._index, self._prepared = index, list(state.prepared)
        self._kept_days, self._is_pending = state.kept_days, state.is_pending

    def _erase_entries(self, scope: EraseScope, value: str) -> int:
        if self.renew is None:
            raise NotOffered("this built-in does not erase")
        from recall_bench.systems.builtin.index_erasure import (
            build_test,
            find_latest_date,
            subtract_entries,
        )

        with self._lock:
            latest = find_latest_date(self._index, self._prepared)
            test = build_test(scope, value, latest)
            rest = subtract_entries(self._index, self._prepared, test)
            is_same = len(rest.documents) == len(self._index.documents)
            if is_same and len(rest.prepared) == len(self._prepared) and not rest.count:
                return 0
            # Copies share the vocabulary, and it holds the words of what is erased.
            fresh = self.renew()
            indexer, answerer = fresh.indexer, fresh.answerer
            index = indexer.build_index(rest.documents, rest.open_periods)
            prepared = [
                indexer.index_document(waiting.document, waiting.summary)
                for waiting in rest.prepared
            ]
            # All at once and last: an embedder that fails leaves the memory as it was.
            self.indexer, self.answerer = indexer, answerer
            self._index, self._prepared = index, prepared
            return rest.count


async def _copy(memory: IndexMemory) -> IndexMemory:
    return memory.copy()


class IndexSystem:
    """Opens a memory for each scenario."""

    def __init__(
        self, card: SystemCard, opened: Callable[[str], IndexMemory], *, erases: bool = True
    ) -> None:
        self.card = card
        self.offers = ERASING if erases else frozenset()
        self._factory = opened
        # They cost nothing in this process: everything in a memory can be shared. To reach another
        # one a state is pickled; indexer and answerer are that process's own.
        self.snapshots = PackedSnapshots(
            IndexMemory, _copy, dump=lambda memory: memory.dump(), load=self._load_memory
        )

    async def open(self, scenario: str) -> IndexMemory:
        """An empty memory."""
        return self._create_memory(scenario)

    async def close(self) -> None:
        """Nothing is held here."""

    def _load_memory(self, content: bytes) -> IndexMemory:
        try:
            state = pickle.loads(content)  # noqa: S301  we wrote it ourselves
        except pickle.UnpicklingError as error:
            raise ValueError(str(error)) from error
        memory = self._create_memory(state.scenario)
        memory.restore(state)
        return memory

    def _create_memory(self, scenario: str) -> IndexMemory:
        memory = self._factory(scenario)
        memory.scenario = scenario
        memory.renew = partial(self._factory, scenario) if self.offers else None
        return memory
