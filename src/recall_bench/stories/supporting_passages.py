"""What a perfect memory would quote: the few sentences that support each reference.

Most datasets cite days, not sentences. Within the cited days, sentences are chosen greedily: the
next one adds most of the reference's words and numbers that are not covered yet. Rare words count
more, words of the question less. If much of a reference stays uncovered, it is inferred (a count,
an interval, a yes), and the sentence of each cited day closest to the question is added.

Evidence spans of a dataset are quoted as they are. If they lack what every right answer must
contain, the answer is computed from them, and the reference itself is quoted.

What a perfect search would find is another thing: the whole paragraph, list or turn around each of
these sentences, with the headings above it, and never the reference.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log

import msgspec

from recall_bench.core.memory import EvidenceControl, MemorySystem, Passage, PassageControl
from recall_bench.core.scenario import (
    Disclosure,
    Episode,
    Evidence,
    Item,
    Scenario,
    hash_question_id,
)
from recall_bench.text.sentences import Sentence, read_sentences
from recall_bench.text.text import FUNCTION_WORDS

MOST = 6
"""The most sentences for one reference."""

_GIVEN = 0.25
"""The weight of a reference word that also occurs in the question."""
_LEAST = 0.08
"""The smallest share of the reference that a sentence must add."""
_INFERRED = 1 / 3
"""The uncovered share from which a reference counts as inferred."""

_WORD = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")


def find_supporting_passages(scenario: Scenario) -> dict[str, tuple[Passage, ...]]:
    """Return the sentences to quote by question id, most informative first.

    A question that expects no answer, or cites no day, has none.
    """
    library = _SentenceLibrary(scenario.episodes)
    return {
        hash_question_id(scenario.id, item.id): tuple(_find_passages(item, library))
        for item in scenario.items
    }


def share_evidence(system: MemorySystem, scenario: Scenario) -> None:
    """Give the evidence to a system that is a control of it; other systems get nothing."""
    if isinstance(system, EvidenceControl):
        system.receive_evidence(scenario.id, find_supporting_passages(scenario))
    if isinstance(system, PassageControl):
        system.receive_passages(scenario.id, find_evidence_passages(scenario))


def find_evidence_passages(
    scenario: Scenario, items: Iterable[Item] | None = None
) -> dict[str, tuple[Passage, ...]]:
    """Return what a perfect search would find by question id, in the order of the story.

    For these items, or all. Questions that expect no answer have passages too, if they cite any;
    what the asker must not know is left out.
    """
    library = _SentenceLibrary(scenario.episodes)
    return {
        hash_question_id(scenario.id, item.id): tuple(_find_blocks(item, library))
        for item in (scenario.items if items is None else items)
    }


@dataclass(frozen=True, eq=False)
class _SentenceCandidate:
    passage: Passage
    sentence: Sentence

    @cached_property
    def words(self) -> frozenset[str]:
        return _collect_words(self.passage.text)

    @cached_property
    def place(self) -> frozenset[str]:
        """Its own words and those of its headings."""
        return self.words | _read_heading_words(self.sentence.session, self.sentence.heading)


class _SentenceLibrary:
    """The sentences of each episode, split on first use."""

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self._episodes = {episode.day: episode for episode in episodes}
        self._read: dict[int, tuple[_SentenceCandidate, ...]] = {}

    def find_cited_sentences(self, evidence: Evidence) -> list[_SentenceCandidate]:
        """Return the sentences of one cited day or turn."""
        return [
            candidate
            for candidate in self._read_day(evidence.day)
            if evidence.turn in (None, candidate.sentence.block)
        ]

    def find_span_sentences(self, evidence: Evidence) -> list[_SentenceCandidate]:
        """Return the sentences of an evidence span."""
        span = " ".join(self.quote_span(evidence).text.split())
        return [
            candidate
            for candidate in self._read_day(evidence.day)
            if evidence.session in (None, candidate.sentence.session)
            and (candidate.sentence.text in span or span in candidate.sentence.text)
        ]

    def build_block(self, candidate: _SentenceCandidate) -> Passage:
        """Return the paragraph, list or turn of a sentence, after its headings."""
        place = _locate_block(candidate.sentence)
        whole = [
            candidate.sentence.text
            for candidate in self._read_day(candidate.passage.day or 0)
            if _locate_block(candidate.sentence) == place
        ]
        lead, heading = candidate.sentence.lead, candidate.sentence.heading
        text = " ".join([lead, *whole] if lead else whole)
        return candidate.passage.replace(text=f"{heading}\n{text}" if heading else text)

    def _read_day(self, day: int) -> tuple[_SentenceCandidate, ...]:
        if day not in self._read:
            episode = self._episodes[day]
            self._read[day] = tuple(
                _make_candidate(sentence, episode) for sentence in read_sentences(episode)
            )
        return self._read[day]

    def quote_span(self, evidence: Evidence) -> Passage:
        """Return the text of an evidence span."""
        episode = self._episodes[evidence.day]
        text = episode.text[evidence.start : evidence.end]
        return Passage(text=text, day=episode.day, source=evidence.session or episode.id)


def _make_candidate(sentence: Sentence, episode: Episode) -> _SentenceCandidate:
    passage = Passage(
        text=sentence.with_lead, day=episode.day, source=sentence.session or episode.id
    )
    return _SentenceCandidate(passage, sentence)


def _find_passages(item: Item, library: _SentenceLibrary) -> list[Passage]:
    if not item.truth.is_answerable:
        return []
    if all(evidence.start is not None for evidence in item.truth.evidence):
        # Return the spans, or the reference if it must be computed from them.
        placed = [library.quote_span(evidence) for evidence in item.truth.evidence]
        whole = " ".join(passage.text for passage in placed).lower()
        truth = item.truth
        is_reckoned = truth.requires_synthesis or truth.disclosure is Disclosure.PARTIAL
        if not is_reckoned and all(atom.lower() in whole for atom in truth.atoms):
            return placed
        return [msgspec.structs.replace(placed[-1], text=truth.reference)]
    chosen = _choose_sentences(item, library)
    return list(dict.fromkeys(candidate.passage for candidate in chosen))[:MOST]


def _find_blocks(item: Item, library: _SentenceLibrary) -> list[Passage]:
    if all(evidence.start is not None for evidence in item.truth.evidence):
        chosen = [
            sentence
            for evidence in item.truth.evidence
            for sentence in library.find_span_sentences(evidence)
        ]
    else:
        chosen = _choose_sentences(item, library)
    closed = item.truth.forbidden_sessions
    blocks = dict.fromkeys(
        library.build_block(candidate)
        for candidate in chosen
        if candidate.sentence.session not in closed
    )
    return sorted(blocks, key=lambda passage: passage.day or 0)


def _locate_block(sentence: Sentence) -> tuple[object, ...]:
    """What sentences of one paragraph or turn share, and those of one list."""
    is_listed = sentence.heading != "" and sentence.lead.endswith(":")
    block = None if is_listed else sentence.block
    return sentence.session, sentence.heading, sentence.lead, block


def _choose_sentences(item: Item, library: _SentenceLibrary) -> list[_SentenceCandidate]:
    """Return sentences of the cited days that cover the reference, most informative first."""
    cited = [
        library.find_cited_sentences(evidence) for evidence in dict.fromkeys(item.truth.evidence)
    ]
    scale = _SentenceScorer(item, [candidate for sentences in cited for candidate in sentences])
    chosen = scale.choose_covering()
    if scale.measure_gap(chosen) > _INFERRED:
        for sentences in cited:
            if sentences and not any(candidate in sentences for candidate in chosen):
                chosen.append(max(sentences, key=scale.measure_affinity))
    return chosen


class _SentenceScorer:
    """Scores sentences for one item."""

    def __init__(self, item: Item, candidates: Sequence[_SentenceCandidate]) -> None:
        self._asked = _collect_words(item.text)
        words = _collect_words(item.truth.reference)
        spread = Counter(
            word
            for candidate_words in candidates
            for word in candidate_words.words & (self._asked | words)
        )
        self._rarity = {
            word: log(1 + len(candidates) / (1 + spread[word]))
            for word in sorted(self._asked | words)
        }
        self._wanted = {
            word: rarity * (_GIVEN if word in self._asked else 1.0)
            for word, rarity in self._rarity.items()
            if word in words
        }
        self._total = sum(self._wanted.values())
        self._asked_total = sum(self._rarity[word] for word in sorted(self._asked)) or 1.0
        self._telling = {
            candidate: 1 + self.measure_affinity(candidate)
            for candidate in candidates
            if not words.isdisjoint(candidate.words)
        }

    def choose_covering(self) -> list[_SentenceCandidate]:
        """Choose sentences that cover the reference, most informative first."""
        chosen: list[_SentenceCandidate] = []
        missing = dict(self._wanted)
        while missing and len(chosen) < MOST:
            best = max(
                self._telling, key=lambda each: self._measure_gain(each, missing), default=None
            )
            if best is None or _sum_added_weight(best, missing) < _LEAST * self._total:
                break
            chosen.append(best)
            missing = {word: worth for word, worth in missing.items() if word not in best.words}
        return chosen

    def measure_gap(self, chosen: Sequence[_SentenceCandidate]) -> float:
        """Return the share of the reference that the sentences leave uncovered."""
        covered = frozenset[str]().union(*(candidate.words for candidate in chosen))
        uncovered = sum(worth for word, worth in self._wanted.items() if word not in covered)
        return uncovered / self._total if self._total else 1.0

    def measure_affinity(self, candidate: _SentenceCandidate) -> float:
        """Return the share of the question's words in the sentence and its headings."""
        shared = sorted(self._asked & candidate.place)
        return sum(self._rarity[word] for word in shared) / self._asked_total

    def _measure_gain(
        self, candidate: _SentenceCandidate, missing: dict[str, float]
    ) -> tuple[float, int]:
        worth = _sum_added_weight(candidate, missing) * self._telling[candidate]
        return worth, -len(candidate.passage.text)


def _sum_added_weight(candidate: _SentenceCandidate, missing: dict[str, float]) -> float:
    return sum(worth for word, worth in missing.items() if word in candidate.words)


@lru_cache(maxsize=64)
def _read_heading_words(session: str | None, heading: str) -> frozenset[str]:
    return _collect_words(f"{session or ''} {heading}")


def _collect_words(text: str) -> frozenset[str]:
    stems = (_normalise_word(match[0].lower()) for match in _WORD.finditer(text))
    return frozenset(word for word in stems if word not in FUNCTION_WORDS)


@lru_cache(maxsize=50_000)
def _normalise_word(word: str) -> str:
    """Return the word without its possessive and its most common endings."""
    word = word.split("'", 1)[0].split("’", 1)[0]
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word
