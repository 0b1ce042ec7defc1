"""What of a question can only be meant word for word: quotations, names, numbers and codes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall_bench.systems.builtin.passage_index import PassageIndex

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from recall_bench.core.memory import Answer
from recall_bench.core.scenario import PRINCIPAL, Question
from recall_bench.models.static_embedding import compute_similarity, embed
from recall_bench.systems.builtin.date_spans import find_date_spans
from recall_bench.systems.builtin.passage_index import (
    IndexedPassage,
    PassageIndex,
    answer_no_record,
    format_quotes,
)
from recall_bench.systems.builtin.word_index import Vocabulary, WordVectorTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_QUOTED = re.compile(r"\"([^\"]{2,})\"|“([^”]{2,})”|(?<!\w)'([^']{2,})'(?!\w)|‘([^’]{2,})’")
_CODE = re.compile(r"(?<![\w.])[$€£#@]?(?=[\w./:-]*\d)\w+(?:[.,:/-]\w+)*%?")
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w’'-]*(?:\s+[A-ZÀ-ÖØ-Þ][\w’'-]*)*")
_SENTENCE_START = re.compile(r"(?:\A|[.?!]\s+)[\"'“‘(]*\Z")


def find_exact_words(question: str) -> tuple[str, ...]:
    """Each once, in small letters: what stands in quotation marks, numbers and codes, names.

    A name is a run of capitalised words; a single one that opens a sentence may be any word, and
    is none.
    """
    found: dict[str, None] = {}
    for quoted in _QUOTED.finditer(question):
        found[next(filter(None, quoted.groups())).strip(" .,;:?!").lower()] = None
    for code in _CODE.finditer(question):
        found[code[0].lower()] = None
    for name in _NAME.finditer(question):
        words = name[0].removesuffix("'s").removesuffix("’s").split()
        if _SENTENCE_START.search(question[: name.start()]):
            words = words[1:]
        if words and words != ["I"]:
            found[" ".join(words).lower()] = None
    return tuple(word for word in found if word)


def score_exact_words(shelf: PassageIndex, question: str) -> NDArray[np.float32]:
    """For each passage the share of the question's exact words that it holds."""
    import numpy as np

    held = np.zeros(len(shelf), np.float32)
    wanted = find_exact_words(question)
    if not wanted:
        return held
    texts = [text for page in shelf.pages for text in page.small]
    for word in wanted:
        whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        # Few passages hold the letters at all; only there it matters where a word ends.
        near = [place for place, text in enumerate(texts) if word in text]
        held[[place for place in near if whole.search(texts[place])]] += 1
    return held / np.float32(len(wanted))


Fusion = Literal["weighted", "rank"]

RANK_OFFSET = 60
"""Reciprocal rank fusion's constant, as published."""

RERANK_CANDIDATES = 50
"""So many candidates are ranked a second time."""


@dataclass(frozen=True, slots=True)
class SearchHits:
    """What a search found, best first."""

    numbers: tuple[int, ...]
    """The passages, as the shelf numbers them."""
    scores: tuple[float, ...]
    """What they were ranked by; comparable within one question only."""
    support: float
    """How well the best of them fits, from 0 to 1, comparable between questions and histories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageSearch:
    """Answers a question with the passages that fit it best."""

    vocabulary: Vocabulary | None
    """None looks for meaning alone."""
    weight: float
    """The part of the words in a score; the rest is the meaning's."""
    fusion: Fusion = "weighted"
    temporal_boost: float = 0.0
    """Added to the score, 1 at most, of a passage from a date the question names."""
    lexical_boost: float = 0.0
    """Added to the score of a passage that holds all the question says word for word."""
    lexicon: WordVectorTable | None = None
    """With one, the best candidates are ranked again, word by word."""
    respects_sessions: bool = False
    """A question sees its own session only, unless it is the principal's, who sees all."""
    neighbours: int = 0
    """So many passages either side, of the same day and session, are shown with each found."""
    k: int = 10
    quotes: int = 3
    threshold: float = 0.0
    """Below this support there is no record."""

    def __call__(self, shelf: PassageIndex, question: Question) -> Answer:
        """Quote the best passages, or say that there is no record."""
        hits = self.find(shelf, question)
        shown = self._expand_hits(shelf, hits)
        passages = tuple(found.to_passage(score) for found, score in shown)
        if not shown or hits.support < self.threshold:
            return answer_no_record(passages)
        return Answer(
            text=format_quotes((found for found, _ in shown), self.quotes), passages=passages
        )

    def find(self, shelf: PassageIndex, question: Question) -> SearchHits:
        """The k best passages; of equals, the later one is better."""
        if not len(shelf):
            return SearchHits((), (), 0.0)
        words = self._score_words(shelf, question)
        meaning = self._score_meaning(shelf, question)
        scores = self._fuse(words, meaning)
        if self.temporal_boost:
            scores = scores + self.temporal_boost * score_dates(shelf, question)
        if self.lexical_boost:
            scores = scores + self.lexical_boost * score_exact_words(shelf, question.text)
        if self.respects_sessions and question.session != PRINCIPAL:
            scores = scores * mask_session(shelf, question.session)
        if self.lexicon is not None:
            scores = self._rerank(shelf, question, scores)
        numbers = select_best(scores, self.k)
        fit = self.weight * words[numbers] + (1 - self.weight) * meaning[numbers]
        return SearchHits(
            numbers=tuple(numbers.tolist()),
            scores=tuple(round(score, 6) for score in scores[numbers].tolist()),
            support=float(fit.max(initial=0.0)),
        )

    def _rerank(
        self, shelf: PassageIndex, question: Question, scores: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The mean of the score and of how close the words come; nothing for the others."""
        import numpy as np

        second = np.zeros_like(scores)
        numbers = select_best(scores, max(RERANK_CANDIDATES, self.k))
        if self.lexicon is None or not len(numbers):
            return second
        closeness = self.lexicon.score_closeness(
            question.text, [shelf.get_words(n) for n in numbers]
        )
        first = scores[numbers] / scores[numbers].max()
        second[numbers] = (first + closeness) / 2
        return second

    def _expand_hits(
        self, shelf: PassageIndex, hits: SearchHits
    ) -> list[tuple[IndexedPassage, float]]:
        """Each hit, between its neighbours if they are wanted, with its score.

        What is shown beside a better hit is not shown again.
        """
        scored = zip(hits.numbers, hits.scores, strict=True)
        if not self.neighbours:
            return [(shelf.get(number), score) for number, score in scored]
        found: list[tuple[IndexedPassage, float]] = []
        taken: set[int] = set()
        for number, score in scored:
            if number not in taken:
                around = _clip_range(shelf.find_neighbours(number, self.neighbours), number, taken)
                taken.update(around)
                found.append((shelf.merge_range(around), score))
        return found

    def _score_words(self, shelf: PassageIndex, question: Question) -> NDArray[np.float32]:
        import numpy as np

        if shelf.words is None or self.vocabulary is None:
            return np.zeros(len(shelf), np.float32)
        return shelf.words.score(self.vocabulary.parse_query(question.text))

    def _score_meaning(self, shelf: PassageIndex, question: Question) -> NDArray[np.float32]:
        import numpy as np

        if not shelf.vectors:
            return np.zeros(len(shelf), np.float32)
        direction = embed([question.text])[0]
        return np.concatenate([compute_similarity(block, direction) for block in shelf.vectors])

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


def fuse_by_weight(
    words: NDArray[np.float32], meaning: NDArray[np.float32], weight: float
) -> NDArray[np.float32]:
    """The weighted mean of both scores, each stretched to reach 1 for this question.

    Words start from a true zero, no word in common; meanings from the least alike there is.
    """
    top, low, high = words.max(), meaning.min(), meaning.max()
    return weight * (words / top if top > 0 else words) + (1 - weight) * (
        (meaning - low) / (high - low) if high > low else meaning * 0
    )


def fuse_by_rank(words: NDArray[np.float32], meaning: NDArray[np.float32]) -> NDArray[np.float32]:
    """Reciprocal rank fusion of equals, stretched so that first by both is 1."""
    import numpy as np

    fused = np.zeros(len(words), np.float32)
    for scores in (words, meaning):
        ranked = select_best(scores, len(scores))
        fused[ranked] += (RANK_OFFSET + 1) / 2 / (RANK_OFFSET + 1 + np.arange(len(ranked)))
    return fused


def select_best(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The places of the k highest scores above zero, highest first; of equals, the later first."""
    import numpy as np

    count = min(k, int(np.count_nonzero(scores > 0)))
    if count == 0:
        return np.empty(0, np.int64)
    floor = np.partition(scores, -count)[-count]
    near = np.flatnonzero(scores >= floor)
    order = np.lexsort((-near, -scores[near]))
    return near[order[:count]]


def _clip_range(around: range, middle: int, taken: set[int]) -> range:
    """The part of the range around the middle up to the first passage taken on either side."""
    low = max((n for n in around if n < middle and n in taken), default=around.start - 1)
    high = min((n for n in around if n > middle and n in taken), default=around.stop)
    return range(low + 1, high)


def score_dates(shelf: PassageIndex, question: Question) -> NDArray[np.float32]:
    """1 for each passage from a date the question names, 0 for the others."""
    import numpy as np

    dates = shelf.list_dates()
    named = np.zeros(len(dates), bool)
    for span in find_date_spans(question.text, question.asked_at.date()):
        named |= (dates >= span.first.toordinal()) & (dates <= span.last.toordinal())
    return named.astype(np.float32)


def mask_session(shelf: PassageIndex, session: str) -> NDArray[np.float32]:
    """1 for each passage the session may see, its own and those of none; 0 for the others."""
    import numpy as np

    allowed = (None, session)
    seen = (excerpt.session in allowed for page in shelf.pages for excerpt in page.excerpts)
    return np.fromiter(seen, np.float32, len(shelf))
