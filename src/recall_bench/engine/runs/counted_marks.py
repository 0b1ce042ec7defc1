"""The owed trials of a run as arrays, to be summed thousands of times, and the best span of them.

A run may owe millions of trials, so nothing is kept but a byte a trial. The trials of a checkpoint
are looked up when they are asked for.

The questions of a run change from one checkpoint to the next, and their mean with them. So the same
questions are followed over consecutive checkpoints at each of which every repeat has points. A long
span has few such questions, a short one shows little. The span is chosen that determines a slope
best: the variance of a slope is inverse to

    questions x sum over checkpoints of (days - mean days) squared

and of equal spans the one that ends later is taken.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recall_bench.core.scenario import Item
from recall_bench.core.trial_states import (
    ScenarioStates,
    TrialState,
    TrialStatus,
    unpack_status,
)
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.leak_counts import BoundaryReading
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.metrics.bootstrap import Bools, Floats, Ints, QuestionNumbers
from recall_bench.metrics.estimate import Limits, MarkTally

POINTS: Final[Limits] = (0.0, float(FULL_MARKS))
"""The lowest and highest points of a trial."""
RATE: Final[Limits] = (0.0, 1.0)
"""The lowest and highest value of a rate."""

_Bytes = NDArray[np.uint8]
_NOTHING, _GUARDED, _LEAKED = 0, 1, 2
"""A leak cannot be noticed; it can, and there is none; there is one."""


def _tabulate(mark: Callable[[TrialStatus], float | None]) -> Floats:
    """The mark of each status, by the byte that `core/trial_states.py` packs it into; NaN for none.

    `_pack_verdict` there writes the byte, and `unpack_status` reads it.
    """
    marks = (mark(unpack_status(byte)) for byte in range(256))
    return np.array([np.nan if value is None else value for value in marks])


def _count_points(status: TrialStatus) -> int | None:
    if status.state is TrialState.JUDGED:
        return status.composite
    return 0 if status.state is TrialState.NOT_ANSWERED else None


def _is_hallucination(status: TrialStatus) -> bool | None:
    return status.grounded == 0 if status.state is TrialState.JUDGED else None


_POINTS_OF_BYTE = _tabulate(_count_points)
_UNGROUNDED_OF_BYTE = _tabulate(_is_hallucination)
_IS_UNANSWERED = _tabulate(lambda status: status.state is TrialState.NOT_ANSWERED) == 1
_IS_DONE = _tabulate(lambda status: status.state in (TrialState.MEASURED, TrialState.JUDGED)) == 1


class CountedTrials:
    """Some owed trials: the number of the question, the state and the leak of each."""

    __slots__ = ("leak", "question", "score", "status")

    def __init__(
        self, question: Ints, status: _Bytes, leak: _Bytes, score: Floats | None = None
    ) -> None:
        self.question = question
        self.status = status
        self.leak = leak
        self.score = score
        """From 0 to 1, where a dataset's protocol scores the trials; NaN for none."""

    def select(self, chosen: Bools) -> "CountedTrials":
        """Select some of the trials."""
        return CountedTrials(
            self.question[chosen],
            self.status[chosen],
            self.leak[chosen],
            None if self.score is None else self.score[chosen],
        )

    def select_counted(self) -> "CountedTrials":
        """Select the trials that have points of a judge."""
        return self.select(~np.isnan(_POINTS_OF_BYTE[self.status]))

    def tally_points(self, resamples: int) -> MarkTally:
        """Tally the points, of six."""
        if self.score is None:
            return _tally(self, _POINTS_OF_BYTE[self.status], POINTS, resamples)
        # A figure need not apply to all questions, and lacks none of the others.
        scored = self.select(~np.isnan(self.score) | ~_IS_DONE[self.status])
        marks = FULL_MARKS * np.asarray(scored.score, np.float64)
        return _tally(scored, marks, POINTS, resamples)

    def tally_ungrounded(self, resamples: int) -> MarkTally:
        """Tally the answers that are not grounded."""
        return _tally(self, _UNGROUNDED_OF_BYTE[self.status], RATE, resamples)

    def tally_invented(self, resamples: int) -> MarkTally:
        """Tally the answers that are invented."""
        marks = _UNGROUNDED_OF_BYTE[self.status]
        marks[(marks == 1) & (self.leak == _LEAKED)] = 0
        return _tally(self, marks, RATE, resamples)

    def tally_leaked(self, resamples: int) -> MarkTally:
        """Tally the answers that leak, of those in which a leak could be noticed."""
        guarded = self.select(self.leak != _NOTHING)
        marks = (guarded.leak == _LEAKED).astype(np.float64)
        return _tally(guarded, marks, RATE, resamples)


def _tally(trials: CountedTrials, marks: Floats, limits: Limits, resamples: int) -> MarkTally:
    """Tally what has a mark; what has none is missing, except for a question not answered."""
    is_open = np.isnan(marks)
    missing = int(np.count_nonzero(is_open & ~_IS_UNANSWERED[trials.status]))
    return MarkTally(trials.question[~is_open], marks[~is_open], limits, resamples, missing)


class CountedMarks:
    """The trials of a run, by persona and checkpoint."""

    def __init__(
        self,
        scenarios: Mapping[str, ScenarioStates],
        boundaries: Mapping[str, BoundaryReading],
        scores: TrialTable | None = None,
    ) -> None:
        self._scenarios = scenarios
        self._leaks = {
            name: _mark_leaks(len(scenarios[name].grid), boundary)
            for name, boundary in boundaries.items()
        }
        self._scores = None if scores is None else _place_scores(scenarios, self._leaks, scores)
        self.has_scores = scores is not None
        self._first: dict[str, int] = {}
        keys: list[tuple[str, str | int]] = []
        for name in self._leaks:
            self._first[name] = len(keys)
            items = scenarios[name].items
            keys += [(name, item.template or number) for number, item in enumerate(items)]
        self.numbers = QuestionNumbers.build(keys)

    def read(self, personas: Iterable[str], place: int | None = None) -> CountedTrials:
        """Read the trials of some personas, at one checkpoint or at all."""
        parts = [
            self._read_place(name, number)
            for name in personas
            for number in (self._list_places(name) if place is None else (place,))
        ]
        if len(parts) == 1:
            return parts[0]
        return CountedTrials(
            np.concatenate([np.empty(0, np.int64), *(part.question for part in parts)]),
            np.concatenate([np.empty(0, np.uint8), *(part.status for part in parts)]),
            np.concatenate([np.empty(0, np.uint8), *(part.leak for part in parts)]),
            None
            if self._scores is None
            else np.concatenate([np.empty(0), *(part.score for part in parts)]),
        )

    def number_kinds(self, kind: Callable[[Item], str | None]) -> tuple[list[str], Ints]:
        """List the kinds of questions, and the number of the kind of each question, or -1."""
        names: dict[str, int] = {}
        kinds = [kind(item) for name in self._first for item in self._scenarios[name].items]
        numbers = [-1 if name is None else names.setdefault(name, len(names)) for name in kinds]
        return list(names), np.array(numbers, np.int64)

    def _list_places(self, name: str) -> range:
        return range(len(self._scenarios[name].checkpoint_plans))

    def _read_place(self, name: str, place: int) -> CountedTrials:
        states = self._scenarios[name]
        items = np.array(states.checkpoint_plans[place].asked, np.int64)
        starts = [states.compute_slot(place, repeat, 0) for repeat in range(states.repeats)]
        slots = (np.array(starts, np.int64)[:, np.newaxis] + items).ravel()
        return CountedTrials(
            np.tile(items + self._first[name], states.repeats),
            np.frombuffer(states.grid, np.uint8)[slots],
            self._leaks[name][slots],
            None if self._scores is None else self._scores[name][slots],
        )


def _mark_leaks(count: int, boundary: BoundaryReading) -> _Bytes:
    leaks = np.full(count, _NOTHING, np.uint8)
    leaks[list(boundary.guarded)] = _GUARDED
    leaks[list(boundary.leaked)] = _LEAKED
    return leaks


def _place_scores(
    scenarios: Mapping[str, ScenarioStates], personas: Iterable[str], table: TrialTable
) -> dict[str, Floats]:
    scores = {name: np.full(len(scenarios[name].grid), np.nan) for name in personas}
    for row in table.rows:
        if row.score is not None:
            scenario = row.trial.scenario
            scores[scenario][scenarios[scenario].find_slot(row.trial)] = row.score
    return scores


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
