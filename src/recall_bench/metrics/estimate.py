"""A mean with its interval, its counts and the number of missing trials."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import Final

import numpy as np

from recall_bench.core.record import ComputedRecord
from recall_bench.metrics.bootstrap import (
    LEVEL,
    RESAMPLES,
    SEED,
    Floats,
    Interval,
    ResampledUnit,
    TemplateNames,
    TrialGroups,
    bound_unseen_share,
    choose_wider,
    compute_bca,
    compute_percentile,
    drop_each,
    group_trials,
    resample,
)

FEW_QUESTIONS: Final = 20
"""With fewer questions an interval contains the truth less often than it claims."""

Limits = tuple[float, float]
_Draws = Callable[[Floats], Iterable[Floats]]


class IntervalMethod(StrEnum):
    """How an interval was computed."""

    QUESTIONS = "questions"
    """Questions were resampled, those of one template together: it is about other questions to the
    same personas."""
    PERSONAS = "personas"
    """Whole personas were resampled: it is about other personas. If resampling questions or
    templates gives a wider interval, that one is reported."""
    AGREEMENT = "agreement"
    """All questions agree: it allows for the share of others that could still differ."""
    NONE = "none"
    """No interval: there is one question, or all agree and the possible range is unknown."""


class Estimate(ComputedRecord, frozen=True, kw_only=True):
    """A mean over trials, and how precisely it is known."""

    value: float
    low: float | None
    high: float | None
    """Both ends, or neither."""
    level: float
    """The share of such intervals that contain the truth."""
    method: IntervalMethod
    questions: int
    """Distinct questions, however often each was asked."""
    personas: int
    trials: int
    """The trials averaged."""
    missing: int
    """Owed trials that have no value."""

    @property
    def is_small(self) -> bool:
        """Whether it rests on too few questions for the interval to be reliable."""
        return self.questions < FEW_QUESTIONS

    @property
    def interval(self) -> Interval | None:
        """Both ends together."""
        return None if self.low is None or self.high is None else (self.low, self.high)

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
    seed: int = SEED,
    missing: int = 0,
    limits: Limits | None = None,
    is_difference: bool = False,
    templates: TemplateNames | None = None,
    resamples: int = RESAMPLES,
) -> Estimate | None:
    """Estimate the mean of trials from their questions and personas; None without trials.

    `limits` are the lowest and highest possible value of a trial: without them there is no
    interval where all questions agree. A difference gets a percentile interval, a mean a BCa one.
    The order of the trials does not matter.
    """
    if not len(values):
        return None
    check_limits(values, limits)
    groups = group_trials(questions, personas, templates)
    columns = np.column_stack([np.asarray(values, np.float64), np.ones(len(values))])
    draws = partial(resample, seed=seed, resamples=resamples)
    found = _estimate_ratio(columns, groups, limits, draws, is_difference=is_difference)
    return found.replace(missing=missing)


def estimate_question_sums(
    personas: Sequence[Sequence[Sequence[tuple[float, int]]]],
    *,
    limits: Limits,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate the mean from the sum and the number of the trials of each question.

    Questions are grouped by template, and templates by persona. The same as `estimate_mean` of the
    trials themselves.
    """
    templates = [template for persona in personas for template in persona]
    columns = np.array([sums for template in templates for sums in template], np.float64)
    sizes = [len(template) for template in templates]
    asked = [sum(map(len, persona)) for persona in personas]
    groups = TrialGroups(
        question=np.arange(len(columns)),
        template=np.repeat(np.arange(len(sizes)), sizes),
        persona=np.repeat(np.arange(len(asked)), asked),
        questions=len(columns),
        templates=len(sizes),
        personas=len(asked),
    )
    draws = partial(resample, seed=SEED, resamples=resamples)
    return _estimate_ratio(columns, groups, limits, draws)


def _estimate_ratio(
    columns: Floats,
    groups: TrialGroups,
    limits: Limits | None,
    draws: _Draws,
    *,
    is_difference: bool = False,
) -> Estimate:
    """Estimate the sum of the first column, divided by that of the second: a number of trials."""
    total, trials = columns.sum(axis=0)
    value = float(total / trials)
    found, method = _compute_interval(
        value, columns, groups, limits, draws=draws, is_difference=is_difference
    )
    # Resamples that all equal the value can miss it by a rounding error.
    low, high = (None, None) if found is None else (min(found[0], value), max(found[1], value))
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=LEVEL,
        method=method,
        questions=groups.questions,
        personas=groups.personas,
        trials=int(trials),
        missing=0,
    )


def estimate_ratio(
    parts: Sequence[float],
    wholes: Sequence[float],
    questions: Sequence[str],
    personas: Sequence[str],
    *,
    seed: int = SEED,
    missing: int = 0,
    templates: TemplateNames | None = None,
    resamples: int = RESAMPLES,
) -> Estimate | None:
    """Estimate the sum of the parts as a share of the sum of the wholes, one pair a trial.

    None without trials, or if the wholes do not add up to more than nothing.
    """
    if sum(wholes) <= 0:
        return None
    groups = group_trials(questions, personas, templates)
    columns = np.column_stack([np.asarray(parts, np.float64), np.asarray(wholes, np.float64)])
    draws = partial(resample, seed=seed, resamples=resamples)
    found = _estimate_ratio(columns, groups, None, draws)
    return found.replace(trials=len(parts), missing=missing)


def check_limits(values: Sequence[float], limits: Limits | None) -> None:
    """Refuse values outside the limits: one of the two is on another scale."""
    if limits is not None and not (limits[0] <= min(values) and max(values) <= limits[1]):
        raise ValueError(
            f"values from {min(values):g} to {max(values):g} are not within "
            f"{limits[0]:g} and {limits[1]:g}"
        )


def _compute_interval(
    value: float,
    columns: Floats,
    groups: TrialGroups,
    limits: Limits | None,
    *,
    draws: _Draws,
    is_difference: bool,
) -> tuple[Interval | None, IntervalMethod]:
    if np.ptp(_divide_columns(groups.sum_columns(columns, ResampledUnit.QUESTIONS))) == 0:
        if limits is None:
            return None, IntervalMethod.NONE
        return _bound_agreement(value, groups.templates, limits), IntervalMethod.AGREEMENT
    found = _resample_ratio(columns, groups, value, draws, is_difference=is_difference)
    return found, IntervalMethod(groups.unit.value)


def _resample_ratio(
    columns: Floats, groups: TrialGroups, value: float, draws: _Draws, *, is_difference: bool
) -> Interval | None:
    """Compute the interval of the first column's share of the second: the widest of all units."""

    def resample_unit(unit: ResampledUnit) -> Interval | None:
        sums = groups.sum_columns(columns, unit)
        ratios = np.concatenate([_divide_columns(each) for each in draws(sums)])
        if is_difference:
            return compute_percentile(ratios, clusters=len(sums))
        left_out = _divide_columns(drop_each(sums))
        return compute_bca(value, ratios, left_out) if np.isfinite(left_out).all() else None

    return choose_wider(map(resample_unit, groups.units))


def _bound_agreement(value: float, templates: int, limits: Limits) -> Interval:
    """Bound the mean where all questions agree.

    A limited share of all templates can differ without showing, and no further than the limits.
    """
    share = bound_unseen_share(templates)
    return value - share * (value - limits[0]), value + share * (limits[1] - value)


def _divide_columns(sums: Floats) -> Floats:
    """Divide the first column by the second; not finite where that is nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0] / sums[:, 1], np.float64)
