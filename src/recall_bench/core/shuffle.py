"""Seeded order, the same on every machine and the same as the public harness's.

The generator is mulberry32: 32-bit arithmetic, one word of state. It is seeded anew for
every shuffle, so that an order depends on nothing but the seed and the list.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

_WORD_MASK = 0xFFFFFFFF


def generate_numbers(seed: int) -> Iterator[float]:
    """Uniform numbers in [0, 1), for ever."""
    state = seed & _WORD_MASK
    while True:
        state = (state + 0x6D2B79F5) & _WORD_MASK
        t = ((state ^ (state >> 15)) * (state | 1)) & _WORD_MASK
        t ^= (t + (((t ^ (t >> 7)) * (t | 61)) & _WORD_MASK)) & _WORD_MASK
        yield (t ^ (t >> 14)) / 4294967296


def shuffle(things: Sequence[T], seed: int) -> list[T]:
    """The things in seeded order. Seed 0 leaves them as they are."""
    order = list(things)
    if seed == 0:
        return order
    for i, u in zip(range(len(order) - 1, 0, -1), generate_numbers(seed), strict=False):
        j = int(u * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order
