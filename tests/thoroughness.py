"""How often the tests that repeat one thing repeat it.

`make test` takes some of the moments, seeds and rounds; `make test-exhaustive` takes all of them.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

IS_EXHAUSTIVE = bool(os.environ.get("RECALL_BENCH_EXHAUSTIVE"))


def choose_cases(cases: Sequence[T], count: int) -> list[T]:
    """Choose this many of the cases, evenly spread, with the first and the last; or all of them."""
    if IS_EXHAUSTIVE or len(cases) <= count:
        return list(cases)
    last = len(cases) - 1
    return [cases[round(number * last / max(count - 1, 1))] for number in range(count)]


def choose_rounds(usual: int, exhaustive: int) -> int:
    """Choose the number of rounds of a simulation."""
    return exhaustive if IS_EXHAUSTIVE else usual
