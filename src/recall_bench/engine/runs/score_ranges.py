"""Where a score lies between its floor and its ceiling.

The floor is what silence scores on the same trials, the ceiling what the reader scores given the
evidence of each question. The difference between them is what a memory can contribute.
"""

from collections.abc import Iterable
from typing import NamedTuple

from recall_bench.core.event import BoundsComputed
from recall_bench.core.record import ComputedRecord
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.trials import TrialRow
from recall_bench.metrics.bootstrap import RESAMPLES, TemplateNames
from recall_bench.metrics.estimate import Estimate, estimate_mean, estimate_ratio


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


def bound_trial(
    persona: str, item: str, points: int, bounds: BoundsComputed | None
) -> BoundedTrial | None:
    """Place a trial between the bounds of its scenario; None if it has no floor."""
    floor = None if bounds is None else bounds.get_floor(item)
    if bounds is None or floor is None:
        return None
    return BoundedTrial(persona, item, points, floor, bounds.get_ceiling(item))


def estimate_row_range(
    rows: Iterable[TrialRow], templates: TemplateNames, *, resamples: int = RESAMPLES
) -> ScoreRange | None:
    """Estimate the range of rows of a table, which may be of several runs.

    None if nothing was measured, or one of them has no floor.
    """
    trials = [
        None
        if row.floor is None
        else BoundedTrial(row.trial.scenario, row.trial.item, row.points, row.floor, row.ceiling)
        for row in rows
        if row.points is not None
    ]
    return estimate_bounded(trials, templates, resamples)


def estimate_bounded(
    known: Iterable[BoundedTrial | None], templates: TemplateNames, resamples: int
) -> ScoreRange | None:
    """Estimate the range of these trials; None without any, or if one of them has no floor."""
    trials: list[BoundedTrial] = []
    for trial in known:
        if trial is None:
            return None
        trials.append(trial)
    gained = [float(trial.points - trial.floor) for trial in trials]
    questions, personas = [trial.item for trial in trials], [trial.persona for trial in trials]
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
    ways = [float(trial.ceiling - trial.floor) for trial in trials if trial.ceiling is not None]
    has_ceiling = len(ways) == len(trials)
    floor = sum(trial.floor for trial in trials) / len(trials)
    share = None
    if has_ceiling:
        share = estimate_ratio(
            gained, ways, questions, personas, templates=templates, resamples=resamples
        )
    return ScoreRange(
        score=sum(trial.points for trial in trials) / len(trials),
        floor=floor,
        ceiling=sum(trial.ceiling or 0 for trial in trials) / len(trials) if has_ceiling else None,
        gain=gain,
        share=share,
    )
