"""How likely so large a difference is if it could as well have gone the other way.

If two systems are equally good, the difference on a question is as likely to be the one way as the
other, and a question that was asked again goes the same way each time. So whole questions are
turned round, never trials.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np

from recall_bench.core.plan import Trial
from recall_bench.core.record import Record
from recall_bench.metrics.bootstrap import (
    RESAMPLES,
    Floats,
    ResampledUnit,
    TrialGroups,
    group_trials,
)
from recall_bench.metrics.estimate import Estimate, Limits, estimate_mean
from recall_bench.metrics.power import compute_standard_error, find_detectable

EXACT_UP_TO: Final = 16
"""With so many questions that differ, or fewer, every way to turn them is looked at."""
FLIPS: Final = 9_999
"""The ways drawn where there are too many to look at."""

_CELLS = 1 << 20
_ROUNDING = 1e-9


def compute_sign_flip_p(sums: Floats, *, seed: int, flips: int = FLIPS) -> float:
    """The two-sided p-value of a total, given what each question contributes to it.

    Exact for few questions; else drawn, and counted with the case at hand itself, so that it is
    never 0. It is 1 where no question differs.
    """
    sizes = np.sort(np.abs(sums[sums != 0]))
    reached = abs(float(sums.sum())) - _ROUNDING * float(sizes.sum())
    if len(sizes) <= EXACT_UP_TO:
        return float(np.mean(np.abs(_list_totals(sizes)) >= reached))
    chance = np.random.default_rng(seed)
    step, extreme = max(1, _CELLS // len(sizes)), 1
    for start in range(0, flips, step):
        shape = (min(step, flips - start), len(sizes))
        signs = 2 * chance.integers(0, 2, size=shape, dtype=np.int8) - 1
        extreme += int(np.count_nonzero(np.abs(signs.astype(np.float64) @ sizes) >= reached))
    return extreme / (flips + 1)


def _list_totals(sizes: Floats) -> Floats:
    """The total for every way to choose signs."""
    totals = np.zeros(1)
    for size in sizes.tolist():
        totals = np.concatenate([totals + size, totals - size])
    return totals


Key = TypeVar("Key")


def adjust_p_values(p_values: Mapping[Key, float]) -> dict[Key, float]:
    """The p-values, adjusted so that all of them together err as rarely as one would.

    By Holm's steps: the smallest counts as many times as there are p-values, the next one time
    less, and none becomes smaller than one before it.
    """
    adjusted: dict[Key, float] = {}
    largest = 0.0
    for place, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[key]))
        adjusted[key] = largest
    return {key: adjusted[key] for key in p_values}


TrialMarks = Mapping[Trial, float]
"""What each trial that has a mark came to."""


class PairedComparison(Record, frozen=True, kw_only=True):
    """What the second run has more than the first, over the trials that both have marks for."""

    difference: Estimate
    """In points. `missing` counts the trials that only one of the two has a mark for."""
    p_value: float
    """How likely so large a difference is between equally good systems, either way."""
    p_adjusted: float | None = None
    """The same by Holm's steps, where this is one of several comparisons."""
    wins: int
    """Questions whose trials together went better in the second run."""
    ties: int
    losses: int
    detectable: float | None
    """The smallest true difference that data like these show four times in five; None where not
    even the largest that is possible would be, or no question differs from another."""


def compare(
    first: TrialMarks,
    second: TrialMarks,
    *,
    seed: int,
    limits: Limits | None = None,
    resamples: int = RESAMPLES,
) -> PairedComparison | None:
    """The second run against the first, paired trial by trial; None where no trial is in both.

    `limits` are the least and the most a mark can be.
    """
    pairs = sorted(first.keys() & second.keys(), key=str)
    if not pairs:
        return None
    differences = [second[trial] - first[trial] for trial in pairs]
    questions = [trial.item for trial in pairs]
    personas = [trial.scenario for trial in pairs]
    reach = None if limits is None else limits[1] - limits[0]
    estimate = estimate_mean(
        differences,
        questions,
        personas,
        seed=seed,
        missing=len(first.keys() ^ second.keys()),
        limits=None if reach is None else (-reach, reach),
        is_difference=True,
        resamples=resamples,
    )
    assert estimate is not None  # noqa: S101 - there is a pair
    groups = group_trials(questions, personas)
    columns = np.asarray(differences, np.float64)[:, np.newaxis]
    sums = groups.sum_columns(columns, ResampledUnit.QUESTIONS)[:, 0]
    return PairedComparison(
        difference=estimate,
        p_value=compute_sign_flip_p(sums, seed=seed),
        wins=int(np.count_nonzero(sums > 0)),
        ties=int(np.count_nonzero(sums == 0)),
        losses=int(np.count_nonzero(sums < 0)),
        detectable=_find_detectable(differences, groups, reach),
    )


def compare_by_category(
    first: TrialMarks,
    second: TrialMarks,
    category: Callable[[Trial], str],
    *,
    seed: int,
    limits: Limits | None = None,
    resamples: int = RESAMPLES,
) -> dict[str, PairedComparison]:
    """A comparison of each category that has a pair, their p-values adjusted for being several."""
    found: dict[str, PairedComparison] = {}
    ours, theirs = _split_by_category(first, category), _split_by_category(second, category)
    for name in sorted(ours.keys() & theirs.keys()):
        each = compare(ours[name], theirs[name], seed=seed, limits=limits, resamples=resamples)
        if each is not None:
            found[name] = each
    adjusted = adjust_p_values({name: each.p_value for name, each in found.items()})
    return {name: each.replace(p_adjusted=adjusted[name]) for name, each in found.items()}


def _split_by_category(
    marks: TrialMarks, category: Callable[[Trial], str]
) -> dict[str, dict[Trial, float]]:
    parts: dict[str, dict[Trial, float]] = {}
    for trial, mark in marks.items():
        parts.setdefault(category(trial), {})[trial] = mark
    return parts


def _find_detectable(
    differences: Sequence[float], groups: TrialGroups, reach: float | None
) -> float | None:
    """What both the p-value, which is over questions, and the interval could have shown."""
    found = []
    for drawn in {ResampledUnit.QUESTIONS, groups.unit}:
        known = compute_standard_error(differences, groups, drawn)
        if known is not None and known[0] > 0:
            found.append(find_detectable(*known))
    smallest = max(found, default=None)
    is_possible = smallest is not None and (reach is None or smallest <= reach)
    return smallest if is_possible else None
