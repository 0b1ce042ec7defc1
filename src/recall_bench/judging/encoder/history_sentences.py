"""The sentences of a history, and those nearest to a claim."""

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from recall_bench.core.scenario import Episode
from recall_bench.text.sentences import read_sentences
from recall_bench.text.text import Stems, normalise, split_words
from recall_bench.text.values import ValueAtom, find_values

COMMON_SHARE = 0.05
"""A token of more than this share of the sentences does not find any: it only adds to a score."""
FEW_SENTENCES = 40
"""A token of this many sentences always finds them."""


class HistorySentence(NamedTuple):
    """One sentence, normalised, and the story day of its episode."""

    day: int
    text: str


class HistorySentences:
    """An index from stems and values to the sentences of episodes, which are in order of days."""

    def __init__(self, episodes: Sequence[Episode]) -> None:
        self._stems = Stems()
        self.sentences: list[HistorySentence] = []
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._first_days: dict[str, int] = {}
        self._values: dict[str, list[tuple[int, ValueAtom]]] = defaultdict(list)
        for episode in episodes:
            self._add_date(episode)
            for sentence in read_sentences(episode):
                self._add(episode.day, normalise(sentence.with_lead))

    def _add(self, day: int, text: str) -> None:
        place = len(self.sentences)
        self.sentences.append(HistorySentence(day, text))
        for token in self.list_tokens(text):
            self._postings[token].append(place)
        for word in split_words(text):
            self._first_days.setdefault(word, day)
        for atom in find_values(text):
            self._values[atom.kind].append((day, atom))

    def _add_date(self, episode: Episode) -> None:
        """An answer may date what an episode tells by the day of the episode."""
        for atom in find_values(f"{episode.at:%Y-%m-%d}"):
            self._values[atom.kind].append((episode.day, atom))

    def list_tokens(self, text: str) -> Collection[str]:
        """What a sentence is found by: stems of content words and values, each once."""
        tokens = dict.fromkeys(self._stems.stem(split_words(text)))
        tokens |= dict.fromkeys(f"={atom.core}" for atom in find_values(text))
        return tokens

    def holds_word(self, word: str, until: int) -> bool:
        """Whether a word, in lower case, stands in the history up to a day."""
        return self._first_days.get(word, math.inf) <= until

    def holds_value(self, value: ValueAtom, until: int) -> bool:
        """Whether a value stands in the history up to a day."""
        return any(day <= until and value.matches(other) for day, other in self._values[value.kind])

    def find_nearest(self, claim: str, until: int, count: int) -> list[int]:
        """The places of the sentences that share most with a claim, the best first."""
        total = len(self.sentences)
        scores: dict[int, float] = defaultdict(float)
        common: list[tuple[str, float]] = []
        tokens = self.list_tokens(claim)
        for token in tokens:
            places = self._postings.get(token, ())
            if not places:
                continue
            weight = math.log(1 + total / len(places))
            if len(places) > max(FEW_SENTENCES, COMMON_SHARE * total):
                common.append((token, weight))
                continue
            for place in places:
                scores[place] += weight
        candidates = [place for place in scores if self.sentences[place].day <= until]
        for token, weight in common:
            for place in set(self._postings[token]).intersection(candidates):
                scores[place] += weight
        # Of two sentences that share as much, the shorter one says little else; then the later one.
        candidates.sort(
            key=lambda place: (
                -scores[place] / (8 + len(self.sentences[place].text) ** 0.5),
                -place,
            )
        )
        return candidates[:count]
