"""A scenario's history, as those look things up who write answers about it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from recall_bench.core.question import Item, Scenario
from recall_bench.core.sentences import Sentence, read_sentences
from recall_bench.judge_lab.audit.chance import SeededChoice
from recall_bench.judge_lab.audit.key import is_any_in_text, list_traces

_TOKEN = re.compile(r"\w+(?:[-.,:]\w+)*")

_QUOTE_WORDS = range(9, 36)
"""How long a sentence is that can be quoted by itself."""

_DEPENDENT_OPENING = re.compile(
    r"(?:it|its|he|she|they|his|her|their|that|this|these|those|such|one|both|so|then|there|"
    r"and|but|or|neither|either|the same|the other|another|which|who)\b",
    re.IGNORECASE,
)
"""Openings that lean on the sentence before."""


@dataclass(frozen=True, slots=True)
class HistoryQuote:
    """A sentence of the history and its date."""

    date: date
    text: str


class HistoryLookup:
    """Looks up what was told, when, and in which session."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._sentences: dict[int, tuple[Sentence, ...]] = {}
        self._quotes: dict[int, tuple[str, ...]] = {}
        self._by_day = {episode.day: episode for episode in scenario.episodes}
        self._closed = frozenset(
            session for item in scenario.items for session in item.truth.forbidden_sessions
        )
        self._secrets = tuple(
            {
                word.casefold()
                for item in scenario.items
                for word in (*item.truth.canaries, *item.truth.withheld)
            }
        )

    @cached_property
    def text(self) -> str:
        """Everything ever told, in lower case, questions and references included."""
        parts = [episode.text for episode in self.scenario.episodes]
        for item in self.scenario.items:
            parts += [item.text, item.truth.reference, *item.truth.aliases, *item.truth.distractors]
        return "\n".join(parts).casefold()

    @cached_property
    def _tokens(self) -> frozenset[str]:
        return frozenset(_TOKEN.findall(self.text))

    def is_known(self, words: str) -> bool:
        """Whether the words stand anywhere in the history or its questions."""
        folded = words.casefold()
        # Most invented words have a part that nobody ever wrote, which saves reading it all.
        if any(token not in self._tokens for token in _TOKEN.findall(folded)):
            return False
        return folded in self.text

    def draw_asides(self, item: Item, days: int, lots: SeededChoice) -> Iterator[HistoryQuote]:
        """Sentences told by then, open to everybody, that have no bearing on the question.

        They stand by themselves, and hold neither the answer nor anything that could be one.
        """
        spoilt = list_traces(item)
        marks = set(re.findall(r"\b[\w-]*\d[\w-]*\b", item.text))
        past = [episode.day for episode in self.scenario.episodes if episode.day <= days]
        seen = {evidence.day for evidence in item.truth.evidence}
        for _ in range(len(past)):
            day = lots.pick(past)
            quotable = () if day in seen else self._list_quotable(day)
            seen.add(day)
            if not quotable:
                continue
            text = lots.pick(quotable)
            is_spoilt = any(mark in text for mark in marks) or is_any_in_text(text, spoilt)
            if not is_spoilt and not self._is_secret(text):
                yield HistoryQuote(self._by_day[day].at.date(), text)

    def find_neighbours(self, item: Item) -> Iterator[str]:
        """Sentences of the evidence's own paragraph that do not tell the answer."""
        spoilt = list_traces(item)
        for cited in item.truth.evidence:
            if cited.start is None or cited.session in self._closed:
                continue
            evidence = self._by_day[cited.day].text[cited.start : cited.end]
            sentences = self.split_day(cited.day)
            blocks = {
                one.block for one in sentences if one.text in evidence or evidence in one.text
            }
            for one in sentences:
                is_beside = one.block in blocks and one.text not in evidence
                if (
                    is_beside
                    and len(one.text.split()) >= _QUOTE_WORDS[0]
                    and not is_any_in_text(one.text, spoilt)
                ):
                    yield one.text

    def get_evidence(self, item: Item) -> str | None:
        """The one sentence that tells the answer, word for word; None if there are several."""
        cited = item.truth.evidence
        if len(cited) != 1 or cited[0].start is None:
            return None
        return self._by_day[cited[0].day].text[cited[0].start : cited[0].end].strip()

    def split_day(self, day: int) -> tuple[Sentence, ...]:
        """The sentences of one day."""
        found = self._sentences.get(day)
        if found is None:
            found = self._sentences[day] = read_sentences(self._by_day[day])
        return found

    def _list_quotable(self, day: int) -> tuple[str, ...]:
        found = self._quotes.get(day)
        if found is None:
            fit = (one.text for one in self.split_day(day) if self._is_quotable(one))
            found = self._quotes[day] = tuple(fit)
        return found

    def _is_quotable(self, sentence: Sentence) -> bool:
        text = sentence.text
        return (
            sentence.session not in self._closed
            and len(text.split()) in _QUOTE_WORDS
            and text[0].isupper()
            and not _DEPENDENT_OPENING.match(text)
        )

    def _is_secret(self, text: str) -> bool:
        folded = text.casefold()
        return any(secret in folded for secret in self._secrets)
