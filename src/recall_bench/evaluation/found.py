"""What was found, held against the gold: at each level, with chance below and the best above."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from recall_bench.core.memory import Passage
from recall_bench.core.question import Item, Scenario
from recall_bench.core.tokens import estimate_tokens
from recall_bench.evaluation.methodology import Level, Methodology, Ranking, name_unit
from recall_bench.metrics.chance import ChancePool, expect_coverage
from recall_bench.metrics.layers import (
    EvidenceLayer,
    Facts,
    ReturnedPassage,
    is_stated_in,
    list_layer_measures,
)
from recall_bench.metrics.retrieval import (
    RankedPassage,
    RetrievalMeasure,
    drop_repeats,
    list_measures,
    score_all,
)

EVIDENCE_TEXT = "evidence text"
"""The share of the texts cited that was returned, letter by letter."""

Figures = dict[str, float]


@dataclass(slots=True)
class RetrievalScores:
    """What one question's passages are worth."""

    figures: Figures = field(default_factory=dict)
    gold: dict[str, tuple[str, ...]] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    """What a blind draw would get. Shared by questions that are alike: not to be changed."""
    ceiling: Mapping[str, float] = field(default_factory=dict)
    """What the best order of all there is would get, shared likewise."""


_Sizes = tuple[int, ...]
"""How many items may be drawn of each gold unit, ascending."""


class RetrievalScorer:
    """Measures what was found in one scenario."""

    def __init__(self, methodology: Methodology, scenario: Scenario, depth: int) -> None:
        self._methodology = methodology
        self._scenario = scenario
        self._depth = depth
        self._episodes = {episode.day: episode for episode in scenario.episodes}
        self._counted = [
            tuple(each for each in list_measures(depth) if each.family in ranking.families)
            for ranking in methodology.rankings
        ]
        self._bounds: dict[tuple[_Sizes, ...], tuple[Figures, Figures]] = {}

    def score(self, item: Item, passages: Sequence[Passage]) -> RetrievalScores:
        """Every figure of what was returned to a question, best first."""
        found = RetrievalScores()
        golds = [each.gold(self._scenario.id, item) for each in self._methodology.rankings]
        for ranking, counted, gold in zip(
            self._methodology.rankings, self._counted, golds, strict=True
        ):
            if gold:
                found.gold[ranking.level] = tuple(sorted(gold))
                ranked = score_all(counted, self._list_delivered(ranking, passages), gold)
                found.figures |= _label_figures(ranking.level, ranked)
            elif ranking.empty is not None:
                found.figures |= dict.fromkeys(_list_names(ranking.level, counted), ranking.empty)
        found.chance, found.ceiling = self._find_bounds(golds)
        if self._methodology.has_layers and item.truth.facts:
            self._add_layers(item.truth.facts, passages, found)
        if self._methodology.has_evidence_text:
            found.figures[EVIDENCE_TEXT] = self._score_evidence_text(item, passages)
        return found

    def _add_layers(
        self, facts: Facts, passages: Sequence[Passage], found: RetrievalScores
    ) -> None:
        """Wordings in what was returned, and what as many at random would hold."""
        returned = [ReturnedPassage(each.text, self._find_source(each)) for each in passages]
        episodes = self._scenario.episodes
        drawn = {
            EvidenceLayer.SNIPPET: [turn.text for episode in episodes for turn in episode.turns],
            EvidenceLayer.DOCUMENT: [episode.text for episode in episodes],
        }
        chance = dict(found.chance)
        for layer in list_layer_measures(self._depth):
            texts = drawn[layer.layer]
            holding = [sum(is_stated_in(fact, [text]) for text in texts) for fact in facts]
            found.figures[layer.name] = layer.measure(returned, facts)
            chance[layer.name] = expect_coverage(len(texts), holding, min(layer.cutoff, len(texts)))
        found.chance = chance

    def _list_delivered(self, ranking: Ranking, passages: Sequence[Passage]) -> list[RankedPassage]:
        level, name = ranking.level, self._scenario.id
        delivered = [part for each in passages for part in _split_passage(level, name, each)]
        return drop_repeats(delivered) if ranking.is_distinct else delivered

    def _find_bounds(self, golds: Sequence[frozenset[str]]) -> tuple[Figures, Figures]:
        """What chance and what the best order get: the same for gold of the same sizes."""
        pools = [self._pools[each.level, each.is_distinct] for each in self._methodology.rankings]
        key = tuple(
            tuple(sorted(pool.items.get(each, 0) for each in gold))
            for pool, gold in zip(pools, golds, strict=True)
        )
        if key not in self._bounds:
            chance: Figures = {}
            ceiling: Figures = {}
            for place, gold in enumerate(golds):
                self._add_bounds(place, gold, chance, ceiling)
            self._bounds[key] = chance, ceiling
        return self._bounds[key]

    def _add_bounds(
        self, place: int, gold: frozenset[str], chance: Figures, ceiling: Figures
    ) -> None:
        ranking, counted = self._methodology.rankings[place], self._counted[place]
        level = ranking.level
        if not gold:
            if ranking.empty is not None:
                chance |= dict.fromkeys(_list_names(level, counted), ranking.empty)
                ceiling |= dict.fromkeys(_list_names(level, counted), ranking.empty)
            return
        pool = self._pools[level, ranking.is_distinct]
        if unknown := gold - pool.items.keys():
            # Cited and nowhere to be found, not by chance either.
            pool = ChancePool({**pool.items, **dict.fromkeys(unknown, 0)}, pool.mean_tokens)
        drawn = {each.name: pool.expect(each, gold) for each in counted}
        chance |= _label_figures(
            level, {name: each for name, each in drawn.items() if each is not None}
        )
        best = [RankedPassage(each, 0) for each in gold if pool.items[each]]
        by_rank = [each for each in counted if each.budget is None]
        ceiling |= _label_figures(level, score_all(by_rank, best, gold))

    @cached_property
    def _pools(self) -> dict[tuple[Level, bool], ChancePool]:
        """What a blind draw draws from: turns; or sessions, where each has one place."""
        return {
            (level, is_distinct): ChancePool(
                dict(self._iterate_pool(level, is_distinct)), self._mean_tokens
            )
            for level, is_distinct in product(Level, (False, True))
        }

    def _iterate_pool(self, level: Level, is_distinct: bool) -> Iterator[tuple[str, int]]:
        name = self._scenario.id
        for episode in self._scenario.episodes:
            turns = len(episode.turns) or 1
            if level is Level.SESSION:
                yield f"{name}/{episode.day}", 1 if is_distinct else turns
            else:
                yield from ((f"{name}/{episode.day}:{turn}", 1) for turn in range(turns))

    @cached_property
    def _mean_tokens(self) -> float | None:
        sizes = [
            estimate_tokens(turn.text)
            for episode in self._scenario.episodes
            for turn in episode.turns
        ]
        return sum(sizes) / len(sizes) if sum(sizes) else None

    def _find_source(self, passage: Passage) -> str | None:
        if passage.day is None or passage.day not in self._episodes:
            return None
        return self._episodes[passage.day].text

    def _score_evidence_text(self, item: Item, passages: Sequence[Passage]) -> float:
        cited = {
            _normalise(self._episodes[each.day].turns[each.turn].text)
            for each in item.truth.evidence
            if each.turn is not None
        }
        returned = [_normalise(each.text) for each in passages]
        if not cited:
            return 1.0
        return sum(
            any(text in each or each in text for each in returned if each) for text in cited
        ) / len(cited)


def _split_passage(level: Level, scenario: str, passage: Passage) -> Iterator[RankedPassage]:
    """The places a passage takes: one; by turns, as many as it holds, in the order they stand."""
    size = estimate_tokens(passage.text)
    if passage.day is None:
        yield RankedPassage(None, size)
        return
    turns = (passage.turn,) if level is Level.SESSION or not passage.turns else passage.turns
    for number, turn in enumerate(turns):
        # All of a passage is read for its first turn.
        yield RankedPassage(name_unit(level, scenario, passage.day, turn), 0 if number else size)


def _normalise(text: str) -> str:
    return " ".join(text.lower().split())


def _list_names(level: Level, counted: Iterable[RetrievalMeasure]) -> list[str]:
    return [f"{level} {each.name}" for each in counted]


def _label_figures(level: Level, figures: Mapping[str, float]) -> Figures:
    return {f"{level} {name}": value for name, value in figures.items()}
