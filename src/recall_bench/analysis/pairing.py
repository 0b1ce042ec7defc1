"""Which trials of two runs are the same trial, and what becomes of the others.

A trial is the same if it is about the same persona, a question whose every word and truth is the
same, and put after the same days for the same time. Ids alone say nothing: a question that was
repaired keeps its id.
"""

from collections import Counter
from dataclasses import dataclass

from recall_bench.analysis.trials import TrialRow, TrialTable
from recall_bench.core.plan import Trial
from recall_bench.core.record import Record
from recall_bench.statistics.comparison import TrialMarks

NO_PERSONA = "of a persona that the other run has not"
NO_QUESTION = "about a question that the other run has not"
CHANGED_QUESTION = "about a question that reads otherwise in the other run"
NO_CHECKPOINT = "at a checkpoint that the other run does not come to, or after other days"
NO_REPEAT = "put more often than in the other run"
NOT_ASKED = "not asked in the other run"
"""The reasons to leave a trial out, the first that holds; the last where a sample, the group
categories or a system that cannot know who asks left the question out."""


class DroppedTrials(Record, frozen=True, kw_only=True):
    """Trials left out of a comparison for one reason."""

    reason: str
    first: int
    second: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPairs:
    """The trials that two runs both owe, and what was left out."""

    trials: frozenset[Trial]
    dropped: tuple[DroppedTrials, ...]

    def select_marks(self, marks: TrialMarks) -> dict[Trial, float]:
        """The marks of these trials."""
        return {trial: mark for trial, mark in marks.items() if trial in self.trials}


def pair_trials(first: TrialTable, second: TrialTable) -> TrialPairs:
    """The trials that are the same in both runs."""
    ours, theirs = _find_objections(first, second), _find_objections(second, first)
    left_out = {trial: reason for trial, reason in ours.items() if reason is not None}
    counts = Counter(left_out.values()), Counter(reason for reason in theirs.values() if reason)
    return TrialPairs(
        trials=frozenset(ours.keys() - left_out.keys()),
        dropped=tuple(
            DroppedTrials(reason=reason, first=counts[0][reason], second=counts[1][reason])
            for reason in (
                NO_PERSONA,
                NO_QUESTION,
                CHANGED_QUESTION,
                NO_CHECKPOINT,
                NO_REPEAT,
                NOT_ASKED,
            )
            if counts[0][reason] or counts[1][reason]
        ),
    )


def _find_objections(own: TrialTable, other: TrialTable) -> dict[Trial, str | None]:
    """For each trial the first reason that it is not one of the other run's, if there is one."""
    alike = _match_questions(own, other)
    places, trials = {_locate_row(row) for row in other.rows}, {row.trial for row in other.rows}
    found: dict[Trial, str | None] = {}
    for row in own.rows:
        trial = row.trial
        if trial.scenario not in other.items:
            reason: str | None = NO_PERSONA
        elif (same := alike[trial.scenario].get(trial.item)) is None:
            reason = NO_QUESTION
        elif not same:
            reason = CHANGED_QUESTION
        elif _locate_row(row) not in places:
            reason = NO_CHECKPOINT
        elif trial.repeat >= other.plan.repeats:
            reason = NO_REPEAT
        else:
            reason = None if trial in trials else NOT_ASKED
        found[trial] = reason
    return found


def _match_questions(own: TrialTable, other: TrialTable) -> dict[str, dict[str, bool]]:
    """For each question that both know by this id, whether it is the same question."""
    alike: dict[str, dict[str, bool]] = {}
    for scenario in own.items.keys() & other.items.keys():
        theirs = {item.id: item for item in other.items[scenario]}
        alike[scenario] = {
            item.id: item == theirs[item.id] for item in own.items[scenario] if item.id in theirs
        }
    return alike


def _locate_row(row: TrialRow) -> tuple[str, str, int, int]:
    return row.trial.scenario, row.trial.checkpoint, row.days, row.cutoff
