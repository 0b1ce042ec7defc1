"""The board counts each trial once, however many events it has, and shows its state."""

from collections.abc import Sequence
from pathlib import Path

from recall_bench.core.event import Event, NotAnswered, NotJudged
from recall_bench.core.trial_states import TrialStates
from recall_bench.engine.experiment import ExperimentCell
from recall_bench.engine.job import Job
from recall_bench.features.comparison.matrix_progress import CellLine, MatrixBoard
from tests.ada_trials import NEW, NOW, OLD, RIGHT, WRONG, answered, judged


def assemble() -> Job:
    raise AssertionError("the board only follows the cell")


CELL = ExperimentCell(label="default/1/a", folder=Path("there"), assemble=assemble)


def followed(states: TrialStates, events: Sequence[Event]) -> CellLine:
    """The line of the cell after these, one a second."""
    now = [0.0]
    board = MatrixBoard([CELL.label], lambda: now[0])
    board.begin(CELL)
    for event in events:
        now[0] += 1
        states.apply_event(event)
        board.note(CELL, event, states)
    return board.lines[CELL.label]


def test_a_failure_that_is_reviewed_at_once_is_done(states: TrialStates) -> None:
    line = followed(states, [answered(OLD), judged(OLD, RIGHT, primary=WRONG)])

    assert (line.done, line.owed, line.fresh) == (1, 2, 1)


def test_a_second_word_on_a_trial_is_no_second_trial(states: TrialStates) -> None:
    verdicts = [judged(OLD, WRONG), judged(OLD, WRONG, review_fault="JudgeBusy: later")]

    line = followed(states, [answered(OLD), *verdicts])

    assert (line.done, line.fresh) == (1, 1)


def test_a_first_event_that_ends_a_trial_is_counted_once(states: TrialStates) -> None:
    """As where a run that goes on judges an answer of an earlier process."""
    states.apply_event(answered(OLD))

    line = followed(states, [judged(OLD)])

    assert (line.done, line.owed) == (1, 2)


def test_errors_are_trials_without_answer_or_verdict_until_they_are_mended(
    states: TrialStates,
) -> None:
    unjudged = NotJudged(at=NOW, trial=OLD, fault="JudgeBusy", message="later")
    unanswered = NotAnswered(at=NOW, trial=NEW, fault="SystemFault", message="", seconds=1.0)
    states.apply_event(answered(OLD))

    assert followed(states, [unjudged, unanswered]).errors == 2
    assert followed(states, [judged(OLD)]).errors == 1
