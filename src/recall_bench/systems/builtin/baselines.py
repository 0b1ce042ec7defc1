"""The built-in systems. They need no key, no network and no model but static word vectors.

They bracket every other system: `none`, `random` and `recency` from below, `oracle` from above;
`bm25`, `vector` and `hybrid` are what plain retrieval does, and `full-context` stands for reading
everything. All of them answer in the words of the record, and with the same words every time.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import version

import msgspec

from recall_bench.core.memory import Answer, Asker, Clock, MemorySystem, Passage, SystemCard
from recall_bench.core.question import Question
from recall_bench.core.record import Record
from recall_bench.systems.builtin.extractive import answer_no_record
from recall_bench.systems.builtin.lexical import Bm25, Vocabulary
from recall_bench.systems.builtin.memory import IndexMemory, IndexSystem
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
from recall_bench.systems.builtin.passages import Chunker
from recall_bench.systems.builtin.reading import FullContextAnswerer, OracleAnswerer, RandomAnswerer
from recall_bench.systems.builtin.reranking import WordVectorTable
from recall_bench.systems.builtin.retrieval import PassageSearch
from recall_bench.systems.builtin.shelf import Indexer, PassageIndex

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
