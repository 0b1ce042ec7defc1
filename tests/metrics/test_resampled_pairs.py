"""Two columns of whole numbers are summed at once, with the totals that each has by itself."""

import numpy as np
import pytest

from recall_bench.metrics.bootstrap import Floats, QuestionNumbers, resample
from recall_bench.metrics.estimate import (
    IntervalMethod,
    MarkTally,
    estimate_mean,
    estimate_tallies,
    forget_intervals,
)
from tests.loops import loop_over_rows

CLUSTERS, RESAMPLES = 701, 2_000


def draw(sums: Floats) -> list[list[float]]:
    totals: list[list[float]] = np.concatenate(
        list(resample(sums, seed=3, resamples=RESAMPLES))
    ).tolist()
    return totals


@loop_over_rows(("low", "high"), [(0, 7), (-6, 7), (5, 6), (-(2**30), 2**30)])
def test_totals_are_those_of_fractions_that_are_summed_one_by_one(low: int, high: int) -> None:
    rng = np.random.default_rng(CLUSTERS)
    sums = rng.integers(low, high, size=(CLUSTERS, 2)).astype(np.float64)
    # Halves are exact, and are no whole numbers.
    one_by_one = np.array(draw(sums + 0.5)) - 0.5 * CLUSTERS

    assert draw(sums) == one_by_one.tolist()


def test_figures_estimated_together_are_those_estimated_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whole numbers and fractions, more of one size than are drawn at once, and all alike."""
    rng = np.random.default_rng(3)

    def draw_tally(questions: int, scale: float) -> MarkTally:
        asked = np.concatenate([np.arange(questions), rng.integers(0, questions, 5)])
        marks = scale * rng.integers(0, 7, len(asked))
        return MarkTally(asked, marks.astype(np.float64), (0.0, 6.0), 300, 0)

    tallies = [draw_tally(questions, scale) for scale in (1, 0.2) for questions in (2, 9, 40)]
    tallies += [draw_tally(9, 1) for _ in range(70)]
    tallies.append(MarkTally(np.arange(2), np.full(2, 3.0), (0.0, 6.0), 300, 1))
    tallies.append(MarkTally(np.arange(0), np.empty(0), (0.0, 6.0), 300, 2))
    numbers = QuestionNumbers.build([("p", number // 2) for number in range(40)])

    together = estimate_tallies(tallies, numbers)
    forget_intervals()
    monkeypatch.setattr("recall_bench.metrics.estimate._ROWS_TOGETHER", 0)
    alone = estimate_tallies(tallies, numbers)
    listed = [
        estimate_mean(
            each.mark.tolist(),
            [str(number) for number in each.question],
            ["p"] * len(each.mark),
            limits=each.limits,
            templates={("p", str(number)): str(number // 2) for number in range(40)},
            resamples=each.resamples,
            missing=each.missing,
        )
        for each in tallies
    ]

    assert together == alone == listed
    assert together[-1] is None
    assert together[-2] is not None
    assert together[-2].method is IntervalMethod.AGREEMENT
