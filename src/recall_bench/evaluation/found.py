"""What was found, held against the gold: at each level, with chance below and the best above."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from recall_bench.core.memory import Passage
from recall_bench.core.question import Item, Scenario
from recall_bench.core.tokens import tokens
from recall_bench.evaluation.methodology import Level, Methodology, Ranking, unit
from recall_bench.metrics.chance import Pool, expected_coverage
from recall_bench.metrics.layers import Facts, Layer, Returned, layer_measures, stands
from recall_bench.metrics.retrieval import Delivered, Measure, distinct, measures, scores

EVIDENCE_TEXT = "evidence text"
"""The share of the texts cited that was returned, letter by letter."""

Figures = dict[str, float]


@dataclass(slots=True)
class Findings:
    """What one question's passages are worth."""

    figures: Figures = field(default_factory=dict)
    gold: dict[str, tuple[str, ...]] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    """What a blind draw would get. Shared by questions that are alike: not to be changed."""
    ceiling: Mapping[str, float] = field(default_factory=dict)
    """What the best order of all there is would get, shared likewise."""


_Sizes = tuple[int, ...]
"""How many items may be drawn of each gold unit, ascending."""


class Finder:
    """Measures what was found in one scenario."""

    def __init__(self, methodology: Methodology, scenario: Scenario, depth: int) -> None:
        self._methodology = methodology
        self._scenario = scenario
        self._depth = depth
        self._episodes = {episode.day: episode for episode in scenario.episodes}
        self._counted = [
            tuple(each for each in measures(depth) if each.family in ranking.families)
            for ranking in methodology.rankings
        ]
        self._bounds: dict[tuple[_Sizes, ...], tuple[Figures, Figures]] = {}

    def findings(self, item: Item, passages: Sequence[Passage]) -> Findings:
        """Every figure of what was returned to a question, best first."""
        found = Findings()
        golds = [each.gold(self._scenario.id, item) for each in self._methodology.rankings]
        for ranking, counted, gold in zip(
            self._methodology.rankings, self._counted, golds, strict=True
        ):
            if gold:
                found.gold[ranking.level] = tuple(sorted(gold))
                ranked = scores(counted, self._delivered(ranking, passages), gold)
                found.figures |= _named(ranking.level, ranked)
            elif ranking.empty is not None:
                found.figures |= dict.fromkeys(_names(ranking.level, counted), ranking.empty)
        found.chance, found.ceiling = self._between(golds)
        if self._methodology.has_layers and item.truth.facts:
            self._add_layers(item.truth.facts, passages, found)
        if self._methodology.has_evidence_text:
            found.figures[EVIDENCE_TEXT] = self._evidence_text(item, passages)
        return found

    def _add_layers(self, facts: Facts, passages: Sequence[Passage], found: Findings) -> None:
        """Wordings in what was returned, and what as many at random would hold."""
        returned = [Returned(each.text, self._source(each)) for each in passages]
        episodes = self._scenario.episodes
        drawn = {
            Layer.SNIPPET: [turn.text for episode in episodes for turn in episode.turns],
            Layer.DOCUMENT: [episode.text for episode in episodes],
        }
        chance = dict(found.chance)
        for layer in layer_measures(self._depth):
            texts = drawn[layer.layer]
            holding = [sum(stands(fact, [text]) for text in texts) for fact in facts]
            found.figures[layer.name] = layer.of(returned, facts)
            chance[layer.name] = expected_coverage(
                len(texts), holding, min(layer.cutoff, len(texts))
            )
        found.chance = chance

    def _delivered(self, ranking: Ranking, passages: Sequence[Passage]) -> list[Delivered]:
        level, name = ranking.level, self._scenario.id
        delivered = [part for each in passages for part in _parts(level, name, each)]
        return distinct(delivered) if ranking.is_distinct else delivered

    def _between(self, golds: Sequence[frozenset[str]]) -> tuple[Figures, Figures]:
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
                self._bound(place, gold, chance, ceiling)
            self._bounds[key] = chance, ceiling
        return self._bounds[key]

    def _bound(self, place: int, gold: frozenset[str], chance: Figures, ceiling: Figures) -> None:
        ranking, counted = self._methodology.rankings[place], self._counted[place]
        level = ranking.level
        if not gold:
            if ranking.empty is not None:
                chance |= dict.fromkeys(_names(level, counted), ranking.empty)
                ceiling |= dict.fromkeys(_names(level, counted), ranking.empty)
            return
        pool = self._pools[level, ranking.is_distinct]
        if unknown := gold - pool.items.keys():
            # Cited and nowhere to be found, not by chance either.
            pool = Pool({**pool.items, **dict.fromkeys(unknown, 0)}, pool.mean_tokens)
        drawn = {each.name: pool.expected(each, gold) for each in counted}
        chance |= _named(level, {name: each for name, each in drawn.items() if each is not None})
        best = [Delivered(each, 0) for each in gold if pool.items[each]]
        by_rank = [each for each in counted if each.budget is None]
        ceiling |= _named(level, scores(by_rank, best, gold))

    @cached_property
    def _pools(self) -> dict[tuple[Level, bool], Pool]:
        """What a blind draw draws from: turns; or sessions, where each has one place."""
        return {
            (level, is_distinct): Pool(dict(self._drawn(level, is_distinct)), self._mean_tokens)
            for level, is_distinct in product(Level, (False, True))
        }

    def _drawn(self, level: Level, is_distinct: bool) -> Iterator[tuple[str, int]]:
        name = self._scenario.id
        for episode in self._scenario.episodes:
            turns = len(episode.turns) or 1
            if level is Level.SESSION:
                yield f"{name}/{episode.day}", 1 if is_distinct else turns
            else:
                yield from ((f"{name}/{episode.day}:{turn}", 1) for turn in range(turns))

    @cached_property
    def _mean_tokens(self) -> float | None:
        sizes = [tokens(turn.text) for episode in self._scenario.episodes for turn in episode.turns]
        return sum(sizes) / len(sizes) if sum(sizes) else None

    def _source(self, passage: Passage) -> str | None:
        if passage.day is None or passage.day not in self._episodes:
            return None
        return self._episodes[passage.day].text

    def _evidence_text(self, item: Item, passages: Sequence[Passage]) -> float:
        cited = {
            _bare(self._episodes[each.day].turns[each.turn].text)
            for each in item.truth.evidence
            if each.turn is not None
        }
        returned = [_bare(each.text) for each in passages]
        if not cited:
            return 1.0
        return sum(
            any(text in each or each in text for each in returned if each) for text in cited
        ) / len(cited)


def _parts(level: Level, scenario: str, passage: Passage) -> Iterator[Delivered]:
    """The places a passage takes: one; by turns, as many as it holds, in the order they stand."""
    size = tokens(passage.text)
    if passage.day is None:
        yield Delivered(None, size)
        return
    turns = (passage.turn,) if level is Level.SESSION or not passage.turns else passage.turns
    for number, turn in enumerate(turns):
        # All of a passage is read for its first turn.
        yield Delivered(unit(level, scenario, passage.day, turn), 0 if number else size)


def _bare(text: str) -> str:
    return " ".join(text.lower().split())


def _names(level: Level, counted: Iterable[Measure]) -> list[str]:
    return [f"{level} {each.name}" for each in counted]


def _named(level: Level, figures: Mapping[str, float]) -> Figures:
    return {f"{level} {name}": value for name, value in figures.items()}
