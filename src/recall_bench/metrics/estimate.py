"""A mean with its interval, its counts and the number of missing trials."""

from collections.abc import Sequence
from enum import StrEnum
from hashlib import blake2b
from typing import Final, NamedTuple

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
    sort_clusters,
)

FEW_QUESTIONS: Final = 20
"""With fewer questions an interval contains the truth less often than it claims."""

Limits = tuple[float, float]
_MOST_KNOWN = 1 << 14
"""How many intervals are kept: the same figures are shown by several parts of a report."""


class _Draws(NamedTuple):
    """How clusters are resampled."""

    seed: int
    resamples: int
    is_difference: bool = False


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
    agreeing: ResampledUnit = ResampledUnit.TEMPLATES,
    resamples: int = RESAMPLES,
) -> Estimate | None:
    """Estimate the mean of trials from their questions and personas; None without trials.

    `limits` are the lowest and highest possible value of a trial: without them there is no
    interval where all questions agree. There it is `agreeing` units that are counted: personas
    where all questions of one have the same cause. A difference gets a percentile interval, a mean
    a BCa one. The order of the trials does not matter.
    """
    if not len(values):
        return None
    check_limits(values, limits)
    groups = group_trials(questions, personas, templates)
    columns = np.column_stack([np.asarray(values, np.float64), np.ones(len(values))])
    draws = _Draws(seed, resamples, is_difference)
    found = _estimate_ratio(columns, groups, limits, draws, agreeing=agreeing)
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
    return _estimate_ratio(columns, groups, limits, _Draws(SEED, resamples))


def _estimate_ratio(
    columns: Floats,
    groups: TrialGroups,
    limits: Limits | None,
    draws: _Draws,
    *,
    agreeing: ResampledUnit = ResampledUnit.TEMPLATES,
) -> Estimate:
    """Estimate the sum of the first column, divided by that of the second: a number of trials."""
    total, trials = columns.sum(axis=0)
    value = float(total / trials)
    if np.ptp(_divide_columns(groups.sum_columns(columns, ResampledUnit.QUESTIONS))) == 0:
        found, method = _bound_agreement(value, groups.count_units(agreeing), limits)
    else:
        found = _resample_ratio(columns, groups, value, draws)
        method = IntervalMethod(groups.unit.value)
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
    limits: Limits | None = None,
    templates: TemplateNames | None = None,
    resamples: int = RESAMPLES,
) -> Estimate | None:
    """Estimate the sum of the parts as a share of the sum of the wholes, one pair a trial.

    None without trials, or if the wholes do not add up to more than nothing. `limits` are the
    lowest and highest possible share: without them there is no interval where all questions agree.
    """
    if sum(wholes) <= 0:
        return None
    groups = group_trials(questions, personas, templates)
    columns = np.column_stack([np.asarray(parts, np.float64), np.asarray(wholes, np.float64)])
    found = _estimate_ratio(columns, groups, limits, _Draws(seed, resamples))
    return found.replace(trials=len(parts), missing=missing)


def check_limits(values: Sequence[float], limits: Limits | None) -> None:
    """Refuse values outside the limits: one of the two is on another scale."""
    if limits is not None and not (limits[0] <= min(values) and max(values) <= limits[1]):
        raise ValueError(
            f"values from {min(values):g} to {max(values):g} are not within "
            f"{limits[0]:g} and {limits[1]:g}"
        )


def _resample_ratio(
    columns: Floats, groups: TrialGroups, value: float, draws: _Draws
) -> Interval | None:
    """Compute the interval of the first column's share of the second: the widest of all units."""

    def resample_unit(unit: ResampledUnit) -> Interval | None:
        sums = sort_clusters(groups.sum_columns(columns, unit))
        key = blake2b(sums.tobytes(), digest_size=16).digest(), value, draws
        if key not in _KNOWN:
            if len(_KNOWN) >= _MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN[key] = _resample_clusters(sums, value, draws)
        return _KNOWN[key]

    return choose_wider(map(resample_unit, groups.units))


_KNOWN: dict[tuple[bytes, float, _Draws], Interval | None] = {}


def _resample_clusters(sums: Floats, value: float, draws: _Draws) -> Interval | None:
    drawn = resample(sums, seed=draws.seed, resamples=draws.resamples)
    ratios = np.concatenate([_divide_columns(each) for each in drawn])
    if draws.is_difference:
        return compute_percentile(ratios, clusters=len(sums))
    left_out = _divide_columns(drop_each(sums))
    return compute_bca(value, ratios, left_out) if np.isfinite(left_out).all() else None


def _bound_agreement(
    value: float, units: int, limits: Limits | None
) -> tuple[Interval | None, IntervalMethod]:
    """Bound the mean where all questions agree.

    A limited share of all units can differ without showing, and no further than the limits.
    """
    if limits is None:
        return None, IntervalMethod.NONE
    share = bound_unseen_share(units)
    ends = value - share * (value - limits[0]), value + share * (limits[1] - value)
    return ends, IntervalMethod.AGREEMENT


def _divide_columns(sums: Floats) -> Floats:
    """Divide the first column by the second; not finite where that is nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0] / sums[:, 1], np.float64)
