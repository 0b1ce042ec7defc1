"""From asking the same thing again and again to how long it was known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recall_bench.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSeries:
    """One question of one persona, asked again as the days went by."""

    persona: str
    question: str
    asks: Sequence[tuple[float, bool]]
    """The day, or the age of the fact, and whether the answer passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLifetime:
    """How long a fact was known, counted from the first ask that passed."""

    persona: str
    question: str
    known_for: float
    """At least so long."""
    lost_by: float | None
    """Lost at the latest then; None where it was still known when last asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCohort:
    """The facts that were known once, and how many never were."""

    lifetimes: tuple[FactLifetime, ...]
    never_known: int
    """Series without a pass: not lost, as they were never seen to be there."""


def build_cohort(series: Iterable[AskSeries], *, failures: int = 1) -> FactCohort:
    """How long each fact was known before it was lost.

    A fact is lost at the first of so many failures in a row. With 1, a judge's slip loses a fact;
    with 2, one slip does not. The last asks, which could begin a row but not end it, only confirm:
    a fact still known is followed up to the ask before them.
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
