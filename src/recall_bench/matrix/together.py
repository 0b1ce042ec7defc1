"""Cells that are carried out at the same time, by one crew and within one budget."""

from collections.abc import Sequence

import anyio

from recall_bench.core.event import Event
from recall_bench.core.standing import TrialStates
from recall_bench.ending import build_result, catch_stop
from recall_bench.errors import BenchError, Interrupted
from recall_bench.executors.opening import SharedPool, open_pool
from recall_bench.interruption import cancel_on_signals
from recall_bench.matrix.budget import SharedBudget
from recall_bench.matrix.cells import AssembledCell, MatrixCell
from recall_bench.matrix.outcome import (
    CellOutcome,
    MatrixWatcher,
    check_known,
    fail_cell,
    make_outcome,
    skip_cell,
)


def run_cells_together(
    cells: Sequence[AssembledCell], watcher: MatrixWatcher, budget: SharedBudget
) -> tuple[CellOutcome, ...]:
    """Every cell, as many at a time as there are workers; what stops one stops no other.

    An interruption ends it all. Once the money of all is spent, nothing new is begun in any cell.
    """
    return anyio.run(_PooledCells(cells, watcher, budget).run)


class _PooledCells:
    def __init__(
        self, cells: Sequence[AssembledCell], watcher: MatrixWatcher, budget: SharedBudget
    ) -> None:
        self._cells = cells
        self._watcher = watcher
        self._budget = budget
        self._outcomes: dict[str, CellOutcome] = {}
        self._begun: set[str] = set()

    async def run(self) -> tuple[CellOutcome, ...]:
        with anyio.CancelScope() as scope, cancel_on_signals(scope) as received:
            async with open_pool(self._cells[0].cell.settings) as hired:
                await self._run_all(hired)
        interrupted = Interrupted(received[0]) if received else None
        for each in self._cells:
            if each.cell.label not in self._outcomes and interrupted is not None:
                self._finish_cell(self._interrupt_cell(each, interrupted))
        return tuple(self._outcomes[each.cell.label] for each in self._cells)

    async def _run_all(self, hired: SharedPool) -> None:
        begun = anyio.Semaphore(hired.crew.size)
        async with anyio.create_task_group() as group:
            for each in self._cells:
                await begun.acquire()
                group.start_soon(self._run_one, each, hired, begun)

    async def _run_one(
        self, each: AssembledCell, hired: SharedPool, begun: anyio.Semaphore
    ) -> None:
        try:
            self._finish_cell(await self._run_cell(each, hired))
        finally:
            begun.release()

    async def _run_cell(self, each: AssembledCell, hired: SharedPool) -> CellOutcome:
        job = each.job
        if isinstance(job, BenchError):
            return fail_cell(each.cell, job)
        known = check_known(each.cell, job, self._budget)
        if known is not None:
            await job.staff.close()
            return known
        self._watcher.begin(each.cell)
        self._begun.add(each.cell.label)
        self._budget.bind(job)
        try:
            run = job.run(self._make_observer(each.cell), hired.make_runner(job))
            stopped_by = await catch_stop(run)
            return make_outcome(
                each.cell, await anyio.to_thread.run_sync(build_result, job, stopped_by)
            )
        except BenchError as error:
            return CellOutcome(cell=each.cell, exit_code=error.exit_code, reason=str(error))

    def _make_observer(self, cell: MatrixCell) -> "_CellObserver":
        return _CellObserver(cell, self._watcher, self._budget)

    def _interrupt_cell(self, each: AssembledCell, why: Interrupted) -> CellOutcome:
        if each.cell.label not in self._begun or isinstance(each.job, BenchError):
            return skip_cell(each.cell, why)
        return make_outcome(each.cell, build_result(each.job, why))

    def _finish_cell(self, outcome: CellOutcome) -> None:
        self._outcomes[outcome.cell.label] = outcome
        self._watcher.end(outcome)


class _CellObserver:
    def __init__(self, cell: MatrixCell, watcher: MatrixWatcher, budget: SharedBudget) -> None:
        self._cell = cell
        self._watcher = watcher
        self._budget = budget

    def __call__(self, event: Event, standings: TrialStates) -> None:
        self._budget.record(self._cell.folder, standings.usage + standings.reading_usage)
        self._watcher.note(self._cell, event, standings)
