"""How often the tests that repeat one thing repeat it.

`make test` takes some of the moments, seeds and rounds; `make test-exhaustive` takes many more.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

IS_EXHAUSTIVE = os.environ.get("RECALL_BENCH_EXHAUSTIVE", "") not in ("", "0")


def choose_cases(cases: Sequence[T], count: int) -> list[T]:
    """Choose this many of the cases, evenly spread from the first to the last; or all of them."""
    if IS_EXHAUSTIVE or len(cases) <= count:
        return list(cases)
    last = len(cases) - 1
    return [cases[round(number * last / max(count - 1, 1))] for number in range(count)]


def choose_number(usual: int, exhaustive: int) -> int:
    """Choose how many rounds, how large a size or how long a stride."""
    return exhaustive if IS_EXHAUSTIVE else usual
