"""Whether three of three are luck depends on how all the other questions go."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from recall_bench.reporting.analyses.canaries import (
    MIN_JUDGED,
    RELIABLE_SHARE,
    SURE_CHANCE,
    AnswerCount,
    estimate_reliability,
)
from tests.thoroughness import choose_number

Rates = NDArray[np.float64]


def chance_of(count: AnswerCount, *others: tuple[int, AnswerCount]) -> float:
    """For one question, beside this many others of each count."""
    return estimate_reliability([count, *(each for times, each in others for _ in range(times))])[0]


def test_three_of_three_count_where_other_questions_always_go_one_way() -> None:
    assert chance_of((3, 3), (200, (3, 0)), (20, (3, 3))) > 0.99


def test_three_of_three_do_not_count_where_other_questions_toss_a_coin() -> None:
    coins = [(30, (3, 0)), (44, (3, 1)), (22, (3, 2)), (3, (3, 3))]

    assert chance_of((3, 3), *coins) < 0.6


def test_where_everything_is_made_up_everything_is_reliable() -> None:
    assert min(estimate_reliability([(3, 3)] * 40)) > 0.99


def test_where_nothing_is_made_up_nothing_is() -> None:
    assert max(estimate_reliability([(3, 0)] * 40)) < 0.01


def test_each_hallucination_more_is_more_reliable() -> None:
    counts = [(6, made_up) for made_up in range(7) for _ in range(10)]

    chances = estimate_reliability(counts)[::10]

    assert chances == sorted(chances)
    assert chances[0] < 0.05 < 0.95 < chances[-1]


def test_the_answers_come_in_the_order_of_the_questions() -> None:
    counts = [(3, 3), (5, 0), (3, 3), (4, 2), (5, 0)] * 8

    chances = estimate_reliability(counts)

    assert chances[:5] * 8 == chances
    assert chances[0] == chances[2] > chances[3] > chances[1] == chances[4]


def test_thousands_of_answers_to_one_question_do_not_underflow() -> None:
    assert estimate_reliability([(5000, 4900), (5000, 20)]) == pytest.approx([1.0, 0.0], abs=1e-6)


def test_no_questions_no_answers() -> None:
    assert estimate_reliability([]) == []


def test_the_chances_are_those_of_the_plain_formula() -> None:
    """The same sums without arrays: shares that explain themselves, then Bayes' rule."""
    times = {(4, 0): 12, (4, 1): 3, (3, 3): 4, (5, 2): 2}
    rates = [step / 40 for step in range(41)]
    shares = [1 / 41] * 41

    def posterior(asked: int, made_up: int) -> list[float]:
        joint = [
            share * rate**made_up * (1 - rate) ** (asked - made_up)
            for share, rate in zip(shares, rates, strict=True)
        ]
        return [each / sum(joint) for each in joint]

    for _ in range(600):
        held = {count: posterior(*count) for count in times}
        shares = [
            (sum(number * held[count][n] for count, number in times.items()) + 1 / 41) / 22
            for n in range(41)
        ]

    expected = [sum(posterior(*count)[20:]) for count in times]
    found = estimate_reliability([count for count, number in times.items() for _ in range(number)])
    assert [found[place] for place in (0, 12, 15, 19)] == pytest.approx(expected, abs=1e-3)


def false_and_found(
    draw: Callable[[Generator], Rates], *, worlds: int, seed: int
) -> tuple[float, float]:
    """The mean share of the listed that hallucinate less than every other time, and the share of
    those that do so four times in five or more, asked often enough, that are listed.
    """
    chance = np.random.default_rng(seed)
    false, reliable, found = [], 0, 0
    for _ in range(worlds):
        rates = draw(chance)
        asked = chance.integers(1, 7, len(rates))
        made_up = chance.binomial(asked, rates)
        sure = np.array(
            estimate_reliability(list(zip(asked.tolist(), made_up.tolist(), strict=True)))
        )
        listed = (asked >= MIN_JUDGED) & (made_up >= RELIABLE_SHARE * asked) & (sure >= SURE_CHANCE)
        false.append((listed & (rates < 0.5)).sum() / max(1, listed.sum()))
        wanted = (rates >= RELIABLE_SHARE) & (asked >= MIN_JUDGED)
        reliable += wanted.sum()
        found += (wanted & listed).sum()
    return float(np.mean(false)), found / max(1, reliable)


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda g: np.full(300, 0.02), id="all seldom"),
        pytest.param(lambda g: np.full(300, 0.1), id="all now and then"),
        pytest.param(lambda g: np.full(300, 0.4), id="all often"),
        pytest.param(lambda g: np.where(g.random(300) < 0.17, 0.4, 0.02), id="a worse category"),
        pytest.param(lambda g: g.beta(0.2, 2.0, 300), id="all sorts"),
    ],
)
def test_of_the_listed_one_in_twenty_or_fewer_are_there_by_luck(
    draw: Callable[[Generator], Rates],
) -> None:
    false, _ = false_and_found(draw, worlds=choose_number(12, 25), seed=2)

    assert false <= 0.05


def test_questions_that_always_hallucinate_are_found_among_those_that_hardly_do() -> None:
    false, found = false_and_found(
        lambda g: np.where(g.random(300) < 0.05, 1.0, 0.02), worlds=15, seed=2
    )

    assert false <= 0.01
    assert found >= 0.98
