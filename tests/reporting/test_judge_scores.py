"""With several judges a score has a range, and an order that depends on the judge is said to."""

import pytest

from recall_bench.core.plan import Trial
from recall_bench.reporting.judge_scores import (
    JudgedPair,
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


def test_one_judge_has_no_range() -> None:
    assert list_judge_means({"kind": HIGH}) == ()
    assert list_judge_means({"kind": HIGH, "silent": {}}) == ()
    assert format_judge_range(()) is None


def test_an_order_that_judges_contradict_is_named() -> None:
    found = compare_by_judge(
        {
            "kind": {"new": JudgedPair(LOW, HIGH), "same": JudgedPair(LOW, HIGH)},
            "harsh": {"new": JudgedPair(HIGH, LOW), "same": JudgedPair(LOW, HIGH)},
        },
        resamples=200,
    )

    (said,) = describe_orders(found, "old")
    assert said.startswith("The order of old and new depends on the judge: new is better by kind,")
    assert all(each.comparison.p_adjusted is not None for each in found["new"])


def test_judges_that_agree_have_one_sentence() -> None:
    pairs = {"new": JudgedPair(LOW, HIGH)}
    found = compare_by_judge({"kind": pairs, "harsh": pairs}, resamples=200)

    assert describe_orders(found, "old") == ("All 2 judges say the same of every order with old.",)


@pytest.mark.parametrize("names", [[], ["kind"]])
def test_without_several_judges_nothing_is_said(names: list[str]) -> None:
    found = compare_by_judge({name: {"new": JudgedPair(LOW, HIGH)} for name in names}, resamples=9)

    assert describe_orders(found, "old") == ()
