"""Which words the days of a story use."""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.words import collect_topics


class DayWords:
    """The words with content of every day, as stems; each day is read when it is first needed."""

    def __init__(self, corpus: LintCorpus) -> None:
        self._corpus = corpus
        self._known: dict[int, frozenset[str]] = {}
        self._told: dict[str, frozenset[str]] = {}

    def collect_words(self, day: int) -> frozenset[str]:
        """The words of one day."""
        found = self._known.get(day)
        if found is None:
            said = self._corpus.by_number[day].sentences
            texts = {sentence.text for sentence in said} | {sentence.heading for sentence in said}
            found = self._known[day] = frozenset().union(*map(self._split_words, texts))
        return found

    def _split_words(self, text: str) -> frozenset[str]:
        """The words of a sentence; most are told on many days."""
        found = self._told.get(text)
        if found is None:
            found = self._told[text] = collect_topics(text)
        return found

    def collect_words_of_days(self, days: Iterable[int]) -> frozenset[str]:
        """The words of several days."""
        return frozenset().union(*(self.collect_words(day) for day in days))

    def find_usual(self, several: Iterable[str]) -> set[str]:
        """Those words that more than half of the days use."""
        return {word for word in several if self._days[word] * 2 > len(self._corpus.days)}

    def find_known(self, several: Iterable[str]) -> set[str]:
        """Those words that some day uses."""
        return {word for word in several if self._days[word]}

    @cached_property
    def _days(self) -> Counter[str]:
        return Counter(word for day in self._corpus.days for word in self.collect_words(day.number))
