"""How long facts stay known: lifetimes, a survival curve and a half-life.

A loss is seen only at the next ask, so it happened somewhere between two asks. Losses are spread
over the days between in proportion to the curve itself, repeatedly until neither changes (Turnbull
1976). Where all facts are asked at the same ages this is the Kaplan-Meier curve.

Each unit that can be resampled gives a band, and the widest is reported, age by age. Resampling
cannot show losses that no question has shown. Where all questions agree, and where none of those
followed was lost, the band also allows for the share of others that could have been lost unnoticed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from recall_bench.core.errors import UsageError
from recall_bench.core.grouping import group_by
from recall_bench.core.record import ComputedRecord
from recall_bench.metrics.bootstrap import (
    LEVEL,
    Floats,
    Interval,
    Ints,
    ResampledUnit,
    TemplateNames,
    TrialGroups,
    bound_unseen_share,
    choose_wider,
    compute_percentile,
    group_trials,
    resample,
)
from recall_bench.metrics.known_figures import KnownFigures, digest_inputs

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSeries:
    """One question of one persona, asked repeatedly."""

    persona: str
    question: str
    asks: Sequence[tuple[float, bool]]
    """The day or the age of the fact, and whether the answer passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLifetime:
    """How long a fact was known, from the first ask that passed."""

    persona: str
    question: str
    known_for: float
    """It was known at least this long."""
    lost_by: float | None
    """It was lost by then; None if it was still known when last asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCohort:
    """The facts that were known once, and the number that never were."""

    lifetimes: tuple[FactLifetime, ...]
    never_known: int
    """Series without a pass: never known, so not lost."""


def build_cohort(series: Iterable[AskSeries], *, failures: int = 1) -> FactCohort:
    """Measure how long each fact was known before it was lost.

    A fact is lost at the first of `failures` failures in a row. With 1, one wrong verdict loses a
    fact; with 2 it does not. The last asks could start such a row but not end it, so a fact still
    known is followed only up to the ask before them.
    """
    if failures < 1:
        raise UsageError(f"a fact cannot be lost after {failures} failures; it takes 1 or more")
    lifetimes, never = [], 0
    for each in series:
        found = _measure_lifetime(each, failures)
        if found is None:
            never += 1
        else:
            lifetimes.append(found)
    return FactCohort(lifetimes=tuple(lifetimes), never_known=never)


def _measure_lifetime(series: AskSeries, failures: int) -> FactLifetime | None:
    asks = sorted(series.asks)
    ages, passes = [age for age, _ in asks], [passed for _, passed in asks]
    if len(set(ages)) < len(ages):
        raise ValueError(
            f"{series.persona}/{series.question} was asked twice at one age: "
            "each repeat is a series of its own"
        )
    if True not in passes:
        return None
    start = passes.index(True)
    known, lost = ages[start], None
    for place in range(start, len(asks) - failures + 1):
        if not any(passes[place : place + failures]):
            lost = ages[place] - ages[start]
            break
        known = ages[place]
    return FactLifetime(
        persona=series.persona,
        question=series.question,
        known_for=known - ages[start],
        lost_by=lost,
    )


RESAMPLES: Final = 1000

_CLOSE = 1e-4
"""A curve that changes by less in a round has converged."""
_CLOSE_DRAWN = 1e-3
"""The same for a resample; a closer limit gives the same interval six times as slowly."""
_NOTHING = _CLOSE_DRAWN
"""Smaller shares count as 0."""
_ROUNDS = 500


class SurvivalPoint(ComputedRecord, frozen=True, kw_only=True):
    """One step of a survival curve."""

    age: float
    """Days since the fact was first known."""
    share: float
    """The share of the facts that are still known."""
    low: float | None
    high: float | None
    at_risk: float
    """Facts known and asked up to the ask before; fractional where losses are spread."""


class HalfLife(ComputedRecord, frozen=True, kw_only=True):
    """The age at which half the facts are lost."""

    value: float | None
    """None if more than half were still known when last asked: it is beyond `followed`."""
    low: float | None
    high: float | None
    """None if that end is beyond `followed`; both for a single question."""
    followed: float
    """The greatest observed age."""


class Survival(ComputedRecord, frozen=True, kw_only=True):
    """The survival of facts by age."""

    curve: tuple[SurvivalPoint, ...]
    half_life: HalfLife
    level: float
    drawn: ResampledUnit
    facts: int
    """Lifetimes that were observed at all."""
    lost: int
    questions: int
    personas: int


KNOWN_SURVIVALS: Final = KnownFigures[Survival](Survival)


def estimate_survival(
    lifetimes: Sequence[FactLifetime],
    *,
    seed: int,
    templates: TemplateNames | None = None,
    resamples: int = RESAMPLES,
) -> Survival | None:
    """Estimate the survival of facts; None if none was asked again after it was known."""
    facts = [each for each in lifetimes if each.known_for > 0 or each.lost_by is not None]
    if not facts:
        return None
    groups = group_trials(
        [each.question for each in facts], [each.persona for each in facts], templates
    )
    known = np.array([each.known_for for each in facts], np.float64)
    lost = np.array([each.lost_by for each in facts], np.float64)
    key = digest_inputs(
        (seed, resamples), known, lost, groups.question, groups.template, groups.persona
    )
    found = KNOWN_SURVIVALS.select_known([key])
    if not found:
        found = {key: _estimate_curve(facts, groups, seed, resamples)}
        KNOWN_SURVIVALS.add(found)
    return found[key]


def _estimate_curve(
    facts: Sequence[FactLifetime], groups: TrialGroups, seed: int, resamples: int
) -> Survival:
    """Compute the curve of facts that were observed, and resample it."""
    stretches = _build_intervals(facts)
    every = np.bincount(stretches.kind, minlength=stretches.kinds).astype(np.float64)
    shares, risks = stretches.compute_curves(every[np.newaxis], close=_CLOSE)
    edges = stretches.edges
    units = [_resample_unit(stretches, groups, unit, seed, resamples) for unit in groups.units]
    drawn = [choose_wider(ends) for ends in zip(*(each.find_ends() for each in units), strict=True)]
    agreed = np.all([np.ptp(each.draws, axis=0) < _CLOSE_DRAWN for each in units], axis=0)
    band = _build_band(shares[0], drawn, agreed, _count_templates(facts, groups, edges))
    value = _drop_infinite(float(_find_halves(edges, shares)[0]))
    low, high = _join_half_ends(each.find_half_ends(edges) for each in units)
    half = HalfLife(value=value, low=low, high=high, followed=float(edges[-1]))
    return Survival(
        curve=tuple(
            SurvivalPoint(age=age, share=share, low=low, high=high, at_risk=risk)
            for age, share, (low, high), risk in zip(
                edges[1:].tolist(),
                shares[0].tolist(),
                [(None, None) if each is None else each for each in band],
                risks[0].tolist(),
                strict=True,
            )
        ),
        half_life=_widen_half_life(half, edges, drawn, band),
        level=LEVEL,
        drawn=groups.unit,
        facts=len(facts),
        lost=sum(each.lost_by is not None for each in facts),
        questions=groups.questions,
        personas=groups.personas,
    )


def estimate_survival_by(
    lifetimes: Sequence[FactLifetime],
    group: Callable[[FactLifetime], str],
    *,
    seed: int,
    templates: TemplateNames | None = None,
    resamples: int = RESAMPLES,
) -> dict[str, Survival]:
    """Estimate the survival of each group of facts that has one."""
    parts = group_by(lifetimes, group)
    found = {
        name: estimate_survival(parts[name], seed=seed, templates=templates, resamples=resamples)
        for name in sorted(parts)
    }
    return {name: each for name, each in found.items() if each is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class _AgeIntervals:
    """The intervals between observed ages, and the distinct kinds of lifetimes."""

    edges: Floats
    kind: Ints
    """The kind of each fact: losses first, then those still known."""
    kinds: int
    first: Ints
    """For each kind of loss, the first interval it can have happened in."""
    last: Ints
    """The interval after the last one it can have happened in."""
    until: Ints
    """For each kind that was not lost, the last interval in which it was at risk; all differ."""

    def compute_curves(self, counts: Floats, *, close: float) -> tuple[Floats, Floats]:
        """Compute the share still known and the facts at risk, from counts of each kind.

        One row a draw, in the counts and in what is returned.
        """
        # In here a draw is a column: whole draws are added up at once.
        lost, kept = np.split(np.ascontiguousarray(counts.T), [len(self.first)])
        within = self._build_within()
        back = within.T.tocsr()
        mass = np.repeat(np.diff(self.edges)[:, np.newaxis], len(counts), axis=1)
        shares, rate = np.ones_like(mass), np.empty_like(mass)
        asked = np.zeros_like(mass)
        asked[self.until] = kept
        # Not a product of matrices: OpenBLAS has threads that go on waiting for the next one.
        _accumulate(np.add, asked[::-1])
        for _ in range(_ROUNDS):
            losses = back @ _divide_or_zero(lost, within @ mass)
            losses *= mass
            # Facts that are lost later, or asked later, are at risk now.
            risks = losses.copy()
            _accumulate(np.add, risks[::-1])
            risks += asked
            _divide_or_zero(losses, risks, out=rate)
            np.minimum(rate, 1.0, out=rate)
            before, shares = shares, 1 - rate
            _accumulate(np.multiply, shares)
            if np.abs(np.subtract(before, shares, out=rate), out=rate).max() < close:
                break
            np.subtract(1.0, shares[0], out=mass[0])
            np.subtract(shares[:-1], shares[1:], out=mass[1:])
        return shares.T, risks.T

    def _build_within(self) -> "csr_array":
        """Whether a loss of each kind can have happened in each interval; most can in few."""
        from scipy.sparse import csr_array

        widths = self.last - self.first
        starts = np.concatenate([[0], np.cumsum(widths)])
        places = [np.arange(*ends) for ends in zip(self.first, self.last, strict=True)]
        return csr_array(
            (np.ones(starts[-1]), np.concatenate([*places, np.empty(0, np.int64)]), starts),
            shape=(len(self.first), len(self.edges) - 1),
        )


def _accumulate(operation: np.ufunc, rows: Floats) -> None:
    """Accumulate rows in place; numpy goes through columns, which takes many times as long."""
    for before, row in pairwise(rows):
        operation(before, row, out=row)


def _divide_or_zero(parts: Floats, wholes: Floats, out: Floats | None = None) -> Floats:
    """Divide by what is greater than 0; 0 elsewhere."""
    found = np.empty_like(wholes) if out is None else out
    if wholes.min(initial=1.0) > 0:
        # Without a mask this takes a third of the time.
        return np.divide(parts, wholes, out=found)
    found[...] = 0.0
    return np.divide(parts, wholes, out=found, where=wholes > 0)


def _build_intervals(facts: Sequence[FactLifetime]) -> _AgeIntervals:
    ends = {age for each in facts for age in (each.known_for, each.lost_by) if age}
    edges = np.array([0.0, *sorted(ends)])
    place = {age: number for number, age in enumerate(edges.tolist())}
    kinds = sorted(
        {(each.known_for, each.lost_by) for each in facts},
        key=lambda kind: (kind[1] is None, kind[0], kind[1] or 0.0),
    )
    number = {kind: column for column, kind in enumerate(kinds)}
    losses = [(known, lost) for known, lost in kinds if lost is not None]
    return _AgeIntervals(
        edges=edges,
        kind=np.array([number[each.known_for, each.lost_by] for each in facts], np.int64),
        kinds=len(kinds),
        first=np.array([place[known] for known, _ in losses], np.int64),
        last=np.array([place[lost] for _, lost in losses], np.int64),
        until=np.array([place[known] - 1 for known, lost in kinds if lost is None], np.int64),
    )


@dataclass(frozen=True, slots=True)
class _DrawnCurves:
    """The curves of all resamples of one unit, one row a resample."""

    draws: Floats
    clusters: int

    def find_ends(self) -> list[Interval | None]:
        """Find the interval of the share at each age."""
        return [compute_percentile(column, clusters=self.clusters) for column in self.draws.T]

    def find_half_ends(self, edges: Floats) -> Interval | None:
        """Find the interval of the half-life; an end may be infinite."""
        found = np.sort(_find_halves(edges, self.draws))
        ranks = np.arange(len(found), dtype=np.float64)
        ends = compute_percentile(ranks, clusters=self.clusters)
        if ends is None:
            return None
        cut = int(ends[0])
        return float(found[cut]), float(found[-1 - cut])


def _resample_unit(
    stretches: _AgeIntervals, groups: TrialGroups, unit: ResampledUnit, seed: int, resamples: int
) -> _DrawnCurves:
    sums = groups.count_kinds(stretches.kind, stretches.kinds, unit)
    curves = []
    for each in resample(sums, seed=seed, resamples=resamples):
        # A few clusters are drawn alike again and again.
        rows = np.ascontiguousarray(each)
        first: dict[bytes, int] = {}
        alike = [first.setdefault(row.tobytes(), number) for number, row in enumerate(rows)]
        distinct, place = np.unique(alike, return_inverse=True)
        found, _ = stretches.compute_curves(rows[distinct], close=_CLOSE_DRAWN)
        curves.append(found[place])
    return _DrawnCurves(np.concatenate(curves), len(sums))


def _join_half_ends(found: Iterable[Interval | None]) -> tuple[float | None, float | None]:
    """Choose the earliest low end and the latest high end; None for an end that is infinite."""
    known = [each for each in found if each is not None]
    if not known:
        return None, None
    low, high = min(each[0] for each in known), max(each[1] for each in known)
    return _drop_infinite(low), _drop_infinite(high)


def _count_templates(
    facts: Sequence[FactLifetime], groups: TrialGroups, edges: Floats
) -> tuple[Ints, Ints]:
    """Count the templates still known at each age, and those whose state is known then."""
    known = np.array([each.known_for for each in facts])[:, np.newaxis] >= edges[1:]
    lost = np.array(
        [np.inf if each.lost_by is None else each.lost_by for each in facts], np.float64
    )
    observed = known | (lost[:, np.newaxis] <= edges[1:])
    found = []
    for each in (known, observed):
        by_template = np.zeros((groups.templates, len(edges) - 1), np.bool_)
        np.logical_or.at(by_template, groups.template, each)
        found.append(by_template.sum(axis=0, dtype=np.int64))
    return found[0], found[1]


def _build_band(
    shares: Floats,
    drawn: Sequence[Interval | None],
    agreed: NDArray[np.bool_],
    templates: tuple[Ints, Ints],
) -> list[Interval | None]:
    """Widen the resampled intervals by what agreeing questions leave open.

    Neither end rises with age, as no survival curve does.
    """
    found: list[Interval | None] = []
    low, high = 1.0, 1.0
    before = np.concatenate([[1.0], shares[:-1]])
    for place, (share, ends) in enumerate(zip(shares.tolist(), drawn, strict=True)):
        if ends is None:
            found.append(None)
            continue
        known, observed = (bound_unseen_share(int(each[place])) for each in templates)
        lows, highs = [low, ends[0]], [ends[1]]
        if agreed[place]:
            lows.append(share * (1 - observed))
            highs.append(share + (1 - share) * observed)
        if before[place] - share < _CLOSE:
            lows.append(share * (1 - known))
        low, high = min(lows), min(high, max(highs))
        found.append((low, high))
    return found


def _widen_half_life(
    half: HalfLife, edges: Floats, drawn: Sequence[Interval | None], band: Sequence[Interval | None]
) -> HalfLife:
    """Widen the half-life's interval where only the band reaches a half so early or so late."""
    ends = [(old, new) for old, new in zip(drawn, band, strict=True) if old and new]
    if len(ends) < len(band):
        return half
    (old_low, old_high), (low, high) = (
        _find_halves(edges, np.array([each[number] for each in ends]).T) for number in (0, 1)
    )
    return half.replace(
        low=_drop_infinite(min(_replace_none(half.low), low)) if low < old_low else half.low,
        high=_drop_infinite(max(_replace_none(half.high), high)) if high > old_high else half.high,
    )


def _replace_none(end: float | None) -> float:
    return np.inf if end is None else end


def _find_halves(edges: Floats, shares: Floats) -> Floats:
    """Find where each curve reaches a half, at a constant rate between two ages."""
    whole = np.concatenate([np.ones((len(shares), 1)), shares], axis=1)
    after = np.argmax(whole <= 0.5, axis=1)
    rows = np.arange(len(whole))
    above, below = whole[rows, after - 1], whole[rows, after]
    with np.errstate(divide="ignore", invalid="ignore"):
        steady = np.log(above / 0.5) / np.log(above / below)
    # A curve that ends at 0 has no constant rate.
    part = np.where(
        below > _NOTHING, steady, (above - 0.5) / np.where(above > below, above - below, 1)
    )
    found = edges[after - 1] + part * (edges[after] - edges[after - 1])
    return np.where(after > 0, found, np.inf)


def _drop_infinite(age: float) -> float | None:
    return float(age) if np.isfinite(age) else None
