"""The checkpoints at which the same questions were asked, to compare like with like.

The questions of a run change from one checkpoint to the next, and their mean with them. So the same
questions are followed over consecutive checkpoints at each of which every repeat has points. A long
span has few such questions, a short one shows little. The span is chosen that determines a slope
best: the variance of a slope is inverse to

    questions x sum over checkpoints of (days - mean days) squared

and of equal spans the one that ends later is taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recall_bench.metrics.bootstrap import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSpan:
    """Consecutive checkpoints, and the questions that have points at each of them."""

    first: int
    """The place of the first checkpoint."""
    last: int
    questions: Ints


def find_best_span(is_counted: Bools, days: Sequence[float]) -> QuestionSpan | None:
    """The span that determines a slope best; None if no question was asked at two sizes.

    `is_counted` says of each question (row) whether all its repeats have points at each checkpoint
    (column), and `days` is the size of the history there.
    """
    weights = _count_questions(is_counted) * _sum_squares(np.array(days, np.float64))
    if not weights.size or weights.max() <= 0:
        return None
    # Reversed, so that the first maximum is the one that ends last.
    end, start = np.unravel_index(np.argmax(weights[:, ::-1].T), weights.shape)
    first, last = int(start), len(days) - 1 - int(end)
    is_followed = is_counted[:, first : last + 1].all(axis=1)
    return QuestionSpan(first=first, last=last, questions=np.flatnonzero(is_followed))


def _count_questions(is_counted: Bools) -> Ints:
    """The number of questions with points from each checkpoint (row) to each (column)."""
    questions, count = is_counted.shape
    counts = np.zeros((count, count), np.int64)
    length = np.zeros(questions, np.int64)
    for last in range(count):
        # For how many checkpoints up to this one each question has points, and how many have at
        # least 1, 2, 3 …
        length = np.where(is_counted[:, last], length + 1, 0)
        at_least = np.bincount(length, minlength=last + 2)[::-1].cumsum()[::-1]
        counts[: last + 1, last] = at_least[last + 1 : 0 : -1]
    return counts


def _sum_squares(days: Floats) -> Floats:
    """The sum of squared deviations of days, from each checkpoint to each later one."""
    count = len(days)
    totals = np.concatenate([[0.0], days.cumsum()])
    squares = np.concatenate([[0.0], (days**2).cumsum()])
    length = np.arange(1, count + 1) - np.arange(count)[:, np.newaxis]
    total = totals[1:] - totals[:-1, np.newaxis]
    square = squares[1:] - squares[:-1, np.newaxis]
    return np.where(length > 1, square - total**2 / np.maximum(length, 1), 0.0)
