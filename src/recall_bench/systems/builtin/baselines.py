"""Three ways to read a shelf without searching it: at random, from end to end, and with a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from recall_bench.core.memory import Answer, Passage
from recall_bench.core.scenario import Question
from recall_bench.core.schedule import generate_numbers
from recall_bench.systems.builtin.passage_index import (
    IndexedPassage,
    PassageIndex,
    answer_no_record,
    format_quote,
    format_quotes,
)
from recall_bench.systems.builtin.word_index import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
from collections.abc import Callable
from importlib.metadata import version

import msgspec

from recall_bench.core.memory import Asker, Clock, MemorySystem, SystemCard
from recall_bench.core.record import Record
from recall_bench.systems.builtin.chunks import Chunker
from recall_bench.systems.builtin.index_memory import IndexMemory, IndexSystem
from recall_bench.systems.builtin.options import (
    FullContextOptions,
    HybridOptions,
    NoOptions,
    RandomOptions,
    RecencyOptions,
    VectorOptions,
    WordOptions,
    read_options,
)
from recall_bench.systems.builtin.passage_index import Indexer
from recall_bench.systems.builtin.retrieval import PassageSearch
from recall_bench.systems.builtin.word_index import Bm25, WordVectorTable


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomAnswerer:
    """Quotes passages drawn by lot; the question's id is the lot, its words are not read."""

    seed: int
    k: int
    quotes: int

    def __call__(self, shelf: PassageIndex, question: Question) -> Answer:
        """Quote the first passages drawn."""
        found = [shelf.get(number) for number in self._draw_numbers(len(shelf), question.id)]
        if not found:
            return answer_no_record()
        passages = tuple(each.to_passage() for each in found)
        return Answer(text=format_quotes(found, self.quotes), passages=passages)

    def _draw_numbers(self, size: int, lot: str) -> list[int]:
        digest = sha256(f"{self.seed}\0{lot}".encode()).digest()
        drawn: dict[int, None] = {}
        for draw in generate_numbers(int.from_bytes(digest[:4], "big")):
            if len(drawn) == min(self.k, size):
                break
            drawn.setdefault(int(draw * size))
        return list(drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullContextAnswerer:
    """Goes through everything and quotes the passage that holds most of the question's words.

    No word weighs more than another and no passage is left out beforehand, as in a model that is
    handed the whole history; the neighbours of the best passage are quoted with it. What it went
    through is reported as far as the budget reaches: best passages first, then the latest.
    """

    vocabulary: Vocabulary
    budget: int
    quotes: int
    threshold: float

    def __call__(self, shelf: PassageIndex, question: Question) -> Answer:
        """Quote the fullest passages between their neighbours, or say there is no record."""
        import numpy as np

        if not len(shelf):
            return answer_no_record()
        shares = self.compute_shares(shelf, question)
        order = np.lexsort((-np.arange(len(shelf)), -shares)).tolist()
        passages = tuple(self._fill_budget(shelf, order, shares.tolist()))
        if not 0 < shares[order[0]] >= self.threshold:
            return answer_no_record(passages)
        quotes = [_quote_neighbours(shelf, number) for number in order[: self.quotes]]
        return Answer(text="\n".join(dict.fromkeys(quotes)), passages=passages)

    def compute_shares(self, shelf: PassageIndex, question: Question) -> NDArray[np.float64]:
        """The part of the question's words that each passage holds."""
        import numpy as np

        query = self.vocabulary.parse_query(question.text)
        held = np.zeros(len(shelf))
        if shelf.postings is not None:
            for term in set(shelf.postings.select_present(query)):
                held[shelf.postings.get_passages(term)] += 1
        return held / max(len(set(query.known)) + query.strangers, 1)

    def _fill_budget(
        self, shelf: PassageIndex, order: list[int], shares: list[float]
    ) -> Iterator[Passage]:
        left = self.budget
        for number in order:
            found = shelf.get(number)
            left -= len(found.excerpt.text)
            if left < 0:
                return
            yield found.to_passage(round(shares[number], 6))


def _quote_neighbours(shelf: PassageIndex, number: int) -> str:
    middle = shelf.get(number)
    around = (shelf.get(n) for n in range(max(number - 1, 0), min(number + 2, len(shelf))))
    texts = [found.excerpt.text for found in around if _is_same_session(found, middle)]
    return format_quote(" ".join(texts), middle.page.on, middle.excerpt.session)


def _is_same_session(found: IndexedPassage, other: IndexedPassage) -> bool:
    return found.page is other.page and found.excerpt.session == other.excerpt.session


@dataclass(frozen=True, slots=True)
class OracleAnswerer:
    """Quotes the passages it was told of, once their days have been lived."""

    evidence: Mapping[str, tuple[Passage, ...]]

    def __call__(self, shelf: PassageIndex, question: Question) -> Answer:
        """Quote them word for word; nothing told, or nothing lived yet, is no record."""
        lived = {page.day: page for page in shelf.pages}
        quotes: dict[str, Passage] = {}
        for passage in self.evidence.get(question.id, ()):
            page = lived.get(passage.day) if passage.day is not None else None
            if page is not None:
                session = passage.source if passage.source != page.episode else None
                quotes[format_quote(passage.text, page.on, session)] = passage
        if not quotes:
            return answer_no_record()
        return Answer(text="\n".join(quotes), passages=tuple(quotes.values()))


_WORD_LIBRARIES = ("bm25s", "PyStemmer", "numpy")
_VECTOR_LIBRARIES = ("wordllama", "tokenizers", "numpy")


def build_none(config: Mapping[str, object]) -> MemorySystem:
    """Remembers nothing and says so."""
    read = read_options("none", config, NoOptions)
    return _build_system(
        "none", read, (), lambda: IndexMemory(Indexer(has_text=False), _answer_nothing)
    )


def build_random(config: Mapping[str, object]) -> MemorySystem:
    """Quotes passages drawn by lot, the same for the same question and history."""
    read = read_options("random", config, RandomOptions)
    reader = RandomAnswerer(seed=read.seed, k=read.k, quotes=read.quotes)
    return _build_system("random", read, (), lambda: IndexMemory(Indexer(), reader))


def build_bm25(config: Mapping[str, object]) -> MemorySystem:
    """Finds passages by their words."""
    read = read_options("bm25", config, WordOptions)

    def create_memory() -> IndexMemory:
        vocabulary = Vocabulary()
        return IndexMemory(
            Indexer(vocabulary=vocabulary, formula=Bm25(read.k1, read.b)),
            PassageSearch(
                vocabulary=vocabulary,
                weight=1.0,
                k=read.k,
                quotes=read.quotes,
                threshold=read.threshold,
            ),
        )

    return _build_system("bm25", read, _WORD_LIBRARIES, create_memory)


def build_vector(config: Mapping[str, object]) -> MemorySystem:
    """Finds passages by their meaning."""
    read = read_options("vector", config, VectorOptions)
    reader = PassageSearch(
        vocabulary=None, weight=0.0, k=read.k, quotes=read.quotes, threshold=read.threshold
    )
    return _build_system(
        "vector", read, _VECTOR_LIBRARIES, lambda: IndexMemory(Indexer(has_vectors=True), reader)
    )


def build_hybrid(config: Mapping[str, object]) -> MemorySystem:
    """Finds passages by words, meaning and the dates a question names. The default system."""
    read = read_options("hybrid", config, HybridOptions).resolve()
    return _build_system("hybrid", read, _list_libraries(read), lambda: _create_hybrid_memory(read))


def build_recency(config: Mapping[str, object]) -> MemorySystem:
    """The hybrid system, knowing the last days only."""
    read = read_options("recency", config, RecencyOptions).resolve()
    return _build_system(
        "recency", read, _list_libraries(read), lambda: _create_hybrid_memory(read, read.days)
    )


def build_full_context(config: Mapping[str, object]) -> MemorySystem:
    """Goes through everything for every question, weighing no word more than another."""
    read = read_options("full-context", config, FullContextOptions)

    def create_memory() -> IndexMemory:
        vocabulary = Vocabulary()
        return IndexMemory(
            Indexer(vocabulary=vocabulary),
            FullContextAnswerer(
                vocabulary=vocabulary,
                budget=read.budget,
                quotes=read.quotes,
                threshold=read.threshold,
            ),
        )

    return _build_system("full-context", read, _WORD_LIBRARIES, create_memory)


def build_oracle(config: Mapping[str, object]) -> MemorySystem:
    """Quotes what it was told supports the reference: the most that quoting can reach."""
    return OracleSystem(_build_card("oracle", read_options("oracle", config, NoOptions), ()))


class OracleSystem(IndexSystem):
    """A control: it is told where the answers are, and only that."""

    def __init__(self, card: SystemCard) -> None:
        super().__init__(card, self._create_oracle_memory)
        self._evidence: dict[str, Mapping[str, tuple[Passage, ...]]] = {}

    def receive_evidence(self, scenario: str, evidence: Mapping[str, tuple[Passage, ...]]) -> None:
        """The supporting passages of each question of the scenario, by question id."""
        self._evidence[scenario] = dict(evidence)

    def _create_oracle_memory(self, scenario: str) -> IndexMemory:
        def answer(shelf: PassageIndex, question: Question) -> Answer:
            return OracleAnswerer(self._evidence.get(scenario, {}))(shelf, question)

        return IndexMemory(Indexer(has_text=False), answer, is_confided=True)


def _create_hybrid_memory(read: HybridOptions, window: int | None = None) -> IndexMemory:
    vocabulary = Vocabulary() if read.keyword else None
    lexicon = WordVectorTable() if read.rerank else None
    return IndexMemory(
        Indexer(
            vocabulary=vocabulary,
            formula=Bm25(read.k1, read.b),
            has_vectors=read.vector,
            cutting=Chunker(
                chunking=read.chunking,
                window_chars=read.window_chars,
                window_overlap=read.window_overlap,
            ),
            lexicon=lexicon,
            has_letters=read.lexical_boost > 0,
            consolidation=read.consolidate,
        ),
        PassageSearch(
            vocabulary=vocabulary,
            weight=read.weight if read.keyword and read.vector else float(read.keyword),
            fusion=read.fusion,
            temporal_boost=read.temporal_boost,
            lexical_boost=read.lexical_boost,
            lexicon=lexicon,
            respects_sessions=read.respect_sessions,
            neighbours=read.neighbours,
            k=read.k,
            quotes=read.quotes,
            threshold=read.threshold or 0.0,
        ),
        window=window,
    )


def _list_libraries(read: HybridOptions) -> tuple[str, ...]:
    uses_vectors = read.vector or read.rerank or read.consolidate != "none"
    uses_words = read.keyword or read.rerank
    return (*(_WORD_LIBRARIES if uses_words else ()), *(_VECTOR_LIBRARIES if uses_vectors else ()))


def _answer_nothing(shelf: PassageIndex, question: Question) -> Answer:  # noqa: ARG001
    return answer_no_record()


def _build_system(
    name: str, read: Record, parts: tuple[str, ...], opened: Callable[[], IndexMemory]
) -> IndexSystem:
    return IndexSystem(_build_card(name, read, parts), lambda scenario: opened())  # noqa: ARG005


def _build_card(name: str, read: Record, parts: tuple[str, ...]) -> SystemCard:
    settings: dict[str, object] = msgspec.to_builtins(read)
    if parts:
        settings["parts"] = {part: version(part) for part in sorted(set(parts))}
    return SystemCard(
        name=name,
        version=version("recall-bench"),
        config=settings,
        max_concurrency=64,
        computes=True,
        clock=Clock.NATIVE,
        asker=Asker.HONOURED if settings.get("respect_sessions") else Asker.TOLD,
    )
