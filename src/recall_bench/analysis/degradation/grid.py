"""Ages on a grid, where there are so many that a curve through all of them says no more."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from recall_bench.statistics.lifetimes import FactLifetime

MAX_STEPS: Final = 40
"""The most steps a survival curve has. Where questions are sampled at 143 checkpoints, a curve
through every age takes six times as long, and differs by far less than its interval."""


def round_to_grid(
    lifetimes: Sequence[FactLifetime], *, steps: int = MAX_STEPS
) -> tuple[FactLifetime, ...]:
    """The same lifetimes with known ages put back to the grid, and losses put off to it.

    All that is said of a fact stays true: it was known at least so long, and lost at the latest
    then. The grid is of ages at which facts were asked, with as many asks between any two, so it is
    finest where most is lost. Up to so many different ages nothing is changed.
    """
    ends = sorted(age for each in lifetimes for age in (each.known_for, each.lost_by) if age)
    if len(set(ends)) <= steps:
        return tuple(lifetimes)
    grid = sorted({ends[(len(ends) - 1) * step // steps] for step in range(1, steps + 1)})
    before = [0.0, *grid]
    return tuple(
        FactLifetime(
            persona=each.persona,
            question=each.question,
            known_for=before[bisect_right(grid, each.known_for)],
            lost_by=None if each.lost_by is None else grid[bisect_left(grid, each.lost_by)],
        )
        for each in lifetimes
    )
