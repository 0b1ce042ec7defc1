"""Two runs of one system differ by chance alone: how often that is taken for a difference.

Answers to one question go the same way at every checkpoint of a run, as they do in real runs. A
test that takes them for independent finds differences where there are none; ours does not.
"""

from math import sqrt

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from recall_bench.core.plan import Trial
from recall_bench.metrics.comparison import PairedComparison, compare, compare_by_category
from tests.metrics.simulated import run
from tests.thoroughness import choose_number

ROUNDS = choose_number(150, 300)
NOMINAL = 0.05
ERROR = sqrt(NOMINAL * (1 - NOMINAL) / ROUNDS)
"""The standard error of a share of 5 % over that many rounds."""


def pair(chance: Generator, questions: int = 24, asks: int = 5) -> list[dict[Trial, float]]:
    """Both runs find a question as hard as it is, and each has its own luck with it."""
    hard = chance.normal(3.0, 1.5, questions)
    return [run(chance, hard + chance.normal(0, 1.0, questions), asks=asks) for _ in range(2)]


def compared(first: dict[Trial, float], second: dict[Trial, float]) -> PairedComparison:
    found = compare(first, second, seed=1, resamples=300)
    assert found is not None
    return found


def unclustered(marks: dict[Trial, float]) -> dict[Trial, float]:
    """The same marks, every trial taken for a question of its own."""
    return {trial.replace(item=str(trial)): mark for trial, mark in marks.items()}


def test_a_difference_is_claimed_as_rarely_as_stated_and_by_trials_far_more_often() -> None:
    chance = default_rng(1)
    ours = naive = outside = 0
    for _ in range(ROUNDS):
        first, second = pair(chance)
        found = compared(first, second)
        ours += found.p_value <= NOMINAL
        outside += found.difference.excludes_zero
        naive += compared(unclustered(first), unclustered(second)).p_value <= NOMINAL

    assert abs(ours / ROUNDS - NOMINAL) < 3 * ERROR
    assert abs(outside / ROUNDS - NOMINAL) < 4 * ERROR
    assert naive / ROUNDS > 0.3


def test_over_ten_categories_one_false_claim_is_as_rare_as_over_one() -> None:
    chance = default_rng(2)
    adjusted = plain = 0
    rounds = choose_number(40, 80)
    for _ in range(rounds):
        first, second = pair(chance, questions=100, asks=2)
        found = compare_by_category(
            first, second, lambda trial: str(int(trial.item[1:]) % 10), seed=1, resamples=50
        )
        adjusted += any((each.p_adjusted or 0) <= NOMINAL for each in found.values())
        plain += any(each.p_value <= NOMINAL for each in found.values())

    assert adjusted / rounds <= NOMINAL + 3 * sqrt(NOMINAL * (1 - NOMINAL) / rounds)
    assert plain / rounds > 0.25


@pytest.mark.parametrize("questions", [12, 40])
def test_a_difference_of_the_stated_size_is_noticed_four_times_in_five(questions: int) -> None:
    """The size is what runs like these state on average, and power is by the p-value."""
    chance = default_rng(3)
    smallest = float(
        np.mean([compared(*pair(chance, questions)).detectable or 0 for _ in range(30)])
    )
    rounds, noticed = choose_number(125, 250), 0
    for _ in range(rounds):
        first, second = pair(chance, questions)
        better = {trial: mark + smallest for trial, mark in second.items()}
        noticed += compared(first, better).p_value <= NOMINAL

    assert noticed / rounds == pytest.approx(0.8, abs=3 * sqrt(0.8 * 0.2 / rounds))
