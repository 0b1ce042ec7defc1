"""What was found, held against the gold: at each level, with chance below and the best above."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from recall_bench.core.memory import Passage
from recall_bench.core.question import Item, Scenario
from recall_bench.core.tokens import tokens
from recall_bench.evaluation.methodology import Level, Methodology, Ranking, unit
from recall_bench.metrics.chance import Pool
from recall_bench.metrics.layers import Returned, layer_measures
from recall_bench.metrics.retrieval import Delivered, Measure, distinct, measures, scores

EVIDENCE_TEXT = "evidence text"
"""The share of the texts cited that was returned, letter by letter."""

Figures = dict[str, float]


@dataclass(slots=True)
class Findings:
    """What one question's passages are worth."""

    figures: Figures = field(default_factory=dict)
    chance: Figures = field(default_factory=dict)
    ceiling: Figures = field(default_factory=dict)
    gold: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Finder:
    """Measures what was found in one scenario."""

    def __init__(self, methodology: Methodology, scenario: Scenario, depth: int) -> None:
        self._methodology = methodology
        self._scenario = scenario
        self._depth = depth
        self._sources = {episode.day: episode.text for episode in scenario.episodes}
        self._pools: dict[tuple[Level, bool], Pool] = {}

    def findings(self, item: Item, passages: Sequence[Passage]) -> Findings:
        """Every figure of what was returned to a question, best first."""
        found = Findings()
        for ranking in self._methodology.rankings:
            self._add_ranking(ranking, item, passages, found)
        if self._methodology.has_layers and item.truth.facts:
            returned = [Returned(each.text, self._source(each)) for each in passages]
            for layer in layer_measures(self._depth):
                found.figures[layer.name] = layer.of(returned, item.truth.facts)
        if self._methodology.has_evidence_text:
            found.figures[EVIDENCE_TEXT] = self._evidence_text(item, passages)
        return found

    def _add_ranking(
        self, ranking: Ranking, item: Item, passages: Sequence[Passage], found: Findings
    ) -> None:
        level, name = ranking.level, self._scenario.id
        gold = ranking.gold(name, item)
        counted = tuple(each for each in measures(self._depth) if each.family in ranking.families)
        if not gold:
            if ranking.empty is not None:
                for figures in (found.figures, found.chance, found.ceiling):
                    figures |= {f"{level} {each.name}": ranking.empty for each in counted}
            return
        delivered = [
            Delivered(
                None if each.day is None else unit(level, name, each.day, each.turn),
                tokens(each.text),
            )
            for each in passages
        ]
        if ranking.is_distinct:
            delivered = distinct(delivered)
        found.gold[level] = tuple(sorted(gold))
        found.figures |= _named(level, scores(counted, delivered, gold))
        found.chance |= _named(level, self._chance(ranking, counted, gold))
        best = [Delivered(each, 0) for each in sorted(gold & self._pool(ranking).items.keys())]
        by_rank = [each for each in counted if each.budget is None]
        found.ceiling |= _named(level, scores(by_rank, best, gold))

    def _chance(
        self, ranking: Ranking, counted: Iterable[Measure], gold: frozenset[str]
    ) -> Figures:
        pool = self._pool(ranking)
        if unknown := gold - pool.items.keys():
            # Cited and nowhere to be found, not by chance either.
            pool = Pool({**pool.items, **dict.fromkeys(unknown, 0)}, pool.mean_tokens)
        drawn = {each.name: pool.expected(each, gold) for each in counted}
        return {name: value for name, value in drawn.items() if value is not None}

    def _pool(self, ranking: Ranking) -> Pool:
        """What a blind draw draws from: turns; or sessions, where each has one place."""
        key = ranking.level, ranking.is_distinct
        if key not in self._pools:
            self._pools[key] = Pool(dict(self._drawn(*key)), self._mean_tokens)
        return self._pools[key]

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
        return None if passage.day is None else self._sources.get(passage.day)

    def _evidence_text(self, item: Item, passages: Sequence[Passage]) -> float:
        episodes = {episode.day: episode for episode in self._scenario.episodes}
        cited = {
            _bare(episodes[each.day].turns[each.turn].text)
            for each in item.truth.evidence
            if each.turn is not None
        }
        returned = [_bare(each.text) for each in passages]
        if not cited:
            return 1.0
        return sum(
            any(text in each or each in text for each in returned if each) for text in cited
        ) / len(cited)


def _bare(text: str) -> str:
    return " ".join(text.lower().split())


def _named(level: Level, figures: Mapping[str, float]) -> Figures:
    return {f"{level} {name}": value for name, value in figures.items()}
