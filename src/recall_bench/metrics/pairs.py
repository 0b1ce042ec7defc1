"""How far two systems differ on the same trials, and how sure that is.

A question asked at ten checkpoints gives much the same answer ten times, so questions are drawn
again, never trials, and within each persona as many as it has. With few questions the middle of
such draws is too narrow; it is widened as Student's distribution is wider than the normal one
(Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 5.3).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from recall_bench.core.record import Record
from recall_bench.metrics.agreement import LEVEL, SEED, Floats, Ints, number_names

RESAMPLES: Final = 4000
_CELLS = 1 << 21
_NORMAL = NormalDist()


class PairedDifference(Record, frozen=True, kw_only=True):
    """The mean of what the second has more than the first, over the pairs."""

    mean: float
    interval: tuple[float, float] | None
    """None where a single question says nothing about others."""
    pairs: int
    questions: int

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of zero."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)


def compare_pairs(
    differences: Sequence[float],
    questions: Sequence[str],
    strata: Sequence[str],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> PairedDifference | None:
    """The difference over pairs, each of a question of a stratum; None where there is no pair.

    Questions are told apart within their stratum. The same pairs give the same interval.
    """
    if not len(differences):
        return None
    values = np.asarray(differences, np.float64)
    cluster = number_names([f"{s}\0{q}" for s, q in zip(strata, questions, strict=True)])
    sums = np.bincount(cluster, weights=values).astype(np.float64)
    sizes = np.bincount(cluster).astype(np.float64)
    _, first = np.unique(cluster, return_index=True)
    stratum = number_names([strata[place] for place in first.tolist()])
    clusters = _PairSums(sums=sums, sizes=sizes, stratum=stratum)
    return PairedDifference(
        mean=float(values.mean()),
        interval=_compute_interval(clusters, level, resamples),
        pairs=len(values),
        questions=len(sums),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _PairSums:
    """What is drawn: each question's sum of differences, its trials and its stratum."""

    sums: Floats
    sizes: Floats
    stratum: Ints


def _compute_interval(
    clusters: _PairSums, level: float, resamples: int
) -> tuple[float, float] | None:
    count = len(clusters.sums)
    freedom = count - len(np.unique(clusters.stratum))
    if freedom < 1:
        return None
    tail = _widen_tail((1 - level) / 2, count, freedom)
    low, high = np.quantile(_draw_means(clusters, resamples), [tail, 1 - tail])
    mean = float(clusters.sums.sum() / clusters.sizes.sum())
    return min(float(low), mean), max(float(high), mean)


def _draw_means(clusters: _PairSums, resamples: int) -> Floats:
    """The mean difference of each draw of questions."""
    chance = np.random.default_rng(SEED)
    totals, counts = np.zeros(resamples), np.zeros(resamples)
    for number in np.unique(clusters.stratum).tolist():
        inside = clusters.stratum == number
        sums, sizes = clusters.sums[inside], clusters.sizes[inside]
        even = np.full(len(sums), 1 / len(sums))
        step = max(1, _CELLS // len(sums))
        for start in range(0, resamples, step):
            rows = slice(start, min(start + step, resamples))
            drawn = chance.multinomial(len(sums), even, size=rows.stop - rows.start)
            totals[rows] += np.einsum("ij,j->i", drawn, sums)
            counts[rows] += np.einsum("ij,j->i", drawn, sizes)
    return totals / counts


def _widen_tail(tail: float, clusters: int, freedom: int) -> float:
    """The tail to cut off the draws so that so few clusters leave the tail meant."""
    scale = math.sqrt(clusters / freedom)
    return _NORMAL.cdf(-scale * compute_student_point(tail, freedom))


def compute_student_point(tail: float, freedom: int) -> float:
    """Where Student's distribution has this upper tail.

    Exact for one and two degrees of freedom, Cornish and Fisher's expansion for more.
    """
    if freedom == 1:
        return 1 / math.tan(math.pi * tail)
    if freedom == 2:
        share = 1 - 2 * tail
        return share * math.sqrt(2 / (1 - share**2))
    z = _NORMAL.inv_cdf(1 - tail)
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
