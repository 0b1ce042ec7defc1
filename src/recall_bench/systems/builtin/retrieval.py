"""A search in an index: words and meaning together, with what dates, names and dialogues add."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from recall_bench.core.memory import Answer
from recall_bench.core.scenario import PRINCIPAL, Question
from recall_bench.systems.builtin.date_spans import DateSpan, find_date_spans
from recall_bench.systems.builtin.dialogue_context import score_context, select_spread
from recall_bench.systems.builtin.exact_words import find_exact_words
from recall_bench.systems.builtin.passage_index import (
    IndexedPassage,
    PassageIndex,
    answer_no_record,
)
from recall_bench.systems.builtin.word_index import Vocabulary, WordVectorTable
from recall_bench.systems.models.static_embedding import compute_similarity, embed
from recall_bench.systems.reading.answer_writer import load_writer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall_bench.systems.builtin.options import Fusion
    from recall_bench.systems.builtin.passage_index import PassageIndex
    from recall_bench.systems.builtin.served_models import PassageScorer, QuestionEmbedder


def score_exact_words(index: PassageIndex, question: str) -> NDArray[np.float32]:
    """The share of the question's exact words in each passage."""
    import numpy as np

    matches = np.zeros(len(index), np.float32)
    exact_words = find_exact_words(question)
    if not exact_words:
        return matches
    texts = [text for document in index.documents for text in document.lowercase]
    for word in exact_words:
        whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        # Few passages contain the letters at all; only those need the slower search.
        near = [place for place, text in enumerate(texts) if word in text]
        matches[[place for place in near if whole.search(texts[place])]] += 1
    return matches / np.float32(len(exact_words))


RANK_OFFSET = 60
"""Reciprocal rank fusion's constant, as published."""

RERANK_CANDIDATES = 50
"""How many candidates are ranked a second time."""

_GROUPED = 64
"""Scores of which the best is looked at first."""


@dataclass(frozen=True, slots=True)
class SearchHits:
    """What a search found, best first."""

    numbers: tuple[int, ...]
    """The numbers of the passages in the index."""
    scores: tuple[float, ...]
    """What they were ranked by; comparable within one question only."""
    support: float
    """How well the best of them fits, from 0 to 1, comparable between questions and histories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageSearch:
    """Answers a question with the passages that fit it best."""

    vocabulary: Vocabulary | None
    """None searches by meaning alone."""
    weight: float
    """The weight of words in a score; the rest is the weight of meaning."""
    fusion: Fusion = "weighted"
    temporal_boost: float = 0.0
    """Added to the score, 1 at most, of a passage from a date the question names."""
    lexical_boost: float = 0.0
    """Added to the score of a passage with all exact words of the question."""
    turn_boost: float = 0.0
    """Of dialogues: the part of the score of the turn before that is added to a turn's."""
    session_boost: float = 0.0
    """Of dialogues: the part of the best score of the session that is added to each turn's."""
    spread: float = 0.0
    """Of dialogues: the share of the places that goes to sessions which have none yet."""
    lexicon: WordVectorTable | None = None
    """If given, the best candidates are ranked again, word by word."""
    score_passages: PassageScorer | None = None
    """If given, the best candidates are ranked again by a model, and by nothing else."""
    embed_question: QuestionEmbedder | None = None
    """Makes the vector of a question; None for the built-in word vectors."""
    supports_by_words: bool = False
    """Whether words alone say how well a passage fits: models scale vectors differently."""
    respects_sessions: bool = False
    """A question sees its own session only; the principal's sees all."""
    neighbours: int = 0
    """How many passages on either side, of the same day and session, are shown with each hit."""
    k: int = 10
    quotes: int = 3
    threshold: float = 0.0
    """The support below which there is no record."""

    def __call__(self, index: PassageIndex, question: Question) -> Answer:
        """Quote the best passages, or say that there is no record."""
        hits = self.find(index, question)
        expanded = self._expand_hits(index, hits)
        passages = tuple(passage.to_passage(score) for passage, score in expanded)
        if not expanded or hits.support < self.threshold:
            return answer_no_record(passages)
        readings = [passage.to_reading() for passage, _ in expanded[: self.quotes]]
        return Answer(text=load_writer().write(question, readings), passages=passages)

    def find(self, index: PassageIndex, question: Question) -> SearchHits:
        """The k best passages; of equals, the later one is better."""
        if not len(index):
            return SearchHits((), (), 0.0)
        words, meaning = self._score_words(index, question), self._score_meaning(index, question)
        scores = self._fuse(words, meaning)
        if self.temporal_boost and (
            spans := find_date_spans(question.text, question.asked_at.date())
        ):
            scores = scores + self.temporal_boost * score_dates(index, spans)
        if self.lexical_boost:
            scores = scores + self.lexical_boost * score_exact_words(index, question.text)
        scores = self._add_context(index, scores)
        if self.respects_sessions and question.session != PRINCIPAL:
            scores = scores * mask_session(index, question.session)
        if self.lexicon is not None or self.score_passages is not None:
            scores = self._rerank(index, question, scores)
        best = select_best(scores, self.k)
        if index.dialogue is not None and self.spread:
            best = select_spread(scores, best, index.dialogue, self.spread)
        weight = 1.0 if self.supports_by_words else self.weight
        fit = weight * words[best] + (1 - weight) * meaning[best]
        return SearchHits(
            numbers=tuple(best.tolist()),
            scores=tuple(round(score, 6) for score in scores[best].tolist()),
            support=float(fit.max(initial=0.0)),
        )

    def _add_context(self, index: PassageIndex, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        if index.dialogue is None or not (self.turn_boost or self.session_boost):
            return scores
        return score_context(
            scores, index.dialogue, turn_boost=self.turn_boost, session_boost=self.session_boost
        )

    def _rerank(
        self, index: PassageIndex, question: Question, scores: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The mean of score and word closeness for the best candidates; 0 for the others.

        A model's scores replace both: the best candidate gets 1, the worst little more than 0.
        """
        import numpy as np

        second = np.zeros_like(scores)
        numbers = select_best(scores, max(RERANK_CANDIDATES, self.k))
        if not len(numbers):
            return second
        if self.score_passages is not None:
            texts = [index.get(number).chunk.search_text for number in numbers.tolist()]
            model_scores = np.asarray(self.score_passages(question.text, texts), np.float64)
            span = model_scores.max() - model_scores.min()
            second[numbers] = (model_scores - model_scores.min() + span / 100 + 1e-9) / (
                span * 1.01 + 1e-9
            )
            return second
        if self.lexicon is None:
            return second
        closeness = self.lexicon.score_closeness(
            question.text, [index.get_words(n) for n in numbers]
        )
        first = scores[numbers] / scores[numbers].max()
        second[numbers] = (first + closeness) / 2
        return second

    def _expand_hits(
        self, index: PassageIndex, hits: SearchHits
    ) -> list[tuple[IndexedPassage, float]]:
        """Each hit with its score, and with its neighbours if they are wanted.

        What is shown beside a better hit is not shown again.
        """
        scored = zip(hits.numbers, hits.scores, strict=True)
        if not self.neighbours:
            return [(index.get(number), score) for number, score in scored]
        expanded: list[tuple[IndexedPassage, float]] = []
        taken: set[int] = set()
        for number, score in scored:
            if number not in taken:
                around = _clip_range(index.find_neighbours(number, self.neighbours), number, taken)
                taken.update(around)
                expanded.append((index.merge_range(around), score))
        return expanded

    def _score_words(self, index: PassageIndex, question: Question) -> NDArray[np.float32]:
        import numpy as np

        if index.words is None or self.vocabulary is None:
            return np.zeros(len(index), np.float32)
        return index.words.score(self.vocabulary.parse_query(question.text))

    def _score_meaning(self, index: PassageIndex, question: Question) -> NDArray[np.float32]:
        import numpy as np

        if not index.vectors:
            return np.zeros(len(index), np.float32)
        direction = (self.embed_question or _embed_question)(question.text)
        return np.concatenate([compute_similarity(block, direction) for block in index.vectors])

    def _fuse(
        self, words: NDArray[np.float32], meaning: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        if self.weight == 1:
            return words
        if self.weight == 0:
            return meaning
        if self.fusion == "rank":
            return fuse_by_rank(words, meaning)
        return fuse_by_weight(words, meaning, self.weight)


@lru_cache(maxsize=4096)
def _embed_question(text: str) -> NDArray[np.float32]:
    """The vector of a question, which is asked at many checkpoints."""
    vector: NDArray[np.float32] = embed([text])[0]
    return vector


def fuse_by_weight(
    words: NDArray[np.float32], meaning: NDArray[np.float32], weight: float
) -> NDArray[np.float32]:
    """The weighted mean of both scores, each scaled to a maximum of 1 for this question.

    The zero of words is no common word; the zero of meaning is the least similar passage.
    """
    top, low, high = words.max(), meaning.min(), meaning.max()
    return weight * (words / top if top > 0 else words) + (1 - weight) * (
        (meaning - low) / (high - low) if high > low else meaning * 0
    )


def fuse_by_rank(words: NDArray[np.float32], meaning: NDArray[np.float32]) -> NDArray[np.float32]:
    """Reciprocal rank fusion with equal weights, scaled so that first in both is 1."""
    import numpy as np

    fused = np.zeros(len(words), np.float32)
    for scores in (words, meaning):
        ranked = select_best(scores, len(scores))
        fused[ranked] += (RANK_OFFSET + 1) / 2 / (RANK_OFFSET + 1 + np.arange(len(ranked)))
    return fused


def select_best(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Positions of the k highest scores above zero, highest first; of equals, the later first."""
    import numpy as np

    floor = _find_low_floor(scores, k)
    near = np.flatnonzero(scores >= floor if floor > 0 else scores > 0)
    if len(near) > k:
        least = np.partition(scores[near], -k)[-k]
        near = near[scores[near] >= least]
    order = np.lexsort((-near, -scores[near]))
    return near[order[:k]]


def _find_low_floor(scores: NDArray[np.float32], k: int) -> float:
    """A score that at least k positions reach, found fast and not much below the best k; or 0.

    It is the k-th best of the maxima of groups, of which there are far fewer than scores.
    """
    import numpy as np

    groups = len(scores) // _GROUPED
    if groups < 2 * k:
        return 0.0
    best = scores[: groups * _GROUPED].reshape(_GROUPED, groups).max(axis=0)
    return float(np.partition(best, -k)[-k])


def _clip_range(around: range, middle: int, taken: set[int]) -> range:
    """The part of the range around the middle up to the nearest taken passages."""
    low = max((n for n in around if n < middle and n in taken), default=around.start - 1)
    high = min((n for n in around if n > middle and n in taken), default=around.stop)
    return range(low + 1, high)


def score_dates(index: PassageIndex, spans: Sequence[DateSpan]) -> NDArray[np.float32]:
    """1 for each passage from these days, 0 for the others."""
    import numpy as np

    dates = index.dates
    named = np.zeros(len(index), bool)
    if dates is None:
        return named.astype(np.float32)
    for span in spans:
        named |= (dates >= span.first.toordinal()) & (dates <= span.last.toordinal())
    return named.astype(np.float32)


def mask_session(index: PassageIndex, session: str) -> NDArray[np.float32]:
    """1 for each passage the session may see, its own and those of none; 0 for the others."""
    import numpy as np

    allowed = (None, session)
    is_visible = (
        chunk.session in allowed for document in index.documents for chunk in document.chunks
    )
    return np.fromiter(is_visible, np.float32, len(index))
