"""The cells of a matrix one after another; what stops one of them does not stop the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import BenchError, Interrupted
from recall_bench.core.event import Event
from recall_bench.core.settings import Executor
from recall_bench.core.signals import cancel_on_signals
from recall_bench.core.trial_states import TrialStates
from recall_bench.generate.shipped_personas import BuildProgress
from recall_bench.reporting.matrix_report import MatrixReport
from recall_bench.running.execution import build_result, catch_stop, execute
from recall_bench.running.executor import SharedPool, open_pool
from recall_bench.running.job import Job, Observer
from recall_bench.running.matrix_cells import (
    AssembledCell,
    CellOutcome,
    MatrixCell,
    MatrixWatcher,
    SharedBudget,
    assemble_cells,
    check_known,
    close_all,
    fail_cell,
    find_worst_code,
    list_cells,
    make_outcome,
    select_cells,
    skip_cell,
)
from recall_bench.running.matrix_file import Matrix, apply_limits, read_matrix
from recall_bench.runs.run_result import RunResult

ExecuteJob = Callable[[Job, Observer], RunResult]
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

    def observe(event: Event, states: TrialStates) -> None:
        watcher.note(cell, event, states)

    try:
        finished = carry(job, observe)
    except BenchError as error:
        return CellOutcome(cell=cell, exit_code=error.exit_code, reason=str(error))
    finally:
        budget.update(cell.folder)
    return make_outcome(cell, finished)


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
        begun = anyio.Semaphore(hired.pool.size)
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
            await job.components.close()
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

    def __call__(self, event: Event, states: TrialStates) -> None:
        self._budget.record(self._cell.folder, states.usage + states.reading_usage)
        self._watcher.note(self._cell, event, states)


REPORT, PAGE, PICTURE, DRAWING = "matrix.json", "matrix.md", "matrix.png", "matrix.svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixResult:
    """A matrix that came to a stop, and its report."""

    matrix: Matrix
    outcomes: tuple[CellOutcome, ...]
    report: MatrixReport
    files: tuple[Path, ...]

    @property
    def exit_code(self) -> int:
        """The largest of the cells'; an interruption is larger than any other."""
        return find_worst_code(self.outcomes)


def open_matrix(
    path: Path, given: Mapping[str, Any] | None = None
) -> tuple[Matrix, tuple[MatrixCell, ...]]:
    """The matrix of a file with flags over it, and all its cells; nothing is tried yet."""
    flags = dict(given or {})
    matrix = read_matrix(path)
    matrix = replace(matrix, limits=apply_limits(matrix.limits, flags))
    if (into := flags.pop("into", None)) is not None:
        matrix = replace(matrix, into=Path(into))
    for name in ("max_cost_usd", "max_tokens", "max_calls"):
        flags.pop(name, None)
    return matrix, list_cells(matrix, flags)


def run_matrix(
    matrix: Matrix,
    cells: Sequence[MatrixCell],
    *,
    only: Sequence[str] = (),
    watcher: Callable[[Sequence[MatrixCell], Sequence[str]], MatrixWatcher],
    building: BuildProgress | None = None,
    carry: ExecuteJob | None = None,
) -> MatrixResult:
    """Check every cell that is wanted, carry them out, and report on the whole.

    The watcher is made of the cells to follow and what they were warned of, each thing once.
    """
    wanted = select_cells(cells, only)
    found = assemble_cells(wanted, building)
    warnings = tuple(dict.fromkeys(line for each in found for line in each.warnings))
    budget = SharedBudget.from_folders(matrix.limits, [cell.folder for cell in cells])
    watching = watcher(wanted, warnings)
    if carry is None and all(cell.settings.executor is not Executor.LOCAL for cell in wanted):
        outcomes = run_cells_together(found, watching, budget)
    else:
        outcomes = run_cells_in_turn(found, watching, budget, carry or execute)
    report, files = write_matrix_report(matrix, cells, outcomes)
    return MatrixResult(matrix=matrix, outcomes=outcomes, report=report, files=files)


def report_matrix(
    matrix: Matrix,
    cells: Sequence[MatrixCell],
    outcomes: Sequence[CellOutcome] = (),
    **options: int,
) -> MatrixReport:
    """Report what the folders of the cells hold now; options are those of the comparison."""
    from recall_bench.reporting.matrix_comparison import ReportCell, build_matrix_report

    reasons = {each.cell.label: each.reason for each in outcomes}
    found = [
        ReportCell(
            setting=cell.setting,
            seed=cell.seed,
            system=cell.system,
            folder=cell.folder,
            reason=reasons.get(cell.label),
        )
        for cell in cells
    ]
    systems = [system.name for system in matrix.systems]
    return build_matrix_report(matrix.name, matrix.baseline, systems, found, **options)


def write_matrix_report(
    matrix: Matrix, cells: Sequence[MatrixCell], outcomes: Sequence[CellOutcome] = ()
) -> tuple[MatrixReport, tuple[Path, ...]]:
    """The report on what the folders hold now, and the files it was written to."""
    from recall_bench.reporting.matrix_picture import draw_matrix
    from recall_bench.reporting.matrix_text import render_markdown

    report = report_matrix(matrix, cells, outcomes)
    into = matrix.into
    files = [into / REPORT, into / PAGE]
    has_picture = any(setting.systems for setting in report.settings)
    whole = msgspec.json.format(msgspec.json.encode(report), indent=2)
    replace_file(into / REPORT, whole + b"\n")
    page = render_markdown(report, picture=PICTURE if has_picture else None)
    replace_file(into / PAGE, page.encode())
    if has_picture:
        draw_matrix(report, into / PICTURE, into / DRAWING)
        files += [into / PICTURE, into / DRAWING]
    return report, tuple(files)
