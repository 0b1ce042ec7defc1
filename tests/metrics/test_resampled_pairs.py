"""Two columns of whole numbers are summed at once, with the totals that each has by itself."""

import numpy as np
import pytest

from recall_bench.metrics.bootstrap import Floats, resample

CLUSTERS, RESAMPLES = 701, 2_000


def draw(sums: Floats) -> list[list[float]]:
    totals: list[list[float]] = np.concatenate(
        list(resample(sums, seed=3, resamples=RESAMPLES))
    ).tolist()
    return totals


@pytest.mark.parametrize(("low", "high"), [(0, 7), (-6, 7), (5, 6), (-(2**30), 2**30)])
def test_totals_are_those_of_fractions_that_are_summed_one_by_one(low: int, high: int) -> None:
    rng = np.random.default_rng(CLUSTERS)
    sums = rng.integers(low, high, size=(CLUSTERS, 2)).astype(np.float64)
    # Halves are exact, and are no whole numbers.
    one_by_one = np.array(draw(sums + 0.5)) - 0.5 * CLUSTERS

    assert draw(sums) == one_by_one.tolist()
