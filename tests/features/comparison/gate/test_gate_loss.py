"""A run that lost nothing is left alone as often as stated, and a planted loss is caught so.

Answers to one question go the same way at every ask of a run, as they do in real runs.
"""

from collections.abc import Mapping
from functools import cache
from math import sqrt

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from recall_bench.core.plan import Trial
from recall_bench.features.comparison.gate.gate_loss import (
    ONE_SIDED_ALPHA,
    GateLoss,
    QuestionSums,
    measure_loss,
    measure_losses,
)
from recall_bench.metrics.comparison import compare
from tests.thoroughness import choose_cases, choose_number

RESAMPLES = 2
"""Nothing is decided by the interval, unless something is to be proved."""
FIVE = 5.0
"""A regression worth catching, in points of 100."""

Run = dict[Trial, float]


def margin_of_error(share: float, rounds: int) -> float:
    """Three standard errors of a share counted so often."""
    return 3 * sqrt(share * (1 - share) / rounds)


@cache
def trials_of(questions: int, personas: int, asks: int) -> tuple[Trial, ...]:
    """Those of every run of this size: to make them takes longer than to draw their marks."""
    return tuple(
        Trial(scenario=f"p{number % personas}", item=f"q{number}", checkpoint=f"{ask}d")
        for number in range(questions)
        for ask in range(asks)
    )


def run(own: np.ndarray, chance: Generator, personas: int, asks: int) -> Run:
    """Hardly a mark comes near 0 or 100: what is cut off there was not lost."""
    noise = chance.normal(0.0, 4.0, (len(own), asks))
    marks = np.clip(own[:, np.newaxis] + noise, 0, 100)
    trials = trials_of(len(own), personas, asks)
    return dict(zip(trials, marks.ravel().tolist(), strict=True))


def pair(
    chance: Generator,
    questions: int,
    *,
    lost: float = 0.0,
    whole: float = 0.0,
    luck: float = 10.0,
    personas: int = 1,
    asks: int = 2,
) -> list[Run]:
    """Both runs find a question as hard as it is, each has its luck with it, the second loses.

    So much is lost of every question, or on average by whole questions that come to nothing.
    """
    hard = chance.normal(50.0, 8.0, questions)
    first, second = (
        run(hard - less + chance.normal(0, luck, questions), chance, personas, asks)
        for less in (0.0, lost)
    )
    gone = chance.random(questions) < whole / 50.0
    return [first, {t: 0.0 if gone[int(t.item[1:])] else mark for t, mark in second.items()}]


def found(
    baseline: Run,
    second: Run,
    *,
    margin: float = 0.0,
    prove: bool = False,
    resamples: int = RESAMPLES,
) -> GateLoss:
    each = measure_loss(
        baseline,
        second,
        margin=margin,
        notice=margin + FIVE,
        is_to_be_ruled_out=prove,
        resamples=resamples,
    )
    assert each is not None
    return each


def decided(baseline: Run, second: Run, *, margin: float = 0.0, prove: bool = False) -> GateLoss:
    """The test alone, without its strength, which is what takes the time."""
    each = measure_loss(
        baseline, second, margin=margin, is_to_be_ruled_out=prove, resamples=RESAMPLES
    )
    assert each is not None
    return each


def test_two_runs_of_one_system_fail_as_rarely_as_stated() -> None:
    chance, rounds = default_rng(11), 240

    alarms = sum(decided(*pair(chance, 40)).is_significant for _ in range(rounds))

    assert alarms / rounds <= ONE_SIDED_ALPHA + margin_of_error(ONE_SIDED_ALPHA, rounds)
    assert alarms, "a test that never errs at all would find nothing either"


def test_taking_trials_for_independent_would_raise_far_more_alarms() -> None:
    """The contrast to the test above: so it can fail."""
    chance, rounds = default_rng(11), choose_number(20, 60)

    def apart(marks: Mapping[Trial, float]) -> Run:
        return {trial.replace(item=str(trial)): mark for trial, mark in marks.items()}

    alarms = 0
    for _ in range(rounds):
        first, second = pair(chance, 40, asks=6)
        alarms += decided(apart(first), apart(second)).is_significant

    assert alarms / rounds > ONE_SIDED_ALPHA + margin_of_error(ONE_SIDED_ALPHA, rounds)


def test_over_eight_categories_a_false_alarm_is_as_rare_as_over_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(QuestionSums, "is_unchanged", True)
    chance, rounds = default_rng(12), choose_number(40, 80)
    together = alone = 0
    for _ in range(rounds):
        first, second = pair(chance, 96)
        parts = measure_losses(
            first,
            second,
            lambda trial: str(int(trial.item[1:]) % 8),
            margin=0,
            notice=FIVE,
            resamples=100,
        )
        together += any(each.is_significant for each in parts.values())
        alone += any(each.replace(more_adjusted=None).is_significant for each in parts.values())

    assert together / rounds <= ONE_SIDED_ALPHA + margin_of_error(ONE_SIDED_ALPHA, rounds)
    assert alone / rounds > 0.1


def stated(chance: Generator, questions: int, **settings: float) -> tuple[float, float]:
    """What pairs that lost nothing say on average: of whole questions, and of a little of each."""
    pilots = [found(*pair(chance, questions, **settings)) for _ in range(15)]  # type: ignore[arg-type]
    least, most = zip(*((each.power, each.even_power) for each in pilots), strict=True)
    return float(np.mean(least)), float(np.mean(most))


@pytest.mark.parametrize(
    ("questions", "luck", "personas"),
    choose_cases([(30, 10.0, 1), (90, 12.0, 1), (200, 14.0, 1), (90, 12.0, 6)], 2),
)
def test_a_planted_loss_of_five_points_is_caught_at_least_as_often_as_stated(
    questions: int, luck: float, personas: int
) -> None:
    """What two runs of one system say about their power holds for a run that did lose."""
    chance, rounds = default_rng(13), choose_number(50, 120)
    least, most = stated(chance, questions, luck=luck, personas=personas)

    caught_whole = caught_even = 0
    for _ in range(rounds):
        lost = pair(chance, questions, whole=FIVE, luck=luck, personas=personas)
        caught_whole += decided(*lost).is_significant
        lost = pair(chance, questions, lost=FIVE, luck=luck, personas=personas)
        caught_even += decided(*lost).is_significant

    assert 0.15 < least < most < 0.99
    assert caught_whole / rounds >= least - margin_of_error(least, rounds)
    assert caught_even / rounds >= most - margin_of_error(most, rounds)
    assert caught_even / rounds <= most + margin_of_error(most, rounds) + 0.03, "nor much oftener"


@pytest.mark.parametrize(("questions", "usual"), [(30, 0.0), (90, 0.3), (200, 0.9)])
def test_questions_of_full_marks_that_come_to_nothing_are_caught_as_often_as_stated(
    questions: int, usual: float
) -> None:
    """Five points are then one question in twenty, and fewer than six of them show nothing.

    A formula that goes by the spread alone promises 0.23, 0.6 and 0.9.
    """
    chance, rounds = default_rng(20), 200
    trials = [Trial(scenario="p", item=f"q{n}", checkpoint="5d") for n in range(questions)]
    before = dict.fromkeys(trials, 100.0)
    after = [
        {t: 0.0 if chance.random() < FIVE / 100 else 100.0 for t in trials} for _ in range(rounds)
    ]

    caught = sum(decided(before, each).is_significant for each in after) / rounds

    powers = [found(before, each).power or 0.0 for each in after[:15]]
    assert caught == pytest.approx(usual, abs=0.07)
    assert caught >= np.mean(powers) - margin_of_error(caught, rounds)


def test_a_loss_of_the_size_said_to_be_noticed_is_noticed_four_times_in_five() -> None:
    chance, rounds = default_rng(14), choose_number(75, 200)
    smallest = float(np.mean([found(*pair(chance, 40)).noticed or 0 for _ in range(25)]))

    caught = sum(decided(*pair(chance, 40, whole=smallest)).is_significant for _ in range(rounds))

    assert caught / rounds >= 0.8 - margin_of_error(0.8, rounds)
    assert caught / rounds < 0.92


def test_a_loss_within_the_margin_is_tolerated_and_five_points_more_are_caught() -> None:
    chance, rounds, margin = default_rng(15), choose_number(60, 100), 4.0
    at_margin = beyond = 0
    for _ in range(rounds):
        at_margin += decided(*pair(chance, 80, lost=margin), margin=margin).is_significant
        beyond += decided(*pair(chance, 80, lost=margin + FIVE), margin=margin).is_significant

    assert at_margin / rounds <= ONE_SIDED_ALPHA + margin_of_error(ONE_SIDED_ALPHA, rounds)
    assert beyond / rounds > 0.8


@pytest.mark.parametrize("personas", [1, 6])
def test_a_proof_is_given_as_often_as_stated_and_hardly_where_the_margin_was_lost(
    personas: int,
) -> None:
    chance, rounds, margin = default_rng(16), choose_number(40, 80), 5.0
    kept = [pair(chance, 90, personas=personas) for _ in range(rounds)]
    lost = [pair(chance, 90, lost=margin, personas=personas) for _ in range(rounds)]

    rightly, wrongly = (
        sum(decided(*each, margin=margin, prove=True).is_ruled_out for each in pairs)
        for pairs in (kept, lost)
    )

    stated = [found(*each, margin=margin, prove=True).power or 0.0 for each in kept[:15]]
    power = float(np.mean(stated))
    assert wrongly / rounds <= ONE_SIDED_ALPHA + margin_of_error(ONE_SIDED_ALPHA, rounds)
    assert 0.5 < power < 0.95
    assert rightly / rounds >= power - margin_of_error(power, rounds)


@pytest.mark.parametrize(("questions", "rare"), [(30, 0.05), (90, 0.02)])
def test_a_loss_that_takes_few_questions_whole_is_hardly_proved_away(
    questions: int, rare: float
) -> None:
    """It may have taken none of those at hand, which by themselves would then be a proof."""
    chance, rounds, margin = default_rng(17), choose_number(100, 200), 5.0
    trials = [Trial(scenario="p", item=f"q{n}", checkpoint="5d") for n in range(questions)]
    wrongly = by_themselves = 0
    for _ in range(rounds):
        before, kept = (
            {t: 50.0 if chance.random() < rare else 100.0 for t in trials} for _ in range(2)
        )
        after = {t: 0.0 if chance.random() < margin / 99 else mark for t, mark in kept.items()}
        each = decided(before, after, margin=margin, prove=True)
        wrongly += each.is_ruled_out
        by_themselves += 1 - each.more_p <= ONE_SIDED_ALPHA

    assert wrongly / rounds <= ONE_SIDED_ALPHA + margin_of_error(ONE_SIDED_ALPHA, rounds)
    assert by_themselves / rounds > ONE_SIDED_ALPHA + margin_of_error(ONE_SIDED_ALPHA, rounds)


def test_without_a_margin_it_is_one_side_of_the_usual_comparison() -> None:
    first, second = pair(default_rng(18), 30, lost=FIVE)

    ours = found(first, second)
    usual = compare(first, second, seed=42, limits=(0, 100), resamples=RESAMPLES)

    assert usual is not None
    assert ours.difference == usual.difference
    assert ours.more_p == usual.p_value / 2
    assert ours.less_p is None, "nothing was to be ruled out"


def worse(questions: int, *, lost: float = 50.0) -> list[Run]:
    """Every question lost about as much, no two the same."""
    trials = [Trial(scenario="p", item=f"q{n}", checkpoint="5d") for n in range(questions)]
    after = {trial: 80.0 - lost * (1 + n / 50) for n, trial in enumerate(trials)}
    return [dict.fromkeys(trials, 80.0), after]


def test_five_questions_show_nothing_and_six_that_all_lost_do() -> None:
    """Of 32 ways to turn five questions one is as extreme, and that is more than 2.5 %."""
    five, six = found(*worse(5)), found(*worse(6))

    assert (five.more_p, six.more_p) == (1 / 32, 1 / 64)
    assert (five.is_significant, six.is_significant) == (False, True)
    assert (five.noticed, five.power) == (None, 0.0), "and it is said that they cannot"


def test_identical_runs_show_nothing_and_their_strength_is_unknown() -> None:
    same = found(*worse(30, lost=0.0))

    assert not same.is_significant
    assert same.difference.value == 0.0
    assert (same.noticed, same.power, same.even_power) == (None, None, None)


def test_more_categories_take_a_larger_loss_to_be_noticed() -> None:
    first, second = pair(default_rng(19), 40)
    alone, of_ten = (
        measure_loss(first, second, margin=0, notice=FIVE, looks=looks, resamples=50)
        for looks in (1, 10)
    )

    assert alone is not None
    assert of_ten is not None
    assert alone.noticed is not None
    assert of_ten.noticed is not None
    assert of_ten.noticed > alone.noticed
    assert (of_ten.power or 0) < (alone.power or 0)


def test_a_whole_persona_that_did_badly_is_a_loss_of_these_personas() -> None:
    """The interval beside it speaks of other personas, of which one in six shows little."""
    trials = [
        Trial(scenario=f"p{persona}", item=f"q{n}", checkpoint="5d")
        for persona in range(6)
        for n in range(20)
    ]
    before = dict.fromkeys(trials, 80.0)
    after = {trial: 40.0 if trial.scenario == "p0" else 80.0 for trial in trials}

    each = found(before, after, resamples=500)

    assert each.is_significant
    assert each.difference.high is not None
    assert each.difference.high > -1


def test_no_common_trial_is_no_loss() -> None:
    (first, _), (_, second) = worse(3), worse(0)

    assert measure_loss(first, second, margin=0, notice=FIVE) is None
    assert measure_losses(first, second, lambda trial: trial.item, margin=0, notice=FIVE) == {}
