"""The built-in systems that keep what they are told: how each is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from recall_bench.core.memory import (
    Answer,
    Asker,
    MemorySystem,
    Passage,
    RetrievalReply,
    SystemCard,
)
from recall_bench.core.record import Record
from recall_bench.core.scenario import PRINCIPAL, Question
from recall_bench.core.schedule import generate_numbers
from recall_bench.systems.builtin.chunks import Chunker
from recall_bench.systems.builtin.index_memory import IndexMemory, IndexSystem
from recall_bench.systems.builtin.options import (
    FullContextOptions,
    HybridOptions,
    NoOptions,
    PlaceboOptions,
    RandomOptions,
    RecencyOptions,
    VectorOptions,
    WordOptions,
    build_card,
    read_options,
)
from recall_bench.systems.builtin.passage_index import (
    Indexer,
    PassageIndex,
    answer_no_record,
    format_quote,
)
from recall_bench.systems.builtin.retrieval import PassageSearch
from recall_bench.systems.builtin.served_models import ServedModels, open_served_models
from recall_bench.systems.builtin.word_index import Bm25, Vocabulary, WordVectorTable
from recall_bench.systems.reading.answer_writer import load_writer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall_bench.systems.builtin.served_models import ServedModels


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomAnswerer:
    """Quotes passages drawn at random; the question's id is the seed, its words are ignored."""

    seed: int
    k: int
    quotes: int

    def __call__(self, index: PassageIndex, question: Question) -> Answer:
        """Quote the passages drawn first."""
        drawn_passages = [
            index.get(number) for number in self._draw_numbers(len(index), question.id)
        ]
        if not drawn_passages:
            return answer_no_record()
        passages = tuple(passage.to_passage() for passage in drawn_passages)
        readings = [passage.to_reading() for passage in drawn_passages[: self.quotes]]
        return Answer(text=load_writer().write(question, readings), passages=passages)

    def _draw_numbers(self, size: int, lot: str) -> list[int]:
        digest = sha256(f"{self.seed}\0{lot}".encode()).digest()
        numbers: dict[int, None] = {}
        for draw in generate_numbers(int.from_bytes(digest[:4], "big")):
            if len(numbers) == min(self.k, size):
                break
            numbers.setdefault(int(draw * size))
        return list(numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullContextAnswerer:
    """Quotes the passage with the most words of the question, of everything there is.

    All words weigh the same and no passage is left out, as for a model that is given the whole
    history; the neighbours of the best passage are quoted with it. Passages are reported up to the
    budget: best first, then latest first.
    """

    vocabulary: Vocabulary
    budget: int
    quotes: int
    threshold: float

    def __call__(self, index: PassageIndex, question: Question) -> Answer:
        """Quote the best passages with their neighbours, or say that there is no record."""
        import numpy as np

        if not len(index):
            return answer_no_record()
        shares = self.compute_shares(index, question)
        order = np.lexsort((-np.arange(len(index)), -shares)).tolist()
        passages = tuple(self._fill_budget(index, order, shares.tolist()))
        if not 0 < shares[order[0]] >= self.threshold:
            return answer_no_record(passages)
        readings = [
            index.merge_range(index.find_neighbours(number, 1)).to_reading()
            for number in order[: self.quotes]
        ]
        return Answer(text=load_writer().write(question, readings), passages=passages)

    def compute_shares(self, index: PassageIndex, question: Question) -> NDArray[np.float64]:
        """The share of the question's words in each passage."""
        import numpy as np

        query = self.vocabulary.parse_query(question.text)
        matches = np.zeros(len(index))
        if index.postings is not None:
            for term in set(index.postings.select_present(query)):
                matches[index.postings.get_passages(term)] += 1
        return matches / max(len(set(query.known)) + query.unknown, 1)

    def _fill_budget(
        self, index: PassageIndex, order: list[int], shares: list[float]
    ) -> Iterator[Passage]:
        rest = self.budget
        for number in order:
            passage = index.get(number)
            rest -= len(passage.chunk.text)
            if rest < 0:
                return
            yield passage.to_passage(round(shares[number], 6))


def cite_passages(
    passages: Iterable[Passage], question: Question, fed: Mapping[int, tuple[str, date]]
) -> tuple[Passage, ...]:
    """The evidence passages of fed days with their dates and sessions, as a search cites them.

    `fed` has the id and date of the episode of each day. Passages of other sessions are there only
    if the asker may see them; their sessions are not named then.
    """
    cited: list[Passage] = []
    for passage in passages:
        episode, on = fed.get(passage.day or 0, ("", None))
        if on is not None:
            is_named = question.session in {PRINCIPAL, passage.source}
            session = passage.source if is_named and passage.source != episode else None
            cited.append(passage.replace(text=format_quote(passage.text, on, session)))
    return tuple(cited)


def _find_gold(
    index: PassageIndex, question: Question, evidence: tuple[Passage, ...]
) -> RetrievalReply:
    """Return the evidence passages of fed days with their dates, in the order of the story."""
    fed = {document.day: (document.episode, document.on) for document in index.documents}
    return RetrievalReply(passages=cite_passages(evidence, question, fed))


def _quote_evidence(
    index: PassageIndex, _: Question, evidence: tuple[Passage, ...]
) -> Answer | RetrievalReply:
    """Quote the evidence verbatim; without any, or before its days, there is no record."""
    ingested = {document.day: document for document in index.documents}
    quotes: dict[str, Passage] = {}
    for passage in evidence:
        document = ingested.get(passage.day) if passage.day is not None else None
        if document is not None:
            session = passage.source if passage.source != document.episode else None
            quotes[format_quote(passage.text, document.on, session)] = passage
    if not quotes:
        return answer_no_record()
    return Answer(text="\n".join(quotes), passages=tuple(quotes.values()))


_WORD_LIBRARIES = ("bm25s", "PyStemmer", "numpy")
_VECTOR_LIBRARIES = ("wordllama", "tokenizers", "numpy")


def build_random(config: Mapping[str, object]) -> MemorySystem:
    """Quotes passages drawn at random, the same for the same question and history."""
    options = read_options("random", config, RandomOptions)
    reader = RandomAnswerer(seed=options.seed, k=options.k, quotes=options.quotes)
    return _build_system("random", options, (), lambda: IndexMemory(Indexer(), reader))


def build_bm25(config: Mapping[str, object]) -> MemorySystem:
    """Finds passages by their words."""
    options = read_options("bm25", config, WordOptions)

    def create_memory() -> IndexMemory:
        vocabulary = Vocabulary()
        return IndexMemory(
            Indexer(vocabulary=vocabulary, formula=Bm25(options.k1, options.b)),
            PassageSearch(
                vocabulary=vocabulary,
                weight=1.0,
                k=options.k,
                quotes=options.quotes,
                threshold=options.threshold,
            ),
        )

    return _build_system("bm25", options, _WORD_LIBRARIES, create_memory)


def build_vector(config: Mapping[str, object], *, endpoint: str | None = None) -> MemorySystem:
    """Finds passages by their meaning."""
    served = open_served_models(endpoint)
    options = read_options("vector", config, VectorOptions).resolve(
        is_measured=not served.has_embedder
    )
    reader = PassageSearch(
        vocabulary=None,
        weight=0.0,
        score_passages=served.passage_scorer,
        embed_question=served.question_embedder,
        k=options.k,
        quotes=options.quotes,
        threshold=options.threshold or 0.0,
    )
    return _build_system(
        "vector",
        options,
        _VECTOR_LIBRARIES,
        lambda: IndexMemory(Indexer(embed=served.embedder), reader, in_thread=served.is_used),
        is_served=served.is_used,
    )


def build_hybrid(config: Mapping[str, object], *, endpoint: str | None = None) -> MemorySystem:
    """Finds passages by words, meaning and the dates a question names. The default system."""
    return _build_hybrid_system("hybrid", read_options("hybrid", config, HybridOptions), endpoint)


def build_recency(config: Mapping[str, object], *, endpoint: str | None = None) -> MemorySystem:
    """The hybrid system over the last days only."""
    options = read_options("recency", config, RecencyOptions)
    return _build_hybrid_system("recency", options, endpoint, options.days)


def _build_hybrid_system(
    name: str, options: HybridOptions, endpoint: str | None, days: int | None = None
) -> MemorySystem:
    served = open_served_models(endpoint)
    resolved = options.resolve(is_measured=not served.has_embedder)
    return _build_system(
        name,
        resolved,
        _list_libraries(resolved),
        lambda: _create_hybrid_memory(resolved, served, days),
        is_served=served.is_used,
    )


def build_full_context(config: Mapping[str, object]) -> MemorySystem:
    """Reads everything for every question, and weighs all words the same."""
    options = read_options("full-context", config, FullContextOptions)

    def create_memory() -> IndexMemory:
        vocabulary = Vocabulary()
        return IndexMemory(
            Indexer(vocabulary=vocabulary),
            FullContextAnswerer(
                vocabulary=vocabulary,
                budget=options.budget,
                quotes=options.quotes,
                threshold=options.threshold,
            ),
        )

    return _build_system("full-context", options, _WORD_LIBRARIES, create_memory)


FindEvidence = Callable[[Question], tuple[Passage, ...]]
"""The evidence of a question, for controls alone."""


class ControlSystem(IndexSystem):
    """A control: it is given the evidence of each question, and uses it once its days are fed."""

    def __init__(
        self, card: SystemCard, create_memory: Callable[[FindEvidence], IndexMemory]
    ) -> None:
        super().__init__(card, self._create_control_memory, erases=False)
        self._create_for = create_memory
        self._evidence: dict[str, Mapping[str, tuple[Passage, ...]]] = {}
        """The passages of each question, by scenario and question id."""

    def _create_control_memory(self, scenario: str) -> IndexMemory:
        return self._create_for(
            lambda question: self._evidence.get(scenario, {}).get(question.id, ())
        )


def _create_evidence_memory(
    reply: Callable[[PassageIndex, Question, tuple[Passage, ...]], Answer | RetrievalReply],
    find_evidence: FindEvidence,
) -> IndexMemory:
    return IndexMemory(
        Indexer(has_text=False),
        lambda index, question: reply(index, question, find_evidence(question)),
        knows_evidence=True,
    )


_PLACEBO_CANDIDATES = 100
"""Passages looked at for those of other days: evidence is on few."""


def _create_placebo_memory(k: int, find_evidence: FindEvidence) -> IndexMemory:
    vocabulary = Vocabulary()
    search = PassageSearch(vocabulary=vocabulary, weight=1.0, k=k + _PLACEBO_CANDIDATES)

    def answer(index: PassageIndex, question: Question) -> Answer:
        days = {passage.day for passage in find_evidence(question)}
        best = map(index.get, search.find(index, question).numbers)
        others = [each for each in best if each.document.day not in days][:k]
        if not others:
            return answer_no_record()
        text = load_writer().write(question, [passage.to_reading() for passage in others])
        return Answer(text=text, passages=tuple(passage.to_passage() for passage in others))

    return IndexMemory(Indexer(vocabulary=vocabulary, formula=Bm25()), answer)


class OracleSystem(ControlSystem):
    """The control that answers."""

    def receive_evidence(self, scenario: str, evidence: Mapping[str, tuple[Passage, ...]]) -> None:
        """The supporting passages of each question of the scenario, by question id."""
        self._evidence[scenario] = dict(evidence)


class GoldPassageSystem(ControlSystem):
    """The control that finds."""

    def receive_passages(self, scenario: str, passages: Mapping[str, tuple[Passage, ...]]) -> None:
        """The evidence passages of each question of the scenario, by question id."""
        self._evidence[scenario] = dict(passages)


def build_oracle(config: Mapping[str, object]) -> MemorySystem:
    """Quotes the evidence of the reference answer, or the reference: the ceiling of the judge."""
    card = build_card("oracle", read_options("oracle", config, NoOptions), ())
    return OracleSystem(card, partial(_create_evidence_memory, _quote_evidence))


def build_gold_passages(config: Mapping[str, object]) -> MemorySystem:
    """Finds the evidence of each question for the reader: the ceiling of retrieval."""
    card = build_card("gold-passages", read_options("gold-passages", config, NoOptions), ())
    card = card.replace(answers=False, asker=Asker.HONOURED)
    return GoldPassageSystem(card, partial(_create_evidence_memory, _find_gold))


def build_placebo(config: Mapping[str, object]) -> MemorySystem:
    """Finds what looks like the answer, on days that hold none of it: what any text buys."""
    options = read_options("placebo", config, PlaceboOptions)
    card = build_card("placebo", options, _WORD_LIBRARIES)
    return GoldPassageSystem(card, partial(_create_placebo_memory, options.k))


def _create_hybrid_memory(
    options: HybridOptions, served: ServedModels, window: int | None
) -> IndexMemory:
    vocabulary = Vocabulary() if options.keyword else None
    lexicon = WordVectorTable() if options.rerank and not served.has_reranker else None
    return IndexMemory(
        Indexer(
            vocabulary=vocabulary,
            formula=Bm25(options.k1, options.b),
            embed=served.embedder if options.vector else None,
            chunker=Chunker(
                chunking=options.chunking,
                window_chars=options.window_chars,
                window_overlap=options.window_overlap,
            ),
            lexicon=lexicon,
            keeps_lowercase=options.lexical_boost > 0,
            consolidation=options.consolidate,
        ),
        PassageSearch(
            vocabulary=vocabulary,
            weight=options.weight if options.keyword and options.vector else float(options.keyword),
            fusion=options.fusion,
            temporal_boost=options.temporal_boost,
            lexical_boost=options.lexical_boost,
            turn_boost=options.turn_boost,
            session_boost=options.session_boost,
            spread=options.spread,
            lexicon=lexicon,
            score_passages=served.passage_scorer,
            embed_question=served.question_embedder,
            supports_by_words=served.has_embedder and options.keyword,
            respects_sessions=options.respect_sessions,
            neighbours=options.neighbours,
            k=options.k,
            quotes=options.quotes,
            threshold=options.threshold or 0.0,
        ),
        window=window,
        in_thread=served.is_used,
    )


def _list_libraries(options: HybridOptions) -> tuple[str, ...]:
    uses_vectors = options.vector or options.rerank or options.consolidate != "none"
    uses_words = options.keyword or options.rerank
    return (*(_WORD_LIBRARIES if uses_words else ()), *(_VECTOR_LIBRARIES if uses_vectors else ()))


def _build_system(
    name: str,
    options: Record,
    parts: tuple[str, ...],
    create_memory: Callable[[], IndexMemory],
    *,
    is_served: bool = False,
) -> IndexSystem:
    # A model behind an endpoint may keep it waiting, as no computation does.
    card = build_card(name, options, parts).replace(computes=not is_served)
    return IndexSystem(card, lambda scenario: create_memory())  # noqa: ARG005
