"""The checkpoints at which the same questions were asked, to compare like with like.

The questions of a run change from one checkpoint to the next, and their mean with them. So the same
questions are followed over consecutive checkpoints at each of which every repeat has points. A long
span has few such questions, a short one shows little. The span is chosen that determines a slope
best: the variance of a slope is inverse to

    questions x sum over checkpoints of (days - mean days) squared

and of equal spans the one that ends later is taken.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from recall_bench.metrics.bootstrap import Floats, Ints

Question = TypeVar("Question", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSpan(Generic[Question]):
    """Consecutive checkpoints, and the questions that have points at each of them."""

    first: int
    """The place of the first checkpoint."""
    last: int
    questions: frozenset[Question]


def find_best_span(
    counted: Iterable[tuple[Question, int]], days: Sequence[float], *, repeats: int
) -> QuestionSpan[Question] | None:
    """The span that determines a slope best; None if no question was asked at two sizes.

    `counted` has the question and the place of the checkpoint of each trial with points, and `days`
    the size of the history at each place.
    """
    spans = _find_spans(counted, repeats)
    weights = _count_spans(spans, len(days)) * _sum_squares(np.array(days, np.float64))
    if not weights.size or weights.max() <= 0:
        return None
    # Reversed, so that the first maximum is the one that ends last.
    end, start = np.unravel_index(np.argmax(weights[:, ::-1].T), weights.shape)
    first, last = int(start), len(days) - 1 - int(end)
    return QuestionSpan(
        first=first,
        last=last,
        questions=frozenset(
            question
            for question, found in spans.items()
            if any(begin <= first and last <= until for begin, until in found)
        ),
    )


def _find_spans(
    counted: Iterable[tuple[Question, int]], repeats: int
) -> dict[Question, list[tuple[int, int]]]:
    """For each question, the ends of all spans at whose checkpoints it has points."""
    times: dict[Question, Counter[int]] = {}
    for question, place in counted:
        times.setdefault(question, Counter())[place] += 1
    return {
        question: _group_consecutive(
            sorted(place for place, count in found.items() if count == repeats)
        )
        for question, found in times.items()
    }


def _group_consecutive(places: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1] = found[-1][0], place
        else:
            found.append((place, place))
    return found


def _count_spans(spans: Mapping[Question, list[tuple[int, int]]], count: int) -> Ints:
    """The number of questions with points from each checkpoint (row) to each (column)."""
    ends = np.zeros((count, count), np.int64)
    for found in spans.values():
        for first, last in found:
            ends[first, last] += 1
    return np.asarray(ends.cumsum(axis=0)[:, ::-1].cumsum(axis=1)[:, ::-1], np.int64)


def _sum_squares(days: Floats) -> Floats:
    """The sum of squared deviations of days, from each checkpoint to each later one."""
    count = len(days)
    totals = np.concatenate([[0.0], days.cumsum()])
    squares = np.concatenate([[0.0], (days**2).cumsum()])
    length = np.arange(1, count + 1) - np.arange(count)[:, np.newaxis]
    total = totals[1:] - totals[:-1, np.newaxis]
    square = squares[1:] - squares[:-1, np.newaxis]
    return np.where(length > 1, square - total**2 / np.maximum(length, 1), 0.0)
