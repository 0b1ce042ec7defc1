"""Seeded random draws that are the same on every machine and every Python version.

Each purpose has its own stream, named by labels. Draws for one purpose never shift another, so a
new sentence in one process leaves every other process as it was.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15


class RandomStream:
    """One stream: splitmix64 over a state hashed from the labels."""

    __slots__ = ("_state",)

    def __init__(self, *labels: str | int) -> None:
        named = "\0".join(map(str, labels)).encode()
        self._state = int.from_bytes(sha256(named).digest()[:8], "big")

    def draw_bits(self) -> int:
        """The next 64 bits."""
        self._state = (self._state + _GAMMA) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def draw_below(self, bound: int) -> int:
        """An integer from 0 up to but not including the bound."""
        return self.draw_bits() * bound >> 64

    def draw_between(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return low + self.draw_below(high - low + 1)

    def is_hit(self, probability: float) -> bool:
        """True with this probability."""
        return self.draw_bits() < probability * (_MASK + 1)

    def choose(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.draw_below(len(items))]

    def choose_by_weight(self, weights: Sequence[int]) -> int:
        """An index, drawn in proportion to its weight; at least one weight is above 0."""
        rest = self.draw_below(sum(weights))
        for index, weight in enumerate(weights):
            rest -= weight
            if rest < 0:
                return index
        raise ValueError("all weights are 0")

    def shuffle(self, items: Sequence[T]) -> list[T]:
        """A copy in random order."""
        order = list(items)
        state = self._state
        for i in range(len(order) - 1, 0, -1):
            # As draw_bits does: a call of it would take longer than the rest.
            z = state = (state + _GAMMA) & _MASK
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
            j = (z ^ (z >> 31)) * (i + 1) >> 64
            order[i], order[j] = order[j], order[i]
        self._state = state
        return order


class ShuffleBag:
    """Draws each index once per round, in a new order every round.

    Six sentences drawn from a bag repeat none within six draws; independent draws would repeat one
    every third time.
    """

    __slots__ = ("_chance", "_left", "_size")

    def __init__(self, size: int, chance: RandomStream) -> None:
        self._size = size
        self._chance = chance
        self._left: list[int] = []

    def draw(self) -> int:
        """The next index."""
        if self._size == 1:
            return 0
        if not self._left:
            self._left = self._chance.shuffle(range(self._size))
        return self._left.pop()


def derive_seed(seed: int, *labels: str) -> int:
    """A seed of its own for these labels: 64 bits, or 128 if the given one has more than 64."""
    if seed <= _MASK:
        return RandomStream(seed, *labels).draw_bits()
    named = "\0".join((str(seed), *labels)).encode()
    return int.from_bytes(sha256(named).digest()[:16], "big")
