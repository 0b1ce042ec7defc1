"""Answers about one history, as the encoder reads them."""

from collections.abc import Iterator
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import NamedTuple

from recall_bench.core.scenario import Item, Scenario
from recall_bench.core.verdict import Exhibit
from recall_bench.judging.encoder.encoder import AnswerReading, Encoder
from recall_bench.judging.encoder.history_sentences import HistorySentences
from recall_bench.judging.encoder.judge_input import (
    TruthText,
    compose_input,
    find_nearest,
    split_claims,
)
from recall_bench.text.sentences import read_sentences
from recall_bench.text.text import normalise

MOST_EVIDENCE = 8
"""Sentences of the evidence that are shown."""
WHOLE_DAY = 3
"""Sentences of a day that is cited as a whole: those nearest to question and reference."""
MOST_ALONE = 3
"""Claims of an answer with an invention that are read by themselves, to name the one."""
GROUNDED_CHANCE = 0.5
MOST_CHARACTERS = 4000
"""What follows them in an answer is not read."""


class ReadAnswer(NamedTuple):
    """What was read in one answer."""

    chances: dict[str, tuple[float, ...]]
    """For each mark the chance of at least one point, two points and so on."""
    weakest: str
    """The claim that the history supports least; empty if the answer is grounded."""
    nearest: str
    """The sentence of the history that is nearest to it; empty if none shares a word with it."""

    def describe_weakest(self) -> str:
        """Name the claim, and what the history says instead."""
        if not self.nearest:
            return f"nothing in the history supports “{self.weakest}”"
        return f"the history does not support “{self.weakest}”; nearest: “{self.nearest}”"


class AnswerReader:
    """Composes what is read of answers about one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._truth = lru_cache(maxsize=1024)(self._write_truth)

    @cached_property
    def history(self) -> HistorySentences:
        """The sentences of the history; indexed when the first answer is read."""
        return HistorySentences(self._scenario.episodes)

    def read(self, exhibit: Exhibit, encoder: Encoder) -> ReadAnswer:
        """Read one answer."""
        truth = self._truth(exhibit.item)
        answer = exhibit.answer.text[:MOST_CHARACTERS]
        claims = split_claims(normalise(answer))
        nearest = find_nearest(claims, self.history, exhibit.days, truth.evidence)

        def read(text: str) -> AnswerReading:
            return encoder.read(compose_input(truth, text, nearest, self.history, exhibit.days))

        reading = read(answer)
        if reading.chances["grounded"][0] >= GROUNDED_CHANCE:
            return ReadAnswer(reading.chances, "", "")
        # Read beside the others a claim borrows from them, so the doubtful ones are read alone.
        doubtful = sorted(zip(reading.supports, claims, strict=False))[:MOST_ALONE]
        alone = [(read(claim).chances["grounded"][0], claim) for _, claim in doubtful]
        weakest = min(alone, default=(0.0, ""))[1] if doubtful[1:] else "".join(claims)
        near = self.history.find_nearest(weakest, exhibit.days, 1)
        return ReadAnswer(
            reading.chances, weakest, self.history.sentences[near[0]].text if near else ""
        )

    def _write_truth(self, item: Item) -> TruthText:
        truth = item.truth
        return TruthText(
            question=item.text,
            references=(truth.reference, *truth.aliases[:1]),
            expects=truth.expects,
            stale=truth.stale,
            withheld=truth.withheld,
            evidence=tuple(dict.fromkeys(self._list_evidence(item)))[:MOST_EVIDENCE],
        )

    def _list_evidence(self, item: Item) -> Iterator[str]:
        """The cited sentences, and the nearest ones of what is cited as a whole."""
        episodes = {episode.day: episode for episode in self._scenario.episodes}
        for cited in item.truth.evidence:
            episode = episodes.get(cited.day)
            if episode is None:
                continue  # Labelled answers may come without the days that they cite.
            if cited.start is not None:
                yield normalise(episode.text[cited.start : cited.end].strip())
            elif cited.turn is not None and cited.turn < len(episode.turns):
                turn = episode.turns[cited.turn]
                yield normalise(f"{turn.speaker}: {turn.text}")
            else:
                sentences = [normalise(one.with_lead) for one in read_sentences(episode)]
                asked = self.history.list_tokens(normalise(f"{item.text} {item.truth.reference}"))
                ranked = sorted(
                    sentences,
                    key=lambda text: -len(set(asked).intersection(self.history.list_tokens(text))),
                )
                chosen = set(ranked[:WHOLE_DAY])
                yield from (text for text in sentences if text in chosen)


def digest_question(question: str) -> str:
    """A short digest of a question's text."""
    return sha256(question.strip().encode()).hexdigest()[:12]
