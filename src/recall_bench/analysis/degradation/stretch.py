"""Which questions the fixed view follows, and over which checkpoints.

A question can be followed over checkpoints in a row at each of which every repeat of it has points.
A long stretch has few such questions, a short one says little. Of all stretches the one is taken
from which a slope would be known best: a line's slope varies as one over the number of trials times
the spread of the sizes they are at, so the product of the two is the largest there is,

    questions x sum over checkpoints of (days - mean days) squared

and between equals the stretch that ends later.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from recall_bench.analysis.trials import TrialRow
from recall_bench.statistics.clusters import Floats, Ints

StretchQuestion = tuple[str, str]
"""A persona and the question put to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSpan:
    """Checkpoints in a row, and the questions that were answered for at each of them."""

    labels: tuple[str, ...]
    questions: frozenset[StretchQuestion]


def find_best_span(
    rows: Iterable[TrialRow], sizes: Mapping[str, int], *, repeats: int
) -> CheckpointSpan | None:
    """The stretch that says most about a slope; None if no question was asked at two sizes."""
    labels = tuple(sizes)
    runs = _find_spans(rows, labels, repeats)
    asked = _count_spans(runs, len(labels))
    weights = asked * _sum_squares(np.array(list(sizes.values()), np.float64))
    if not weights.size or weights.max() <= 0:
        return None
    # Turned round, the first of equals is the one that ends last.
    end, start = np.unravel_index(np.argmax(weights[:, ::-1].T), weights.shape)
    first, last = int(start), len(labels) - 1 - int(end)
    return CheckpointSpan(
        labels=labels[first : last + 1],
        questions=frozenset(
            question
            for question, spans in runs.items()
            if any(begin <= first and last <= until for begin, until in spans)
        ),
    )


def _find_spans(
    rows: Iterable[TrialRow], labels: tuple[str, ...], repeats: int
) -> dict[StretchQuestion, list[tuple[int, int]]]:
    """For each question the first and the last of every row of checkpoints it has points at."""
    place = {label: number for number, label in enumerate(labels)}
    counted: dict[StretchQuestion, Counter[int]] = {}
    for row in rows:
        if row.points is not None:
            question = row.trial.scenario, row.trial.item
            counted.setdefault(question, Counter())[place[row.trial.checkpoint]] += 1
    return {
        question: _group_consecutive(
            sorted(number for number, times in found.items() if times == repeats)
        )
        for question, found in counted.items()
    }


def _group_consecutive(places: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1] = found[-1][0], place
        else:
            found.append((place, place))
    return found


def _count_spans(runs: Mapping[StretchQuestion, list[tuple[int, int]]], count: int) -> Ints:
    """How many questions were asked from each checkpoint, by row, to each, by column."""
    ends = np.zeros((count, count), np.int64)
    for spans in runs.values():
        for first, last in spans:
            ends[first, last] += 1
    return np.asarray(ends.cumsum(axis=0)[:, ::-1].cumsum(axis=1)[:, ::-1], np.int64)


def _sum_squares(days: Floats) -> Floats:
    """The squares of the distances to the mean, summed from each checkpoint to each later one."""
    count = len(days)
    totals = np.concatenate([[0.0], days.cumsum()])
    squares = np.concatenate([[0.0], (days**2).cumsum()])
    length = np.arange(1, count + 1) - np.arange(count)[:, np.newaxis]
    total = totals[1:] - totals[:-1, np.newaxis]
    square = squares[1:] - squares[:-1, np.newaxis]
    return np.where(length > 1, square - total**2 / np.maximum(length, 1), 0.0)
