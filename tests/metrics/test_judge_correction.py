"""A pass rate corrected for a judge's known errors covers the truth as often as it claims."""

from math import sqrt

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from recall_bench.metrics import judge_correction
from recall_bench.metrics.bootstrap import Bools
from recall_bench.metrics.judge_correction import (
    CorrectedRate,
    EffectiveShare,
    ErrorRates,
    ObservedPasses,
    correct_pass_rate,
    solve_rogan_gladen,
)
from tests.thoroughness import choose_number

CERTAIN = 1e9
"""Enough labels for a rate to be as good as known."""


def ruled(truth: Bools, sensitivity: float, specificity: float, chance: Generator) -> Bools:
    """What a judge with these rates makes of the truth."""
    return np.where(
        truth, chance.random(len(truth)) < sensitivity, chance.random(len(truth)) >= specificity
    )


def measured(
    labels: int, share: float, sensitivity: float, specificity: float, chance: Generator
) -> ErrorRates:
    """The rates from this many labelled answers, each to a question of its own."""
    truth = chance.random(labels) < share
    passed = ruled(truth, sensitivity, specificity, chance)
    question = np.arange(labels)
    right = EffectiveShare.measure(passed[truth], question[truth])
    wrong = EffectiveShare.measure(~passed[~truth], question[~truth])
    assert right is not None
    assert wrong is not None
    return ErrorRates(sensitivity=right, specificity=wrong)


def run_of(
    share: float, questions: int, repeats: int, chance: Generator
) -> tuple[Bools, ObservedPasses]:
    """The truth about a run whose questions differ in difficulty, before anybody judges it."""
    ease = np.repeat(chance.beta(share, 1 - share, questions), repeats)
    truth = chance.random(len(ease)) < ease
    question = np.repeat(np.arange(questions), repeats)
    return truth, ObservedPasses(
        passed=truth, judged=np.ones(len(truth), dtype=bool), question=question
    )


def judged(run: ObservedPasses, passed: Bools) -> ObservedPasses:
    return ObservedPasses(passed=passed, judged=run.judged, question=run.question)


def covers(found: CorrectedRate, share: float) -> bool:
    return found.interval[0] <= share <= found.interval[1]


@pytest.fixture
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coverage needs many corrections, not many draws in each."""
    monkeypatch.setattr(judge_correction, "DRAWS", choose_number(600, 1500))


@pytest.mark.usefixtures("_few_draws")
@pytest.mark.parametrize(
    ("share", "sensitivity", "specificity", "labels"),
    [
        pytest.param(0.6, 0.90, 0.80, 400, id="a fair judge"),
        pytest.param(0.6, 0.99, 0.21, 1000, id="a lenient judge"),
        pytest.param(0.6, 0.57, 0.98, 200, id="a strict judge"),
        pytest.param(0.95, 0.97, 0.90, 300, id="a system that is nearly always right"),
    ],
)
def test_the_interval_covers_the_truth_about_95_times_in_100(
    share: float, sensitivity: float, specificity: float, labels: int
) -> None:
    chance = default_rng(7)
    found = []
    tries = choose_number(120, 400)
    for _ in range(tries):
        rates = measured(labels, share, sensitivity, specificity, chance)
        truth, run = run_of(share, 100, 4, chance)
        passed = ruled(truth, sensitivity, specificity, chance)
        found.append(correct_pass_rate(judged(run, passed), rates))

    scatter = 3 * sqrt(0.95 * 0.05 / tries)
    assert np.mean([covers(part, share) for part in found]) == pytest.approx(0.95, abs=scatter)


@pytest.mark.usefixtures("_few_draws")
def test_the_interval_needs_the_uncertainty_of_the_judge() -> None:
    """Taken for exact, rates from few labels miss the truth far too often."""
    chance = default_rng(8)
    whole, taken_for_exact = [], []
    for _ in range(200):
        rates = measured(80, 0.6, 0.85, 0.75, chance)
        truth, run = run_of(0.6, 400, 1, chance)
        seen = judged(run, ruled(truth, 0.85, 0.75, chance))
        exact = ErrorRates(
            sensitivity=rates.sensitivity.replace(size=CERTAIN),
            specificity=rates.specificity.replace(size=CERTAIN),
        )
        whole.append(covers(correct_pass_rate(seen, rates), 0.6))
        taken_for_exact.append(covers(correct_pass_rate(seen, exact), 0.6))

    assert np.mean(whole) >= 0.90
    assert np.mean(taken_for_exact) <= 0.80


@pytest.mark.usefixtures("_few_draws")
def test_the_interval_needs_the_questions_of_the_run() -> None:
    """Counted as independent, eight asks of one question claim eight times too much."""
    chance = default_rng(9)
    rates = ErrorRates(
        sensitivity=EffectiveShare(share=0.9, size=CERTAIN),
        specificity=EffectiveShare(share=0.8, size=CERTAIN),
    )
    clustered, independent = [], []
    for _ in range(200):
        truth, run = run_of(0.6, 50, 8, chance)
        seen = judged(run, ruled(truth, 0.9, 0.8, chance))
        apart = ObservedPasses(
            passed=seen.passed, judged=seen.judged, question=np.arange(len(seen.passed))
        )
        clustered.append(covers(correct_pass_rate(seen, rates), 0.6))
        independent.append(covers(correct_pass_rate(apart, rates), 0.6))

    assert np.mean(clustered) >= 0.90
    assert np.mean(independent) <= 0.80


def test_two_judges_91_and_35_per_cent_apart_agree_once_corrected() -> None:
    """The field's sorest figure: the same answers, passed nine times or three times in ten."""
    chance = default_rng(2)
    truth, run = run_of(0.6, 500, 3, chance)
    verdicts = {
        "lenient": ruled(truth, 0.99, 0.21, chance),
        "strict": ruled(truth, 0.57, 0.98, chance),
    }
    rates = {
        "lenient": measured(1000, 0.6, 0.99, 0.21, chance),
        "strict": measured(1000, 0.6, 0.57, 0.98, chance),
    }

    lenient, strict = (
        correct_pass_rate(judged(run, verdicts[name]), rates[name])
        for name in ("lenient", "strict")
    )

    assert lenient.observed == pytest.approx(0.91, abs=0.02)
    assert strict.observed == pytest.approx(0.35, abs=0.03)
    assert lenient.observed_interval[0] > strict.observed_interval[1]
    assert max(lenient.interval[0], strict.interval[0]) <= min(
        lenient.interval[1], strict.interval[1]
    )
    assert covers(lenient, truth.mean())
    assert covers(strict, truth.mean())
    assert abs(lenient.corrected - strict.corrected) < 0.15


@pytest.mark.parametrize(
    ("observed", "sensitivity", "specificity", "true"),
    [
        pytest.param(0.5, 1.0, 1.0, 0.5, id="a judge without errors changes nothing"),
        pytest.param(0.62, 0.9, 0.8, 0.6, id="0.6 seen through 0.9 and 0.8"),
        pytest.param(0.1, 0.9, 0.8, 0.0, id="fewer passes than false ones alone"),
        pytest.param(0.95, 0.9, 0.8, 1.0, id="more passes than there can be"),
    ],
)
def test_rogan_and_gladen(
    observed: float, sensitivity: float, specificity: float, true: float
) -> None:
    assert solve_rogan_gladen(observed, sensitivity, specificity) == pytest.approx(true)


def test_what_the_system_did_not_answer_fails_without_a_judge() -> None:
    """Half the trials were never answered; of the others nine in ten pass, all rightly."""
    passed = np.array([True] * 90 + [False] * 110)
    run = ObservedPasses(
        passed=passed, judged=np.array([True] * 100 + [False] * 100), question=np.arange(200)
    )
    lenient = ErrorRates(
        sensitivity=EffectiveShare(share=1.0, size=CERTAIN),
        specificity=EffectiveShare(share=0.5, size=CERTAIN),
    )

    found = correct_pass_rate(run, lenient)

    assert found.observed == pytest.approx(0.45)
    # Of those judged 0.8 are right; a judge's leniency cannot have passed the others.
    assert found.corrected == pytest.approx(0.40)
    assert found.interval[0] < 0.40 < found.interval[1]
    assert found.interval[1] < 0.52


def test_how_often_the_system_answers_is_uncertain_too() -> None:
    """All that was answered is right, for certain; what remains is a coin thrown 200 times."""
    passed = np.array([True, False] * 100)
    rates = ErrorRates(
        sensitivity=EffectiveShare(share=1.0, size=CERTAIN),
        specificity=EffectiveShare(share=1.0, size=CERTAIN),
    )

    found = correct_pass_rate(
        ObservedPasses(passed=passed, judged=passed, question=np.arange(200)), rates
    )

    low, high = found.interval
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 200), rel=0.1)


def test_a_judge_that_may_be_guessing_leaves_everything_possible() -> None:
    """Four labels a side cannot tell it from a coin."""
    run = ObservedPasses(
        passed=np.array([True, False] * 50),
        judged=np.ones(100, dtype=bool),
        question=np.arange(100),
    )
    rates = ErrorRates(
        sensitivity=EffectiveShare(share=0.6, size=4.0),
        specificity=EffectiveShare(share=0.6, size=4.0),
    )

    low, high = correct_pass_rate(run, rates).interval

    assert low < 0.03
    assert high > 0.97


@pytest.mark.parametrize(
    ("passes", "is_credible"),
    [
        pytest.param(100, False, id="more than all true passes"),
        pytest.param(80, True, id="as many as there can be"),
        pytest.param(50, True, id="some"),
        pytest.param(30, True, id="as few as there can be"),
        pytest.param(22, True, id="fewer by chance, in six draws of a hundred"),
        pytest.param(19, False, id="fewer than chance explains in one draw of forty"),
        pytest.param(5, False, id="fewer than the false passes alone"),
    ],
)
def test_a_rate_this_judge_could_not_have_measured_is_not_credible(
    passes: int, is_credible: bool
) -> None:
    """Sensitivity 0.8 and specificity 0.7 leave rates from 0.3 to 0.8."""
    rates = ErrorRates(
        sensitivity=EffectiveShare(share=0.8, size=300.0),
        specificity=EffectiveShare(share=0.7, size=300.0),
    )
    run = ObservedPasses(
        passed=np.arange(100) < passes, judged=np.ones(100, dtype=bool), question=np.arange(100)
    )

    assert correct_pass_rate(run, rates).is_credible is is_credible


@pytest.mark.parametrize(("sensitivity", "specificity"), [(0.5, 0.5), (0.3, 0.6)])
def test_a_judge_that_guesses_corrects_nothing(sensitivity: float, specificity: float) -> None:
    rates = ErrorRates(
        sensitivity=EffectiveShare(share=sensitivity, size=100.0),
        specificity=EffectiveShare(share=specificity, size=100.0),
    )
    run = ObservedPasses(
        passed=np.array([True, False]), judged=np.ones(2, dtype=bool), question=np.arange(2)
    )

    assert not rates.is_informative
    with pytest.raises(ValueError, match="guesses"):
        correct_pass_rate(run, rates)


def test_a_perfect_score_keeps_an_interval() -> None:
    """Twenty of twenty is not certainty."""
    run = ObservedPasses(
        passed=np.ones(20, dtype=bool), judged=np.ones(20, dtype=bool), question=np.arange(20)
    )
    rates = ErrorRates(
        sensitivity=EffectiveShare(share=1.0, size=50.0),
        specificity=EffectiveShare(share=1.0, size=50.0),
    )

    found = correct_pass_rate(run, rates)

    assert found.corrected == found.interval[1] == 1.0
    assert found.observed == found.observed_interval[1] == 1.0
    assert found.interval[0] < 0.95
