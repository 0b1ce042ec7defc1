"""What a selector got, worked by hand."""

import pytest

from recall_bench.core.usage import Usage
from recall_bench.features.selection.selection_report import ScoredTest, summarise_tests
from recall_bench.features.selection.selection_scores import SelectionOutcome, compare_selection
from recall_bench.features.selection.suite import NO_RECALL, RECALL
from recall_bench.metrics.bootstrap import compute_wilson

A, B, C, D = (f"memory/{name}.md" for name in "abcd")


def put(
    test: str, expected: tuple[str, ...], recalled: tuple[str, ...], repeat: int = 0
) -> ScoredTest:
    """A test for which this was recalled."""
    found = compare_selection(expected, recalled)
    return ScoredTest(
        test=test,
        repeat=repeat,
        category=RECALL if expected else NO_RECALL,
        prompt="?",
        outcome=found.outcome,
        expected=expected,
        recalled=recalled,
        missing=found.missing,
        extra=found.extra,
        precision=found.precision,
        recall=found.recall,
        f1=found.f1,
        jaccard=found.jaccard,
        seconds=0.1,
        usage=Usage(calls=1, input_tokens=10),
    )


def failed(test: str) -> ScoredTest:
    """A test at which the selector failed."""
    return ScoredTest(
        test=test,
        category=RECALL,
        prompt="?",
        outcome=SelectionOutcome.ERROR,
        expected=(A,),
        fault="SystemTimeout",
        message="no answer within 30 s",
        seconds=30.0,
    )


SKIPPED = ScoredTest(test="s", category=NO_RECALL, prompt="", outcome=SelectionOutcome.SKIP)
ROWS = [
    put("exact", (A, B), (B, A)),
    put("over", (A,), (A, C, D)),
    put("under", (A, B), (A,)),
    put("both", (A, B), (C, D)),
    put("quiet", (), ()),
    put("loud", (), (C,)),
    failed("broken"),
    SKIPPED,
]


def test_every_test_is_in_one_class_and_in_no_other() -> None:
    found = summarise_tests(ROWS)

    assert (found.perfect, found.overrecall, found.underrecall) == (2, 2, 2)
    assert (found.error, found.skip, found.tests) == (1, 1, 8)


def test_shares_are_of_the_tests_that_came_to_a_class() -> None:
    share = summarise_tests(ROWS).perfect_share

    assert share is not None
    assert (share.count, share.of, share.value) == (2, 6, 1 / 3)
    assert share.interval == compute_wilson(2, 6)


def test_means_are_over_the_tests_they_apply_to() -> None:
    found = summarise_tests(ROWS)

    assert found.precision is not None
    assert found.recall is not None
    assert (found.precision.of, found.recall.of) == (5, 4)
    assert found.precision.value == pytest.approx((1 + 1 / 3 + 1 + 0 + 0) / 5)
    assert found.recall.value == pytest.approx((1 + 1 + 1 / 2 + 0) / 4)


def test_a_false_alarm_is_a_quiet_test_that_recalled_something() -> None:
    share = summarise_tests(ROWS).false_positives

    assert share is not None
    assert (share.count, share.of) == (1, 2)


def test_what_is_over_recalled_together_is_reported() -> None:
    found = summarise_tests(ROWS)

    assert [(each.names, each.tests) for each in found.extra_together] == [((C, D), 2)]
    assert [(each.names, each.tests) for each in found.often_extra] == [((C,), 3), ((D,), 2)]
    assert (found.memories_overrecalled, found.memories_underrecalled) == (5, 3)


def test_what_failed_selections_cost_is_not_lost() -> None:
    found = summarise_tests(ROWS, wasted=Usage(calls=3, input_tokens=7))

    assert found.usage == Usage(calls=9, input_tokens=67)


def test_repeats_of_a_test_are_not_tests_of_their_own() -> None:
    once = summarise_tests([put(str(n), (A,), (A,) if n % 2 else ()) for n in range(40)])
    thrice = summarise_tests(
        [put(str(n), (A,), (A,) if n % 2 else (), repeat) for n in range(40) for repeat in range(3)]
    )

    assert once.perfect_share is not None
    assert thrice.perfect_share is not None
    assert once.perfect_share.interval is not None
    assert thrice.perfect_share.interval is not None
    narrow = thrice.perfect_share.interval[1] - thrice.perfect_share.interval[0]
    wide = once.perfect_share.interval[1] - once.perfect_share.interval[0]
    assert narrow > 0.9 * wide
    assert thrice.steady is not None
    assert (once.steady, thrice.steady.value) == (None, 1.0)


def test_latency_is_that_of_selections_and_not_of_failures() -> None:
    rows = [put(str(n), (A,), (A,)).replace(seconds=n / 10) for n in range(1, 21)]

    found = summarise_tests([*rows, failed("broken")])

    assert (found.p50_s, found.p95_s) == (1.0, 1.9)


def test_nothing_classed_has_no_shares_and_no_means() -> None:
    found = summarise_tests([failed("a"), SKIPPED])

    assert found.perfect_share is None
    assert found.f1 is None
    assert found.faults == {"SystemTimeout": 1}


def test_all_alike_is_not_certain() -> None:
    found = summarise_tests(
        [put(str(n), (A,), (A,), repeat) for n in range(9) for repeat in range(2)]
    )

    assert found.perfect_share is not None
    assert found.perfect_share.interval == compute_wilson(9, 9)
    assert found.f1 is not None
    assert found.f1.interval is None


def test_who_fails_gains_nothing() -> None:
    found = summarise_tests([put("a", (A,), (A,)), failed("b"), failed("c"), SKIPPED])

    assert found.perfect_share is not None
    assert found.perfect_of_put is not None
    assert (found.perfect_share.value, found.perfect_of_put.value) == (1.0, 1 / 3)
