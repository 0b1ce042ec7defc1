"""What a suite of tests can show: the smallest difference of two versions that it detects."""

import math
from typing import Final

import numpy as np

from recall_bench.metrics.bootstrap import compute_wilson
from recall_bench.metrics.power import ALPHA, POWER, bisect_threshold

DISAGREEMENT: Final = 0.3
"""The assumed share of tests that only one of two versions passes."""
_FAR = 5
"""Numbers of differing tests further from the mean, in standard deviations, are ignored."""
_MANY_TESTS = 500
"""From this many tests on, the number that differ is taken to be its mean."""


def describe_power(tests: int) -> str:
    """What a suite of that many tests can show, in words."""
    low, high = compute_wilson(tests / 2, tests)
    precision = f"a share of a half is known to {low:.0%} to {high:.0%}"
    count = f"{tests} test{'s' * (tests != 1)}"
    smallest = find_detectable_share(tests)
    if smallest is None:
        return f"{count}: too few to distinguish two versions; {precision}"
    return (
        f"{count}: two versions on the same tests are distinguished if they differ by about "
        f"{100 * smallest:.0f} points (where {DISAGREEMENT:.0%} of the tests are perfect for one "
        f"of the two only); {precision}"
    )


def find_detectable_share(tests: int, disagreement: float = DISAGREEMENT) -> float | None:
    """Find the smallest difference of two paired shares that McNemar's exact test detects.

    `disagreement` is the probability that only one of the two versions passes a test. None if
    even a one-sided disagreement would not be detected.
    """
    splits = _list_splits(tests, disagreement)

    def detects(share: float) -> bool:
        return _compute_split_power(splits, share) >= POWER

    if not detects(1.0):
        return None
    return (2 * bisect_threshold(detects, 0.5, 1.0) - 1) * disagreement


def _list_splits(tests: int, disagreement: float) -> list[tuple[float, int, int]]:
    """List the likely numbers of differing tests: weight, number, and most losses allowed."""
    from scipy.special import bdtr

    middle = round(tests * disagreement)
    reach = math.ceil(_FAR * math.sqrt(tests * disagreement * (1 - disagreement)))
    if tests > _MANY_TESTS:
        reach = 0
    rows = []
    for differing in range(max(0, middle - reach), min(tests, middle + reach) + 1):
        tails = 2 * bdtr(np.arange(differing // 2 + 1), differing, 0.5)
        allowed = int(np.searchsorted(tails, ALPHA, side="right"))
        if allowed:
            below = float(bdtr(differing - 1, tests, disagreement)) if differing else 0.0
            weight = float(bdtr(differing, tests, disagreement)) - below if reach else 1.0
            rows.append((weight, differing, allowed - 1))
    return rows


def _compute_split_power(splits: list[tuple[float, int, int]], share: float) -> float:
    """Compute how often the split is uneven enough, if a differing test is won with `share`."""
    from scipy.special import bdtr

    return sum(
        weight * float(bdtr(most, differing, 1 - share) + bdtr(most, differing, share))
        for weight, differing, most in splits
    )
