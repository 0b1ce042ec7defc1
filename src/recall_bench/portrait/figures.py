"""The two shapes most numbers of a portrait have: a spread, and a part of a whole."""

from collections.abc import Iterable
from math import ceil

from recall_bench.core.record import Record


class NumberSpread(Record, frozen=True, kw_only=True):
    """How a number varies; every percentile is one of the numbers, by nearest rank."""

    least: int
    tenth: int
    median: int
    ninetieth: int
    most: int


class PartOfWhole(Record, frozen=True, kw_only=True):
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """From 0 to 1; None of nothing."""
        return self.part / self.whole if self.whole else None


def compute_spread(numbers: Iterable[int]) -> NumberSpread | None:
    """The spread of these numbers; None if there are none."""
    ranked = sorted(numbers)
    if not ranked:
        return None

    def pick_rank(share: float) -> int:
        return ranked[ceil(share * len(ranked)) - 1]

    return NumberSpread(
        least=ranked[0],
        tenth=pick_rank(0.1),
        median=pick_rank(0.5),
        ninetieth=pick_rank(0.9),
        most=ranked[-1],
    )
