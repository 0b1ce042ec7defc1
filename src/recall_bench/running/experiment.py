"""An experiment: cells of (settings, dataset), each one run in a folder of its own.

`run` is one cell, `rejudge` a cell with recorded answers, `ablate` a base and its variants, `eval`
a system and its controls, `matrix` a product of systems, settings and seeds. `Experiment.run` ends
with the first cell that is stopped; `run_in_turn` and `run_together` go on with the others.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio

from recall_bench.core.errors import BenchError, BudgetSpent, Interrupted
from recall_bench.core.event import Event
from recall_bench.core.settings import Settings
from recall_bench.core.signals import cancel_on_signals
from recall_bench.core.trial_states import TrialStates
from recall_bench.core.usage import Usage
from recall_bench.running.execution import build_result, catch_stop, execute
from recall_bench.running.executor import OnPool, SharedPool, open_pool
from recall_bench.running.job import Job, Observer
from recall_bench.runs.journal import JOURNAL, read_events
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.run_result import RunResult
from recall_bench.runs.summary import summarise

_SIGNALS = 128
"""Exit codes above this name a signal."""

ExecuteJob = Callable[[Job, Observer], RunResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentCell:
    """One run of an experiment, assembled when its turn comes."""

    label: str
    assemble: Callable[[], Job]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Cells that are run in turn; the same command continues where it was stopped."""

    cells: Iterable[ExperimentCell]

    def run(
        self,
        observe: Observer | None = None,
        on_pool: OnPool = lambda _: None,
        on_cell: Callable[[str], None] = lambda _: None,
    ) -> Iterator[tuple[str, RunResult]]:
        """Yield the label and the result of each cell; end after one that was stopped.

        `on_cell` is called with the label before a cell is run. A finished cell is not run again.
        """
        for cell in self.cells:
            on_cell(cell.label)
            job = cell.assemble()
            result = reopen_result(job) or execute(job, observe, on_pool)
            yield cell.label, result
            if result.stopped_by is not None:
                return


def is_run_finished(folder: Path) -> bool:
    """Whether the folder holds a finished run."""
    journal = folder / JOURNAL
    if not journal.exists() or next(read_events(journal), None) is None:
        return False
    return RunFolder.open(folder).is_finished


def reopen_result(job: Job) -> RunResult | None:
    """Return the result of a job that was finished before, and close it; None if it was not.

    No file is written.
    """
    if not is_run_finished(job.folder):
        return None
    anyio.run(job.components.close)
    return read_result(job)


def read_result(job: Job) -> RunResult:
    """Read the result of a finished job from its folder."""
    folder = RunFolder.open(job.folder)
    return RunResult(
        folder=folder, summary=summarise(folder), warnings=tuple(job.warnings), was_finished=True
    )


class SpendingLimits(Protocol):
    """What all cells together may spend."""

    @property
    def max_cost_usd(self) -> float | None:
        """Dollars; None is no limit."""

    @property
    def max_tokens(self) -> int | None:
        """Tokens; None is no limit."""


@dataclass(slots=True)
class SharedBudget:
    """What all cells may spend together, and what each has spent so far."""

    limits: SpendingLimits
    spent: dict[Path, Usage]

    @classmethod
    def from_folders(cls, limits: SpendingLimits, folders: Iterable[Path]) -> "SharedBudget":
        """Begin with what the journals in these folders say was spent before."""
        budget = cls(limits, {})
        for folder in folders:
            budget.update(folder)
        return budget

    @property
    def total(self) -> Usage:
        """What all cells have spent."""
        return sum(self.spent.values(), start=Usage())

    def update(self, folder: Path) -> None:
        """Read what a cell has spent from its journal, unless there is no limit."""
        if (self.limits.max_cost_usd, self.limits.max_tokens) != (None, None):
            self.spent[folder] = read_spent(folder)

    @property
    def exhausted(self) -> str | None:
        """Which limit was reached, in words; None if none was."""
        total, limits = self.total, self.limits
        if limits.max_cost_usd is not None and total.cost_usd >= limits.max_cost_usd:
            return f"all cells together cost ${total.cost_usd:.4f} of ${limits.max_cost_usd:.4f}"
        if limits.max_tokens is not None and total.tokens >= limits.max_tokens:
            return f"all cells together took {total.tokens:,} of {limits.max_tokens:,} tokens"
        return None

    def record(self, folder: Path, spent: Usage) -> None:
        """Note what a cell has spent by now."""
        self.spent[folder] = spent

    def sum_others(self, folder: Path) -> Usage:
        """Sum what all other cells have spent by now."""
        others = (spent for place, spent in self.spent.items() if place != folder)
        return sum(others, start=Usage())

    def bind(self, job: Job) -> None:
        """Let a job keep to the shared limits, counting what the other cells have spent."""
        job.settings = replace(
            job.settings,
            max_cost_usd=self.limits.max_cost_usd,
            max_tokens=self.limits.max_tokens,
        )
        job.spent_elsewhere = partial(self.sum_others, job.folder)


def read_spent(folder: Path) -> Usage:
    """Read what judging and reading have cost in a run folder."""
    if not (folder / JOURNAL).exists() or not (folder / JOURNAL).stat().st_size:
        return Usage()
    states = RunFolder.open(folder).states
    return states.usage + states.reading_usage


class CellStage(StrEnum):
    """How far a cell has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """Ended without all that is owed, or with more failures than its budget allows."""
    NOT_BEGUN = "not begun"
    """Left for the next time."""


class RunCell(Protocol):
    """A cell that is known by its label and its folder."""

    @property
    def label(self) -> str:
        """Names the cell in its experiment."""
        ...

    @property
    def folder(self) -> Path:
        """The run folder."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings of the run."""
        ...


@dataclass(slots=True, kw_only=True)
class AssembledCell:
    """A cell with its job."""

    cell: RunCell
    job: Job | BenchError
    """Why there is none, if the system cannot be reached."""

    @property
    def warnings(self) -> list[str]:
        """The warnings of the job."""
        return self.job.warnings if isinstance(self.job, Job) else []


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOutcome:
    """How one cell ended."""

    cell: RunCell
    exit_code: int
    reason: str | None = None
    """Why it is not done, if it is not."""
    was_finished: bool = False
    """Whether it was finished before, so that nothing was asked."""
    was_begun: bool = True

    @property
    def stage(self) -> CellStage:
        """The stage to report."""
        if self.exit_code == 0:
            return CellStage.DONE
        return CellStage.FAILED if self.was_begun else CellStage.NOT_BEGUN


class CellWatcher(Protocol):
    """Follows all cells."""

    def begin(self, cell: RunCell) -> None:
        """Note that a cell is started or continued."""

    def note(self, cell: RunCell, event: Event, states: TrialStates) -> None:
        """Note an event of a cell."""

    def end(self, outcome: CellOutcome) -> None:
        """Note that a cell has ended or stopped."""


def find_worst_code(outcomes: Sequence[CellOutcome]) -> int:
    """Return the exit code of the whole: the largest of the cells'."""
    return max((each.exit_code for each in outcomes), default=0)


def close_all(cells: Sequence[AssembledCell]) -> None:
    """Close the components of jobs that are not run."""
    for each in cells:
        if isinstance(each.job, Job):
            anyio.run(each.job.components.close)


def run_in_turn(
    cells: Sequence[AssembledCell],
    watcher: CellWatcher,
    budget: SharedBudget,
    execute_job: ExecuteJob = execute,
) -> tuple[CellOutcome, ...]:
    """Run every cell in turn; what stops one does not stop the others.

    A signal ends everything. Once the shared budget is spent, no unfinished cell is begun.
    """
    outcomes: list[CellOutcome] = []
    stopped: BenchError | None = None
    for each in cells:
        if stopped is not None:
            close_all([each])
            outcome = _skip_cell(each.cell, stopped)
        else:
            outcome = _run_cell(each, watcher, budget, execute_job)
            if outcome.exit_code > _SIGNALS:
                stopped = Interrupted(outcome.exit_code - _SIGNALS)
        watcher.end(outcome)
        outcomes.append(outcome)
    return tuple(outcomes)


def _run_cell(
    each: AssembledCell, watcher: CellWatcher, budget: SharedBudget, execute_job: ExecuteJob
) -> CellOutcome:
    cell, job = each.cell, each.job
    if isinstance(job, BenchError):
        return _fail_cell(cell, job)
    known = _find_known_outcome(cell, job, budget)
    if known is not None:
        close_all([each])
        return known
    budget.bind(job)
    watcher.begin(cell)
    try:
        result = execute_job(job, partial(watcher.note, cell))
    except BenchError as error:
        return _fail_cell(cell, error)
    finally:
        budget.update(cell.folder)
    return _make_outcome(cell, result)


def run_together(
    cells: Sequence[AssembledCell], watcher: CellWatcher, budget: SharedBudget
) -> tuple[CellOutcome, ...]:
    """Run as many cells at a time as there are workers; what stops one does not stop the others.

    A signal ends everything. Once the shared budget is spent, nothing new is begun in any cell.
    """
    return anyio.run(_PooledCells(cells, watcher, budget).run)


class _PooledCells:
    """Cells that share one pool of workers."""

    def __init__(
        self, cells: Sequence[AssembledCell], watcher: CellWatcher, budget: SharedBudget
    ) -> None:
        self._cells = cells
        self._watcher = watcher
        self._budget = budget
        self._outcomes: dict[str, CellOutcome] = {}
        self._begun: set[str] = set()

    async def run(self) -> tuple[CellOutcome, ...]:
        with anyio.CancelScope() as scope, cancel_on_signals(scope) as received:
            async with open_pool(self._cells[0].cell.settings) as shared:
                await self._run_all(shared)
        interrupted = Interrupted(received[0]) if received else None
        for each in self._cells:
            if each.cell.label not in self._outcomes and interrupted is not None:
                self._finish_cell(self._interrupt_cell(each, interrupted))
        return tuple(self._outcomes[each.cell.label] for each in self._cells)

    async def _run_all(self, shared: SharedPool) -> None:
        free = anyio.Semaphore(shared.pool.size)
        async with anyio.create_task_group() as group:
            for each in self._cells:
                await free.acquire()
                group.start_soon(self._run_one, each, shared, free)

    async def _run_one(
        self, each: AssembledCell, shared: SharedPool, free: anyio.Semaphore
    ) -> None:
        try:
            self._finish_cell(await self._run_cell(each, shared))
        finally:
            free.release()

    async def _run_cell(self, each: AssembledCell, shared: SharedPool) -> CellOutcome:
        cell, job = each.cell, each.job
        if isinstance(job, BenchError):
            return _fail_cell(cell, job)
        known = _find_known_outcome(cell, job, self._budget)
        if known is not None:
            await job.components.close()
            return known
        self._watcher.begin(cell)
        self._begun.add(cell.label)
        self._budget.bind(job)
        try:
            run = job.run(partial(self._observe, cell), shared.make_runner(job))
            stopped_by = await catch_stop(run)
            return _make_outcome(
                cell, await anyio.to_thread.run_sync(build_result, job, stopped_by)
            )
        except BenchError as error:
            return _fail_cell(cell, error)

    def _observe(self, cell: RunCell, event: Event, states: TrialStates) -> None:
        self._budget.record(cell.folder, states.usage + states.reading_usage)
        self._watcher.note(cell, event, states)

    def _interrupt_cell(self, each: AssembledCell, reason: Interrupted) -> CellOutcome:
        if each.cell.label not in self._begun or isinstance(each.job, BenchError):
            return _skip_cell(each.cell, reason)
        return _make_outcome(each.cell, build_result(each.job, reason))

    def _finish_cell(self, outcome: CellOutcome) -> None:
        self._outcomes[outcome.cell.label] = outcome
        self._watcher.end(outcome)


def _find_known_outcome(cell: RunCell, job: Job, budget: SharedBudget) -> CellOutcome | None:
    """Return the outcome of a cell that needs no work, or may do none; None if it should run."""
    if is_run_finished(cell.folder) and not cell.settings.retry_errors:
        return _make_outcome(cell, read_result(job), was_finished=True)
    if (spent := budget.exhausted) is not None:
        return _skip_cell(cell, BudgetSpent(f"{spent}; the same command with more goes on"))
    return None


def _skip_cell(cell: RunCell, reason: BenchError) -> CellOutcome:
    """Return the outcome of a cell that is not begun: done before, or left for the next time."""
    if is_run_finished(cell.folder):
        return CellOutcome(cell=cell, exit_code=0, was_finished=True)
    message = f"not begun: {reason}"
    return CellOutcome(cell=cell, exit_code=reason.exit_code, reason=message, was_begun=False)


def _fail_cell(cell: RunCell, reason: BenchError) -> CellOutcome:
    return CellOutcome(cell=cell, exit_code=reason.exit_code, reason=str(reason))


def _make_outcome(cell: RunCell, result: RunResult, *, was_finished: bool = False) -> CellOutcome:
    reason = None
    if result.stopped_by is not None:
        reason = str(result.stopped_by)
    elif result.exit_code:
        overall = result.summary.overall
        shortfall = f"{overall.failed} of {overall.owed} trials have no verdict"
        reason = result.summary.validity.reason or shortfall
    return CellOutcome(
        cell=cell, exit_code=result.exit_code, reason=reason, was_finished=was_finished
    )
