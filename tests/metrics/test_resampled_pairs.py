"""Two columns of whole numbers are summed at once, with the totals that each has by itself."""

import numpy as np
import pytest

from recall_bench.metrics.bootstrap import Floats, resample
from recall_bench.metrics.estimate import IntervalMethod, QuestionSums, estimate_question_sums

CLUSTERS, RESAMPLES = 701, 2_000


def draw(sums: Floats) -> list[list[float]]:
    totals: list[list[float]] = np.concatenate(
        list(resample(sums, seed=3, resamples=RESAMPLES))
    ).tolist()
    return totals


@pytest.mark.parametrize(("low", "high"), [(0, 7), (-6, 7), (5, 6), (-(2**30), 2**30)])
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

    def draw_sums(questions: int, scale: float) -> QuestionSums:
        marks = (scale * rng.integers(0, 7, questions)).tolist()
        return [
            [
                [(mark, int(count))]
                for mark, count in zip(marks, rng.integers(1, 4, questions), strict=True)
            ]
        ]

    tables = [draw_sums(questions, scale) for scale in (1, 0.2) for questions in (2, 9, 40)]
    tables += [draw_sums(9, 1) for _ in range(70)]
    tables.append([[[(3.0, 1)], [(6.0, 2)]]])

    together = estimate_question_sums(tables, limits=(0, 6), resamples=300)
    monkeypatch.setattr("recall_bench.metrics.estimate._KNOWN", {})
    alone = [estimate_question_sums([each], limits=(0, 6), resamples=300)[0] for each in tables]

    assert together == alone
    assert [each.method for each in together].count(IntervalMethod.AGREEMENT) == 1
