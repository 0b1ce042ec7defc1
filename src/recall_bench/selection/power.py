"""What so many tests can tell, before any of them is put."""

from math import comb, sqrt
from statistics import NormalDist

LEVEL = 0.95
"""How sure a difference, and an interval, is to be."""
POWER = 0.8
"""How often a difference of that size is to be noticed."""
DISAGREEMENT = 0.3
"""The share of tests on which two versions of a prompt are taken to come to different classes."""

_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
_Z_POWER = NormalDist().inv_cdf(POWER)
_STEPS = 40
"""Halvings until the smallest difference is known to far more digits than anybody prints."""


def wilson(count: int, of: int) -> tuple[float, float]:
    """The interval of a share, by Wilson's score: 10 of 20 is 30 % to 70 %."""
    if not 0 <= count <= of or not of:
        raise ValueError(f"{count} of {of} is no share")
    share, square = count / of, _Z * _Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = _Z / (1 + square / of) * sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def mcnemar(better: int, worse: int) -> float:
    """How likely at least so uneven a split of the tests that differ is, if nothing is better.

    Two-sided and exact: 1 where none differ.
    """
    differing, less = better + worse, min(better, worse)
    tail = sum(comb(differing, k) for k in range(less + 1))
    return min(1.0, 2 * tail / int(2**differing))


def detectable(tests: int, disagreement: float = DISAGREEMENT) -> float | None:
    """The smallest difference of shares that two versions on the same tests would usually show.

    `disagreement` is the share of tests on which they differ. None if even all of these going one
    way would not do.
    """
    differing = round(tests * disagreement)
    least = next((k for k in range(differing + 1) if mcnemar(k, differing - k) <= 1 - LEVEL), None)
    if least is None:
        return None
    # The splits that are uneven enough are those with at most so few on one side.
    most = next(k for k in range(differing + 1) if mcnemar(k, differing - k) > 1 - LEVEL) - 1
    low, high = 0.5, 1.0
    if _noticed(differing, most, high) < POWER:
        return None
    for _ in range(_STEPS):
        share = (low + high) / 2
        low, high = (low, share) if _noticed(differing, most, share) >= POWER else (share, high)
    return (2 * high - 1) * differing / tests


def detectable_apart(tests: int, share: float = 0.5) -> float:
    """The same for two versions on different tests, so many each: far more is needed."""
    return (_Z + _Z_POWER) * sqrt(2 * share * (1 - share) / tests)


def in_words(tests: int) -> str:
    """What to know before a suite of so many tests is put to anybody."""
    low, high = wilson(round(tests / 2), tests)
    known = f"a share of a half is known to {low:.0%} to {high:.0%}"
    count = f"{tests} test{'s' * (tests != 1)}"
    smallest = detectable(tests)
    if smallest is None:
        return f"{count}: too few to tell two versions apart; {known}"
    return (
        f"{count}: two versions put to the same tests can be told apart if they differ by about "
        f"{100 * smallest:.0f} points (where {DISAGREEMENT:.0%} of the tests change class); {known}"
    )


def _noticed(differing: int, most: int, share: float) -> float:
    """How often a split is uneven enough, if each that differs is better with this share."""
    few = range(most + 1)
    better = sum(comb(differing, k) * share ** (differing - k) * (1 - share) ** k for k in few)
    worse = sum(comb(differing, k) * share**k * (1 - share) ** (differing - k) for k in few)
    return better + worse
