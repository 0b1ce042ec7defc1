"""Where a score lies between its floor and its ceiling.

The floor is what silence scores on the same trials, the ceiling what the reader scores given the
evidence of each question. The difference between them is what a memory can contribute.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recall_bench.core.record import ComputedRecord
from recall_bench.core.trial_states import ScenarioStates, TrialState, TrialStatus
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.trials import TrialRow, map_templates
from recall_bench.metrics.bootstrap import RESAMPLES, TemplateNames
from recall_bench.metrics.estimate import Estimate, estimate_mean, estimate_ratio


class CountedTrial(NamedTuple):
    """One owed trial, as far as scores are computed from it."""

    persona: str
    item: int
    """The number of the question."""
    status: TrialStatus


class BoundedTrial(NamedTuple):
    """A trial that counts, in points of 6."""

    persona: str
    item: str
    points: int
    floor: int
    ceiling: int | None


class ScoreRange(ComputedRecord, frozen=True, kw_only=True):
    """A mean score with its floor and ceiling on the same trials, in points of 6."""

    score: float
    floor: float
    ceiling: float | None
    """None where asking the reader would have cost something."""
    gain: Estimate
    """The score less the floor, in points of 6."""
    share: Estimate | None
    """The share of the way from floor to ceiling; None if there is no way, or no ceiling."""

    @property
    def is_above_floor(self) -> bool:
        """Whether the score is higher than that of silence beyond its interval."""
        return self.gain.low is not None and self.gain.low > 0

    @property
    def is_below_floor(self) -> bool:
        """Whether the score is lower than that of silence beyond its interval."""
        return self.gain.high is not None and self.gain.high < 0


def estimate_score_range(
    trials: Iterable[CountedTrial],
    scenarios: dict[str, ScenarioStates],
    *,
    resamples: int = RESAMPLES,
) -> ScoreRange | None:
    """Estimate the range of these trials.

    None if nothing was measured, or a persona has no bounds.
    """
    bounded: list[BoundedTrial] = []
    for persona, number, status in trials:
        if status.state not in (TrialState.JUDGED, TrialState.NOT_ANSWERED):
            continue
        item, bounds = scenarios[persona].items[number].id, scenarios[persona].bounds
        if bounds is None or (floor := bounds.get_floor(item)) is None:
            return None
        bounded.append(
            BoundedTrial(persona, item, status.composite, floor, bounds.get_ceiling(item))
        )
    items = {persona: scenarios[persona].items for persona in {each.persona for each in bounded}}
    return _estimate_bounded(bounded, map_templates(items), resamples)


def estimate_row_range(
    rows: Iterable[TrialRow], templates: TemplateNames, *, resamples: int = RESAMPLES
) -> ScoreRange | None:
    """Estimate the range of rows of a table, which may be of several runs.

    None if nothing was measured, or one of them has no floor.
    """
    bounded: list[BoundedTrial] = []
    for row in rows:
        if row.points is None:
            continue
        if row.floor is None:
            return None
        trial = row.trial
        bounded.append(BoundedTrial(trial.scenario, trial.item, row.points, row.floor, row.ceiling))
    return _estimate_bounded(bounded, templates, resamples)


def _estimate_bounded(
    trials: Sequence[BoundedTrial], templates: TemplateNames, resamples: int
) -> ScoreRange | None:
    gained = [float(each.points - each.floor) for each in trials]
    questions, personas = [each.item for each in trials], [each.persona for each in trials]
    gain = estimate_mean(
        gained,
        questions,
        personas,
        limits=(-FULL_MARKS, FULL_MARKS),
        is_difference=True,
        templates=templates,
        resamples=resamples,
    )
    if gain is None:
        return None
    ceilings = [each.ceiling for each in trials if each.ceiling is not None]
    has_ceiling = len(ceilings) == len(trials)
    return ScoreRange(
        score=sum(each.points for each in trials) / len(trials),
        floor=sum(each.floor for each in trials) / len(trials),
        ceiling=sum(ceilings) / len(trials) if has_ceiling else None,
        gain=gain,
        share=estimate_ratio(
            gained,
            [float(top - each.floor) for top, each in zip(ceilings, trials, strict=True)],
            questions,
            personas,
            templates=templates,
            resamples=resamples,
        )
        if has_ceiling
        else None,
    )
