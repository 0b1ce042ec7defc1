"""The two shapes most numbers of a portrait have: a spread, and a part of a whole."""

from collections.abc import Iterable
from math import ceil

from recall_bench.core.record import Record


class Spread(Record, frozen=True, kw_only=True):
    """How a number varies; every percentile is one of the numbers, by nearest rank."""

    least: int
    tenth: int
    median: int
    ninetieth: int
    most: int


class Share(Record, frozen=True, kw_only=True):
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """From 0 to 1; None of nothing."""
        return self.part / self.whole if self.whole else None


def spread(numbers: Iterable[int]) -> Spread | None:
    """The spread of these numbers; None if there are none."""
    ranked = sorted(numbers)
    if not ranked:
        return None

    def at(share: float) -> int:
        return ranked[ceil(share * len(ranked)) - 1]

    return Spread(
        least=ranked[0], tenth=at(0.1), median=at(0.5), ninetieth=at(0.9), most=ranked[-1]
    )
