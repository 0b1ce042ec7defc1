"""Where the middle of the draws lies: two intervals, both widened for few clusters.

Draws vary less than the truth does, by one part in as many clusters as there are, and know nothing
of how badly a spread is known from a few. Both are made good by cutting off less, as Student's
distribution is wider than the normal one (Hesterberg 2015, "What Teachers Should Know About the
Bootstrap", section 5.3).
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np

from recall_bench.statistics.clusters import Floats

LEVEL: Final = 0.95
"""How often an interval is to hold the truth."""

_DEFINED_SHARE = 0.9
"""A figure that exists in a smaller share of the draws has no interval."""

Interval = tuple[float, float]


def compute_percentile(draws: Floats, *, clusters: int) -> Interval | None:
    """The middle of the draws. For figures that err as far up as down: differences, slopes."""
    tail = _widen_tail(clusters)
    return None if tail is None else _cut_between(draws, tail, 1 - tail)


def compute_bca(value: float, draws: Floats, left_out: Floats) -> Interval | None:
    """The middle of the draws, shifted for bias and skew (Efron's BCa).

    For figures with an end near: a mean close to full marks, a rate close to none. `left_out` is
    the figure without each cluster in turn.
    """
    from scipy.special import ndtr, ndtri

    tail = _widen_tail(len(left_out))
    if tail is None:
        return None
    below = float(np.mean(draws < value) + np.mean(draws == value) / 2)
    edge = 0.5 / len(draws)
    bias = float(ndtri(min(max(below, edge), 1 - edge)))
    skew = _measure_skew(left_out)
    # Of two clusters the tail is so thin that what is left of it rounds to one.
    reach = float(-ndtri(tail))

    def share(deviate: float) -> float:
        moved = bias + deviate
        room = 1 - skew * moved
        return float(ndtr(bias + moved / room)) if room > 0 else float(deviate > 0)

    return _cut_between(draws, share(-reach), share(reach))


def _cut_between(draws: Floats, low: float, high: float) -> Interval | None:
    defined = draws[np.isfinite(draws)]
    if not len(defined) or len(defined) < _DEFINED_SHARE * len(draws):
        return None
    ranked = np.sort(defined)
    return _interpolate(ranked, low), _interpolate(ranked, high)


def _interpolate(ranked: Floats, share: float) -> float:
    """Between the two nearest of them, as numpy's `quantile` has it, without its checks."""
    place = share * (len(ranked) - 1)
    start = min(int(place), len(ranked) - 2)
    if start < 0:
        return float(ranked[0])
    part = place - start
    below, above = float(ranked[start]), float(ranked[start + 1])
    step = above - below
    return above - step * (1 - part) if part >= 0.5 else below + step * part


@lru_cache(maxsize=4096)
def _widen_tail(clusters: int) -> float | None:
    """The tail to cut off the draws on each side; None where one cluster leaves none."""
    from scipy.special import ndtr, stdtrit

    freedom = clusters - 1
    if freedom < 1:
        return None
    return float(ndtr(-math.sqrt(clusters / freedom) * stdtrit(freedom, (1 + LEVEL) / 2)))


def _measure_skew(left_out: Floats) -> float:
    """How lopsided the clusters are: a sixth of the skewness of what each contributes."""
    gone = left_out.mean() - left_out
    spread = float(gone @ gone)
    return float((gone**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
