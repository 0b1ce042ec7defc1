"""The power of a suite is stated before it is run, and holds when it is.

Every figure is worked out by hand, or found again by drawing versions at random.
"""

from math import comb, sqrt
from pathlib import Path

import numpy as np
import pytest

from recall_bench.features.selection.suite_power import (
    DISAGREEMENT,
    describe_power,
    find_detectable_share,
)
from recall_bench.metrics.bootstrap import compute_wilson
from recall_bench.metrics.comparison import compute_mcnemar

DRAWS = 20_000


def noticed(better: np.ndarray, worse: np.ndarray) -> float:
    """The share of draws in which the exact test sees a difference."""
    splits, counts = np.unique(np.stack([better, worse]), axis=1, return_counts=True)
    seen = [compute_mcnemar(int(b), int(w)) <= 0.05 for b, w in splits.T]
    return float(counts[seen].sum() / counts.sum())


def drawn(tests: int, difference: float, disagreement: float = DISAGREEMENT) -> float:
    """How often a difference is noticed, if each test changes or not by chance."""
    up, down = (disagreement + difference) / 2, (disagreement - difference) / 2
    chance = np.random.default_rng(11)
    better, worse, _ = chance.multinomial(tests, [up, down, 1 - disagreement], size=DRAWS).T
    return noticed(better, worse)


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        # With z = 1.96: (0.5 + 0.0960) / 1.1921 = 0.5, plus and minus 0.2007.
        pytest.param(10, 20, 0.2993, 0.7007, id="half of twenty"),
        pytest.param(9, 20, 0.2582, 0.6579, id="nine of twenty"),
        pytest.param(30, 60, 0.3774, 0.6226, id="half of sixty"),
        # The bound is z² / (n + z²) = 3.8415 / 13.8415.
        pytest.param(0, 10, 0.0, 0.2775, id="none of ten"),
        pytest.param(10, 10, 0.7225, 1.0, id="all of ten"),
    ],
)
def test_the_interval_of_a_share(count: int, of: int, low: float, high: float) -> None:
    assert compute_wilson(count, of) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_an_interval_holds_the_share_it_was_drawn_from(share: float) -> None:
    counts = np.random.default_rng(3).binomial(60, share, size=DRAWS)

    held = np.mean(
        [low <= share <= high for low, high in (compute_wilson(int(c), 60) for c in counts)]
    )

    assert 0.93 < held < 0.97


@pytest.mark.parametrize(("count", "of"), [(0, 0), (3, 2), (-1, 4)])
def test_no_interval_of_what_is_no_share(count: int, of: int) -> None:
    with pytest.raises(ValueError, match="is not a share"):
        compute_wilson(count, of)


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [
        pytest.param(0, 0, 1.0, id="none differ"),
        pytest.param(0, 5, 2 / 32, id="five of five are not enough"),
        pytest.param(6, 0, 2 / 64, id="six of six are"),
        pytest.param(1, 7, 2 * (1 + 8) / 256, id="one against seven"),
        pytest.param(3, 3, 1.0, id="even"),
        pytest.param(12, 2, 2 * (1 + 14 + 91) / 2**14, id="twelve against two"),
    ],
)
def test_the_exact_test_of_a_split(better: int, worse: int, p: float) -> None:
    assert compute_mcnemar(better, worse) == pytest.approx(p)
    assert compute_mcnemar(worse, better) == compute_mcnemar(better, worse)


def test_the_exact_test_rarely_sees_what_is_not_there() -> None:
    assert drawn(60, 0.0) < 0.05


@pytest.mark.parametrize("tests", [30, 60, 200])
def test_a_detectable_difference_is_noticed_four_times_in_five(tests: int) -> None:
    smallest = find_detectable_share(tests)

    assert smallest is not None
    assert drawn(tests, smallest) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("disagreement", [0.2, 0.4, 0.6])
def test_so_it_is_where_more_or_fewer_tests_change(disagreement: float) -> None:
    smallest = find_detectable_share(60, disagreement)

    assert smallest is not None
    assert drawn(60, smallest, disagreement) == pytest.approx(0.8, abs=0.01)


def test_too_few_that_change_can_show_nothing() -> None:
    """Six have to, and of twenty six or more do only 58 times in 100."""
    assert sum(comb(20, k) * 0.3**k * 0.7 ** (20 - k) for k in range(6, 21)) < 0.8
    assert find_detectable_share(20) is None
    assert find_detectable_share(1) is None


def test_a_shortcut_for_many_tests_changes_nothing() -> None:
    exact, short = find_detectable_share(500), find_detectable_share(501)

    assert exact is not None
    assert short is not None
    assert exact == pytest.approx(short, abs=0.0005)
    assert drawn(501, short) == pytest.approx(0.8, abs=0.01)


def test_more_tests_tell_smaller_differences() -> None:
    found = [find_detectable_share(tests) or 1.0 for tests in (20, 60, 200, 1000, 20_000)]

    assert found == sorted(found, reverse=True)
    assert found[3] == pytest.approx(0.05, abs=0.005)


def detect_unpaired(tests: int) -> float | None:
    """What two versions on different tests need: (1.9600 + 0.8416) times the standard error."""
    smallest = 2.8016 * sqrt(0.5 / tests)
    return smallest if smallest <= 1 else None


def test_versions_on_different_tests_need_a_larger_difference() -> None:
    assert (detect_unpaired(60) or 0.0) > (find_detectable_share(60) or 1.0)


def row(tests: int) -> str:
    """A line of the table in the explanation."""
    low, high = compute_wilson(tests // 2, tests)
    found = [
        *(find_detectable_share(tests, share) for share in (0.1, 0.3, 0.5)),
        detect_unpaired(tests),
    ]
    points = (" – " if each is None else f" {100 * each:.0f} " for each in found)
    return f"| {tests:,} | {100 * low:.0f} to {100 * high:.0f} % |{'|'.join(points)}|"


def test_the_table_in_the_explanation_is_what_is_computed() -> None:
    page = Path(__file__).parents[3] / "docs" / "explanation" / "selection.md"

    lines = page.read_text(encoding="utf-8").splitlines()

    start = next(place for place, line in enumerate(lines) if line.startswith("| tests |"))
    expected = [row(tests) for tests in (10, 20, 40, 60, 100, 200, 400, 1000)]
    assert lines[start + 2 : start + 2 + len(expected)] == expected


def test_a_run_is_announced_with_what_it_can_tell() -> None:
    told = describe_power(60)

    assert told.startswith("60 tests: ")
    assert "about 20 points" in told
    assert "38% to 62%" in told


def test_too_few_tests_are_said_to_be_too_few() -> None:
    assert describe_power(10).startswith("10 tests: too few to distinguish two versions")
    assert describe_power(1).startswith("1 test: ")


def test_no_difference_is_larger_than_the_share_that_changes() -> None:
    assert all((find_detectable_share(tests) or 0) <= DISAGREEMENT for tests in range(1, 61))


def test_half_of_an_odd_number_is_a_half() -> None:
    assert "a share of a half is known to 13% to 87%" in describe_power(3)
