"""Every report gets from trials to estimates in the same way."""

import pytest

from recall_bench.core.plan import Trial
from recall_bench.core.record import group_by
from recall_bench.core.scenario import order_categories
from recall_bench.metrics.comparison import compare, estimate_difference, split_marks
from recall_bench.reporting.groups import (
    describe_population,
    estimate_marks,
)

TRIALS = [
    Trial(scenario="ada", item=f"q{number}", checkpoint=f"{number % 2}d") for number in range(30)
]
FIRST = {trial: float(number % 7) for number, trial in enumerate(TRIALS)}
SECOND = {trial: float(number % 5) for number, trial in enumerate(TRIALS)}


def test_groups_keep_the_order_in_which_they_occur() -> None:
    assert group_by("banana", str.upper) == {"B": ["b"], "A": ["a"] * 3, "N": ["n"] * 2}


def test_the_parts_of_marks_are_all_of_them() -> None:
    parts = split_marks(FIRST, lambda trial: trial.checkpoint)

    assert list(parts) == ["0d", "1d"]
    assert parts["0d"] | parts["1d"] == FIRST


def test_our_categories_come_first_and_others_by_name() -> None:
    assert order_categories(["zebra", "synthesis", "apple", "factual-recall"]) == [
        "factual-recall",
        "synthesis",
        "apple",
        "zebra",
    ]


def test_the_mean_of_no_marks_is_none_and_not_zero() -> None:
    assert estimate_marks({}, limits=(0.0, 6.0), templates={}) is None


def test_a_difference_is_the_one_that_compare_makes() -> None:
    compared = compare(FIRST, SECOND, seed=42, limits=(0.0, 6.0))
    assert compared is not None

    found = estimate_difference(
        FIRST, SECOND, sorted(TRIALS, key=str), limits=(0.0, 6.0), templates={}
    )

    assert found == compared.difference


def test_there_is_no_difference_over_no_trials() -> None:
    with pytest.raises(ValueError, match="no trial"):
        estimate_difference(FIRST, SECOND, [], limits=(0.0, 6.0), templates={})


@pytest.mark.parametrize(
    ("personas", "words"),
    [
        (1, "The ranking holds for this persona: "),
        (4, "The ranking holds for these 4 personas: "),
        (5, "With five or more personas, intervals cover other personas"),
    ],
)
def test_a_ranking_over_few_personas_holds_for_these(personas: int, words: str) -> None:
    assert describe_population(personas).startswith(words)
