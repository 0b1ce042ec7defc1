"""A paired difference says how far two systems are apart, and covers the truth as often as it says.

Questions are what is drawn: asked at many checkpoints, one question is still one.
"""

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from recall_bench.metrics.pairs import PairedDifference, compare_pairs, compute_student_point


def differing(*values: float, questions: str = "", strata: str = "") -> PairedDifference:
    """Each pair of a question of its own, and all of one persona, unless letters say otherwise."""
    names = list(questions) or [str(n) for n in range(len(values))]
    found = compare_pairs(values, names, list(strata) or ["p"] * len(values))
    assert found is not None
    return found


def test_no_pair_is_no_difference() -> None:
    assert compare_pairs([], [], []) is None


def test_the_mean_is_over_pairs() -> None:
    found = differing(1, 1, 1, 5, questions="aaab")

    assert (found.mean, found.pairs, found.questions) == (2.0, 4, 2)


def test_one_question_has_no_interval() -> None:
    found = differing(1, 2, 3, questions="aaa")

    assert found.interval is None
    assert not found.excludes_zero


def test_a_persona_with_one_question_each_has_no_interval() -> None:
    assert differing(1, 2, 3, strata="abc").interval is None


def test_questions_of_one_name_in_two_personas_are_two() -> None:
    assert differing(1, 2, 3, 4, questions="abab", strata="ppqq").questions == 4


def test_where_all_pairs_agree_the_interval_is_a_point() -> None:
    assert differing(0, 0, 0, 0).interval == (0.0, 0.0)
    assert not differing(0, 0, 0, 0).excludes_zero
    assert differing(2, 2, 2, 2).interval == (2.0, 2.0)
    assert differing(2, 2, 2, 2).excludes_zero


def test_it_is_drawn_within_personas() -> None:
    """All that varies is which persona is drawn, and that is not drawn."""
    assert differing(0, 0, 0, 6, 6, 6, strata="pppqqq").interval == (3.0, 3.0)


@pytest.mark.parametrize(
    ("values", "excludes"),
    [
        pytest.param([1.0] * 20 + [2.0] * 20, True, id="always more"),
        pytest.param([-1.0] * 20 + [-2.0] * 20, True, id="always less"),
        pytest.param([1.0] * 20 + [-1.0] * 20, False, id="as often more as less"),
    ],
)
def test_zero_is_excluded_on_either_side(values: list[float], excludes: bool) -> None:
    assert differing(*values).excludes_zero is excludes


def test_the_interval_is_that_of_the_textbook_where_there_is_one() -> None:
    """Forty independent normal pairs: the mean, and Student's t times the standard error."""
    values = default_rng(3).normal(0.5, 2.0, 40)

    found = differing(*values)

    reach = 2.0227 * values.std(ddof=1) / np.sqrt(40)
    assert found.interval == pytest.approx((values.mean() - reach, values.mean() + reach), abs=0.06)


def test_a_question_asked_again_with_the_same_outcome_adds_no_certainty() -> None:
    values = default_rng(4).normal(0.0, 1.0, 30).tolist()
    names = [str(n) for n in range(30)]

    once = compare_pairs(values, names, ["p"] * 30)
    thrice = compare_pairs(values * 3, names * 3, ["p"] * 90)

    assert once is not None
    assert thrice is not None
    assert thrice.interval == pytest.approx(once.interval)


def test_the_same_pairs_have_the_same_interval_every_time() -> None:
    assert differing(1, -1, 2, 0, 3) == differing(1, -1, 2, 0, 3)


def test_a_higher_level_gives_a_wider_interval() -> None:
    values = default_rng(5).normal(0.0, 1.0, 40).tolist()
    names, strata = [str(n) for n in range(40)], ["p"] * 40

    usual = compare_pairs(values, names, strata)
    careful = compare_pairs(values, names, strata, level=0.996)

    assert usual is not None
    assert careful is not None
    assert usual.interval is not None
    assert careful.interval is not None
    assert careful.interval[0] < usual.interval[0]
    assert careful.interval[1] > usual.interval[1]


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)],
)
def test_students_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert compute_student_point(0.025, freedom) == pytest.approx(quantile, rel=0.01)


def asked_often(questions: int, chance: Generator) -> tuple[list[float], list[str]]:
    """Differences of mean 0.3 on a scale of sixths; a question keeps its own at all its asks."""
    values: list[float] = []
    names: list[str] = []
    for number in range(questions):
        own = chance.normal(0.3, 1.0)
        asks = int(chance.integers(1, 7))
        values += (own + chance.normal(0.0, 0.5, asks)).tolist()
        names += [str(number)] * asks
    return values, names


@pytest.mark.parametrize("questions", [8, 25, 90])
def test_the_interval_covers_the_truth_about_95_times_in_100(questions: int) -> None:
    chance = default_rng(6)
    hits = 0
    for _ in range(300):
        values, names = asked_often(questions, chance)
        found = compare_pairs(values, names, ["p"] * len(values), resamples=600)
        assert found is not None
        assert found.interval is not None
        hits += found.interval[0] <= 0.3 <= found.interval[1]

    # 300 tries scatter by 1.3 %; three of that either side, and few questions are hard.
    assert 0.91 <= hits / 300 <= 0.99


def test_trials_taken_for_independent_would_miss_the_truth_far_too_often() -> None:
    chance = default_rng(7)
    hits = 0
    for _ in range(200):
        values, names = asked_often(40, chance)
        apart = [f"{name}{n}" for n, name in enumerate(names)]
        found = compare_pairs(values, apart, ["p"] * len(values), resamples=600)
        assert found is not None
        assert found.interval is not None
        hits += found.interval[0] <= 0.3 <= found.interval[1]

    assert hits / 200 < 0.85
