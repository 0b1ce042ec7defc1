"""The scores of every question: retrieval against the gold, answers against the truth."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import product

import msgspec

from recall_bench.core.event import NotAnswered, NotJudged, TrialResult
from recall_bench.core.memory import Passage
from recall_bench.core.record import ComputedRecord
from recall_bench.core.scenario import Item, Scenario
from recall_bench.core.usage import estimate_tokens
from recall_bench.features.datasets.chance import ChancePool, expect_coverage
from recall_bench.features.datasets.fact_coverage import (
    EvidenceLayer,
    Facts,
    ReturnedPassage,
    contains_trap,
    is_stated_in,
    list_layer_measures,
)
from recall_bench.judging.methodologies import Level, Methodology, name_unit
from recall_bench.judging.protocols.multiple_choice import parse_options
from recall_bench.metrics.retrieval import (
    RankedPassage,
    score_all,
)
from recall_bench.reporting.protocol_scores import (
    Figures,
    is_abstention,
    label_figures,
    list_figure_names,
    score_outcome,
    score_protocols,
    score_ranking,
    select_measures,
)
from recall_bench.text.words import normalise_words

EVIDENCE_TEXT = "evidence text"
"""The share of the texts cited that was returned, letter by letter."""


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
        self._counted = [select_measures(ranking, depth) for ranking in methodology.rankings]
        self._bounds: dict[tuple[_Sizes, ...], tuple[Figures, Figures]] = {}

    def score(self, item: Item, passages: Sequence[Passage]) -> RetrievalScores:
        """Every figure of what was returned to a question, best first."""
        scores = RetrievalScores()
        golds = [
            ranking.find_gold(self._scenario.id, item) for ranking in self._methodology.rankings
        ]
        for ranking, counted, gold in zip(
            self._methodology.rankings, self._counted, golds, strict=True
        ):
            if gold:
                scores.gold[ranking.level] = tuple(sorted(gold))
            scores.figures |= score_ranking(ranking, counted, self._scenario.id, gold, passages)
        scores.chance, scores.ceiling = self._find_bounds(golds)
        if self._methodology.has_layers and item.truth.facts:
            self._add_layers(item.truth.facts, passages, scores)
        if self._methodology.has_evidence_text:
            scores.figures[EVIDENCE_TEXT] = self._score_evidence_text(item, passages)
        return scores

    def _add_layers(
        self, facts: Facts, passages: Sequence[Passage], found: RetrievalScores
    ) -> None:
        """Wordings in what was returned, and what as many at random would hold."""
        episodes = self._scenario.episodes
        sources = {episode.day: episode.text for episode in episodes}
        returned = [
            ReturnedPassage(passage.text, None if passage.day is None else sources.get(passage.day))
            for passage in passages
        ]
        texts_by_layer = {
            EvidenceLayer.SNIPPET: [turn.text for episode in episodes for turn in episode.turns],
            EvidenceLayer.DOCUMENT: [episode.text for episode in episodes],
        }
        chance = dict(found.chance)
        for layer in list_layer_measures(self._depth):
            texts = texts_by_layer[layer.layer]
            holding = [sum(is_stated_in(fact, [text]) for text in texts) for fact in facts]
            found.figures[layer.name] = layer.measure(returned, facts)
            chance[layer.name] = expect_coverage(len(texts), holding, min(layer.cutoff, len(texts)))
        found.chance = chance

    def _find_bounds(self, golds: Sequence[frozenset[str]]) -> tuple[Figures, Figures]:
        """What chance and what the best order get: the same for gold of the same sizes."""
        pools = [
            self._pools[ranking.level, ranking.is_distinct]
            for ranking in self._methodology.rankings
        ]
        key = tuple(
            tuple(sorted(pool.items.get(unit, 0) for unit in gold))
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
                empty = dict.fromkeys(list_figure_names(level, counted), ranking.empty)
                chance |= empty
                ceiling |= empty
            return
        pool = self._pools[level, ranking.is_distinct]
        if unknown := gold - pool.items.keys():
            # Cited and nowhere to be found, not by chance either.
            pool = ChancePool({**pool.items, **dict.fromkeys(unknown, 0)}, pool.mean_tokens)
        expected = {measure.name: pool.expect(measure, gold) for measure in counted}
        chance |= label_figures(
            level, {name: value for name, value in expected.items() if value is not None}
        )
        best = [RankedPassage(unit, 0) for unit in gold if pool.items[unit]]
        by_rank = [measure for measure in counted if measure.budget is None]
        ceiling |= label_figures(level, score_all(by_rank, best, gold))

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

    def _score_evidence_text(self, item: Item, passages: Sequence[Passage]) -> float:
        cited = {
            _normalise(self._episodes[evidence.day].turns[evidence.turn].text)
            for evidence in item.truth.evidence
            if evidence.turn is not None
        }
        returned = [_normalise(passage.text) for passage in passages]
        if not cited:
            return 1.0
        return sum(
            any(text in reply or reply in text for reply in returned if reply) for text in cited
        ) / len(cited)


def _normalise(text: str) -> str:
    return " ".join(text.lower().split())


ANSWERED, OPEN = "answered", "open"


class EvalHit(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """One passage a system returned, as far as it takes to score it again."""

    rank: int
    session: str | None = None
    """Globally scoped; None if it could not be traced."""
    turn: str | None = None
    turns: tuple[str, ...] = ()
    """All turns that it holds, where these are several."""
    claimed: str | None = None
    """The session that the system names for a text that stands in none; it counts for nothing."""
    score: float | None = None
    tokens: int
    sha256: str
    """Of its text."""


class ScoredQuestion(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """One question put once, with every figure it has."""

    scenario: str
    item: str
    repeat: int = 0
    category: str
    source: str | None = None
    """The dataset's own id."""
    is_answerable: bool = True
    outcome: str
    """`answered`, the fault that kept the system from answering, or `open`."""
    figures: Figures = msgspec.field(default_factory=dict)
    """By name, such as `turn recall@10`. A figure that does not apply is not there."""
    chance: Mapping[str, float] = msgspec.field(default_factory=dict)
    """What a blind draw would get, if that is known."""
    ceiling: Mapping[str, float] = msgspec.field(default_factory=dict)
    """What the best order of all there is would get."""
    gold: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """What should be found, by level."""
    hits: tuple[EvalHit, ...] = ()
    answer: str | None = None
    abstained: bool | None = None
    """None where there is no answer in free text to tell by."""
    fell_for_trap: bool | None = None
    """None where there is no trap, or no answer."""
    longest_option: float | None = None
    """What naming the longest option gets, which needs no reading; None without options."""
    unjudged: str | None = None
    """Why an answer that was to be judged has no verdict."""
    seconds: float | None = None


class QuestionScorer:
    """Scores what one scenario was asked.

    `depth` is how many passages of a reply were looked at, at most; without answers only what was
    found is scored.
    """

    def __init__(
        self, methodology: Methodology, scenario: Scenario, *, depth: int, with_answers: bool
    ) -> None:
        self._methodology = methodology
        self._scenario = scenario
        self._depth = depth
        self._finders: dict[int | None, RetrievalScorer] = {}
        self._with_answers = with_answers

    def score(self, result: TrialResult) -> ScoredQuestion:
        """Everything that is known of one trial.

        A system that failed at a question found nothing and said nothing, and gets what that
        gets. A trial that is open lacks all figures, one without a verdict those of the judge.
        """
        item, answered = result.item, result.answered
        passages = () if answered is None else answered.answer.passages
        retrieval = self._get_finder(item.known_until).score(item, passages)
        outcome = OPEN if answered is None else ANSWERED
        if isinstance(result.outcome, NotAnswered):
            outcome = result.outcome.fault
        scored = ScoredQuestion(
            scenario=result.trial.scenario,
            item=item.id,
            repeat=result.trial.repeat,
            category=item.truth.category,
            source=item.truth.source,
            is_answerable=item.truth.is_answerable,
            outcome=outcome,
            figures=_keep_figures(outcome, retrieval.figures),
            chance=retrieval.chance,
            ceiling=retrieval.ceiling,
            gold=retrieval.gold,
            hits=tuple(_list_hits(self._scenario.id, passages)),
            seconds=None if answered is None else answered.seconds,
        )
        return self._add_answer(scored, result) if self._with_answers else scored

    def _get_finder(self, last_day: int | None) -> RetrievalScorer:
        """Return the scorer of what was fed until a question was asked; None for everything."""
        if last_day not in self._finders:
            fed = self._scenario
            if last_day is not None:
                episodes = (episode for episode in fed.episodes if episode.day <= last_day)
                fed = fed.replace(episodes=tuple(episodes), items=(), retold=None)
            self._finders = {last_day: RetrievalScorer(self._methodology, fed, self._depth)}
        return self._finders[last_day]

    def _add_answer(self, scored: ScoredQuestion, result: TrialResult) -> ScoredQuestion:
        if scored.outcome == OPEN:
            return scored
        item = result.item
        text = None if result.answered is None else result.answered.answer.text
        figures = {
            **scored.figures,
            **score_protocols(self._methodology.answers, item, text or ""),
            **score_outcome(self._methodology, item, result.outcome, text),
        }
        # A trap of signs alone, such as "?", is nothing that an answer could hold.
        traps = [trap for trap in item.truth.distractors if normalise_words(trap)]
        free_text = None if item.choices else text
        # What naming any of the options gets.
        guessed = {
            name: 1 / len(item.choices) for name in self._methodology.answers if item.choices
        }
        return scored.replace(
            figures=figures,
            chance={**scored.chance, **guessed} if guessed else scored.chance,
            answer=text,
            abstained=None if free_text is None else is_abstention(free_text),
            fell_for_trap=None
            if free_text is None or not traps
            else contains_trap(free_text, traps),
            longest_option=score_longest_option(item) if item.choices else None,
            unjudged=result.outcome.fault if isinstance(result.outcome, NotJudged) else None,
        )


def _keep_figures(outcome: str, found: Figures) -> Figures:
    """What was found; of a question that a system failed at, nothing, even where that is right."""
    if outcome == ANSWERED:
        return found
    return {} if outcome == OPEN else dict.fromkeys(found, 0.0)


def score_longest_option(item: Item) -> float:
    """What naming the option with most characters gets; of equals, one at random."""
    options = parse_options(list(item.choices))
    most = max(map(len, options.values()))
    longest = [letter for letter, text in options.items() if len(text) == most]
    return (item.truth.choice in longest) / len(longest)


def _list_hits(scenario: str, passages: Sequence[Passage]) -> Iterator[EvalHit]:
    for rank, passage in enumerate(passages, start=1):
        hit = EvalHit(
            rank=rank,
            score=passage.score,
            tokens=estimate_tokens(passage.text),
            sha256=sha256(passage.text.encode()).hexdigest(),
        )
        if passage.claimed is not None:
            hit = hit.replace(claimed=name_unit(Level.SESSION, scenario, passage.claimed, None))
        if passage.day is not None:
            hit = hit.replace(
                session=name_unit(Level.SESSION, scenario, passage.day, None),
                turn=name_unit(Level.TURN, scenario, passage.day, passage.turn),
                turns=tuple(f"{scenario}/{passage.day}:{turn}" for turn in passage.turns),
            )
        yield hit
