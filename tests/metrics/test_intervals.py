"""Draws whose shape is known give intervals that can be worked out by hand."""

from math import sqrt

import numpy as np
import pytest
from scipy.special import ndtri

from recall_bench.metrics.bootstrap import Floats, compute_bcas, compute_percentile

NORMAL: Floats = np.asarray(ndtri((np.arange(400_000) + 0.5) / 400_000), np.float64)
"""As many draws as one likes, spread as the normal distribution has it."""
STUDENT = {6: 2.5706, 40: 2.0227}
"""The point of Student's tables for one cluster less."""


def compute_corrected(value: float, left_out: Floats) -> tuple[float, float] | None:
    (found,) = compute_bcas(np.array([value]), NORMAL[np.newaxis], left_out[np.newaxis])
    return found


@pytest.mark.parametrize("clusters", [6, 40])
def test_few_clusters_widen_the_middle_of_the_draws(clusters: int) -> None:
    reach = sqrt(clusters / (clusters - 1)) * STUDENT[clusters]

    assert compute_percentile(NORMAL, clusters=clusters) == pytest.approx((-reach, reach), abs=0.01)


def test_one_cluster_has_no_interval() -> None:
    assert compute_percentile(NORMAL, clusters=1) is None
    assert compute_corrected(0.0, np.zeros(1)) is None


def test_a_single_draw_is_both_ends() -> None:
    assert compute_percentile(np.array([3.0]), clusters=6) == (3.0, 3.0)


def test_a_value_above_most_draws_moves_the_interval_up_twice_as_far() -> None:
    """Draws that fall short of the value say that the value falls short of the truth."""
    above = 0.2
    even = np.array([-1.0, 1.0] * 20)
    reach = sqrt(40 / 39) * STUDENT[40]

    found = compute_corrected(above, even)

    assert found == pytest.approx((2 * above - reach, 2 * above + reach), abs=0.01)


def test_one_cluster_that_pulls_up_moves_the_interval_up() -> None:
    """Without it the figure is lower; the correction is worked out as Efron's formula has it."""
    without = np.array([0.0] * 39 + [-10.0])
    pulls = without.mean() - without
    skew = (pulls**3).sum() / (6 * (pulls**2).sum() ** 1.5)
    reach = sqrt(40 / 39) * STUDENT[40]

    found = compute_corrected(0.0, without)

    assert skew > 0
    expected = (-reach / (1 + skew * reach), reach / (1 - skew * reach))
    assert found == pytest.approx(expected, abs=0.02)


def test_draws_all_below_the_value_still_have_an_interval() -> None:
    found = compute_corrected(100.0, np.array([-1.0, 1.0] * 20))

    assert found is not None
    assert found[1] == NORMAL.max()


def test_a_figure_that_is_undefined_too_often_has_no_interval() -> None:
    usual, seldom = NORMAL[::400].copy(), NORMAL[::400].copy()
    usual[:90] = np.nan
    seldom[:110] = np.nan

    assert compute_percentile(usual, clusters=40) is not None
    assert compute_percentile(seldom, clusters=40) is None
