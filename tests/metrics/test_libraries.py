"""On cases that named libraries can do as well, our figures are theirs.

They are compared where trials are independent, each a question of its own: clusters are what the
libraries do not know.
"""

import gc
from math import sqrt

import numpy as np
import pytest
from numpy.random import default_rng

from recall_bench.metrics.bootstrap import compute_bcas, compute_percentile, drop_each, resample
from recall_bench.metrics.comparison import adjust_p_values, compute_sign_flip_p
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.metrics.power import DifferenceSpread, compute_power, find_sample_size
from recall_bench.metrics.survival import FactLifetime, estimate_survival
from recall_bench.metrics.trend import estimate_trend
from tests.thoroughness import choose_number


def alone(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_the_draws_of_a_mean_are_those_of_scipy_bootstrap() -> None:
    """Their standard error and their quantiles, without the widening that scipy does not do."""
    from scipy import stats

    values = default_rng(1).exponential(2.0, 60)
    sums = np.column_stack([values, np.ones(60)])

    ours = np.concatenate([each[:, 0] / each[:, 1] for each in resample(sums, seed=1)])
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=default_rng(2)
    )

    assert ours.std(ddof=1) == pytest.approx(theirs.standard_error, rel=0.03)
    assert np.quantile(ours, [0.025, 0.975]) == pytest.approx(theirs.confidence_interval, abs=0.03)


def test_the_corrected_interval_is_scipys_bca_widened() -> None:
    """With a thousand clusters the widening is a hair, and the two are the same."""
    from scipy import stats

    values = default_rng(3).exponential(2.0, 1000)
    sums = np.column_stack([values, np.ones(1000)])
    draws = np.concatenate([each[:, 0] / each[:, 1] for each in resample(sums, seed=1)])
    without = drop_each(sums)

    left_out = without[np.newaxis, :, 0] / without[np.newaxis, :, 1]
    (ours,) = compute_bcas(np.array([values.mean()]), draws[np.newaxis], left_out)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="BCa", batch=500, rng=default_rng(4)
    )

    assert ours == pytest.approx(theirs.confidence_interval, abs=0.01)


def test_the_percentile_interval_is_students_for_normal_values() -> None:
    """The widening makes it scipy's t interval, not its bootstrap's."""
    from scipy import stats

    values = default_rng(5).normal(3, 1, 12)
    sums = np.column_stack([values, np.ones(12)])
    draws = np.concatenate([each[:, 0] / each[:, 1] for each in resample(sums, seed=1)])

    ours = compute_percentile(draws, clusters=12)
    theirs = stats.t.interval(0.95, 11, values.mean(), values.std(ddof=1) / sqrt(12))

    assert ours == pytest.approx(theirs, abs=0.08)


def test_an_estimate_of_agreement_is_scipys_exact_interval_of_a_share() -> None:
    from scipy import stats

    found = estimate_mean([0.0] * 15, alone(15), ["p"] * 15, seed=1, limits=(0, 1))
    theirs = stats.binomtest(0, 15).proportion_ci(method="exact")

    assert found is not None
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize("count", [5, 9, 12])
def test_exact_p_values_are_those_of_scipy_permutation_test(count: int) -> None:
    """Paired samples, every way to swap them."""
    from scipy import stats

    first, second = default_rng(6).integers(0, 7, (2, count)).astype(np.float64)

    ours = compute_sign_flip_p(second - first, seed=1)
    theirs = stats.permutation_test(
        (second, first),
        lambda one, other, axis: np.mean(one - other, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
    )

    assert ours == pytest.approx(theirs.pvalue)


def test_drawn_p_values_are_those_of_scipy_permutation_test() -> None:
    """Paired samples of 60; two standard errors of two draws apart."""
    from scipy import stats

    values = default_rng(7).normal(0.25, 1.0, 60)

    ours = compute_sign_flip_p(values, seed=1)
    theirs = stats.permutation_test(
        (values,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=9_999,
        rng=default_rng(8),
    )

    assert ours == pytest.approx(theirs.pvalue, abs=0.01)


def test_holms_steps_are_those_of_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    from statsmodels.stats.multitest import multipletests

    # It collects garbage in the whole process at each call.
    monkeypatch.setattr(gc, "collect", lambda: 0)
    for seed in range(choose_number(3, 20)):
        values = default_rng(seed).beta(0.4, 2.0, 10).tolist()
        ours = adjust_p_values(dict(enumerate(values)))

        assert list(ours.values()) == pytest.approx(multipletests(values, method="holm")[1])
    assert adjust_p_values({}) == {}


def test_power_is_that_of_statsmodels_paired_t_test() -> None:
    from statsmodels.stats.power import TTestPower

    for difference, deviation in ((0.3, 1.0), (0.5, 2.0), (1.5, 1.0)):
        needed = TTestPower().solve_power(difference / deviation, alpha=0.05, power=0.8)

        assert find_sample_size(difference, DifferenceSpread(deviation=deviation)) == int(
            np.ceil(needed)
        )
        assert compute_power(difference, deviation / sqrt(20), 20) == pytest.approx(
            TTestPower().power(difference / deviation, 20, 0.05), abs=1e-6
        )


def test_a_line_is_that_of_statsmodels_ols() -> None:
    """Coefficients to the last digit; intervals against those that allow unequal spread."""
    from statsmodels.regression.linear_model import OLS
    from statsmodels.tools import add_constant

    chance = default_rng(9)
    days = chance.uniform(0, 900, 300)
    values = 4 - 0.001 * days + chance.normal(0, 0.6, 300)

    ours = estimate_trend(
        values.tolist(), days.tolist(), alone(300), ["p"] * 300, seed=1, limits=(-9, 9)
    )
    theirs = OLS(values, add_constant(days)).fit(cov_type="HC1")
    band = theirs.get_prediction([[1, 2000], [1, 5000]]).conf_int()

    assert ours is not None
    assert (ours.intercept.value, ours.slope.value) == pytest.approx(theirs.params)
    (intercept, slope) = theirs.conf_int()
    assert (ours.intercept.low, ours.intercept.high) == pytest.approx(intercept, abs=0.02)
    assert (ours.slope.low, ours.slope.high) == pytest.approx(slope, abs=5e-5)
    assert [(each.low, each.high) for each in ours.predictions] == [
        pytest.approx(band[0], abs=0.06),
        pytest.approx(band[1], abs=0.2),
    ]


def test_clusters_are_those_of_statsmodels_cluster_robust_errors() -> None:
    """The spread of drawn slopes against the sandwich estimator by question."""
    from statsmodels.regression.linear_model import OLS
    from statsmodels.tools import add_constant

    chance = default_rng(10)
    question = np.repeat(np.arange(80), 4)
    days = np.tile([100.0, 200.0, 300.0, 400.0], 80)
    steep = chance.normal(0, 0.004, 80)[question]
    values = 3 + steep * days + chance.normal(0, 0.3, 320)
    names = [str(number) for number in question.tolist()]

    ours = estimate_trend(
        values.tolist(), days.tolist(), names, ["p"] * 320, seed=1, limits=(-9, 9)
    )
    theirs = OLS(values, add_constant(days)).fit(cov_type="cluster", cov_kwds={"groups": question})

    assert ours is not None
    low, high = theirs.conf_int()[1]
    assert (ours.slope.low, ours.slope.high) == pytest.approx((low, high), abs=0.06 * (high - low))


def lifetimes(chance: np.random.Generator, count: int, step: int) -> list[FactLifetime]:
    """Facts asked every `step` days until they are lost or a day of their own."""
    found = []
    for number in range(count):
        life = chance.exponential(90)
        until = int(chance.integers(1, 12)) * step
        lost = (int(life) // step + 1) * step
        found.append(
            FactLifetime(
                persona="p",
                question=str(number),
                known_for=float(min(lost - step, until)),
                lost_by=float(lost) if lost <= until else None,
            )
        )
    return [each for each in found if each.known_for or each.lost_by]


def test_a_survival_curve_is_that_of_scipy_and_lifelines() -> None:
    """Asked at the same ages, a loss dated to the ask that showed it: Kaplan and Meier."""
    from lifelines import KaplanMeierFitter
    from scipy import stats

    facts = lifetimes(default_rng(11), 150, 30)
    ages = [each.lost_by or each.known_for for each in facts]
    lost = [each.lost_by is not None for each in facts]

    ours = estimate_survival(facts, seed=1, resamples=50)
    sample = stats.CensoredData.right_censored(ages, [not each for each in lost])
    theirs = stats.ecdf(sample).sf
    fitted = KaplanMeierFitter().fit(ages, lost)

    assert ours is not None
    points = [each.age for each in ours.curve]
    assert set(theirs.quantiles.tolist()) <= set(points)
    assert [each.share for each in ours.curve] == pytest.approx(theirs.evaluate(points))
    assert [each.share for each in ours.curve] == pytest.approx(fitted.predict(points).tolist())
    half = fitted.median_survival_time_
    assert ours.half_life.value is not None
    assert half - 30 < ours.half_life.value <= half


def test_the_band_of_a_survival_curve_is_near_that_of_lifelines() -> None:
    """Drawn against Greenwood's formula, where many facts are at risk."""
    from lifelines import KaplanMeierFitter

    facts = lifetimes(default_rng(12), 400, 30)
    ages = [each.lost_by or each.known_for for each in facts]

    ours = estimate_survival(facts, seed=1)
    fitted = KaplanMeierFitter().fit(ages, [each.lost_by is not None for each in facts])

    assert ours is not None
    band = fitted.confidence_interval_.loc[[30.0, 60.0, 90.0]].to_numpy()
    for point, (low, high) in zip(ours.curve[:3], band, strict=True):
        assert (point.low, point.high) == pytest.approx((low, high), abs=0.015)


def test_losses_between_asks_are_spread_as_lifelines_spreads_them() -> None:
    """Intervals that overlap: both are the most likely curve, by Turnbull."""
    from lifelines import KaplanMeierFitter

    chance = default_rng(13)
    facts = []
    for number in range(120):
        life = chance.exponential(60)
        ages = np.cumsum(chance.integers(1, 5, 40) * 15.0)
        known = float(ages[ages <= life].max(initial=0.0))
        lost = float(ages[ages > life].min())
        facts.append(FactLifetime(persona="p", question=str(number), known_for=known, lost_by=lost))

    ours = estimate_survival(facts, seed=1, resamples=50)
    # They take a loss to be possible at the very ask that passed; a day later it is not.
    fitted = KaplanMeierFitter().fit_interval_censoring(
        [each.known_for + 1 for each in facts], [each.lost_by for each in facts], tol=1e-8
    )

    assert ours is not None
    theirs = fitted.survival_function_["NPMLE_estimate_lower"]
    shares = {each.age: each.share for each in ours.curve}
    seen = [15.0, 30.0, 45.0, 60.0, 90.0, 120.0, 150.0]
    assert [shares[age] for age in seen] == pytest.approx(theirs.loc[seen].tolist(), abs=0.005)
