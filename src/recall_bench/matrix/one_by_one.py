"""The cells of a matrix one after another; what stops one of them does not stop the others."""

from collections.abc import Callable, Sequence

from recall_bench.core.event import Event
from recall_bench.core.standing import Standings
from recall_bench.ending import Finished, carry_out
from recall_bench.errors import BenchError, Interrupted
from recall_bench.job import Job, Observer
from recall_bench.matrix.budget import Budget
from recall_bench.matrix.cells import Assembled, close_all
from recall_bench.matrix.outcome import (
    Outcome,
    Watcher,
    ended,
    known_before,
    not_begun,
    unreachable,
)

CarryOut = Callable[[Job, Observer], Finished]
"""Carries out the job of ONE cell to its end, or to what stops it."""

_SIGNALS = 128


def carry_out_one_by_one(
    cells: Sequence[Assembled],
    watcher: Watcher,
    budget: Budget,
    carry: CarryOut = carry_out,
) -> tuple[Outcome, ...]:
    """Every cell in turn; a finished one is not touched.

    An interruption ends it all. Once the money of all is spent, no cell that is unfinished is
    begun any more.
    """
    outcomes: list[Outcome] = []
    stopped: BenchError | None = None
    for each in cells:
        if stopped is not None:
            close_all([each])
            outcome = not_begun(each.cell, stopped)
        else:
            outcome = _carried_out(each, watcher, budget, carry)
            if outcome.exit_code > _SIGNALS:
                stopped = Interrupted(outcome.exit_code - _SIGNALS)
        watcher.end(outcome)
        outcomes.append(outcome)
    return tuple(outcomes)


def _carried_out(each: Assembled, watcher: Watcher, budget: Budget, carry: CarryOut) -> Outcome:
    cell, job = each.cell, each.job
    if isinstance(job, BenchError):
        return unreachable(cell, job)
    known = known_before(cell, job, budget)
    if known is not None:
        close_all([each])
        return known
    budget.bind(job)
    watcher.begin(cell)

    def observe(event: Event, standings: Standings) -> None:
        watcher.note(cell, event, standings)

    try:
        finished = carry(job, observe)
    except BenchError as error:
        return Outcome(cell=cell, exit_code=error.exit_code, reason=str(error))
    finally:
        budget.note(cell.folder)
    return ended(cell, finished)
