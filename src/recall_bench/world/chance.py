"""Seeded chance that gives the same draws on every machine and every Python.

Each purpose draws from a stream of its own, named by a path of labels. What one purpose draws
never moves another, so a new sentence in one process leaves every other process as it was.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")

_WORD = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


class Chance:
    """One stream of draws: splitmix64 over a state hashed from the labels."""

    __slots__ = ("_state",)

    def __init__(self, *labels: str | int) -> None:
        named = "\0".join(map(str, labels)).encode()
        self._state = int.from_bytes(sha256(named).digest()[:8], "big")

    def word(self) -> int:
        """The next 64 bits."""
        self._state = (self._state + _STEP) & _WORD
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        return z ^ (z >> 31)

    def below(self, bound: int) -> int:
        """A whole number from 0 up to but not including the bound."""
        return self.word() * bound >> 64

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + self.below(high - low + 1)

    def happens(self, probability: float) -> bool:
        """Whether something of this probability comes to pass."""
        return self.word() < probability * (_WORD + 1)

    def one(self, things: Sequence[T]) -> T:
        """One of the things."""
        return things[self.below(len(things))]

    def weighted(self, weights: Sequence[int]) -> int:
        """The index of one of the weights, each as likely as it is heavy; they are not all 0."""
        rest = self.below(sum(weights))
        for index, weight in enumerate(weights):
            rest -= weight
            if rest < 0:
                return index
        raise ValueError("all weights are 0")

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """The things in another order."""
        order = list(things)
        for i in range(len(order) - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order


class Bag:
    """Gives each of some alternatives once, in a new order every round.

    A list of six sentences drawn from a bag repeats none within six draws, where plain chance
    would repeat one every third time.
    """

    __slots__ = ("_chance", "_left", "_size")

    def __init__(self, size: int, chance: Chance) -> None:
        self._size = size
        self._chance = chance
        self._left: list[int] = []

    def draw(self) -> int:
        """The index of the next alternative."""
        if self._size == 1:
            return 0
        if not self._left:
            self._left = self._chance.shuffled(range(self._size))
        return self._left.pop()
