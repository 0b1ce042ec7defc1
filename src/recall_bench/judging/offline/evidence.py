"""What the days around the evidence say, made quick to hold an answer against.

A window is the text of the evidence days and their neighbours, none later than the answer. Its
sentences are told apart by their words: a word of few sentences says more than one of many.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import log

from recall_bench.core.question import Item, Scenario
from recall_bench.judging.offline.contents import AnswerContents, ContentReader, TextContents
from recall_bench.judging.offline.literal import level_text
from recall_bench.judging.offline.wording import normalise, split_sentences

NEIGHBOURS = 1
"""The days either side of an evidence day that belong to its window."""
CACHE_SIZE = 4096
"""Windows kept ready: a question is put at many checkpoints."""

COMMON = 40
"""A token that more sentences hold than this tells none of them apart."""

Tokens = frozenset[str]
NO_TOKENS: Tokens = frozenset()


def collect_tokens(contents: TextContents) -> Tokens:
    """The stems and values of a text as one set."""
    return contents.stems | {f"#{value.core}" for value in contents.values}


@dataclass(frozen=True, slots=True)
class EvidenceDay:
    """One day, read once for all windows it is in."""

    sentences: tuple[Tokens, ...]
    text: str
    date: str


@dataclass(frozen=True, slots=True)
class EvidenceWindow:
    """The sentences of some days."""

    sentences: tuple[Tokens, ...]
    postings: dict[str, list[int]]
    """The sentences that each token occurs in."""
    weights: dict[str, float]
    """How telling each token is: the fewer sentences hold it, the more."""
    unheard: float
    """The weight of a token that does not occur."""
    text: str
    """All of it, levelled, for what is quoted word for word."""
    words: frozenset[str]
    """Every word of it."""
    dates: frozenset[str]
    """The month and day of each of its days."""

    @classmethod
    def build(cls, days: Iterable["EvidenceDay"]) -> "EvidenceWindow":
        """The window that these days make; a sentence counts once."""
        told = tuple(days)
        kept = tuple(dict.fromkeys(sentence for day in told for sentence in day.sentences))
        postings: dict[str, list[int]] = defaultdict(list)
        for number, sentence in enumerate(kept):
            for token in sentence:
                postings[token].append(number)
        size = len(kept) + 1
        return cls(
            sentences=kept,
            postings=dict(postings),
            weights={token: log(size / (len(found) + 0.5)) for token, found in postings.items()},
            unheard=log(size / 0.5),
            text="".join(day.text for day in told),
            words=frozenset(word for day in told for word in day.text.split()),
            dates=frozenset(day.date for day in told),
        )

    def is_quote(self, words: str) -> bool:
        """Whether levelled words stand here in this order."""
        return words in self.text

    def sum_weights(self, found: Iterable[str]) -> float:
        """How telling several tokens are together."""
        weights, unheard = self.weights, self.unheard
        return sum([weights.get(token, unheard) for token in found])

    def measure_support(self, claim: Tokens) -> float:
        """How far the sentence nearest to a claim supports it, from 0 to 1."""
        postings, weights = self.postings, self.weights
        total, scores = 0.0, dict[int, float]()
        for token in claim:
            weight = weights.get(token)
            if weight is None:
                total += self.unheard
            elif len(found := postings[token]) <= COMMON:
                total += weight
                for number in found:
                    scores[number] = scores.get(number, 0.0) + weight
        return max(scores.values()) / total if scores and total > 0 else 0.0

    def find_nearest(self, claim: Tokens, count: int) -> Tokens:
        """The tokens of the few sentences that a text shares most with."""
        scores = defaultdict[int, float](float)
        for token in claim:
            for number in self.postings.get(token, ()):
                scores[number] += self.weights[token]
        chosen = sorted(scores, key=lambda number: (-scores[number], number))[:count]
        return frozenset[str]().union(*(self.sentences[number] for number in chosen))


class EvidenceIndex:
    """The windows of one scenario's questions."""

    def __init__(self, scenario: Scenario, reader: ContentReader) -> None:
        self._episodes = {episode.day: episode for episode in scenario.episodes}
        self._reader = reader
        self._day = lru_cache(maxsize=None)(self._read_day)
        self._window = lru_cache(maxsize=CACHE_SIZE)(self._read_window)

    def find_window(self, item: Item, days: int) -> EvidenceWindow | None:
        """The window of a question as of a day; None where there is no text to look at."""
        wanted = {
            day
            for cited in item.truth.evidence
            for day in range(cited.day - NEIGHBOURS, cited.day + NEIGHBOURS + 1)
            if day <= days and day in self._episodes
        }
        return self._window(tuple(sorted(wanted))) if wanted else None

    def _read_window(self, days: tuple[int, ...]) -> EvidenceWindow:
        return EvidenceWindow.build(map(self._day, days))

    def _read_day(self, day: int) -> EvidenceDay:
        episode = self._episodes[day]
        text = normalise(episode.text)
        return EvidenceDay(
            sentences=tuple(
                dict.fromkeys(
                    collect_tokens(self._reader.read(found)) for found in split_sentences(text)
                )
            ),
            text=level_text(text),
            date=f"{episode.at:%m-%d}",
        )


def collect_claims(account: AnswerContents) -> list[Tokens]:
    """What an answer says, sentence by sentence."""
    return [collect_tokens(passage) for passage in account.passages]
