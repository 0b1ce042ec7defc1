"""Seeded chance that gives the same draws on every machine and every Python.

Each purpose draws from a stream of its own, named by a path of labels. What one purpose draws
never moves another, so a new sentence in one process leaves every other process as it was.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15


class RandomStream:
    """One stream of draws: splitmix64 over a state hashed from the labels."""

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
        """A whole number from 0 up to but not including the bound."""
        return self.draw_bits() * bound >> 64

    def draw_between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + self.draw_below(high - low + 1)

    def is_hit(self, probability: float) -> bool:
        """Whether something of this probability comes to pass."""
        return self.draw_bits() < probability * (_MASK + 1)

    def choose(self, things: Sequence[T]) -> T:
        """One of the things."""
        return things[self.draw_below(len(things))]

    def choose_by_weight(self, weights: Sequence[int]) -> int:
        """The index of one of the weights, each as likely as it is heavy; they are not all 0."""
        rest = self.draw_below(sum(weights))
        for index, weight in enumerate(weights):
            rest -= weight
            if rest < 0:
                return index
        raise ValueError("all weights are 0")

    def shuffle(self, things: Sequence[T]) -> list[T]:
        """The things in another order."""
        order = list(things)
        for i in range(len(order) - 1, 0, -1):
            j = self.draw_below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order


class ShuffleBag:
    """Gives each of some alternatives once, in a new order every round.

    A list of six sentences drawn from a bag repeats none within six draws, where plain chance
    would repeat one every third time.
    """

    __slots__ = ("_chance", "_left", "_size")

    def __init__(self, size: int, chance: RandomStream) -> None:
        self._size = size
        self._chance = chance
        self._left: list[int] = []

    def draw(self) -> int:
        """The index of the next alternative."""
        if self._size == 1:
            return 0
        if not self._left:
            self._left = self._chance.shuffle(range(self._size))
        return self._left.pop()
