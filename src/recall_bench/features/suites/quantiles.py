"""Quantiles of waiting times, some of which only exceed the time that was waited."""

from collections.abc import Sequence

import numpy as np

from recall_bench.metrics.bootstrap import (
    LEVEL,
    Floats,
    Ints,
    compute_percentile,
    draw_weights,
    number_names,
)
from recall_bench.metrics.estimate import Estimate, IntervalMethod

_RESAMPLES = 2000


def estimate_quantile(
    times: Sequence[float | None], clusters: Sequence[str], share: float
) -> Estimate | None:
    """Estimate the time within which this share of cases is done; None if it was not reached.

    A case that was not done in time is None: its time is longer than all others. Whole clusters
    are resampled.
    """
    if not times:
        return None
    values = np.array([np.inf if time is None else time for time in times], np.float64)
    numbers = number_names(clusters)
    order = np.argsort(values, kind="stable")
    ranked, owner = values[order], numbers[order]
    count = int(numbers.max()) + 1
    value = float(_find_quantiles(np.ones((1, count)), ranked, owner, share)[0])
    if not np.isfinite(value):
        return None
    weights = np.concatenate(list(draw_weights(count, resamples=_RESAMPLES, cells=len(ranked))))
    draws = _find_quantiles(weights, ranked, owner, share)
    interval = compute_percentile(draws, clusters=count) if count > 1 else None
    return Estimate(
        value=value,
        low=None if interval is None else min(interval[0], value),
        high=None if interval is None else max(interval[1], value),
        level=LEVEL,
        method=IntervalMethod.NONE if interval is None else IntervalMethod.PERSONAS,
        questions=len(times),
        personas=count,
        trials=len(times),
        missing=0,
    )


def _find_quantiles(weights: Floats, ranked: Floats, owner: Ints, share: float) -> Floats:
    """The least time with at least this share of the weight at or below it, for each row."""
    total = np.cumsum(weights[:, owner], axis=1)
    places = np.argmax(total >= share * total[:, -1:] - 1e-9, axis=1)
    return np.asarray(ranked[places], np.float64)
