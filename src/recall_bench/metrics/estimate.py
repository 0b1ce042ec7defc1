"""A mean with its interval, its counts and what is missing from it."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import Final

import numpy as np

from recall_bench.core.record import Record
from recall_bench.metrics.bootstrap import (
    LEVEL,
    RESAMPLES,
    Floats,
    Interval,
    ResampledUnit,
    TrialGroups,
    bound_unseen_share,
    compute_bca,
    compute_percentile,
    drop_each,
    group_trials,
    resample,
)

FEW_QUESTIONS: Final = 20
"""With fewer questions an interval holds the truth less often than it says."""

Limits = tuple[float, float]
_Draws = Callable[[Floats], Iterable[Floats]]


class IntervalMethod(StrEnum):
    """How an interval was made."""

    QUESTIONS = "questions"
    """Questions were drawn again: it speaks of other questions to the same personas."""
    PERSONAS = "personas"
    """Whole personas were drawn again: it speaks of other personas."""
    AGREEMENT = "agreement"
    """Every question came to the same: how many others could be different, unnoticed so far."""
    NONE = "none"
    """There is none: one question, or questions that all agree, say nothing about others unless it
    is known how far off these can be."""


class Estimate(Record, frozen=True, kw_only=True):
    """A mean over trials, and how well it is known."""

    value: float
    low: float | None
    high: float | None
    """Both ends, or neither."""
    level: float
    """How often such an interval holds the truth."""
    method: IntervalMethod
    questions: int
    """Different questions, each counted once however often it was asked."""
    personas: int
    trials: int
    """What the mean is over."""
    missing: int
    """Trials that are owed and that the mean knows nothing of."""

    @property
    def is_small(self) -> bool:
        """Whether so few questions stand behind it that the interval itself is in doubt."""
        return self.questions < FEW_QUESTIONS

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of zero."""
        if self.low is None or self.high is None:
            return False
        return self.low > 0 or self.high < 0


def estimate_mean(
    values: Sequence[float],
    questions: Sequence[str],
    personas: Sequence[str],
    *,
    seed: int,
    missing: int = 0,
    limits: Limits | None = None,
    is_difference: bool = False,
    resamples: int = RESAMPLES,
) -> Estimate | None:
    """The mean of trials, each of a question of a persona; None where there is no trial.

    `limits` are the least and the most a trial can come to: without them there is no interval
    where all questions agree. A difference errs as far up as down, and its interval is made so.
    The same trials in any order give the same estimate.
    """
    if not len(values):
        return None
    check_limits(values, limits)
    groups = group_trials(questions, personas)
    columns = np.column_stack([np.asarray(values, np.float64), np.ones(len(values))])
    value = float(columns[:, 0].sum() / len(values))
    draws = partial(resample, seed=seed, resamples=resamples)
    found, method = _compute_interval(columns, groups, limits, is_difference, draws)
    # Draws that all come to the value can miss it by a rounding.
    low, high = (None, None) if found is None else (min(found[0], value), max(found[1], value))
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=LEVEL,
        method=method,
        questions=groups.questions,
        personas=groups.personas,
        trials=len(values),
        missing=missing,
    )


def check_limits(values: Sequence[float], limits: Limits | None) -> None:
    """Refuse values beyond what is said to be possible: one of the two is of another scale."""
    if limits is not None and not (limits[0] <= min(values) and max(values) <= limits[1]):
        raise ValueError(
            f"values from {min(values):g} to {max(values):g} are not within "
            f"{limits[0]:g} and {limits[1]:g}"
        )


def _compute_interval(
    columns: Floats, groups: TrialGroups, limits: Limits | None, is_difference: bool, draws: _Draws
) -> tuple[Interval | None, IntervalMethod]:
    value = float(columns[:, 0].mean())
    if np.ptp(_divide_columns(groups.sum_columns(columns, ResampledUnit.QUESTIONS))) == 0:
        if limits is None:
            return None, IntervalMethod.NONE
        return _bound_agreement(value, groups.questions, limits), IntervalMethod.AGREEMENT
    sums = groups.sum_columns(columns, groups.unit)
    means = np.concatenate([_divide_columns(each) for each in draws(sums)])
    found = (
        compute_percentile(means, clusters=len(sums))
        if is_difference
        else compute_bca(value, means, _divide_columns(drop_each(sums)))
    )
    return found, IntervalMethod(groups.unit.value)


def _bound_agreement(value: float, questions: int, limits: Limits) -> Interval:
    """The interval where all questions came to the same.

    Were more than this share of all questions different, as many as were asked would not have
    agreed so often. And these others cannot be further off than the limits.
    """
    share = bound_unseen_share(questions)
    return value - share * (value - limits[0]), value + share * (limits[1] - value)


def _divide_columns(sums: Floats) -> Floats:
    return np.asarray(sums[:, 0] / sums[:, 1], np.float64)
