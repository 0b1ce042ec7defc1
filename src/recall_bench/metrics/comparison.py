"""Two runs on the same trials: which is better, by how much, and whether that could be chance.

If two systems are equally good, the difference on a question is as likely positive as negative,
and a question that is asked again goes the same way each time, as questions of one template tend to
do. So the sign of whole templates is flipped, or of whole questions where none share one, never
that of single trials.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import comb
from typing import Final, NamedTuple, TypeVar

import numpy as np

from recall_bench.core.plan import Trial
from recall_bench.core.record import ComputedRecord
from recall_bench.metrics.bootstrap import (
    RESAMPLES,
    SEED,
    Floats,
    ResampledUnit,
    TemplateNames,
    TrialGroups,
    group_trials,
)
from recall_bench.metrics.estimate import Estimate, Limits, estimate_mean
from recall_bench.metrics.power import ALPHA, compute_standard_error, find_detectable

EXACT_UP_TO: Final = 16
"""Up to this many differing units, all combinations of signs are computed."""
FLIPS: Final = 9_999
"""Random combinations of signs where there are more."""

_CELLS = 1 << 20
_KEPT_CELLS = 2 * _CELLS
_ROUNDING = 1e-9


def compute_sign_flip_p(sums: Floats, *, seed: int, flips: int = FLIPS) -> float:
    """Compute the two-sided p-value of a total from the part that each unit has in it.

    The units are templates, or questions where none share one. It is exact for few units. For many
    it is estimated from random signs, the observed ones included, so that it is never 0. It is 1
    where no unit differs.
    """
    sizes = np.sort(np.abs(sums[sums != 0]))
    least = abs(float(sums.sum())) - _ROUNDING * float(sizes.sum())
    if len(sizes) <= EXACT_UP_TO:
        return float(np.mean(np.abs(_list_totals(sizes)) >= least))
    is_small = flips * len(sizes) <= _KEPT_CELLS
    draws = (
        _keep_signs(len(sizes), seed, flips) if is_small else _draw_signs(len(sizes), seed, flips)
    )
    extreme = sum(int(np.count_nonzero(np.abs(signs @ sizes) >= least)) for signs in draws)
    return (extreme + 1) / (flips + 1)


def _draw_signs(count: int, seed: int, flips: int) -> Iterator[Floats]:
    """Yield random signs, one row a combination, in pieces of bounded size."""
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // count)
    for start in range(0, flips, step):
        shape = (min(step, flips - start), count)
        yield (2 * rng.integers(0, 2, size=shape, dtype=np.int8) - 1).astype(np.float64)


@lru_cache(maxsize=2)
def _keep_signs(count: int, seed: int, flips: int) -> tuple[Floats, ...]:
    """The same, kept in memory: many systems are compared by the same questions."""
    return tuple(_draw_signs(count, seed, flips))


def _list_totals(sizes: Floats) -> Floats:
    """List the totals for all combinations of signs."""
    totals = np.zeros(1)
    for size in sizes.tolist():
        totals = np.concatenate([totals + size, totals - size])
    return totals


def compute_mcnemar(better: int, worse: int) -> float:
    """Compute the exact two-sided p-value of McNemar's test; 1 where no test differs.

    It is what the sign flips come to where every question differs by one.
    """
    differing, less = better + worse, min(better, worse)
    tail = sum(comb(differing, k) for k in range(less + 1))
    return min(1.0, 2 * tail / int(2**differing))


Key = TypeVar("Key")


def adjust_p_values(p_values: Mapping[Key, float]) -> dict[Key, float]:
    """Adjust p-values for multiple comparisons by Holm's method.

    The smallest is multiplied by the number of p-values, the next by one less, and so on; none
    becomes smaller than the one before it.
    """
    adjusted: dict[Key, float] = {}
    largest = 0.0
    for place, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[key]))
        adjusted[key] = largest
    return {key: adjusted[key] for key in p_values}


TrialMarks = Mapping[Trial, float]
"""The mark of each trial that has one."""


def split_marks(marks: TrialMarks, key: Callable[[Trial], Key]) -> dict[Key, dict[Trial, float]]:
    """The marks of each group of trials."""
    parts: dict[Key, dict[Trial, float]] = {}
    for trial, mark in marks.items():
        parts.setdefault(key(trial), {})[trial] = mark
    return parts


class PairedComparison(ComputedRecord, frozen=True, kw_only=True):
    """The second run minus the first, over the trials that have marks in both."""

    difference: Estimate
    """In points. `missing` counts the trials that have a mark in only one of the two."""
    p_value: float
    """The two-sided probability of such a difference between equally good systems."""
    p_adjusted: float | None = None
    """The same after Holm's adjustment, where this is one of several comparisons."""
    wins: int
    """Questions whose trials together scored higher in the second run."""
    ties: int
    losses: int
    detectable: float | None
    """The smallest true difference that such data detect with 80 % power; None where none that is
    possible is large enough, or no question differs from another."""
    is_mcnemar: bool = False
    """Whether the p-value is that of McNemar's exact test, for scores of right and wrong alone."""

    @property
    def final_p(self) -> float:
        """The p-value that decides: the adjusted one, where this is one of several comparisons."""
        return self.p_value if self.p_adjusted is None else self.p_adjusted

    @property
    def is_significant(self) -> bool:
        """Whether the p-value that decides is at most 0.05."""
        return self.final_p <= ALPHA


def _apply_mcnemar(
    found: PairedComparison, first: TrialMarks, second: TrialMarks, right: float
) -> PairedComparison:
    """Replace the p-value by McNemar's where every question was asked once, and right or wrong.

    The sign flips come to the same, but draw at random where many questions differ.
    """
    pairs = first.keys() & second.keys()
    is_binary = all(first[trial] in (0, right) and second[trial] in (0, right) for trial in pairs)
    if not is_binary or len(pairs) != found.wins + found.ties + found.losses:
        return found
    return found.replace(p_value=compute_mcnemar(found.wins, found.losses), is_mcnemar=True)


def estimate_difference(
    first: TrialMarks,
    second: TrialMarks,
    trials: Sequence[Trial],
    *,
    limits: Limits | None = None,
    missing: int = 0,
    seed: int = SEED,
    templates: TemplateNames | None = None,
    agreeing: ResampledUnit = ResampledUnit.TEMPLATES,
    resamples: int = RESAMPLES,
) -> Estimate:
    """The mean of second less first over trials that both have; ValueError where there are none.

    `limits` are the lowest and the highest possible mark, and `agreeing` the units to count where
    all differences agree.
    """
    reach = None if limits is None else limits[1] - limits[0]
    estimate = estimate_mean(
        [second[trial] - first[trial] for trial in trials],
        [trial.item for trial in trials],
        [trial.scenario for trial in trials],
        seed=seed,
        missing=missing,
        limits=None if reach is None else (-reach, reach),
        is_difference=True,
        templates=templates,
        agreeing=agreeing,
        resamples=resamples,
    )
    if estimate is None:
        raise ValueError("there is no trial to compare")
    return estimate


def compare(
    first: TrialMarks,
    second: TrialMarks,
    *,
    seed: int = SEED,
    limits: Limits | None = None,
    templates: TemplateNames | None = None,
    agreeing: ResampledUnit = ResampledUnit.TEMPLATES,
    resamples: int = RESAMPLES,
    right: float | None = None,
) -> PairedComparison | None:
    """Compare the second run with the first, paired by trial; None where they share no trial.

    `limits` are the lowest and the highest possible mark, and `agreeing` the units to count where
    all differences agree. `right` is the mark of a right answer where questions may be scored right
    or wrong: then the test is McNemar's where it applies.
    """
    pairs = sorted(first.keys() & second.keys(), key=str)
    if not pairs:
        return None
    missing = len(first.keys() ^ second.keys())
    differences = [second[trial] - first[trial] for trial in pairs]
    groups = group_trials(
        [trial.item for trial in pairs], [trial.scenario for trial in pairs], templates
    )
    columns = np.asarray(differences, np.float64)[:, np.newaxis]
    sums = groups.sum_columns(columns, ResampledUnit.QUESTIONS)[:, 0]
    flipped = groups.sum_columns(columns, ResampledUnit.TEMPLATES)[:, 0]
    comparison = PairedComparison(
        difference=estimate_difference(
            first,
            second,
            pairs,
            limits=limits,
            missing=missing,
            seed=seed,
            templates=templates,
            agreeing=agreeing,
            resamples=resamples,
        ),
        p_value=compute_sign_flip_p(flipped, seed=seed),
        wins=int(np.count_nonzero(sums > 0)),
        ties=int(np.count_nonzero(sums == 0)),
        losses=int(np.count_nonzero(sums < 0)),
        detectable=_find_detectable(differences, groups, limits),
    )
    return (
        comparison
        if right is None or templates
        else _apply_mcnemar(comparison, first, second, right)
    )


def compare_by_category(
    first: TrialMarks,
    second: TrialMarks,
    category: Callable[[Trial], str],
    *,
    seed: int = SEED,
    limits: Limits | None = None,
    templates: TemplateNames | None = None,
    resamples: int = RESAMPLES,
    right: float | None = None,
) -> dict[str, PairedComparison]:
    """Compare each category that has a pair, with adjusted p-values."""
    ours, theirs = split_marks(first, category), split_marks(second, category)
    names = sorted(ours.keys() & theirs.keys())
    pairs = {name: MarkPair(ours[name], theirs[name], templates) for name in names}
    return compare_each(pairs, seed=seed, limits=limits, resamples=resamples, right=right)


class MarkPair(NamedTuple):
    """The marks of two runs, trial by trial."""

    first: TrialMarks
    second: TrialMarks
    templates: TemplateNames | None = None


def compare_each(
    pairs: Mapping[Key, MarkPair],
    *,
    seed: int = SEED,
    limits: Limits | None = None,
    resamples: int = RESAMPLES,
    right: float | None = None,
) -> dict[Key, PairedComparison]:
    """Compare each pair that shares a trial; the p-values are adjusted over all of them."""
    comparisons = {}
    for key, (first, second, templates) in pairs.items():
        comparison = compare(
            first,
            second,
            seed=seed,
            limits=limits,
            templates=templates,
            resamples=resamples,
            right=right,
        )
        if comparison is not None:
            comparisons[key] = comparison
    adjusted = adjust_p_values({key: comparison.p_value for key, comparison in comparisons.items()})
    return {
        key: comparison.replace(p_adjusted=adjusted[key]) for key, comparison in comparisons.items()
    }


def _find_detectable(
    differences: Sequence[float], groups: TrialGroups, limits: Limits | None
) -> float | None:
    """Find what both the p-value and the interval could have detected."""
    sizes = []
    for unit in groups.units:
        error = compute_standard_error(differences, groups, unit)
        if error is not None and error[0] > 0:
            sizes.append(find_detectable(*error))
    smallest = max(sizes, default=None)
    is_possible = smallest is not None and (limits is None or smallest <= limits[1] - limits[0])
    return smallest if is_possible else None
