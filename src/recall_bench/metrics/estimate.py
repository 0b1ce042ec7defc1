"""A mean with its interval, its counts and the number of missing trials."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_bench.core.record import ComputedRecord
from recall_bench.metrics.bootstrap import (
    LEVEL,
    RESAMPLES,
    SEED,
    Floats,
    Interval,
    Ints,
    QuestionNumbers,
    ResampledUnit,
    TemplateNames,
    TrialGroups,
    bound_unseen_share,
    choose_wider,
    compute_bcas,
    compute_percentile,
    divide_columns,
    group_trials,
    resample_ratios,
    sort_clusters,
)

FEW_QUESTIONS: Final = 20
"""With fewer questions an interval contains the truth less often than it claims."""

Limits = tuple[float, float]
_ROWS_TOGETHER = 1 << 18
"""About how many rows are in memory at once where many means are estimated."""


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


_MAX_INTERVALS = 1 << 16
_INTERVALS: dict[bytes, Interval | None] = {}
"""By the sums of clusters: several parts of a report show the same ones, and resampling is most of
what it takes."""


def forget_intervals() -> None:
    """Forget the intervals that were computed, so that they are resampled again."""
    _INTERVALS.clear()


def _digest_inputs(settings: object, *arrays: NDArray[np.generic]) -> bytes:
    """Digest all that a figure depends on: arrays, and settings whose `repr` is exact."""
    total = blake2b(repr(settings).encode(), digest_size=16)
    for array in arrays:
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.digest()


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
    (estimate,) = _estimate_ratios([_Ratio(columns, groups, limits, draws, agreeing, missing)])
    return estimate


class MarkTally(NamedTuple):
    """The marks of trials whose mean is estimated."""

    question: Ints
    """The number of the question of each trial that has a mark."""
    mark: Floats
    limits: Limits
    resamples: int
    missing: int
    """Trials that lack a mark."""


def estimate_tallies(
    tallies: Iterable[MarkTally], numbers: QuestionNumbers, *, seed: int = SEED
) -> list[Estimate | None]:
    """Estimate the mean of each tally; None without trials.

    The same as `estimate_mean` of the trials of each. Many at once take a fraction of the time.
    """
    estimates: dict[bytes, Estimate] = {}
    keys: list[bytes] = []
    part: dict[bytes, _Ratio] = {}
    rows = 0
    for tally in tallies:
        settings = tally.limits, tally.resamples, tally.missing
        key = _digest_inputs(settings, tally.question, tally.mark) if len(tally.mark) else b""
        keys.append(key)
        if not key or key in part or key in estimates:
            continue
        part[key] = _make_ratio(tally, numbers, seed)
        rows += len(part[key].columns)
        if rows > _ROWS_TOGETHER:
            estimates |= zip(part, _estimate_ratios(list(part.values())), strict=True)
            part, rows = {}, 0
    estimates |= zip(part, _estimate_ratios(list(part.values())), strict=True)
    return [estimates.get(key) for key in keys]


def _make_ratio(tally: MarkTally, numbers: QuestionNumbers, seed: int) -> "_Ratio":
    """Make the ratio of marks to trials.

    Whole numbers have the same sum in any order: their trials become one row a question.
    """
    check_limits(tally.mark, tally.limits)
    question, mark, trials = tally.question, tally.mark, np.ones(len(tally.mark))
    if bool((mark == np.rint(mark)).all()):
        counts = np.bincount(question)
        sums = np.asarray(np.bincount(question, weights=mark), np.float64)
        (occurring,) = counts.nonzero()
        mark, trials = sums[occurring], counts[occurring].astype(np.float64)
        groups = numbers.group_questions(occurring)
    else:
        groups = numbers.group(question)
    columns = np.column_stack([mark, trials])
    draws = _Draws(seed, tally.resamples)
    return _Ratio(columns, groups, tally.limits, draws, missing=tally.missing)


class _Ratio(NamedTuple):
    """The sum of the first column, divided by that of the second: a number of trials."""

    columns: Floats
    """A row for each trial, or for all trials of a question."""
    groups: TrialGroups
    limits: Limits | None
    draws: _Draws
    agreeing: ResampledUnit = ResampledUnit.TEMPLATES
    missing: int = 0

    @property
    def value(self) -> float:
        """The ratio itself."""
        total, trials = self.columns.sum(axis=0)
        return float(total / trials)

    def _sum_questions(self) -> Floats:
        if len(self.columns) == self.groups.questions and np.isfinite(self.columns).all():
            return self.columns
        return self.groups.sum_columns(self.columns, ResampledUnit.QUESTIONS)

    def list_clusters(self) -> "list[_Clusters]":
        """List the clusters of each unit; none where all questions agree."""
        questions = self._sum_questions()
        shares = divide_columns(questions)
        if shares.max() - shares.min() == 0:
            return []
        value = self.value
        return [
            _Clusters.sort(
                questions
                if unit is ResampledUnit.QUESTIONS
                else self.groups.sum_columns(self.columns, unit),
                value,
                self.draws,
            )
            for unit in self.groups.units
        ]


def _estimate_ratios(ratios: Sequence[_Ratio]) -> list[Estimate]:
    """Estimate ratios; those with the same number of clusters are resampled together."""
    clusters = [unit.list_clusters() for unit in ratios]
    intervals = _resample_clusters([unit for units in clusters for unit in units])
    return [
        _make_estimate(ratio, [intervals[unit.key] for unit in units])
        for ratio, units in zip(ratios, clusters, strict=True)
    ]


def _make_estimate(ratio: _Ratio, found: Sequence[Interval | None]) -> Estimate:
    """Make the estimate from the intervals of all units; none where questions agree."""
    groups, value = ratio.groups, ratio.value
    if found:
        ends, method = choose_wider(found), IntervalMethod(groups.unit.value)
    else:
        ends, method = _bound_agreement(value, groups.count_units(ratio.agreeing), ratio.limits)
    # Resamples that all equal the value can miss it by a rounding error.
    low, high = (None, None) if ends is None else (min(ends[0], value), max(ends[1], value))
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=LEVEL,
        method=method,
        questions=groups.questions,
        personas=groups.personas,
        trials=int(ratio.columns[:, 1].sum()),
        missing=ratio.missing,
    )


def estimate_ratio(
    parts: Sequence[float],
    wholes: Sequence[float],
    questions: Sequence[str],
    personas: Sequence[str],
    *,
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
    (estimate,) = _estimate_ratios([_Ratio(columns, groups, limits, _Draws(SEED, resamples))])
    return estimate.replace(trials=len(parts))


def check_limits(values: Sequence[float] | Floats, limits: Limits | None) -> None:
    """Refuse values outside the limits: one of the two is on another scale."""
    low, high = np.min(values), np.max(values)
    if limits is not None and not (limits[0] <= low and high <= limits[1]):
        raise ValueError(
            f"values from {low:g} to {high:g} are not within {limits[0]:g} and {limits[1]:g}"
        )


class _Clusters(NamedTuple):
    """The sums of the clusters of a ratio, to be resampled."""

    sums: Floats
    value: float
    draws: _Draws
    key: bytes

    @classmethod
    def sort(cls, sums: Floats, value: float, draws: _Draws) -> "_Clusters":
        """Sort the sums, so that figures do not depend on their order."""
        ordered = sort_clusters(sums)
        return cls(ordered, value, draws, _digest_inputs((value, draws), ordered))


def _resample_clusters(wanted: Sequence[_Clusters]) -> dict[bytes, Interval | None]:
    """The interval of each; those with the same number of clusters are resampled together."""
    intervals = {
        clusters.key: _INTERVALS[clusters.key] for clusters in wanted if clusters.key in _INTERVALS
    }
    alike: dict[tuple[int, _Draws], dict[bytes, _Clusters]] = {}
    for clusters in wanted:
        if clusters.key not in intervals:
            alike.setdefault((len(clusters.sums), clusters.draws), {})[clusters.key] = clusters
    if len(_INTERVALS) > _MAX_INTERVALS:
        forget_intervals()
    for (_, draws), parts in alike.items():
        intervals |= zip(parts, _compute_intervals(list(parts.values()), draws), strict=True)
    _INTERVALS.update(intervals)
    return intervals


def _compute_intervals(wanted: Sequence[_Clusters], draws: _Draws) -> list[Interval | None]:
    """Compute the intervals of sums with the same number of clusters."""
    intervals: list[Interval | None] = [None] * len(wanted)
    tables = [clusters.sums for clusters in wanted]
    for numbers, ratios in resample_ratios(tables, seed=draws.seed, resamples=draws.resamples):
        if draws.is_difference:
            for number, row in zip(numbers, ratios, strict=True):
                intervals[number] = compute_percentile(row, clusters=len(tables[number]))
            continue
        left_out = _leave_out(np.stack([tables[number] for number in numbers]))
        is_defined = np.isfinite(left_out).all(axis=1)
        values = np.array([wanted[number].value for number in numbers])
        ends = compute_bcas(values[is_defined], ratios[is_defined], left_out[is_defined])
        for number, end in zip(np.array(numbers)[is_defined].tolist(), ends, strict=True):
            intervals[number] = end
    return intervals


def _leave_out(tables: Floats) -> Floats:
    """Compute the ratio without each cluster in turn, one row a table."""
    rest = tables.sum(axis=1, keepdims=True) - tables
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(rest[:, :, 0] / rest[:, :, 1], np.float64)


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
