"""Two runs are paired trial by trial, and judged question by question."""

from collections.abc import Mapping

import pytest
from numpy.random import default_rng

from recall_bench.core.plan import Trial
from recall_bench.metrics.comparison import (
    EXACT_UP_TO,
    PairedComparison,
    compare,
    compare_by_category,
    compute_sign_flip_p,
)
from recall_bench.metrics.estimate import IntervalMethod, estimate_mean
from tests.metrics.simulated import run


def trials(marks: Mapping[str, float]) -> dict[Trial, float]:
    """`a1` is question a at checkpoint 1."""
    return {
        Trial(scenario="p", item=name[0], checkpoint=name[1:]): mark for name, mark in marks.items()
    }


def compared(first: Mapping[str, float], second: Mapping[str, float]) -> PairedComparison:
    found = compare(trials(first), trials(second), seed=1, limits=(0, 6))
    assert found is not None
    return found


def test_runs_without_a_trial_in_common_are_not_compared() -> None:
    assert compare(trials({"a1": 6}), trials({"b1": 6}), seed=1) is None


def test_the_difference_is_what_the_second_has_more() -> None:
    found = compared({"a1": 2, "b1": 3}, {"a1": 6, "b1": 4})

    assert found.difference.value == 2.5
    assert compared({"a1": 6, "b1": 4}, {"a1": 2, "b1": 3}).difference.value == -2.5


def test_a_trial_that_one_run_lacks_is_missing_and_not_paired() -> None:
    found = compared({"a1": 2, "b1": 3, "c1": 6}, {"a1": 3, "b1": 4, "d1": 0, "d2": 0})

    assert (found.difference.value, found.difference.trials) == (1.0, 2)
    assert found.difference.missing == 3


def test_its_interval_is_that_of_a_difference() -> None:
    first = {f"{name}1": 3.0 for name in "abcdefghijkl"}
    second = {trial: 3.0 + (place > 9) * 2 for place, trial in enumerate(first)}
    expected = estimate_mean(
        [0.0] * 10 + [2.0] * 2,
        list("abcdefghijkl"),
        ["p"] * 12,
        seed=1,
        limits=(-6, 6),
        is_difference=True,
    )

    assert compared(first, second).difference == expected


def test_wins_ties_and_losses_are_questions_not_trials() -> None:
    first = {"a1": 0, "a2": 0, "b1": 3, "b2": 3, "c1": 6, "d1": 1, "d2": 2}
    second = {"a1": 6, "a2": 6, "b1": 2, "b2": 4, "c1": 5, "d1": 2, "d2": 2}

    found = compared(first, second)

    assert (found.wins, found.ties, found.losses) == (2, 1, 1)


def test_one_question_asked_often_proves_nothing() -> None:
    found = compared({f"a{n}": 0 for n in range(50)}, {f"a{n}": 6 for n in range(50)})

    assert found.p_value == 1.0
    assert found.detectable is None


def test_equal_runs_have_no_difference_and_do_not_claim_to_know_it() -> None:
    found = compared({"a1": 6, "b1": 3}, {"a1": 6, "b1": 3})

    assert (found.difference.value, found.p_value) == (0.0, 1.0)
    assert found.difference.method is IntervalMethod.AGREEMENT
    assert not found.difference.excludes_zero
    assert found.detectable is None


def test_the_p_value_of_few_questions_is_exact() -> None:
    """All six go one way: two of the 64 ways to turn them are as extreme."""
    first = {f"{name}1": 0 for name in "abcdef"}
    second = {f"{name}1": float(place + 1) for place, name in enumerate("abcdef")}

    assert compared(first, second).p_value == 2 / 64


def test_a_p_value_that_is_drawn_counts_the_case_at_hand() -> None:
    sums = default_rng(1).uniform(1, 2, 60)

    assert compute_sign_flip_p(sums, seed=1, flips=999) == 1 / 1000


def test_a_p_value_that_is_drawn_is_the_same_every_time() -> None:
    sums = default_rng(1).normal(0.1, 1, 60)

    assert compute_sign_flip_p(sums, seed=1) == compute_sign_flip_p(sums, seed=1)
    assert compute_sign_flip_p(sums, seed=1) != compute_sign_flip_p(sums, seed=2)


def test_questions_that_do_not_differ_say_nothing() -> None:
    differing = default_rng(2).normal(0.5, 1, 10)
    padded = [*differing, *[0.0] * 500]

    assert compute_sign_flip_p(default_rng(3).permutation(padded), seed=1) == compute_sign_flip_p(
        differing, seed=1
    )


def test_drawn_and_exact_p_values_agree() -> None:
    values = default_rng(4).normal(0.4, 1, EXACT_UP_TO)
    exact = compute_sign_flip_p(values, seed=1)

    # One more question, so small that it turns nothing round, and all is drawn.
    drawn = compute_sign_flip_p(default_rng(5).permutation([*values, 1e-6]), seed=1, flips=100_000)

    assert drawn == pytest.approx(exact, abs=0.005)


def test_rounding_does_not_hide_a_tie() -> None:
    """Added up in another order, the same differences come to a little more or less."""
    for seed in range(20):
        values = default_rng(seed).permutation([0.1, 0.2, 0.3, 0.7, 0.9, 1.1, 1.3, 2.1, 2.3])

        assert compute_sign_flip_p(values, seed=1) == 2 / 2**9


def test_categories_are_adjusted_for_being_several() -> None:
    first = {f"{name}1": 0 for name in "abcdefgh"} | {f"{name}1": 3 for name in "stuvwxyz"}
    second = {f"{name}1": 5 for name in "abcdefgh"} | {
        f"{name}1": 3.0 + (-1) ** place for place, name in enumerate("stuvwxyz")
    }

    found = compare_by_category(
        trials(first),
        trials(second),
        lambda trial: "early" if trial.item < "m" else "late",
        seed=1,
        limits=(0, 6),
    )

    assert list(found) == ["early", "late"]
    assert found["early"].p_value == 2 / 256
    assert found["early"].p_adjusted == 4 / 256
    assert found["late"].p_adjusted == found["late"].p_value == 1.0


def right_or_wrong(
    name: str, better: int, worse: int
) -> tuple[dict[Trial, float], dict[Trial, float]]:
    """The marks of two runs in questions of this name, each asked once."""
    asked = [Trial(scenario="p", item=f"{name}{n}", checkpoint="1") for n in range(better + worse)]
    first = {trial: 6.0 * (place >= better) for place, trial in enumerate(asked)}
    return first, {trial: 6 - mark for trial, mark in first.items()}


def test_right_or_wrong_is_tested_and_adjusted_by_mcnemar() -> None:
    """Sign flips of so many questions are drawn, and would come to another p-value."""
    early, late = right_or_wrong("a", 30, 12), right_or_wrong("z", 25, 0)
    mcnemar = {"a": 0.0079158973, "z": 2 / 2**25}

    found = compare_by_category(
        early[0] | late[0],
        early[1] | late[1],
        lambda trial: trial.item[0],
        seed=1,
        limits=(0, 6),
        right=6,
    )

    assert all(each.is_mcnemar for each in found.values())
    assert {name: each.p_value for name, each in found.items()} == pytest.approx(mcnemar)
    assert found["a"].p_adjusted == found["a"].p_value
    assert found["z"].p_adjusted == 2 * found["z"].p_value


def test_questions_of_one_template_are_no_case_for_mcnemar() -> None:
    first, second = right_or_wrong("a", 3, 0)

    found = compare(
        first,
        second,
        limits=(0, 6),
        right=6,
        templates={("p", trial.item): "t" for trial in first},
    )

    assert found is not None
    assert (found.is_mcnemar, found.p_value) == (False, 1.0)


def test_a_category_that_one_run_lacks_is_not_compared() -> None:
    found = compare_by_category(
        trials({"a1": 1, "b1": 2}), trials({"a1": 2}), lambda trial: trial.item, seed=1
    )

    assert list(found) == ["a"]


def test_the_smallest_difference_shown_shrinks_with_questions_and_not_with_asks() -> None:
    def smallest(questions: int, asks: int) -> float:
        chance = default_rng(7)
        own = chance.normal(0, 2, questions)
        none = run(chance, own * 0, asks=asks)
        found = compare(none, run(chance, own, asks=asks), seed=1, resamples=100)
        assert found is not None
        assert found.detectable is not None
        return found.detectable

    assert smallest(160, 1) == pytest.approx(smallest(40, 1) / 2, rel=0.2)
    assert smallest(40, 10) == pytest.approx(smallest(40, 1), rel=0.1)


def test_where_not_even_the_largest_difference_would_show_none_is_named() -> None:
    found = compared({"a1": 6, "b1": 0}, {"a1": 5, "b1": 3})

    assert found.detectable is None


def test_where_personas_are_drawn_what_they_could_have_shown_counts() -> None:
    """Six personas, better and worse as wholes: many questions in each do not help."""
    first = {
        Trial(scenario=f"p{persona}", item=f"q{question}", checkpoint="30d"): 3.0
        for persona in range(6)
        for question in range(50)
    }
    second = {trial: mark + (-1) ** int(trial.scenario[1:]) for trial, mark in first.items()}

    found = compare(first, second, seed=1)

    assert found is not None
    assert found.difference.method is IntervalMethod.PERSONAS
    assert found.detectable is not None
    assert found.detectable > 1.4
