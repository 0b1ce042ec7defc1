"""The trend of a mean or a rate as memory grows, and predictions for larger sizes.

It is a straight line by least squares over trials, for rates too. A slope is easy to read ("points
in a hundred days") and defined for every resample, while a logistic curve has no slope where a
resample contains no hallucination. A line can leave the possible range; then the prediction is
clipped, and says so.

Where all questions give the same slope or the same height, every resample does, and the interval
would be a point. Then it covers how far an unnoticed share of different questions could move the
line, each of their trials at the bound that moves it most.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from recall_bench.core.record import ComputedRecord
from recall_bench.metrics.bootstrap import (
    LEVEL,
    RESAMPLES,
    Floats,
    Interval,
    Ints,
    ResampledUnit,
    TemplateNames,
    TrialGroups,
    bound_unseen_share,
    choose_wider,
    compute_percentile,
    drop_each,
    group_trials,
    resample,
)
from recall_bench.metrics.estimate import Limits, check_limits

FAR_DAYS: Final = (2000, 5000)
"""The sizes that are predicted: twice and five times the longest shipped story."""
MAX_FORECAST_REACH: Final = 3
"""A forecast reaches at most this many times the measured span, counted from its first day."""
MAX_FORECAST_SPAN: Final = 0.4
"""A forecast with a band wider than this share of the possible range says nothing."""

_ROUNDING = 1e-12
"""Sizes whose spread is a smaller part of their squares are the same but for rounding."""
_SAME = 1e-9
"""Lines that differ by a smaller part of the possible range differ by rounding."""


class Coefficient(ComputedRecord, frozen=True, kw_only=True):
    """One number of a line, with its interval."""

    value: float
    low: float | None
    high: float | None


class Prediction(ComputedRecord, frozen=True, kw_only=True):
    """What a line says at one size."""

    days: int | float
    """As it was asked for: a whole number stays one where it is read back."""
    value: float
    low: float | None
    high: float | None
    is_clipped: bool
    """Whether the line or its band left the possible range and was clipped."""
    is_beyond: bool
    """Whether the size is outside the measured range."""
    doubt: str | None = None
    """Why a forecast beyond the measured range says nothing; None if it says something."""


class Trend(ComputedRecord, frozen=True, kw_only=True):
    """A straight line over corpus size."""

    intercept: Coefficient
    """The value at day 0."""
    slope: Coefficient
    """The change per day."""
    predictions: tuple[Prediction, ...]
    level: float
    drawn: ResampledUnit
    first_day: float
    last_day: float
    questions: int
    personas: int
    trials: int
    is_agreed: bool = False
    """Whether every question gave the same slope, so that its interval is one of agreement."""


def estimate_trend(
    values: Sequence[float],
    days: Sequence[float],
    questions: Sequence[str],
    personas: Sequence[str],
    *,
    seed: int,
    limits: Limits,
    at: Sequence[float] = FAR_DAYS,
    templates: TemplateNames | None = None,
    resamples: int = RESAMPLES,
) -> Trend | None:
    """Fit a line through trials by days; None if all are at the same size.

    `limits` are the lowest and highest possible value of a trial.
    """
    return estimate_grouped_trend(
        np.asarray(values, np.float64),
        np.asarray(days, np.float64),
        group_trials(questions, personas, templates),
        seed=seed,
        limits=limits,
        at=at,
        resamples=resamples,
    )


def estimate_grouped_trend(
    values: Floats,
    days: Floats | Ints,
    groups: TrialGroups,
    *,
    seed: int,
    limits: Limits,
    at: Sequence[float] = FAR_DAYS,
    resamples: int = RESAMPLES,
) -> Trend | None:
    """Fit a line through trials that are grouped already, as `estimate_trend` does."""
    if not len(days) or days.min() == days.max():
        return None
    check_limits(values, limits)
    lines = _draw_lines(values, days, groups, limits=limits, seed=seed, resamples=resamples)
    return _make_trend(lines, days, groups, at)


def _make_trend(
    lines: "_DrawnLines", days: Floats | Ints, groups: TrialGroups, at: Sequence[float]
) -> Trend:
    measured = float(days.min()), float(days.max())
    slope, ends = lines.estimate_slope()
    return Trend(
        intercept=_make_coefficient(*lines.predict(0.0)),
        slope=_make_coefficient(slope, ends),
        predictions=tuple(_make_prediction(day, lines, measured=measured) for day in at),
        level=LEVEL,
        drawn=groups.unit,
        first_day=measured[0],
        last_day=measured[1],
        questions=groups.questions,
        personas=groups.personas,
        trials=len(days),
        is_agreed=ends is not None and lines.has_agreed_slope,
    )


@dataclass(frozen=True, slots=True)
class _LineSet:
    """Lines by their height at the middle of the sizes and their slope."""

    heights: Floats
    slopes: Floats

    def combine(self, height_weight: float, slope_weight: float) -> Floats:
        """Compute a figure of each line."""
        return height_weight * self.heights + slope_weight * self.slopes


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnitLines:
    """The lines of one resampled unit."""

    resampled: _LineSet
    clusters: int
    left_out: _LineSet
    """Without each cluster in turn."""
    independent: int
    """How many independent observations its clusters are if all agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrawnLines:
    """The line of all trials, and the lines of their resamples.

    A figure of a line is its height and its slope, each by a weight: the slope itself, or the
    height at some day.
    """

    middle: float
    """The mean size."""
    height: float
    slope: float
    units: tuple[_UnitLines, ...]
    """Questions come last."""
    values: Floats
    offsets: Floats
    """How far the size of each trial is from the middle."""
    limits: Limits

    @property
    def has_agreed_slope(self) -> bool:
        """Whether every question gives the same slope."""
        return self._find_agreement(0.0, 1.0) is not None

    def estimate_slope(self) -> tuple[float, Interval | None]:
        """The change per day, with its interval."""
        return self._estimate_figure(0.0, 1.0)

    def predict(self, day: float) -> tuple[float, Interval | None]:
        """Predict the value at a day, with its interval."""
        return self._estimate_figure(1.0, day - self.middle)

    def _estimate_figure(
        self, height_weight: float, slope_weight: float
    ) -> tuple[float, Interval | None]:
        """Compute a figure and its interval, widened where questions agree."""
        value = height_weight * self.height + slope_weight * self.slope
        ends = choose_wider(
            compute_percentile(
                unit.resampled.combine(height_weight, slope_weight), clusters=unit.clusters
            )
            for unit in self.units
        )
        if ends is None:
            return value, None
        if (count := self._find_agreement(height_weight, slope_weight)) is not None:
            low, high = self._bound_shift(height_weight, slope_weight, count)
            return value, (value + low, value + high)
        # Where only the heights differ, or only the slopes, resamples vary in that part alone, and
        # the band lacks what unnoticed questions could do to the other.
        for part in ((height_weight, 0.0), (0.0, slope_weight)):
            if any(part) and (count := self._find_agreement(*part)) is not None:
                low, high = self._bound_shift(*part, count)
                ends = ends[0] + low, ends[1] + high
        return value, ends

    def _find_agreement(self, height_weight: float, slope_weight: float) -> int | None:
        """How many independent observations agree, if all give the same figure; else None.

        All give the same if no line without one of them has another figure.
        """
        value = height_weight * self.height + slope_weight * self.slope
        reach = abs(height_weight) + abs(slope_weight) / float(np.ptp(self.offsets))
        close = _SAME * reach * (self.limits[1] - self.limits[0])
        # Questions first: where they agree, so do all larger units.
        for unit in reversed(self.units):
            figures = unit.left_out.combine(height_weight, slope_weight)
            defined = figures[np.isfinite(figures)]
            if len(defined) and np.abs(defined - value).max() <= close:
                return unit.independent
        return None

    def _bound_shift(self, height_weight: float, slope_weight: float, count: int) -> Interval:
        """Bound how far unnoticed different questions could move a figure down and up."""
        weights = height_weight / len(self.offsets) + slope_weight * self.offsets / float(
            self.offsets @ self.offsets
        )
        least, most = (weights * (limit - self.values) for limit in self.limits)
        share = bound_unseen_share(count)
        return (
            share * float(np.minimum(least, most).sum()),
            share * float(np.maximum(least, most).sum()),
        )


def _draw_lines(
    values: Floats,
    days: Floats | Ints,
    groups: TrialGroups,
    *,
    limits: Limits,
    seed: int,
    resamples: int,
) -> _DrawnLines:
    sizes = np.asarray(days, np.float64)
    middle = float(sizes.mean())
    # The sums of these columns determine a line. About a whole day they are integers where sizes
    # and values are, so that sums are exact in any order and `resample` can take its faster way.
    origin = round(middle)
    x = sizes - origin
    columns = np.column_stack([np.ones(len(x)), x, x**2, values, values * x])

    def fit_lines(sums: Floats) -> _LineSet:
        return _fit_lines(_move_origin(sums, middle - origin))

    def fit_unit(unit: ResampledUnit) -> _UnitLines:
        sums = groups.sum_columns(columns, unit)
        totals = np.concatenate(list(resample(sums, seed=seed, resamples=resamples)))
        return _UnitLines(
            resampled=fit_lines(totals),
            clusters=len(sums),
            left_out=fit_lines(drop_each(sums)),
            independent=groups.templates if unit is ResampledUnit.QUESTIONS else len(sums),
        )

    line = fit_lines(groups.sum_columns(columns, groups.unit).sum(axis=0, keepdims=True))
    return _DrawnLines(
        middle=middle,
        height=float(line.heights[0]),
        slope=float(line.slopes[0]),
        units=tuple(map(fit_unit, groups.units)),
        values=values,
        offsets=sizes - middle,
        limits=limits,
    )


def _move_origin(sums: Floats, distance: float) -> Floats:
    """Compute the sums about a size that is this much greater."""
    count, x, xx, y, xy = sums.T
    return np.column_stack(
        [
            count,
            x - distance * count,
            xx - 2 * distance * x + distance**2 * count,
            y,
            xy - distance * y,
        ]
    )


def _fit_lines(sums: Floats) -> _LineSet:
    """Fit a line for each row of sums; not finite where there is none."""
    count, x, xx, y, xy = sums.T
    spread = count * xx - x * x
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(spread > _ROUNDING * count * xx, (count * xy - x * y) / spread, np.nan)
        return _LineSet((y - slope * x) / count, slope)


def _make_coefficient(value: float, ends: Interval | None) -> Coefficient:
    low, high = ends or (None, None)
    return Coefficient(value=value, low=low, high=high)


def _make_prediction(day: float, lines: _DrawnLines, *, measured: Interval) -> Prediction:
    value, ends = lines.predict(day)
    limits = lines.limits
    low, high = ends or (None, None)
    inside = [None if end is None else _clip(end, limits) for end in (low, high)]
    is_beyond = not measured[0] <= day <= measured[1]
    reach = abs(day - measured[0]) / (measured[1] - measured[0])
    return Prediction(
        days=day,
        value=_clip(value, limits),
        low=inside[0],
        high=inside[1],
        is_clipped=[_clip(value, limits), *inside] != [value, low, high],
        is_beyond=is_beyond,
        doubt=_find_doubt(value, ends, limits, reach) if is_beyond else None,
    )


def _find_doubt(value: float, ends: Interval | None, limits: Limits, reach: float) -> str | None:
    """Why a forecast says nothing, by the line as it is before it is clipped."""
    if reach > MAX_FORECAST_REACH:
        return f"more than {MAX_FORECAST_REACH} times the measured span from its first day"
    if ends is None:
        return "the line has no band"
    if not limits[0] <= value <= limits[1]:
        return "the line leaves what is possible"
    width = (_clip(ends[1], limits) - _clip(ends[0], limits)) / (limits[1] - limits[0])
    if width > MAX_FORECAST_SPAN:
        return f"the band spans more than {100 * MAX_FORECAST_SPAN:g} points of 100"
    return None


def _clip(value: float, limits: Limits) -> float:
    return float(min(max(value, limits[0]), limits[1]))
