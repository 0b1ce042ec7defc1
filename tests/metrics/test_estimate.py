"""A mean is an estimate: over questions, however often each is asked, and with what it lacks."""

from math import sqrt

import numpy as np
import pytest
from numpy.random import default_rng

from recall_bench.metrics.bootstrap import ENOUGH_PERSONAS, compute_percentile, resample
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate, IntervalMethod, estimate_mean
from tests.metrics.simulated import Rule
from tests.thoroughness import choose_number


def estimated(
    *values: float,
    questions: str = "",
    personas: str = "",
    limits: tuple[float, float] | None = None,
    seed: int = 1,
) -> Estimate:
    """Each trial of a question of its own, and all of one persona, unless letters say otherwise."""
    names = list(questions) or [str(number) for number in range(len(values))]
    found = estimate_mean(
        values, names, list(personas) or ["p"] * len(values), seed=seed, limits=limits
    )
    assert found is not None
    return found


def width(found: Estimate) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_no_trial_is_no_estimate() -> None:
    assert estimate_mean([], [], [], seed=1) is None


def test_the_mean_is_over_trials_and_the_count_over_questions() -> None:
    found = estimated(6, 6, 6, 2, questions="aaab")

    assert (found.value, found.trials, found.questions, found.personas) == (5.0, 4, 2, 1)


def test_what_is_missing_is_said_and_not_counted() -> None:
    found = estimate_mean([6.0, 2.0], ["a", "b"], ["p", "p"], seed=1, missing=3)

    assert found is not None
    assert (found.value, found.missing) == (4.0, 3)


def test_questions_of_one_name_in_two_personas_are_two() -> None:
    assert estimated(1, 2, 3, 4, questions="abab", personas="ppqq").questions == 4


def test_one_question_has_no_interval() -> None:
    found = estimated(1, 2, 3, questions="aaa")

    assert (found.low, found.high, found.method) == (None, None, IntervalMethod.NONE)
    assert not found.excludes_zero


def test_two_questions_have_an_interval_from_the_one_to_the_other() -> None:
    found = estimate_mean([2, 1, 1, 4, 3, 3], list("aaabbb"), ["p"] * 6, seed=42, limits=(0, 6))

    assert found is not None
    assert found.low == pytest.approx(4 / 3)
    assert found.high == pytest.approx(10 / 3)


def test_asking_again_with_the_same_outcome_adds_no_certainty() -> None:
    values = default_rng(4).integers(0, 7, 30).tolist()
    names = [str(number) for number in range(30)]

    once = estimate_mean(values, names, ["p"] * 30, seed=1)
    thrice = estimate_mean(values * 3, names * 3, ["p"] * 90, seed=1)

    assert once is not None
    assert thrice is not None
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high))


def test_the_order_of_the_trials_changes_nothing() -> None:
    trials = Rule().marks(default_rng(5), personas=3, questions=20, asks=4)
    order = default_rng(6).permutation(len(trials.values)).tolist()

    one = estimate_mean(trials.values, trials.questions, trials.personas, seed=1)
    other = estimate_mean(
        [trials.values[place] for place in order],
        [trials.questions[place] for place in order],
        [trials.personas[place] for place in order],
        seed=1,
    )

    assert one == other


def test_another_seed_moves_the_interval_a_little_and_the_mean_not_at_all() -> None:
    values = default_rng(7).integers(0, 7, 40).tolist()

    one, other = estimated(*values, seed=1), estimated(*values, seed=2)

    assert one.value == other.value
    assert one.low != other.low
    assert one.low == pytest.approx(other.low, abs=0.1)


def test_an_interval_stays_within_what_is_possible() -> None:
    found = estimated(*[6.0] * 20, 0.0, limits=(0, 6))

    assert found.high is not None
    assert found.value < found.high <= 6


def test_where_all_questions_agree_others_may_not() -> None:
    """None of ten: the exact interval of Clopper and Pearson, not 0 to 0."""
    found = estimated(*[0.0] * 10, limits=(0, 1))

    assert (found.value, found.low, found.method) == (0.0, 0.0, IntervalMethod.AGREEMENT)
    assert found.high == pytest.approx(0.3085, abs=1e-4)


def test_where_all_questions_agree_at_full_marks_the_floor_is_below() -> None:
    found = estimated(*[6.0] * 10, limits=(0, 6))

    assert (found.low, found.high) == pytest.approx((6 * (1 - 0.3085), 6.0), abs=1e-3)


def test_where_all_questions_agree_and_no_limit_is_known_there_is_no_interval() -> None:
    found = estimated(*[6.0] * 10)

    assert (found.low, found.high, found.method) == (None, None, IntervalMethod.NONE)


def test_re_asks_do_not_make_agreement_surer() -> None:
    once = estimated(0, 0, 0, questions="abc", limits=(0, 1))
    often = estimated(*[0] * 9, questions="abcabcabc", limits=(0, 1))

    assert (often.low, often.high) == (once.low, once.high)


def test_a_mark_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="counted as missing"):
        estimated(1, float("nan"), 3)


def test_marks_of_another_scale_are_refused() -> None:
    with pytest.raises(ValueError, match="values from 0 to 6 are not within 0 and 1"):
        estimated(0, 6, limits=(0, 1))


def test_trials_without_a_question_are_refused() -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - numpy's words
        estimate_mean([1, 2, 3], ["a", "b"], ["p", "p"], seed=1)


def test_few_questions_are_said_to_be_few() -> None:
    assert estimated(*range(FEW_QUESTIONS - 1)).is_small
    assert not estimated(*range(FEW_QUESTIONS)).is_small
    assert estimated(*[1, 2] * 50, questions="ab" * 50).is_small


def test_personas_are_drawn_once_there_are_enough() -> None:
    """Questions of one persona agree, so all that varies is which persona is drawn."""
    few, enough = "pqrs", "pqrst"
    assert len(enough) == ENOUGH_PERSONAS

    def made(names: str) -> Estimate:
        values = [float(number) for number in range(len(names)) for _ in range(30)]
        personas = "".join(name * 30 for name in names)
        return estimated(*values, questions="abcdefghijklmnopqrstuvwxyzäöüß" * len(names),
                         personas=personas)  # fmt: skip

    assert made(few).method is IntervalMethod.QUESTIONS
    assert made(enough).method is IntervalMethod.PERSONAS
    assert width(made(enough)) > 3 * width(made(few))


def test_personas_that_come_to_the_same_leave_the_value_in_its_interval() -> None:
    for seed in range(20):
        own = default_rng(seed).uniform(0, 6, 7)
        found = estimated(*own.tolist() * 5, questions="abcdefg" * 5,
                          personas="".join(name * 7 for name in "pqrst"))  # fmt: skip

        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high


def test_a_difference_has_the_middle_of_its_draws_and_a_mean_the_corrected_one() -> None:
    values = default_rng(12).exponential(1.0, 25)
    names = [str(number) for number in range(25)]
    sums = np.column_stack([values, np.ones(25)])
    draws = np.concatenate([each[:, 0] / each[:, 1] for each in resample(sums, seed=1)])

    difference = estimate_mean(values.tolist(), names, ["p"] * 25, seed=1, is_difference=True)
    mean = estimate_mean(values.tolist(), names, ["p"] * 25, seed=1)

    assert difference is not None
    assert mean is not None
    assert (difference.low, difference.high) == compute_percentile(draws, clusters=25)
    assert (mean.low or 0) > (difference.low or 0)
    assert (mean.high or 0) > (difference.high or 0)


def test_a_difference_excludes_zero_on_either_side() -> None:
    assert estimated(*[1.0] * 20, *[2.0] * 20).excludes_zero
    assert estimated(*[-1.0] * 20, *[-2.0] * 20).excludes_zero
    assert not estimated(*[1.0] * 20, *[-1.0] * 20).excludes_zero


@pytest.mark.parametrize(
    ("rule", "personas", "questions", "stated"),
    [
        pytest.param(Rule(), 1, 10, 0.91, id="marks of few questions"),
        pytest.param(Rule(), 1, 30, 0.93, id="marks"),
        pytest.param(Rule(level=-1.6, is_rate=True), 1, 40, 0.94, id="a low rate"),
        pytest.param(Rule(persona=0.3), 6, 40, 0.92, id="personas that differ"),
        pytest.param(Rule(), 6, 20, 0.93, id="personas that do not"),
    ],
)
def test_intervals_hold_the_truth_as_often_as_stated(
    rule: Rule, personas: int, questions: int, stated: float
) -> None:
    """95 % is meant; `stated` is on the page on statistics, from which two standard errors go."""
    chance = default_rng(9)
    limits = (0.0, 1.0) if rule.is_rate else (0.0, 6.0)
    hits, rounds, truth = 0, choose_number(80, 300), rule.truth
    for number in range(rounds):
        made = rule.marks(chance, personas=personas, questions=questions, asks=4)
        found = estimate_mean(
            made.values, made.questions, made.personas, seed=number, limits=limits, resamples=800
        )
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= truth <= found.high

    assert hits / rounds >= stated - 2 * sqrt(stated * (1 - stated) / rounds)


def test_trials_taken_for_independent_would_claim_far_too_much() -> None:
    rule, chance = Rule(), default_rng(10)
    hits, rounds, truth = 0, choose_number(60, 200), rule.truth
    for number in range(rounds):
        made = rule.marks(chance, personas=1, questions=30, asks=-8)
        each = [str(place) for place in range(len(made.values))]
        found = estimate_mean(made.values, each, made.personas, seed=number, resamples=400)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= truth <= found.high

    assert hits / rounds < 0.65


def test_the_half_width_of_a_real_run_is_that_of_questions_not_of_trials() -> None:
    """1,500 trials of 100 questions look three times surer than they are."""
    made = Rule().marks(default_rng(11), personas=1, questions=100, asks=-15)
    alone = [str(place) for place in range(len(made.values))]

    clustered = estimate_mean(made.values, made.questions, made.personas, seed=1)
    naive = estimate_mean(made.values, alone, made.personas, seed=1)

    assert clustered is not None
    assert naive is not None
    assert width(clustered) > 2.5 * width(naive)
    assert np.isclose(clustered.value, naive.value)
