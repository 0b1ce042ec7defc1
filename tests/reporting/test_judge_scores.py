"""With several judges a score has a range, and an order that depends on the judge is said to."""

import pytest

from recall_bench.core.plan import Trial
from recall_bench.metrics.comparison import MarkPair
from recall_bench.reporting.formats import format_p
from recall_bench.reporting.judge_scores import (
    compare_by_judge,
    describe_orders,
    format_judge_range,
    list_judge_means,
)

TRIALS = [Trial(scenario="ada", item=f"q{number}", checkpoint="9d") for number in range(40)]
LOW, HIGH = (dict.fromkeys(TRIALS, points) for points in (2.0, 5.0))


def test_the_range_goes_from_the_lowest_judge_to_the_highest() -> None:
    means = list_judge_means({"kind": HIGH, "harsh": LOW, "silent": {}})

    assert [(each.judge, each.mean) for each in means] == [("kind", 5.0), ("harsh", 2.0)]
    assert format_judge_range(means) == "33.3–83.3"


def test_the_range_is_over_the_trials_that_all_judges_marked() -> None:
    """A judge without verdicts on the hard questions does not seem mild."""
    uneven = {trial: 6.0 if number < 20 else 0.0 for number, trial in enumerate(TRIALS)}
    easy = {trial: uneven[trial] for trial in TRIALS[:20]}

    means = list_judge_means({"whole": uneven, "failing": easy})

    assert [each.mean for each in means] == [6.0, 6.0]
    assert list_judge_means({"whole": easy, "failing": dict.fromkeys(TRIALS[20:], 0.0)}) == ()


def test_one_judge_has_no_range() -> None:
    assert list_judge_means({"kind": HIGH}) == ()
    assert list_judge_means({"kind": HIGH, "silent": {}}) == ()
    assert format_judge_range(()) is None


def test_an_order_that_judges_contradict_is_named() -> None:
    found = compare_by_judge(
        {
            "kind": {"new": MarkPair(LOW, HIGH), "same": MarkPair(LOW, HIGH)},
            "harsh": {"new": MarkPair(HIGH, LOW), "same": MarkPair(LOW, HIGH)},
        },
        resamples=200,
    )

    (said,) = describe_orders(found, "old")
    assert said.startswith("The order of old and new depends on the judge: new is better by kind,")
    assert all(each.comparison.p_adjusted is not None for each in found["new"])


def test_a_significance_that_depends_on_the_judge_names_systems_and_adjusted_p_values() -> None:
    """Significance is decided by the adjusted p-value, so that one is shown."""
    slight = {trial: 2.0 + (number % 7 == 0) for number, trial in enumerate(TRIALS)}
    found = compare_by_judge(
        {
            "kind": {"new": MarkPair(LOW, HIGH), "other": MarkPair(LOW, HIGH)},
            "harsh": {"new": MarkPair(LOW, slight), "other": MarkPair(LOW, slight)},
        },
        resamples=200,
    )
    harsh = found["new"][1].comparison
    assert harsh.p_value < 0.05 < harsh.final_p

    said = describe_orders(found, "old")[0]

    start = "The difference between old and new is significant by kind, and not by harsh ("
    assert said.startswith(start)
    assert f"by harsh, adjusted {format_p(harsh.final_p, sign=True)})" in said


def test_judges_that_agree_have_one_sentence() -> None:
    pairs = {"new": MarkPair(LOW, HIGH)}
    found = compare_by_judge({"kind": pairs, "harsh": pairs}, resamples=200)

    assert describe_orders(found, "old") == ("All 2 judges say the same of every order with old.",)


@pytest.mark.parametrize("names", [[], ["kind"]])
def test_without_several_judges_nothing_is_said(names: list[str]) -> None:
    found = compare_by_judge({name: {"new": MarkPair(LOW, HIGH)} for name in names}, resamples=9)

    assert describe_orders(found, "old") == ()
