"""Two runs on the same trials: which is better, by how much, and could it have been seen."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from recall_bench.core.plan import Trial
from recall_bench.core.record import Record
from recall_bench.statistics.clusters import RESAMPLES, ResampledUnit, TrialGroups, group_trials
from recall_bench.statistics.estimate import Estimate, Limits, estimate_mean
from recall_bench.statistics.holm import adjust_p_values
from recall_bench.statistics.power import compute_standard_error, find_detectable
from recall_bench.statistics.signs import compute_sign_flip_p

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
