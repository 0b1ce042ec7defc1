"""How likely so large a difference is if it could as well have gone the other way.

If two systems are equally good, the difference on a question is as likely to be the one way as the
other, and a question that was asked again goes the same way each time. So whole questions are
turned round, never trials.
"""

from typing import Final

import numpy as np

from recall_bench.statistics.clusters import Floats

EXACT_UP_TO: Final = 16
"""With so many questions that differ, or fewer, every way to turn them is looked at."""
FLIPS: Final = 9_999
"""The ways drawn where there are too many to look at."""

_CELLS = 1 << 20
_ROUNDING = 1e-9


def compute_sign_flip_p(sums: Floats, *, seed: int, flips: int = FLIPS) -> float:
    """The two-sided p-value of a total, given what each question contributes to it.

    Exact for few questions; else drawn, and counted with the case at hand itself, so that it is
    never 0. It is 1 where no question differs.
    """
    sizes = np.sort(np.abs(sums[sums != 0]))
    reached = abs(float(sums.sum())) - _ROUNDING * float(sizes.sum())
    if len(sizes) <= EXACT_UP_TO:
        return float(np.mean(np.abs(_list_totals(sizes)) >= reached))
    chance = np.random.default_rng(seed)
    step, extreme = max(1, _CELLS // len(sizes)), 1
    for start in range(0, flips, step):
        shape = (min(step, flips - start), len(sizes))
        signs = 2 * chance.integers(0, 2, size=shape, dtype=np.int8) - 1
        extreme += int(np.count_nonzero(np.abs(signs.astype(np.float64) @ sizes) >= reached))
    return extreme / (flips + 1)


def _list_totals(sizes: Floats) -> Floats:
    """The total for every way to choose signs."""
    totals = np.zeros(1)
    for size in sizes.tolist():
        totals = np.concatenate([totals + size, totals - size])
    return totals
