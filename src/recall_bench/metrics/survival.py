"""How long facts stay known: lifetimes, a survival curve and a half-life.

A loss is seen only at the next ask, so it happened somewhere between two asks. Losses are spread
over the days between in proportion to the curve itself, repeatedly until neither changes (Turnbull
1976). Where all facts are asked at the same ages this is the Kaplan-Meier curve.

Each unit that can be resampled gives a band, and the widest is reported, age by age. Resampling
cannot show losses that no question has shown. Where all questions agree, and where none of those
followed was lost, the band also allows for the share of others that could have been lost unnoticed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recall_bench.core.errors import UsageError
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
    for sery in series:
        lifetime = _measure_lifetime(sery, failures)
        if lifetime is None:
            never += 1
        else:
            lifetimes.append(lifetime)
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
    last_known, lost = ages[start], None
    for place in range(start, len(asks) - failures + 1):
        if not any(passes[place : place + failures]):
            lost = ages[place] - ages[start]
            break
        last_known = ages[place]
    return FactLifetime(
        persona=series.persona,
        question=series.question,
        known_for=last_known - ages[start],
        lost_by=lost,
    )


RESAMPLES: Final = 1000
_CLOSE = 1e-4
"""A curve that changes by less in a round has converged."""
_CLOSE_DRAWN = 1e-3
"""The same for a resample; a closer limit gives the same interval six times as slowly."""
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


def estimate_survival(
    lifetimes: Sequence[FactLifetime],
    *,
    seed: int,
    templates: TemplateNames | None = None,
    resamples: int = RESAMPLES,
) -> Survival | None:
    """Estimate the survival of facts; None if none was asked again after it was known."""
    facts = [
        lifetime for lifetime in lifetimes if lifetime.known_for > 0 or lifetime.lost_by is not None
    ]
    if not facts:
        return None
    groups = group_trials(
        [fact.question for fact in facts], [fact.persona for fact in facts], templates
    )
    spans = [(fact.known_for, fact.lost_by) for fact in facts]
    ages = np.array([0.0, *sorted({age for span in spans for age in span if age})])
    # Facts with the same span are of one kind; only how many there are differs between draws.
    number = {span: place for place, span in enumerate(dict.fromkeys(spans))}
    kinds = np.array([number[span] for span in spans], np.int64)
    located, widths = _locate_kinds(number, ages), np.diff(ages)
    counts = np.bincount(kinds).astype(np.float64)[np.newaxis]
    (shares,), (risks,) = _compute_curves(counts, located, widths, close=_CLOSE)
    resampled, agreed = [], []
    for unit in groups.units:
        sums = groups.count_kinds(kinds, counts.shape[1], unit)
        curves = np.concatenate(
            [
                _compute_curves(part, located, widths, close=_CLOSE_DRAWN)[0]
                for part in resample(sums, seed=seed, resamples=resamples)
            ]
        )
        resampled.append([compute_percentile(column, clusters=len(sums)) for column in curves.T])
        agreed.append(np.ptp(curves, axis=0) < _CLOSE_DRAWN)
    widest = [choose_wider(intervals) for intervals in zip(*resampled, strict=True)]
    band = _build_band(
        shares, widest, np.all(agreed, axis=0), _count_templates(facts, groups, ages)
    )
    lows, highs = ([None if ends is None else ends[end] for ends in band] for end in (0, 1))
    return Survival(
        curve=tuple(
            SurvivalPoint(age=age, share=share, low=low, high=high, at_risk=risk)
            for age, share, low, high, risk in zip(
                ages[1:].tolist(), shares.tolist(), lows, highs, risks.tolist(), strict=True
            )
        ),
        half_life=HalfLife(
            value=_find_half(ages, shares.tolist()),
            low=_find_half(ages, lows),
            high=_find_half(ages, highs),
            followed=float(ages[-1]),
        ),
        level=LEVEL,
        drawn=groups.unit,
        facts=len(facts),
        lost=sum(fact.lost_by is not None for fact in facts),
        questions=groups.questions,
        personas=groups.personas,
    )


def _locate_kinds(
    spans: Iterable[tuple[float, float | None]], ages: Floats
) -> tuple[Floats, Floats]:
    """For each kind of fact, the intervals it can have been lost in, and the one it left in."""
    starts, ends = ages[:-1], ages[1:]
    lost = [(starts >= known_for) & (ends <= (lost_by or -1)) for known_for, lost_by in spans]
    censored = [(ends == known_for) & (lost_by is None) for known_for, lost_by in spans]
    return np.array(lost, np.float64), np.array(censored, np.float64)


def _compute_curves(
    counts: Floats, located: tuple[Floats, Floats], widths: Floats, *, close: float
) -> tuple[Floats, Floats]:
    """The share still known and the facts at risk at each age, from counts of each kind.

    One row a draw, in the counts and in what is returned.
    """
    within, left = located
    mass = np.repeat(widths[np.newaxis], len(counts), axis=0)
    shares = np.ones_like(mass)
    censored = counts @ left
    for _ in range(_ROUNDS):
        possible = mass @ within.T
        rates = np.divide(counts, possible, out=np.zeros_like(possible), where=possible > 0)
        losses = mass * (rates @ within)
        # Facts that are lost later, or asked later, are at risk now.
        risks = np.cumsum((losses + censored)[:, ::-1], axis=1)[:, ::-1]
        hazard = np.divide(losses, risks, out=np.zeros_like(risks), where=risks > 0)
        before, shares = shares, np.cumprod(1 - np.minimum(hazard, 1.0), axis=1)
        if np.abs(before - shares).max() < close:
            break
        mass = -np.diff(shares, axis=1, prepend=1.0)
    return shares, risks


def _count_templates(
    facts: Sequence[FactLifetime], groups: TrialGroups, edges: Floats
) -> tuple[Ints, Ints]:
    """Count the templates still known at each age, and those whose state is known then."""
    is_known = np.array([fact.known_for for fact in facts])[:, np.newaxis] >= edges[1:]
    lost = np.array(
        [np.inf if fact.lost_by is None else fact.lost_by for fact in facts], np.float64
    )
    observed = is_known | (lost[:, np.newaxis] <= edges[1:])
    counts = []
    for state in (is_known, observed):
        by_template = np.zeros((groups.templates, len(edges) - 1), np.bool_)
        np.logical_or.at(by_template, groups.template, state)
        counts.append(by_template.sum(axis=0, dtype=np.int64))
    return counts[0], counts[1]


def _build_band(
    shares: Floats,
    drawn: Sequence[Interval | None],
    agreed: NDArray[np.bool_],
    templates: tuple[Ints, Ints],
) -> list[Interval | None]:
    """Widen the resampled intervals by what agreeing questions leave open.

    Neither end rises with age, as no survival curve does.
    """
    band: list[Interval | None] = []
    low, high = 1.0, 1.0
    before = np.concatenate([[1.0], shares[:-1]])
    for place, (share, ends) in enumerate(zip(shares.tolist(), drawn, strict=True)):
        if ends is None:
            band.append(None)
            continue
        still_known, observed = (bound_unseen_share(int(template[place])) for template in templates)
        lows, highs = [low, ends[0]], [ends[1]]
        if agreed[place]:
            lows.append(share * (1 - observed))
            highs.append(share + (1 - share) * observed)
        if before[place] - share < _CLOSE:
            lows.append(share * (1 - still_known))
        low, high = min(lows), min(high, max(highs))
        band.append((low, high))
    return band


def _find_half(ages: Floats, shares: Sequence[float | None]) -> float | None:
    """The age at which a curve reaches a half, at a constant rate between two ages."""
    before = 1.0
    for place, share in enumerate(shares):
        if share is None:
            return None
        if share <= 0.5:
            # A curve that ends at 0 has no constant rate.
            is_steady = share > _CLOSE_DRAWN
            part = (
                log(before / 0.5) / log(before / share)
                if is_steady
                else (before - 0.5) / (before - share)
            )
            return float(ages[place] + part * (ages[place + 1] - ages[place]))
        before = share
    return None
