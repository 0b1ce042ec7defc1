"""What became of a cell, and who hears of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from recall_bench.core.event import Event
from recall_bench.core.standing import TrialStates
from recall_bench.ending import Finished
from recall_bench.errors import BenchError, BudgetSpent
from recall_bench.job import Job
from recall_bench.matrix.budget import SharedBudget
from recall_bench.matrix.cells import MatrixCell, is_run_finished


class CellStage(StrEnum):
    """How far a cell has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """Ended without all that is owed, or with more failures than its budget allows."""
    NOT_BEGUN = "not begun"
    """Left for the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOutcome:
    """What became of one cell."""

    cell: MatrixCell
    exit_code: int
    reason: str | None = None
    """Why it is not done, where it is not."""
    was_finished: bool = False
    """Whether it was done before, so that nobody was asked anything."""
    was_begun: bool = True

    @property
    def stage(self) -> CellStage:
        """Whether it may be reported as done."""
        if self.exit_code == 0:
            return CellStage.DONE
        return CellStage.FAILED if self.was_begun else CellStage.NOT_BEGUN


class MatrixWatcher(Protocol):
    """Follows all cells."""

    def begin(self, cell: MatrixCell) -> None:
        """A cell is started or continued."""

    def note(self, cell: MatrixCell, event: Event, standings: TrialStates) -> None:
        """Something happened in it."""

    def end(self, outcome: CellOutcome) -> None:
        """It came to a stop."""


def find_worst_code(outcomes: Sequence[CellOutcome]) -> int:
    """The exit code of the whole: the largest of the cells'."""
    return max((each.exit_code for each in outcomes), default=0)


def skip_cell(cell: MatrixCell, why: BenchError) -> CellOutcome:
    """A cell that was finished before, or one that is left for the next time."""
    if is_run_finished(cell.folder):
        return CellOutcome(cell=cell, exit_code=0, was_finished=True)
    return CellOutcome(
        cell=cell, exit_code=why.exit_code, reason=f"not begun: {why}", was_begun=False
    )


def fail_cell(cell: MatrixCell, why: BenchError) -> CellOutcome:
    """A cell whose system cannot be reached."""
    return CellOutcome(cell=cell, exit_code=why.exit_code, reason=str(why))


def check_known(cell: MatrixCell, job: Job, budget: SharedBudget) -> CellOutcome | None:
    """What became of a cell that needs no work, or may do none; None if it is to be begun."""
    if is_run_finished(cell.folder) and not cell.settings.retry_errors:
        return make_outcome(cell, _open_result(job), was_finished=True)
    if (spent := budget.exhausted) is not None:
        return skip_cell(cell, BudgetSpent(f"{spent}; the same command with more goes on"))
    return None


def _open_result(job: Job) -> Finished:
    """A run that was finished before, as its journal has it; none of its files is written."""
    from recall_bench.reporting.folder import RunFolder
    from recall_bench.reporting.summary import summarise

    folder = RunFolder.open(job.folder)
    return Finished(folder=folder, summary=summarise(folder), warnings=(), was_finished=True)


def make_outcome(
    cell: MatrixCell, finished: Finished, *, was_finished: bool = False
) -> CellOutcome:
    """What became of a cell whose run came to a stop."""
    reason = None
    if finished.stopped_by is not None:
        reason = str(finished.stopped_by)
    elif finished.exit_code:
        reason = finished.summary.validity.reason or _describe_shortfall(finished)
    return CellOutcome(
        cell=cell, exit_code=finished.exit_code, reason=reason, was_finished=was_finished
    )


def _describe_shortfall(finished: Finished) -> str:
    overall = finished.summary.overall
    return f"{overall.failed} of {overall.owed} trials have no verdict"
