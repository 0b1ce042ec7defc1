"""Two runs on the same trials: which is better, by how much, and could it have been seen."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from recall_bench.core.plan import Trial
from recall_bench.core.record import Record
from recall_bench.statistics.clusters import RESAMPLES, Drawn, Grouping, grouping
from recall_bench.statistics.estimate import Estimate, Limits, mean_estimate
from recall_bench.statistics.holm import holm
from recall_bench.statistics.power import detectable, standard_error
from recall_bench.statistics.signs import sign_flip_p

Marks = Mapping[Trial, float]
"""What each trial that has a mark came to."""


class Comparison(Record, frozen=True, kw_only=True):
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
    first: Marks,
    second: Marks,
    *,
    seed: int,
    limits: Limits | None = None,
    resamples: int = RESAMPLES,
) -> Comparison | None:
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
    estimate = mean_estimate(
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
    groups = grouping(questions, personas)
    columns = np.asarray(differences, np.float64)[:, np.newaxis]
    sums = groups.sums(columns, Drawn.QUESTIONS)[:, 0]
    return Comparison(
        difference=estimate,
        p_value=sign_flip_p(sums, seed=seed),
        wins=int(np.count_nonzero(sums > 0)),
        ties=int(np.count_nonzero(sums == 0)),
        losses=int(np.count_nonzero(sums < 0)),
        detectable=_detectable(differences, groups, reach),
    )


def compare_by(
    first: Marks,
    second: Marks,
    category: Callable[[Trial], str],
    *,
    seed: int,
    limits: Limits | None = None,
    resamples: int = RESAMPLES,
) -> dict[str, Comparison]:
    """A comparison of each category that has a pair, their p-values adjusted for being several."""
    found: dict[str, Comparison] = {}
    ours, theirs = _parts(first, category), _parts(second, category)
    for name in sorted(ours.keys() & theirs.keys()):
        each = compare(ours[name], theirs[name], seed=seed, limits=limits, resamples=resamples)
        if each is not None:
            found[name] = each
    adjusted = holm({name: each.p_value for name, each in found.items()})
    return {name: each.but(p_adjusted=adjusted[name]) for name, each in found.items()}


def _parts(marks: Marks, category: Callable[[Trial], str]) -> dict[str, dict[Trial, float]]:
    parts: dict[str, dict[Trial, float]] = {}
    for trial, mark in marks.items():
        parts.setdefault(category(trial), {})[trial] = mark
    return parts


def _detectable(
    differences: Sequence[float], groups: Grouping, reach: float | None
) -> float | None:
    """What both the p-value, which is over questions, and the interval could have shown."""
    found = []
    for drawn in {Drawn.QUESTIONS, groups.drawn}:
        known = standard_error(differences, groups, drawn)
        if known is not None and known[0] > 0:
            found.append(detectable(*known))
    smallest = max(found, default=None)
    is_possible = smallest is not None and (reach is None or smallest <= reach)
    return smallest if is_possible else None
