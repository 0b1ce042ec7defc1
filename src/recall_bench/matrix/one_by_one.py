"""The cells of a matrix one after another; what stops one of them does not stop the others."""

from collections.abc import Callable, Sequence

from recall_bench.core.event import Event
from recall_bench.core.standing import TrialStates
from recall_bench.ending import Finished, execute
from recall_bench.errors import BenchError, Interrupted
from recall_bench.job import Job, Observer
from recall_bench.matrix.budget import SharedBudget
from recall_bench.matrix.cells import AssembledCell, close_all
from recall_bench.matrix.outcome import (
    CellOutcome,
    MatrixWatcher,
    check_known,
    fail_cell,
    make_outcome,
    skip_cell,
)

ExecuteJob = Callable[[Job, Observer], Finished]
"""Carries out the job of ONE cell to its end, or to what stops it."""

_SIGNALS = 128


def run_cells_in_turn(
    cells: Sequence[AssembledCell],
    watcher: MatrixWatcher,
    budget: SharedBudget,
    carry: ExecuteJob = execute,
) -> tuple[CellOutcome, ...]:
    """Every cell in turn; a finished one is not touched.

    An interruption ends it all. Once the money of all is spent, no cell that is unfinished is
    begun any more.
    """
    outcomes: list[CellOutcome] = []
    stopped: BenchError | None = None
    for each in cells:
        if stopped is not None:
            close_all([each])
            outcome = skip_cell(each.cell, stopped)
        else:
            outcome = _run_cell(each, watcher, budget, carry)
            if outcome.exit_code > _SIGNALS:
                stopped = Interrupted(outcome.exit_code - _SIGNALS)
        watcher.end(outcome)
        outcomes.append(outcome)
    return tuple(outcomes)


def _run_cell(
    each: AssembledCell, watcher: MatrixWatcher, budget: SharedBudget, carry: ExecuteJob
) -> CellOutcome:
    cell, job = each.cell, each.job
    if isinstance(job, BenchError):
        return fail_cell(cell, job)
    known = check_known(cell, job, budget)
    if known is not None:
        close_all([each])
        return known
    budget.bind(job)
    watcher.begin(cell)

    def observe(event: Event, standings: TrialStates) -> None:
        watcher.note(cell, event, standings)

    try:
        finished = carry(job, observe)
    except BenchError as error:
        return CellOutcome(cell=cell, exit_code=error.exit_code, reason=str(error))
    finally:
        budget.update(cell.folder)
    return make_outcome(cell, finished)
