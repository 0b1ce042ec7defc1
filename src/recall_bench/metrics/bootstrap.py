"""What is drawn again: questions, or personas where there are enough, and never single trials.

A system asked one question at ten checkpoints gives much the same answer ten times, so ten trials
of one question are one piece of evidence. Every figure here is a function of sums over trials: a
mean of a sum and a count, a line of five sums, a survival curve of losses and facts at risk. So it
is enough to draw the sums of whole clusters.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENOUGH_PERSONAS: Final = 5
"""From so many personas on these are drawn, and the interval speaks of personas like them."""
RESAMPLES: Final = 10_000

_CELLS = 1 << 20
_FEW_COLUMNS = 8
_KEPT_CELLS = 1 << 17
"""Draws of so few clusters are kept: a report draws the same thousands of times."""


class ResampledUnit(StrEnum):
    """What was drawn again for an interval, which is what the interval speaks about."""

    QUESTIONS = "questions"
    """Other questions to the same personas."""
    PERSONAS = "personas"
    """Other personas, with their questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialGroups:
    """Which trials belong together."""

    question: Ints
    """The number of each trial's question; a question belongs to one persona."""
    persona: Ints
    """The number of each trial's persona."""
    questions: int
    personas: int

    @property
    def unit(self) -> ResampledUnit:
        """What there is enough of to be drawn."""
        return (
            ResampledUnit.PERSONAS if self.personas >= ENOUGH_PERSONAS else ResampledUnit.QUESTIONS
        )

    def sum_columns(self, columns: Floats, drawn: ResampledUnit) -> Floats:
        """The sum of each column, one for each trial, over each cluster: one row a cluster."""
        if not np.isfinite(columns).all():
            raise ValueError("a trial without a mark is counted as missing, not given as NaN")
        number, count = self._get_clusters(drawn)
        totals = [np.bincount(number, weights=column, minlength=count) for column in columns.T]
        return np.stack(totals, axis=1).astype(np.float64)

    def count_kinds(self, kind: Ints, kinds: int, drawn: ResampledUnit) -> Floats:
        """How many trials of each kind, counted from 0, a cluster has: one row a cluster."""
        number, count = self._get_clusters(drawn)
        found = np.bincount(number * kinds + kind, minlength=count * kinds)
        return found.reshape(count, kinds).astype(np.float64)

    def _get_clusters(self, drawn: ResampledUnit) -> tuple[Ints, int]:
        if drawn is ResampledUnit.PERSONAS:
            return self.persona, self.personas
        return self.question, self.questions


def group_trials(questions: Sequence[str], personas: Sequence[str]) -> TrialGroups:
    """Trials by their question and their persona; a question is told apart within its persona."""
    question = _number_names(list(zip(personas, questions, strict=True)))
    persona = _number_names(list(personas))
    return TrialGroups(
        question=question,
        persona=persona,
        questions=int(question.max(initial=-1)) + 1,
        personas=int(persona.max(initial=-1)) + 1,
    )


def resample(sums: Floats, *, seed: int, resamples: int = RESAMPLES) -> Iterator[Floats]:
    """The totals when as many clusters as there are are drawn again, one row a resample.

    In as many pieces as keep the memory small. The order of the clusters changes nothing.
    """
    ordered = sums[np.lexsort(sums.T)]
    clusters = len(ordered)
    if clusters * resamples <= _KEPT_CELLS and len(ordered.T) <= _FEW_COLUMNS:
        yield _count_draws(clusters, seed, resamples) @ ordered
        return
    columns = [np.ascontiguousarray(column) for column in ordered.T]
    chance = np.random.default_rng(seed)
    step = max(1, _CELLS // clusters)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        if len(columns) <= _FEW_COLUMNS:
            places = chance.integers(clusters, size=(size, clusters), dtype=np.int32)
            yield np.stack([column.take(places).sum(axis=1) for column in columns], axis=1)
        else:
            # How often each is drawn costs more to find out, and then serves all columns at once.
            times = chance.multinomial(clusters, np.full(clusters, 1 / clusters), size=size)
            yield times.astype(np.float64) @ ordered


@lru_cache(maxsize=64)
def _count_draws(clusters: int, seed: int, resamples: int) -> Floats:
    """How often each cluster is drawn, one row a resample."""
    places = np.random.default_rng(seed).integers(
        clusters, size=(resamples, clusters), dtype=np.int32
    )
    rows = np.arange(resamples, dtype=np.int64)[:, np.newaxis] * clusters
    found = np.bincount((places + rows).ravel(), minlength=resamples * clusters)
    return found.reshape(resamples, clusters).astype(np.float64)


def drop_each(sums: Floats) -> Floats:
    """The totals without each cluster in turn, one row a cluster."""
    return np.asarray(sums.sum(axis=0) - sums, np.float64)


def _number_names(names: Sequence[object]) -> Ints:
    place: dict[object, int] = {}
    return np.array([place.setdefault(name, len(place)) for name in names], dtype=np.int64)


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


def bound_unseen_share(count: int) -> float:
    """The largest share of all questions that could be different, though as many as this agreed.

    Were it larger, so many would have agreed in fewer than one case in forty.
    """
    return 1 - ((1 - LEVEL) / 2) ** (1 / count) if count else 1.0
