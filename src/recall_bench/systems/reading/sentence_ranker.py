"""Ranks sentences by how well they answer a question."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import accumulate, chain
from sys import intern
from threading import Lock
from typing import TYPE_CHECKING

from recall_bench.systems.models.static_embedding import DIMENSIONS, embed
from recall_bench.systems.reading.answer_values import (
    find_amounts,
    find_names,
    find_times,
    resolve_dates,
)
from recall_bench.systems.reading.passage_sentences import ReadSentence, collect_stems
from recall_bench.systems.reading.question_analysis import AnswerKind, AskedQuestion
from recall_bench.text.text import STOPWORDS, normalise, split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

FEATURES = (
    "words", "passage words", "anchors", "passage anchors", "fit", "noun", "day", "new", "asks",
    "other speaker", "measure", "name", "reason", "first", "closeness",
)  # fmt: skip
# Fitted on half of the questions of the shipped personas, a written corpus and LoCoMo, and rounded
# (benchmarks/calibrate_sentences.py). On the other half the right sentence is one of the best four
# in 95 to 98 % of the questions about contents.
CONTENT_WEIGHTS = (
    -0.5, 0.0, -0.8, 2.0, 3.5, 0.4, 0.2, 2.3, -0.8, -0.5, 1.7, 2.0, 1.7, -0.2, 4.0,
)  # fmt: skip
"""For questions about what was said."""
EVENT_WEIGHTS = (
    -1.0, 1.5, 1.0, 1.5, 2.0, 0.0, 0.5, 2.2, -1.0, -1.0, 0.0, 0.0, 0.0, 0.2, 3.4,
)  # fmt: skip
"""For questions about whether or when something happened."""

EVENTS = frozenset(
    {AnswerKind.ORDER, AnswerKind.FIRST, AnswerKind.GAP, AnswerKind.DATE, AnswerKind.YES_NO}
)

_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|I'll|my|me|mine)\b")
_SECOND_PERSON = re.compile(r"\b(?:you|your|you're|you've|yours|yourself|u)\b", re.IGNORECASE)


CACHE_SIZE = 16_384
"""The number of measured passages, and of words with their vectors, that are kept."""
_INITIAL_WORDS = 1024


class SentenceRanker:
    """Scores sentences.

    A passage is measured once for a question, which is asked at many checkpoints; the vectors of
    its words are computed once for all.
    """

    def __init__(self) -> None:
        import numpy as np

        self._lock = Lock()
        self._numbers: dict[str, int] = {}
        """The row of each word."""
        self._vectors = np.empty((0, DIMENSIONS), np.float32)
        self._measured: dict[tuple[AskedQuestion, str], NDArray[np.float32]] = {}

    def score(self, asked: AskedQuestion, sentences: Sequence[ReadSentence]) -> NDArray[np.float32]:
        """A score for each sentence of whole passages; higher is better."""
        import numpy as np

        weights = EVENT_WEIGHTS if asked.wanted in EVENTS else CONTENT_WEIGHTS
        return self.measure(asked, sentences) @ np.array(weights, np.float32)

    def measure(
        self, asked: AskedQuestion, sentences: Sequence[ReadSentence]
    ) -> NDArray[np.float32]:
        """The features of each sentence of whole passages, one row per sentence."""
        import numpy as np

        passages = dict.fromkeys(each.source for each in sentences)
        known = {source: self._measured.get((asked, source)) for source in passages}
        fresh = [sentence for sentence in sentences if known[sentence.source] is None]
        if fresh:
            known |= self._measure_new(asked, fresh)
        rows = [known[source] for source in passages]
        return np.concatenate([row for row in rows if row is not None])

    def measure_closeness(self, asked: AskedQuestion, sentence: ReadSentence) -> float:
        """How close the words of a sentence are to those of the question, from 0 to 1."""
        # By itself: in a batch the last digits depend on what else is in it.
        return float(self._measure_closeness(asked, [sentence])[0])

    def _measure_new(
        self, asked: AskedQuestion, sentences: Sequence[ReadSentence]
    ) -> dict[str, NDArray[np.float32]]:
        import numpy as np

        known = frozenset(word for anchor in asked.anchors for word in anchor.split())
        plain = np.array(
            [_measure_plain(asked, sentence, known) for sentence in sentences], np.float32
        )
        closeness = self._measure_closeness(asked, sentences)
        rows = np.concatenate([plain, closeness[:, None]], axis=1)
        places: dict[str, list[int]] = {}
        for place, each in enumerate(sentences):
            places.setdefault(each.source, []).append(place)
        found = {source: rows[numbers] for source, numbers in places.items()}
        if len(self._measured) >= CACHE_SIZE:
            self._measured.clear()
        self._measured.update({(asked, source): each for source, each in found.items()})
        return found

    def _measure_closeness(
        self, asked: AskedQuestion, sentences: Sequence[ReadSentence]
    ) -> NDArray[np.float32]:
        """The mean similarity of the question's words to the nearest word of each sentence."""
        import numpy as np

        topic = list_content_words(strip_anchors(asked))
        words = [list_content_words(sentence.text) for sentence in sentences]
        found = np.zeros(len(sentences), np.float32)
        places = [place for place, each in enumerate(words) if each]
        if not topic or not places:
            return found
        distinct = {word: n for n, word in enumerate(dict.fromkeys(chain.from_iterable(words)))}
        likeness = np.einsum("ik,jk->ij", self._embed(topic), self._embed(list(distinct)))
        columns = [distinct[word] for place in places for word in words[place]]
        starts = list(accumulate((len(words[place]) for place in places), initial=0))[:-1]
        nearest = np.maximum.reduceat(likeness[:, columns], starts, axis=1)
        found[places] = nearest.clip(0).mean(axis=0)
        return found

    def _embed(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of some distinct words."""
        with self._lock:
            if not all(word in self._numbers for word in words):
                self._vectors = self._add_words(words)
            return self._vectors[[self._numbers[word] for word in words]]

    def _add_words(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Number the words that are new, and return the vectors of all."""
        import numpy as np

        if len(self._numbers) + len(words) > CACHE_SIZE:
            self._numbers.clear()
        fresh = [word for word in words if word not in self._numbers]
        known, vectors = len(self._numbers), self._vectors
        size = known + len(fresh)
        if size > len(vectors):
            vectors = np.empty((max(_INITIAL_WORDS, 2 * size), DIMENSIONS), np.float32)
            vectors[:known] = self._vectors[:known]
        vectors[known:size] = embed(fresh)
        self._numbers.update(zip(fresh, range(known, size), strict=True))
        return vectors


@cache
def share_ranker() -> SentenceRanker:
    """The ranker of all readers of this process: a score depends on question and passage alone."""
    return SentenceRanker()


@lru_cache(maxsize=20_000)
def list_content_words(text: str) -> tuple[str, ...]:
    """The distinct words of a text without stop words, in lower case."""
    found = dict.fromkeys(split_words(normalise(text)))
    # Interned, because most sentences are made of the same few thousand words.
    return tuple(intern(word) for word in found if word not in STOPWORDS)


def strip_anchors(asked: AskedQuestion) -> str:
    """The main clause without what can only be meant word for word."""
    text = asked.focus
    for anchor in asked.anchors:
        text = re.sub(re.escape(anchor), " ", text, flags=re.IGNORECASE)
    return text


def _measure_plain(
    asked: AskedQuestion, sentence: ReadSentence, known: frozenset[str]
) -> list[float]:
    """All features but closeness; `known` has the words of the question's names and codes."""
    topic, own, place = asked.stems, sentence.folded, sentence.folded_place
    anchors = [
        (
            anchor in own,
            anchor in own or anchor in place or collect_stems(anchor).issubset(sentence.context),
        )
        for anchor in asked.anchors
    ]
    count = len(anchors) or 1
    shared = len(topic.intersection(sentence.stems))
    return [
        shared / (len(topic) or 1),
        len(topic.intersection(sentence.context)) / (len(topic) or 1),
        sum(held for held, _ in anchors) / count,
        sum(near for _, near in anchors) / count,
        fits(asked, sentence, known),
        fits_noun(asked, sentence),
        float(is_on_day(asked, sentence)),
        min(len(sentence.stems) - shared, 6) / 6,
        float(sentence.text.rstrip().endswith("?")),
        float(is_other_speaker(asked, sentence)),
        fits_measure(asked, sentence),
        fits_name(asked, sentence, known),
        float(asked.wants_reason and _REASON.search(sentence.text) is not None),
        float(sentence.place == 0),
    ]


def fits(asked: AskedQuestion, sentence: ReadSentence, known: frozenset[str]) -> float:
    """Whether the sentence has a value of the kind that is asked for."""
    match asked.wanted:
        case AnswerKind.AMOUNT | AnswerKind.COUNT | AnswerKind.SUM | AnswerKind.EXTREME:
            return float(
                any(
                    value.shown.lower() not in asked.text.lower()
                    for value in find_amounts(sentence.text)
                )
            )
        case AnswerKind.TIME:
            return float(bool(find_times(sentence.text)))
        case AnswerKind.PERSON:
            return _fit_person(find_names(sentence.text, known))
        case AnswerKind.DATE:
            return float(bool(resolve_dates(sentence.text, sentence.on)))
        case _:
            return 0.0


def _fit_person(names: list[str]) -> float:
    """A full name is a person more often than a single word."""
    return 1.0 if any(" " in name for name in names) else 0.4 if names else 0.0


_REASON = re.compile(
    r"\b(?:because|since|so that|in order to|due to|on the grounds? (?:of|that)|owing to"
    r"|as a result|reason|thanks to"
    r"|the argument|objected|objection|explain\w*|caused?|led to|therefore|that is why|given that"
    r"|on account of|the (?:worry|fear|concern))\b",
    re.IGNORECASE,
)
_MONEY_UNITS = frozenset({"usd", "eur", "gbp"})
_TIME_UNITS = frozenset({"ms", "second", "minute", "hour", "day", "week", "month", "year"})


def fits_measure(asked: AskedQuestion, sentence: ReadSentence) -> float:
    """Whether an amount of the sentence has a unit of the kind that is asked for."""
    if not asked.measure or asked.wanted not in {
        AnswerKind.AMOUNT,
        AnswerKind.COUNT,
        AnswerKind.TEXT,
        AnswerKind.SUM,
        AnswerKind.EXTREME,
    }:
        return 0.0
    return float(
        any(find_measure(value.unit) == asked.measure for value in find_amounts(sentence.text))
    )


def find_measure(unit: str) -> str:
    """What a unit measures: money, percent, duration, or nothing in particular."""
    if unit in _MONEY_UNITS:
        return "money"
    return "percent" if unit == "%" else "duration" if unit.removesuffix("s") in _TIME_UNITS else ""


def fits_name(asked: AskedQuestion, sentence: ReadSentence, known: frozenset[str]) -> float:
    """Whether the sentence has a name that the question does not, if it asks for one."""
    if not asked.wants_name or asked.wanted not in {AnswerKind.TEXT, AnswerKind.COMMON}:
        return 0.0
    return float(bool(find_names(sentence.text, known)))


def fits_noun(asked: AskedQuestion, sentence: ReadSentence) -> float:
    """Whether an amount of the sentence counts what the question counts."""
    if not asked.noun:
        return 0.0
    stems = collect_stems(asked.noun)
    return float(any(collect_stems(value.unit) & stems for value in find_amounts(sentence.text)))


def is_on_day(asked: AskedQuestion, sentence: ReadSentence) -> bool:
    """Whether the sentence is from days that the question names."""
    return sentence.on is not None and any(
        span.first <= sentence.on <= span.last for span in asked.spans
    )


def speaks_of_self(sentence: ReadSentence) -> bool:
    """Whether the sentence is in the first person."""
    return _FIRST_PERSON.search(sentence.text) is not None


def is_other_speaker(asked: AskedQuestion, sentence: ReadSentence) -> bool:
    """Whether a speaker that the question is not about speaks of themselves in it."""
    if not sentence.speaker or not asked.anchors:
        return False
    if _SECOND_PERSON.search(sentence.text) and not speaks_of_self(sentence):
        return False
    said = split_words(sentence.folded)
    return not any(word in said for anchor in asked.anchors for word in anchor.split())
