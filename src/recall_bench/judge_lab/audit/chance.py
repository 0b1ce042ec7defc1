"""Seeded choice: the same names draw the same lots, on every machine and in any order of asking."""

from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import TypeVar

T = TypeVar("T")


class SeededChoice:
    """Lots drawn for one purpose. Lots of another name know nothing of these."""

    def __init__(self, *names: object) -> None:
        self._names = tuple(str(name) for name in names)
        seed = sha256("\0".join(self._names).encode()).digest()
        self._random = Random(int.from_bytes(seed[:8]))  # noqa: S311 - no secrets here

    def derive(self, *names: object) -> "SeededChoice":
        """Lots for a part of the purpose, whatever has been drawn so far."""
        return SeededChoice(*self._names, *names)

    def pick_below(self, limit: int) -> int:
        """A whole number from 0 up to, not including, the limit."""
        # Only `random` itself is promised never to change its sequence.
        return int(self._random.random() * limit)

    def pick(self, things: Sequence[T]) -> T:
        """One of the things."""
        return things[self.pick_below(len(things))]

    def shuffle(self, things: Sequence[T]) -> list[T]:
        """All of them, in chance order."""
        order = list(things)
        for last in range(len(order) - 1, 0, -1):
            other = self.pick_below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order
