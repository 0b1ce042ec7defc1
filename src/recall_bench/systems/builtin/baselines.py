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
from recall_bench.systems.builtin.extractive import silence
from recall_bench.systems.builtin.lexical import Bm25, Vocabulary
from recall_bench.systems.builtin.memory import StoryMemory, StorySystem
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
from recall_bench.systems.builtin.passages import Cutting
from recall_bench.systems.builtin.reading import Drawing, Knowing, Rereading
from recall_bench.systems.builtin.reranking import Lexicon
from recall_bench.systems.builtin.retrieval import Search
from recall_bench.systems.builtin.shelf import Catalogue, Shelf

_WORDS = ("bm25s", "PyStemmer", "numpy")
_VECTORS = ("wordllama", "tokenizers", "numpy")


def none(config: Mapping[str, object]) -> MemorySystem:
    """Remembers nothing and says so."""
    read = read_options("none", config, NoOptions)
    return _system("none", read, (), lambda: StoryMemory(Catalogue(has_text=False), _say_nothing))


def random(config: Mapping[str, object]) -> MemorySystem:
    """Quotes passages drawn by lot, the same for the same question and history."""
    read = read_options("random", config, RandomOptions)
    reader = Drawing(seed=read.seed, k=read.k, quotes=read.quotes)
    return _system("random", read, (), lambda: StoryMemory(Catalogue(), reader))


def bm25(config: Mapping[str, object]) -> MemorySystem:
    """Finds passages by their words."""
    read = read_options("bm25", config, WordOptions)

    def opened() -> StoryMemory:
        vocabulary = Vocabulary()
        return StoryMemory(
            Catalogue(vocabulary=vocabulary, formula=Bm25(read.k1, read.b)),
            Search(
                vocabulary=vocabulary,
                weight=1.0,
                k=read.k,
                quotes=read.quotes,
                threshold=read.threshold,
            ),
        )

    return _system("bm25", read, _WORDS, opened)


def vector(config: Mapping[str, object]) -> MemorySystem:
    """Finds passages by their meaning."""
    read = read_options("vector", config, VectorOptions)
    reader = Search(
        vocabulary=None, weight=0.0, k=read.k, quotes=read.quotes, threshold=read.threshold
    )
    return _system(
        "vector", read, _VECTORS, lambda: StoryMemory(Catalogue(has_vectors=True), reader)
    )


def hybrid(config: Mapping[str, object]) -> MemorySystem:
    """Finds passages by words, meaning and the dates a question names. The default system."""
    read = read_options("hybrid", config, HybridOptions).resolved()
    return _system("hybrid", read, _parts(read), lambda: _hybrid(read))


def recency(config: Mapping[str, object]) -> MemorySystem:
    """The hybrid system, knowing the last days only."""
    read = read_options("recency", config, RecencyOptions).resolved()
    return _system("recency", read, _parts(read), lambda: _hybrid(read, read.days))


def full_context(config: Mapping[str, object]) -> MemorySystem:
    """Goes through everything for every question, weighing no word more than another."""
    read = read_options("full-context", config, FullContextOptions)

    def opened() -> StoryMemory:
        vocabulary = Vocabulary()
        return StoryMemory(
            Catalogue(vocabulary=vocabulary),
            Rereading(
                vocabulary=vocabulary,
                budget=read.budget,
                quotes=read.quotes,
                threshold=read.threshold,
            ),
        )

    return _system("full-context", read, _WORDS, opened)


def oracle(config: Mapping[str, object]) -> MemorySystem:
    """Quotes what it was told supports the reference: the most that quoting can reach."""
    return Oracle(_card("oracle", read_options("oracle", config, NoOptions), ()))


class Oracle(StorySystem):
    """A control: it is told where the answers are, and only that."""

    def __init__(self, card: SystemCard) -> None:
        super().__init__(card, self._knowing)
        self._evidence: dict[str, Mapping[str, tuple[Passage, ...]]] = {}

    def confide(self, scenario: str, evidence: Mapping[str, tuple[Passage, ...]]) -> None:
        """The supporting passages of each question of the scenario, by question id."""
        self._evidence[scenario] = dict(evidence)

    def _knowing(self, scenario: str) -> StoryMemory:
        def read(shelf: Shelf, question: Question) -> Answer:
            return Knowing(self._evidence.get(scenario, {}))(shelf, question)

        return StoryMemory(Catalogue(has_text=False), read, is_confided=True)


def _hybrid(read: HybridOptions, window: int | None = None) -> StoryMemory:
    vocabulary = Vocabulary() if read.keyword else None
    lexicon = Lexicon() if read.rerank else None
    return StoryMemory(
        Catalogue(
            vocabulary=vocabulary,
            formula=Bm25(read.k1, read.b),
            has_vectors=read.vector,
            cutting=Cutting(
                chunking=read.chunking,
                window_chars=read.window_chars,
                window_overlap=read.window_overlap,
            ),
            lexicon=lexicon,
            has_letters=read.lexical_boost > 0,
            consolidation=read.consolidate,
        ),
        Search(
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


def _parts(read: HybridOptions) -> tuple[str, ...]:
    uses_vectors = read.vector or read.rerank or read.consolidate != "none"
    uses_words = read.keyword or read.rerank
    return (*(_WORDS if uses_words else ()), *(_VECTORS if uses_vectors else ()))


def _say_nothing(shelf: Shelf, question: Question) -> Answer:  # noqa: ARG001
    return silence()


def _system(
    name: str, read: Record, parts: tuple[str, ...], opened: Callable[[], StoryMemory]
) -> StorySystem:
    return StorySystem(_card(name, read, parts), lambda scenario: opened())  # noqa: ARG005


def _card(name: str, read: Record, parts: tuple[str, ...]) -> SystemCard:
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
