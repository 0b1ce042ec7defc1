"""How sure a share is, and whether two shares of the same tests differ."""

from math import comb, sqrt
from statistics import NormalDist

LEVEL = 0.95
"""How sure an interval, or a difference, is to be."""

Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""The normal deviate of that level."""


def compute_wilson(count: float, of: int) -> tuple[float, float]:
    """The interval of a share, by Wilson's score: 10 of 20 is 30 % to 70 %."""
    if not 0 <= count <= of or not of:
        raise ValueError(f"{count} of {of} is no share")
    share, square = count / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = Z / (1 + square / of) * sqrt(share * (1 - share) / of + square / (4 * of * of))
    # At the ends the formula gives the end itself, but for the last bit.
    return (middle - reach if count else 0.0), (middle + reach if count < of else 1.0)


def compute_mcnemar(better: int, worse: int) -> float:
    """How likely at least so uneven a split of the tests that differ is, if nothing is better.

    Two-sided and exact: 1 where none differ.
    """
    differing, less = better + worse, min(better, worse)
    tail = sum(comb(differing, k) for k in range(less + 1))
    return min(1.0, 2 * tail / int(2**differing))
