"""Seeded draws that depend on nothing but their labels.

Each sample and each attempt at it draws from a stream of its own, so a batch that goes on draws
what it would have drawn without the pause.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

from recall_bench.core.shuffle import shuffle

T = TypeVar("T")


class SampleRandom:
    """One stream of draws, named by a path of labels."""

    def __init__(self, *labels: str | int) -> None:
        self._named = "\0".join(map(str, labels))
        self._drawn = 0

    def sample(self, things: Sequence[T], count: int) -> list[T]:
        """So many of the things, none twice, in no order."""
        self._drawn += 1
        digest = sha256(f"{self._named}\0{self._drawn}".encode()).digest()
        # Odd, because seed 0 leaves things as they are.
        return shuffle(things, int.from_bytes(digest[:4], "big") | 1)[:count]

    def choose(self, things: Sequence[T]) -> T:
        """One of the things."""
        return self.sample(things, 1)[0]

    def shuffle(self, things: Sequence[T]) -> list[T]:
        """All of the things, in another order."""
        return self.sample(things, len(things))
