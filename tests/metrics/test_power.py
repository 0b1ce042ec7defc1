"""How many questions a difference needs, before anything is spent."""

from math import sqrt

import numpy as np
import pytest
from numpy.random import default_rng

from recall_bench.core.errors import UsageError
from recall_bench.metrics.bootstrap import group_trials
from recall_bench.metrics.power import (
    DifferenceSpread,
    compute_power,
    compute_standard_error,
    find_detectable,
    find_sample_size,
    measure_spread,
)
from tests.loops import loop_over_rows


def test_more_questions_are_needed_for_less_difference() -> None:
    spread = DifferenceSpread(deviation=2.0)

    assert find_sample_size(1.0, spread) == 34
    assert find_sample_size(0.5, spread) == 128
    assert find_sample_size(0.1, spread) == 3142


def test_needed_and_detectable_are_each_others_inverse() -> None:
    spread = DifferenceSpread(deviation=1.7, correlation=0.6)
    for questions in (5, 12, 40, 300):
        error = spread.compute_question_deviation(4) / sqrt(questions)
        smallest = find_detectable(error, questions)

        assert find_sample_size(smallest * 1.000001, spread, asks=4) == questions
        assert compute_power(smallest, error, questions) == pytest.approx(0.8)


def test_asking_again_helps_as_far_as_answers_to_one_question_vary() -> None:
    alike, unlike = (
        DifferenceSpread(deviation=2, correlation=1),
        DifferenceSpread(deviation=2, correlation=0),
    )

    assert find_sample_size(0.5, alike, asks=10) == find_sample_size(0.5, alike)
    assert find_sample_size(0.5, unlike, asks=4) == pytest.approx(128 / 4, abs=3)
    assert find_sample_size(0.5, DifferenceSpread(deviation=2, correlation=0.8), asks=100) > 100


def test_two_questions_are_the_least() -> None:
    assert find_sample_size(1000.0, DifferenceSpread(deviation=0.001)) == 2


def test_a_difference_either_way_needs_the_same() -> None:
    assert find_sample_size(-0.5, DifferenceSpread(deviation=2)) == find_sample_size(
        0.5, DifferenceSpread(deviation=2)
    )


@pytest.mark.parametrize(
    ("difference", "spread", "asks"),
    [
        (0.5, DifferenceSpread(deviation=1.2, correlation=0.7), 5),
        (1.5, DifferenceSpread(deviation=2.0), 1),
    ],
)
def test_that_many_questions_notice_it_as_often_as_stated(
    difference: float, spread: DifferenceSpread, asks: int
) -> None:
    needed = find_sample_size(difference, spread, asks=asks)
    chance = default_rng(1)
    rounds = 2000
    shape = (rounds, needed, asks)
    shared = chance.normal(size=(rounds, needed, 1)) * sqrt(spread.correlation)
    own = chance.normal(size=shape) * sqrt(1 - spread.correlation)
    means = (difference + spread.deviation * (shared + own)).mean(axis=2)
    students = means.mean(axis=1) / (means.std(axis=1, ddof=1) / sqrt(needed))
    from scipy.stats import t

    noticed = np.mean(np.abs(students) > t.ppf(0.975, needed - 1))

    # Whole questions: a little more than four in five, and three standard errors.
    assert 0.8 - 0.027 < noticed < 0.84 + 0.027


def test_the_spread_is_found_again_in_a_pilot() -> None:
    chance = default_rng(2)
    asks = chance.integers(1, 9, 2000)
    question = np.repeat(np.arange(2000), asks)
    values = 1.2 * chance.normal(size=2000)[question] + 0.6 * chance.normal(size=len(question))

    found = measure_spread(values.tolist(), [str(number) for number in question])

    assert found is not None
    assert found.deviation == pytest.approx(sqrt(1.44 + 0.36), rel=0.03)
    assert found.correlation == pytest.approx(1.44 / 1.8, abs=0.02)


def test_without_a_re_ask_the_correlation_is_the_careful_guess() -> None:
    found = measure_spread([1.0, 2.0, 4.0], ["a", "b", "c"])

    assert found is not None
    assert found.correlation == 1.0
    assert found.deviation == pytest.approx(np.std([1, 2, 4], ddof=1))


def test_nothing_is_said_of_a_spread_that_does_not_show() -> None:
    assert measure_spread([1.0, 2.0], ["a", "a"]) is None
    assert measure_spread([1.0, 1.0], ["a", "b"]) is None
    assert measure_spread([], []) is None
    assert compute_standard_error([1.0, 2.0], group_trials(["a", "a"], ["p", "p"])) is None
    assert compute_standard_error([], group_trials([], [])) is None


def test_the_standard_error_is_the_textbooks_where_each_question_is_asked_once() -> None:
    values = default_rng(3).normal(size=25)

    known = compute_standard_error(
        values.tolist(), group_trials([str(n) for n in range(25)], ["p"] * 25)
    )

    assert known == pytest.approx((values.std(ddof=1) / 5, 25))


def test_questions_that_differ_not_at_all_below_zero_correlation_count_as_unrelated() -> None:
    found = measure_spread([1.0, -1.0, 1.0, -1.0], ["a", "a", "b", "b"])

    assert found is not None
    assert found.correlation == 0.0


@loop_over_rows(
    ("act", "said"),
    [
        (lambda: DifferenceSpread(deviation=0), "is not above 0"),
        (lambda: DifferenceSpread(deviation=1, correlation=1.1), "not between 0 and 1"),
        (lambda: find_sample_size(0, DifferenceSpread(deviation=1)), "cannot be detected"),
        (lambda: find_sample_size(1e-9, DifferenceSpread(deviation=1)), "more than 1,000,000,000"),
        (lambda: find_sample_size(1, DifferenceSpread(deviation=1), asks=0), "1 or more"),
        (
            lambda: find_sample_size(1, DifferenceSpread(deviation=1), power=1.0),
            "0 < alpha < power < 1",
        ),
        (lambda: find_detectable(1.0, 1), "ask two or more"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(act: object, said: str) -> None:
    assert callable(act)
    with pytest.raises(UsageError, match=said):
        act()
