"""A run that lost nothing is left alone as often as stated, and a planted loss is caught so.

Answers to one question go the same way at every ask of a run, as they do in real runs.
"""

from collections.abc import Mapping
from math import sqrt

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from recall_bench.analysis.gate.loss import SIDE, Loss, loss, losses_by
from recall_bench.core.plan import Trial
from recall_bench.statistics.comparison import compare

RESAMPLES = 300
FIVE = 5.0
"""A regression worth catching, in points of 100."""

Run = dict[Trial, float]


def margin_of_error(share: float, rounds: int) -> float:
    """Three standard errors of a share counted so often."""
    return 3 * sqrt(share * (1 - share) / rounds)


def run(own: np.ndarray, chance: Generator, asks: int = 2) -> Run:
    noise = chance.normal(0.0, 4.0, (len(own), asks))
    return {
        Trial(scenario="p", item=f"q{number}", checkpoint=f"{ask}d"): float(mark)
        for number, marks in enumerate(np.clip(own[:, np.newaxis] + noise, 0, 100))
        for ask, mark in enumerate(marks)
    }


def pair(chance: Generator, questions: int, *, lost: float = 0.0, luck: float = 10.0) -> list[Run]:
    """Both runs find a question as hard as it is, each has its luck with it, the second loses."""
    hard = chance.normal(50.0, 12.0, questions)
    return [run(hard - less + chance.normal(0, luck, questions), chance) for less in (0.0, lost)]


def found(baseline: Run, second: Run, *, margin: float = 0.0, prove: bool = False) -> Loss:
    each = loss(
        baseline,
        second,
        margin=margin,
        notice=2 * margin if prove else margin + FIVE,
        is_to_be_ruled_out=prove,
        resamples=RESAMPLES,
    )
    assert each is not None
    return each


def test_two_runs_of_one_system_fail_as_rarely_as_stated() -> None:
    chance, rounds = default_rng(11), 300

    alarms = sum(found(*pair(chance, 40)).is_shown for _ in range(rounds))

    assert alarms / rounds <= SIDE + margin_of_error(SIDE, rounds)
    assert alarms, "a test that never errs at all would find nothing either"


def test_taking_trials_for_independent_would_raise_far_more_alarms() -> None:
    """The contrast to the test above: so it can fail."""
    chance, rounds = default_rng(11), 120

    def apart(marks: Mapping[Trial, float]) -> Run:
        return {trial.but(item=str(trial)): mark for trial, mark in marks.items()}

    alarms = 0
    for _ in range(rounds):
        first, second = pair(chance, 40)
        alarms += found(apart(first), apart(second)).is_shown

    assert alarms / rounds > SIDE + margin_of_error(SIDE, rounds)


def test_over_eight_categories_a_false_alarm_is_as_rare_as_over_one() -> None:
    chance, rounds = default_rng(12), 80
    together = alone = 0
    for _ in range(rounds):
        first, second = pair(chance, 96)
        parts = losses_by(
            first,
            second,
            lambda trial: str(int(trial.item[1:]) % 8),
            margin=0,
            notice=FIVE,
            resamples=100,
        )
        together += any(each.is_shown for each in parts.values())
        alone += any(each.but(more_adjusted=None).is_shown for each in parts.values())

    assert together / rounds <= SIDE + margin_of_error(SIDE, rounds)
    assert alone / rounds > 0.1


@pytest.mark.parametrize(("questions", "luck"), [(60, 10.0), (40, 6.0), (30, 14.0)])
def test_a_planted_loss_of_five_points_is_caught_as_often_as_stated(
    questions: int, luck: float
) -> None:
    """What two runs of one system say about their power holds for a run that did lose."""
    chance, rounds = default_rng(13), 150
    pilots = [found(*pair(chance, questions, luck=luck)).power or 0.0 for _ in range(40)]
    stated = float(np.mean(pilots))

    caught = sum(
        found(*pair(chance, questions, lost=FIVE, luck=luck)).is_shown for _ in range(rounds)
    )

    assert 0.2 < stated < 0.97
    assert caught / rounds == pytest.approx(stated, abs=margin_of_error(stated, rounds) + 0.03)


def test_a_loss_of_the_size_said_to_be_noticed_is_noticed_four_times_in_five() -> None:
    chance, rounds = default_rng(14), 150
    smallest = float(np.mean([found(*pair(chance, 40)).noticed or 0 for _ in range(40)]))

    caught = sum(found(*pair(chance, 40, lost=smallest)).is_shown for _ in range(rounds))

    assert caught / rounds == pytest.approx(0.8, abs=0.1)


def test_a_loss_within_the_margin_is_tolerated_and_five_points_more_are_caught() -> None:
    chance, rounds, margin = default_rng(15), 100, 4.0
    at_margin = beyond = 0
    for _ in range(rounds):
        at_margin += found(*pair(chance, 80, lost=margin), margin=margin).is_shown
        beyond += found(*pair(chance, 80, lost=margin + FIVE), margin=margin).is_shown

    assert at_margin / rounds <= SIDE + margin_of_error(SIDE, rounds)
    assert beyond / rounds > 0.8


def test_a_proof_is_given_where_nothing_was_lost_and_hardly_where_the_margin_was() -> None:
    chance, rounds, margin = default_rng(16), 120, 5.0
    pilots = [found(*pair(chance, 60), margin=margin, prove=True).power or 0 for _ in range(40)]
    stated = float(np.mean(pilots))
    rightly = wrongly = 0
    for _ in range(rounds):
        rightly += found(*pair(chance, 60), margin=margin, prove=True).is_ruled_out
        lost = pair(chance, 60, lost=margin)
        wrongly += found(*lost, margin=margin, prove=True).is_ruled_out

    assert wrongly / rounds <= SIDE + margin_of_error(SIDE, rounds)
    assert rightly / rounds == pytest.approx(stated, abs=margin_of_error(stated, rounds) + 0.05)


def test_a_few_questions_lost_whole_are_no_proof_that_little_was_lost() -> None:
    """One question in twenty lost everything: a plain interval is fooled twice as often."""
    chance, rounds, questions, margin = default_rng(17), 200, 90, 5.0
    trials = [Trial(scenario="p", item=f"q{n}", checkpoint="5d") for n in range(questions)]
    before = dict.fromkeys(trials, 100.0)
    corrected = plain = 0
    for _ in range(rounds):
        after = {t: 0.0 if chance.random() < margin / 100 else 100.0 for t in trials}
        each = loss(
            before,
            after,
            margin=margin,
            notice=10,
            is_to_be_ruled_out=True,
            resamples=500,
        )
        assert each is not None
        corrected += each.is_ruled_out
        plain += each.but(floor=each.difference.low).is_ruled_out

    assert corrected / rounds <= SIDE + margin_of_error(SIDE, rounds)
    assert plain > corrected


def test_without_a_margin_it_is_one_side_of_the_usual_comparison() -> None:
    first, second = pair(default_rng(18), 30, lost=FIVE)

    ours = found(first, second)
    usual = compare(first, second, seed=42, limits=(0, 100), resamples=RESAMPLES)

    assert usual is not None
    assert ours.difference == usual.difference
    assert ours.more_p == usual.p_value / 2
    assert ours.less_p == 1 - ours.more_p
    assert ours.noticed == usual.detectable


def worse(questions: int, *, lost: float = 50.0) -> list[Run]:
    """Every question lost about as much, no two the same."""
    trials = [Trial(scenario="p", item=f"q{n}", checkpoint="5d") for n in range(questions)]
    after = {trial: 80.0 - lost * (1 + n / 50) for n, trial in enumerate(trials)}
    return [dict.fromkeys(trials, 80.0), after]


def test_five_questions_show_nothing_and_six_that_all_lost_do() -> None:
    """Of 32 ways to turn five questions one is as extreme, and that is more than 2.5 %."""
    five, six = found(*worse(5)), found(*worse(6))

    assert (five.more_p, six.more_p) == (1 / 32, 1 / 64)
    assert (five.is_shown, six.is_shown) == (False, True)
    assert (five.noticed, five.power) == (None, 0.0), "and it is said that they cannot"


def test_identical_runs_show_nothing_and_their_strength_is_unknown() -> None:
    same = found(*worse(30, lost=0.0))

    assert not same.is_shown
    assert (same.difference.value, same.noticed, same.power) == (0.0, None, None)


def test_more_categories_take_a_larger_loss_to_be_noticed() -> None:
    first, second = pair(default_rng(19), 40)
    alone, of_ten = (
        loss(first, second, margin=0, notice=FIVE, looks=looks, resamples=50) for looks in (1, 10)
    )

    assert alone is not None
    assert of_ten is not None
    assert alone.noticed is not None
    assert of_ten.noticed is not None
    assert of_ten.noticed > alone.noticed
    assert (of_ten.power or 0) < (alone.power or 0)


def test_a_whole_persona_that_did_badly_is_not_taken_for_many_questions() -> None:
    """Over five personas or more the interval is over personas: one of them proves nothing."""
    trials = [
        Trial(scenario=f"p{persona}", item=f"q{n}", checkpoint="5d")
        for persona in range(6)
        for n in range(20)
    ]
    before = dict.fromkeys(trials, 80.0)
    after = {trial: 40.0 if trial.scenario == "p0" else 80.0 for trial in trials}

    each = found(before, after)

    assert each.more_p < SIDE, "by questions alone it would be a loss"
    assert not each.is_shown


def test_no_common_trial_is_no_loss() -> None:
    (first, _), (_, second) = worse(3), worse(0)

    assert loss(first, second, margin=0, notice=FIVE) is None
    assert losses_by(first, second, lambda trial: trial.item, margin=0, notice=FIVE) == {}
