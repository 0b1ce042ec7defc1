"""Where a score lies between its floor and its ceiling.

The floor is what silence scores on the same trials, the ceiling what the reader scores with the
evidence of each question in hand. The difference between them is what a memory can contribute.
"""

from collections.abc import Iterable
from typing import NamedTuple

from recall_bench.core.event import MarkTriple
from recall_bench.core.record import ComputedRecord
from recall_bench.core.trial_states import ScenarioStates, TrialState, TrialStatus
from recall_bench.metrics.bootstrap import RESAMPLES
from recall_bench.metrics.estimate import Estimate, estimate_mean, estimate_ratio


class CountedTrial(NamedTuple):
    """One owed trial, as far as scores are computed from it."""

    persona: str
    item: int
    """The number of the question."""
    status: TrialStatus
    leaked: bool | None
    """Whether the answer leaks; None if that could not be noticed."""


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
        """Whether the score can be told from that of silence, and is higher."""
        return self.gain.low is not None and self.gain.low > 0

    @property
    def is_below_floor(self) -> bool:
        """Whether the score can be told from that of silence, and is lower."""
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
    points: list[int] = []
    floors: list[int] = []
    ceilings: list[int] = []
    questions: list[str] = []
    personas: list[str] = []
    for persona, number, status, _ in trials:
        if status.state not in (TrialState.JUDGED, TrialState.NOT_ANSWERED):
            continue
        states = scenarios[persona]
        item, bounds = states.items[number].id, states.bounds
        if bounds is None or item not in bounds.floor:
            return None
        points.append(status.composite)
        floors.append(_sum_marks(bounds.floor[item]))
        if bounds.ceiling is not None:
            ceilings.append(_sum_marks(bounds.ceiling[item]))
        questions.append(str(number))
        personas.append(persona)
    templates = {
        (persona, str(number)): item.template
        for persona in set(personas)
        for number, item in enumerate(scenarios[persona].items)
        if item.template is not None
    }
    gain = estimate_mean(
        [float(score - floor) for score, floor in zip(points, floors, strict=True)],
        questions,
        personas,
        is_difference=True,
        templates=templates,
        resamples=resamples,
    )
    if gain is None:
        return None
    has_ceiling = len(ceilings) == len(points)
    return ScoreRange(
        score=sum(points) / len(points),
        floor=sum(floors) / len(points),
        ceiling=sum(ceilings) / len(points) if has_ceiling else None,
        gain=gain,
        share=estimate_ratio(
            [float(score - floor) for score, floor in zip(points, floors, strict=True)],
            [float(ceiling - floor) for ceiling, floor in zip(ceilings, floors, strict=True)],
            questions,
            personas,
            templates=templates,
            resamples=resamples,
        )
        if has_ceiling
        else None,
    )


def _sum_marks(marks: MarkTriple) -> int:
    return sum(marks)
