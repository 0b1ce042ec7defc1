"""Cells that are carried out at the same time, by one crew and within one budget."""

from collections.abc import Sequence

import anyio

from recall_bench.core.event import Event
from recall_bench.core.standing import Standings
from recall_bench.ending import finished, stopping
from recall_bench.errors import BenchError, Interrupted
from recall_bench.executors.opening import Team, team
from recall_bench.interruption import cancelled_by_signals
from recall_bench.matrix.budget import Budget
from recall_bench.matrix.cells import Assembled, Cell
from recall_bench.matrix.outcome import (
    Outcome,
    Watcher,
    ended,
    known_before,
    not_begun,
    unreachable,
)


def carry_out_together(
    cells: Sequence[Assembled], watcher: Watcher, budget: Budget
) -> tuple[Outcome, ...]:
    """Every cell, as many at a time as there are workers; what stops one stops no other.

    An interruption ends it all. Once the money of all is spent, nothing new is begun in any cell.
    """
    return anyio.run(_Together(cells, watcher, budget).carry_out)


class _Together:
    def __init__(self, cells: Sequence[Assembled], watcher: Watcher, budget: Budget) -> None:
        self._cells = cells
        self._watcher = watcher
        self._budget = budget
        self._outcomes: dict[str, Outcome] = {}
        self._begun: set[str] = set()

    async def carry_out(self) -> tuple[Outcome, ...]:
        with anyio.CancelScope() as scope, cancelled_by_signals(scope) as received:
            async with team(self._cells[0].cell.settings) as hired:
                await self._all(hired)
        interrupted = Interrupted(received[0]) if received else None
        for each in self._cells:
            if each.cell.label not in self._outcomes and interrupted is not None:
                self._end(self._cut_off(each, interrupted))
        return tuple(self._outcomes[each.cell.label] for each in self._cells)

    async def _all(self, hired: Team) -> None:
        begun = anyio.Semaphore(hired.crew.size)
        async with anyio.create_task_group() as group:
            for each in self._cells:
                await begun.acquire()
                group.start_soon(self._one, each, hired, begun)

    async def _one(self, each: Assembled, hired: Team, begun: anyio.Semaphore) -> None:
        try:
            self._end(await self._outcome(each, hired))
        finally:
            begun.release()

    async def _outcome(self, each: Assembled, hired: Team) -> Outcome:
        job = each.job
        if isinstance(job, BenchError):
            return unreachable(each.cell, job)
        known = known_before(each.cell, job, self._budget)
        if known is not None:
            await job.staff.close()
            return known
        self._watcher.begin(each.cell)
        self._begun.add(each.cell.label)
        self._budget.bind(job)
        try:
            run = job.run(self._observer(each.cell), hired.conduct(job))
            stopped_by = await stopping(run)
            return ended(each.cell, await anyio.to_thread.run_sync(finished, job, stopped_by))
        except BenchError as error:
            return Outcome(cell=each.cell, exit_code=error.exit_code, reason=str(error))

    def _observer(self, cell: Cell) -> "_Observer":
        return _Observer(cell, self._watcher, self._budget)

    def _cut_off(self, each: Assembled, why: Interrupted) -> Outcome:
        if each.cell.label not in self._begun or isinstance(each.job, BenchError):
            return not_begun(each.cell, why)
        return ended(each.cell, finished(each.job, why))

    def _end(self, outcome: Outcome) -> None:
        self._outcomes[outcome.cell.label] = outcome
        self._watcher.end(outcome)


class _Observer:
    def __init__(self, cell: Cell, watcher: Watcher, budget: Budget) -> None:
        self._cell = cell
        self._watcher = watcher
        self._budget = budget

    def __call__(self, event: Event, standings: Standings) -> None:
        self._budget.hear(self._cell.folder, standings.usage + standings.reading_usage)
        self._watcher.note(self._cell, event, standings)
