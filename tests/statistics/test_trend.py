"""A line over corpus size says how sure it is, and when it says more than is possible."""

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from recall_bench.statistics.clusters import Drawn
from recall_bench.statistics.trend import Trend, trend

DAYS = (100.0, 300.0, 500.0)


def lined(values: list[float], days: list[float], *, limits: tuple[float, float]) -> Trend:
    """Every trial of a question of its own."""
    names = [str(number) for number in range(len(values))]
    found = trend(values, days, names, ["p"] * len(values), seed=1, limits=limits)
    assert found is not None
    return found


def clustered(
    chance: Generator, *, slope: float, questions: int = 40
) -> tuple[list[float], list[float], list[str]]:
    """Marks that fall with size; a question keeps what is its own at all sizes."""
    own = chance.normal(0, 1.0, (questions, 1))
    sizes = np.array(DAYS)
    marks = 4 + own + slope * sizes + chance.normal(0, 0.4, (questions, 3))
    names = [f"q{number}" for number in range(questions) for _ in DAYS]
    return marks.ravel().tolist(), list(DAYS) * questions, names


def test_one_size_has_no_line() -> None:
    assert trend([1.0, 2.0], [90, 90], ["a", "b"], ["p", "p"], seed=1, limits=(0, 6)) is None
    assert trend([], [], [], [], seed=1, limits=(0, 6)) is None


def test_marks_of_another_scale_are_refused() -> None:
    with pytest.raises(ValueError, match="not within 0 and 1"):
        lined([0, 6], [0, 100], limits=(0, 1))


def test_a_straight_line_is_found_again() -> None:
    days = [float(day) for day in range(0, 1000, 10)]
    values = [0.02 + 0.0001 * day for day in days]

    found = lined(values, days, limits=(0, 1))

    assert found.intercept.value == pytest.approx(0.02)
    assert found.slope.value == pytest.approx(0.0001)
    assert [each.value for each in found.predictions] == pytest.approx([0.22, 0.52])
    assert [each.days for each in found.predictions] == [2000, 5000]
    assert (found.first_day, found.last_day) == (0, 990)


def test_what_was_never_measured_is_said_to_be_beyond() -> None:
    found = trend(
        [1, 2, 2, 3], [0, 100, 0, 100], list("abcd"), list("pppp"), seed=1, limits=(0, 6),
        at=(50, 100, 101),
    )  # fmt: skip

    assert found is not None
    assert [each.is_beyond for each in found.predictions] == [False, False, True]


def test_a_prediction_beyond_what_is_possible_is_cut_and_says_so() -> None:
    chance = default_rng(1)
    days = np.repeat(np.arange(0, 1000, 50.0), 5)
    values = 4 - 0.002 * days + chance.normal(0, 0.3, 100)

    near, far = lined(values.tolist(), days.tolist(), limits=(0, 6)).predictions

    assert near.is_clipped
    assert near.low is not None
    assert near.low == 0.0
    assert far.is_clipped
    assert (far.value, far.low, far.high) == (0.0, 0.0, 0.0)


def test_a_band_that_alone_leaves_what_is_possible_is_cut_and_says_so() -> None:
    days = np.repeat(np.arange(0, 1000, 100.0), 2)
    values = np.clip(default_rng(6).normal(0.5, 0.4, 20), 0, 6)

    near, _ = lined(values.tolist(), days.tolist(), limits=(0, 6)).predictions

    assert 0 < near.value < 6
    assert near.low == 0.0
    assert near.is_clipped


def test_a_prediction_within_is_not_cut() -> None:
    chance = default_rng(2)
    days = np.repeat(np.arange(0, 1000, 50.0), 5)
    values = 3 + chance.normal(0, 0.3, 100)

    near, _ = lined(values.tolist(), days.tolist(), limits=(0, 6)).predictions

    assert not near.is_clipped
    assert near.low is not None
    assert near.high is not None
    assert 0 < near.low < near.value < near.high < 6


def test_the_band_widens_with_distance() -> None:
    chance = default_rng(3)
    values, days, names = clustered(chance, slope=-0.001)

    found = trend(values, days, names, ["p"] * len(names), seed=1, limits=(-99, 99))

    assert found is not None
    widths = [(each.high or 0) - (each.low or 0) for each in found.predictions]
    assert 0 < widths[0] < widths[1]


def test_one_question_has_a_line_and_no_interval() -> None:
    found = trend([1.0, 2.0], [0, 100], ["a", "a"], ["p", "p"], seed=1, limits=(0, 6))

    assert found is not None
    assert found.slope.value == pytest.approx(0.01)
    assert (found.slope.low, found.slope.high) == (None, None)
    assert found.predictions[0].low is None
    assert found.predictions[0].is_clipped


def test_where_most_draws_have_no_line_there_is_no_interval() -> None:
    """Two questions, each asked at a size of its own: half the draws see one size only."""
    found = trend([1.0, 2.0], [0, 100], ["a", "b"], ["p", "p"], seed=1, limits=(0, 6))

    assert found is not None
    assert found.slope.low is None


def test_rounding_does_not_draw_a_line_through_one_size() -> None:
    """A third of the draws see one size only, and that size is no round number from the middle."""
    found = trend([1, 2, 3], [0, 100, 100], list("abc"), list("ppp"), seed=1, limits=(0, 6))

    assert found is not None
    assert found.slope.low is None


def test_personas_are_drawn_once_there_are_enough() -> None:
    values, days, names = clustered(default_rng(4), slope=0.0)
    personas = [f"p{int(name[1:]) % 5}" for name in names]

    found = trend(values, days, names, personas, seed=1, limits=(-99, 99))

    assert found is not None
    assert (found.drawn, found.personas, found.questions) == (Drawn.PERSONAS, 5, 40)


def test_the_interval_of_the_slope_holds_the_truth_about_95_times_in_100() -> None:
    """And so does the band at 2,000 days; three standard errors are 4 %."""
    chance = default_rng(5)
    rounds, slope_in, band_in = 250, 0, 0
    for number in range(rounds):
        values, days, names = clustered(chance, slope=-0.001)
        found = trend(
            values, days, names, ["p"] * len(names), seed=number, limits=(-99, 99), resamples=500
        )
        assert found is not None
        band = found.predictions[0]
        slope_in += (found.slope.low or 0) <= -0.001 <= (found.slope.high or 0)
        band_in += (band.low or 0) <= 2.0 <= (band.high or 0)

    assert slope_in / rounds == pytest.approx(0.95, abs=0.04)
    assert band_in / rounds == pytest.approx(0.95, abs=0.04)
