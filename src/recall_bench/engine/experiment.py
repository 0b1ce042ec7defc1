"""An experiment: cells of (settings, dataset), each one run in a folder of its own.

Every command that runs something goes through `Experiment.run`: `run`, `rejudge` and `select` are
one cell (`execute`), `ablate` a base and its variants, `eval` a system and then its controls,
`matrix` a product of systems, settings and seeds. A run leaves a result, and files beside its
journal.
"""

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio

from recall_bench.core.errors import (
    BenchError,
    BudgetSpent,
    FolderBusy,
    Interrupted,
    ReplyPending,
    find_single_fault,
)
from recall_bench.core.event import Event
from recall_bench.core.feature import load_target
from recall_bench.core.plan import Shard
from recall_bench.core.runtime import cancel_on_signals, run_to_end
from recall_bench.core.settings import Settings
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.usage import Usage
from recall_bench.engine.executor import OnPool, choose_runner, make_pool_runner, open_pool
from recall_bench.engine.job import Job, Observer, PlanRunner
from recall_bench.engine.runs.journal import JOURNAL, read_events
from recall_bench.engine.runs.output_paths import FAILURES, PICTURES, PROGRESS, QUESTIONS, RESULT
from recall_bench.engine.runs.result_files import export_files
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import RunStatus, Summary, are_reviews_over_budget, summarise


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardProgress:
    """The trials that one shard owes, and those still to be asked or judged."""

    part: Shard
    owed: int
    open: int

    def __str__(self) -> str:
        return f"part {self.part}: {self.owed - self.open:,} of {self.owed:,} trials"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunResult:
    """How a run ended."""

    folder: RunFolder
    summary: Summary
    warnings: tuple[str, ...]
    stopped_by: BenchError | None = None
    """What ended it early: an unreachable system or judge, a spent budget, an interruption."""
    was_finished: bool = False
    """Whether the folder held the finished run already, so that nothing was asked."""
    part: ShardProgress | None = None
    """The progress of the shard, where the run is one; the rest of the plan does not count."""

    @property
    def is_valid(self) -> bool:
        """Whether the scores may be quoted: everything was asked, and failures were few."""
        return self.summary.validity.status is RunStatus.VALID

    @property
    def exit_code(self) -> int:
        """As the table in `recall_bench.core.errors` has it."""
        if self.stopped_by is not None:
            return self.stopped_by.exit_code
        overall, part = self.summary.overall, self.part
        if self.summary.unstarted or (overall.open if part is None else part.open):
            return 4
        owed = overall.owed if part is None else part.owed
        if overall.not_answered > self.summary.plan.error_budget * owed:
            return 5
        reviews, others = self.summary.reviews, self.summary.other_verdicts
        if (
            overall.not_judged
            or are_reviews_over_budget(reviews, self.summary.plan.error_budget)
            or any(other.failed for other in others)
        ):
            return 6
        return 4 if reviews.open or any(other.open for other in others) else 0

    def __repr__(self) -> str:
        status, system = self.summary.validity.status.value, self.folder.plan.system.name
        return f"<{type(self).__name__}: {system}, {status}, {str(self.folder.path)!r}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentCell:
    """One run of an experiment."""

    label: str
    """Names the cell in its experiment."""
    folder: Path
    assemble: Callable[[], Job]
    """Called when the turn of the cell comes; what it raises is the outcome of the cell."""
    job: Job | None = None
    """The job, if it is assembled already; it is closed if its turn never comes."""

    @classmethod
    def from_job(cls, job: Job, label: str = "run") -> "ExperimentCell":
        """Make the cell of a job that is assembled already."""
        return cls(label=label, folder=job.folder, assemble=lambda: job, job=job)


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
    """How one cell ended."""

    cell: ExperimentCell
    result: RunResult | None = None
    error: BenchError | None = None
    """Why there is no result."""
    was_begun: bool = True
    was_finished: bool = False
    """Whether it was finished before, so that nothing was asked."""

    @property
    def stopped_by(self) -> BenchError | None:
        """What ended the cell early, or kept it from being begun."""
        return self.error if self.result is None else self.result.stopped_by

    @property
    def exit_code(self) -> int:
        """As the table in `recall_bench.core.errors` has it."""
        if self.result is not None:
            return self.result.exit_code
        return 0 if self.error is None else self.error.exit_code

    @property
    def reason(self) -> str | None:
        """Why the cell is not done; None if it is."""
        if self.stopped_by is not None:
            return f"{'' if self.was_begun else 'not begun: '}{self.stopped_by}"
        if self.result is None or not self.exit_code:
            return None
        summary = self.result.summary
        shortfall = f"{summary.overall.failed} of {summary.overall.owed} trials have no verdict"
        return summary.validity.reason or shortfall

    @property
    def stage(self) -> CellStage:
        """The stage to report."""
        if self.exit_code == 0:
            return CellStage.DONE
        return CellStage.FAILED if self.was_begun else CellStage.NOT_BEGUN


class CellWatcher(Protocol):
    """Follows all cells."""

    def begin(self, cell: ExperimentCell) -> None:
        """Note that a cell is started or continued."""

    def note(self, cell: ExperimentCell, event: Event, states: TrialStates) -> None:
        """Note an event of a cell, which the states already include."""

    def end(self, outcome: CellOutcome) -> None:
        """Note that a cell has ended or stopped."""


class EventWatcher:
    """Passes the events of every cell on to an observer, if there is one."""

    def __init__(self, observe: Observer | None = None) -> None:
        self._observe = observe

    def begin(self, cell: ExperimentCell) -> None:
        """Do nothing."""

    def note(self, cell: ExperimentCell, event: Event, states: TrialStates) -> None:  # noqa: ARG002
        """Call the observer."""
        if self._observe is not None:
            self._observe(event, states)

    def end(self, outcome: CellOutcome) -> None:
        """Do nothing."""


@dataclass(slots=True, kw_only=True)
class SharedBudget:
    """What all cells may spend together, and what each has spent so far."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    spent: dict[Path, Usage] = field(default_factory=dict)

    def read_spent(self, folders: Iterable[Path]) -> None:
        """Read what was spent before from the journals in these folders."""
        self.spent.update((folder, read_spent(folder)) for folder in folders)

    @property
    def exhausted(self) -> str | None:
        """Which limit was reached, in words; None if none was."""
        total = sum(self.spent.values(), start=Usage())
        if self.max_cost_usd is not None and total.cost_usd >= self.max_cost_usd:
            return f"all cells together cost ${total.cost_usd:.4f} of ${self.max_cost_usd:.4f}"
        if self.max_tokens is not None and total.tokens >= self.max_tokens:
            return f"all cells together took {total.tokens:,} of {self.max_tokens:,} tokens"
        return None

    def sum_others(self, folder: Path) -> Usage:
        """Sum what all other cells have spent by now."""
        others = (spent for place, spent in self.spent.items() if place != folder)
        return sum(others, start=Usage())

    def bind(self, job: Job) -> None:
        """Let a job keep to the shared limits, counting what the other cells have spent."""
        job.settings = replace(
            job.settings, max_cost_usd=self.max_cost_usd, max_tokens=self.max_tokens
        )
        job.spent_elsewhere = partial(self.sum_others, job.folder)


def read_spent(folder: Path) -> Usage:
    """Read what judging and reading have cost in a run folder."""
    if not (folder / JOURNAL).exists() or not (folder / JOURNAL).stat().st_size:
        return Usage()
    states = RunFolder.open(folder).states
    return states.usage + states.reading_usage


@dataclass(kw_only=True)
class Experiment:
    """Cells that are run once; the same command continues where it was stopped.

    A signal ends everything. Once the shared budget is spent, no unfinished cell is begun.
    """

    cells: Sequence[ExperimentCell]
    watcher: CellWatcher = field(default_factory=EventWatcher)
    budget: SharedBudget | None = None
    """None leaves each cell the limits of its own settings."""
    goes_on: bool = False
    """Whether the other cells are run after one that was stopped."""
    rewrites: bool = False
    """Whether the files of a cell that was finished before are written again."""
    pool: Settings | None = None
    """The settings of a pool that all cells share; None runs them in turn, each by its own."""
    on_pool: OnPool = lambda _: None
    """Called with the pool of each cell that opens one."""

    def __post_init__(self) -> None:
        self._outcomes: dict[str, CellOutcome] = {}
        self._begun: dict[str, Job] = {}
        self._end: BenchError | None = None
        """Why no other cell is begun."""

    def run(self) -> tuple[CellOutcome, ...]:
        """Run the cells; return the outcome of each, also of those that were not begun."""
        try:
            run_to_end(self._run_cells)
        except KeyboardInterrupt:
            self._end = Interrupted(signal.SIGINT)
        return self._collect_outcomes()

    async def run_async(self) -> tuple[CellOutcome, ...]:
        """The same inside an event loop."""
        await self._run_cells()
        return self._collect_outcomes()

    async def _run_cells(self) -> None:
        """Run the cells; a signal cancels them, so that memories are closed before the end."""
        waiting = iter(self.cells)
        with anyio.CancelScope() as scope, cancel_on_signals(scope) as received:
            if self.pool is None:
                await self._run_waiting(waiting, partial(choose_runner, on_pool=self.on_pool))
            else:
                async with open_pool(self.pool) as pool, anyio.create_task_group() as group:
                    for _ in range(pool.size):
                        group.start_soon(
                            self._run_waiting, waiting, partial(make_pool_runner, pool)
                        )
        if received:
            self._end = Interrupted(received[0])
        for cell in self.cells:
            if cell.job is not None and not (
                cell.label in self._outcomes or cell.label in self._begun
            ):
                await cell.job.components.close()

    async def _run_waiting(
        self, waiting: Iterator[ExperimentCell], make_runner: Callable[[Job], PlanRunner]
    ) -> None:
        """Run one waiting cell after the other; several tasks may take from the same iterator."""
        for cell in waiting:
            outcome = await self._run_cell(cell, make_runner)
            self._finish_cell(outcome)
            end = outcome.stopped_by
            if end is not None and not isinstance(end, ReplyPending) and not self.goes_on:
                self._end = end
                return

    async def _run_cell(
        self, cell: ExperimentCell, make_runner: Callable[[Job], PlanRunner]
    ) -> CellOutcome:
        try:
            job = cell.assemble()
            if (outcome := self._find_known_outcome(cell, job)) is not None:
                await job.components.close()
                return outcome
            if self.budget is not None:
                self.budget.bind(job)
            self.watcher.begin(cell)
            self._begun[cell.label] = job
            stopped_by: BenchError | None = None
            try:
                await job.run(partial(self._observe, cell), make_runner(job))
            except FolderBusy:
                # Nothing ran.
                raise
            except BenchError as error:
                stopped_by = error
            except BaseExceptionGroup as group:
                if (stopped_by := find_single_fault(group)) is None:
                    raise
            result = await anyio.to_thread.run_sync(build_result, job, stopped_by)
            return CellOutcome(cell=cell, result=result)
        except BenchError as error:
            return CellOutcome(cell=cell, error=error)

    def _find_known_outcome(self, cell: ExperimentCell, job: Job) -> CellOutcome | None:
        """Return the outcome of a cell that needs no work, or may do none; None if it is run."""
        if not (self.rewrites or job.settings.retry_errors):
            folder = open_finished(cell.folder)
            if folder is not None:
                return CellOutcome(cell=cell, result=_read_result(job, folder), was_finished=True)
        if self.budget is not None and (spent := self.budget.exhausted) is not None:
            return _skip_cell(
                cell, BudgetSpent(f"{spent}; run again with a higher limit to continue")
            )
        return None

    def _observe(self, cell: ExperimentCell, event: Event, states: TrialStates) -> None:
        if self.budget is not None:
            self.budget.spent[cell.folder] = states.usage + states.reading_usage
        self.watcher.note(cell, event, states)

    def _finish_cell(self, outcome: CellOutcome) -> None:
        self._outcomes[outcome.cell.label] = outcome
        self.watcher.end(outcome)

    def _collect_outcomes(self) -> tuple[CellOutcome, ...]:
        for cell in self.cells:
            if cell.label not in self._outcomes and self._end is not None:
                self._finish_cell(self._end_cell(cell, self._end))
        return tuple(self._outcomes[cell.label] for cell in self.cells)

    def _end_cell(self, cell: ExperimentCell, reason: BenchError) -> CellOutcome:
        if cell.label not in self._begun:
            return _skip_cell(cell, reason)
        try:
            job = self._begun[cell.label]
            # It may have been interrupted between a line and its view.
            job.view = None
            return CellOutcome(cell=cell, result=build_result(job, reason))
        except BenchError as error:
            return CellOutcome(cell=cell, error=error)


def execute(
    job: Job, observe: Observer | None = None, on_pool: OnPool = lambda _: None
) -> RunResult:
    """Run one job and write its result files, also if it was finished before.

    `on_pool` is called with the pool of workers, if the settings want one.
    """
    [outcome] = _make_single_run(job, observe, on_pool).run()
    return require_result(outcome)


async def execute_async(job: Job, observe: Observer | None = None) -> RunResult:
    """The same inside an event loop."""
    [outcome] = await _make_single_run(job, observe, lambda _: None).run_async()
    return require_result(outcome)


def _make_single_run(job: Job, observe: Observer | None, on_pool: OnPool) -> Experiment:
    return Experiment(
        cells=[ExperimentCell.from_job(job)],
        watcher=EventWatcher(observe),
        rewrites=True,
        on_pool=on_pool,
    )


def require_result(outcome: CellOutcome) -> RunResult:
    """Return the result of a cell; what kept it from having one is raised."""
    if outcome.error is not None:
        raise outcome.error
    if outcome.result is None:
        raise AssertionError("a cell that nothing stopped has a result")
    return outcome.result


def open_finished(path: Path) -> RunFolder | None:
    """Open the finished run in a folder; None if it holds none."""
    journal = path / JOURNAL
    if not journal.exists() or next(read_events(journal), None) is None:
        return None
    folder = RunFolder.open(path)
    return folder if folder.is_finished else None


def is_run_finished(folder: Path) -> bool:
    """Whether the folder holds a finished run."""
    return open_finished(folder) is not None


def _read_result(job: Job, folder: RunFolder) -> RunResult:
    """Read the result of a finished job from its folder; only missing files are written."""
    summary = summarise(folder)
    if lacks_views(job.settings, folder.path):
        write_views(job.settings, folder, summary)
    return RunResult(
        folder=folder, summary=summary, warnings=tuple(job.warnings), was_finished=True
    )


def _skip_cell(cell: ExperimentCell, reason: BenchError) -> CellOutcome:
    """Return the outcome of a cell that is not begun: done before, or left for the next time."""
    if is_run_finished(cell.folder):
        return CellOutcome(cell=cell, was_finished=True)
    return CellOutcome(cell=cell, error=reason, was_begun=False)


def build_result(job: Job, stopped_by: BenchError | None) -> RunResult:
    """Write the result files of a job that ended or was stopped, and return its result."""
    if stopped_by is not None and not job.journal.exists():
        raise stopped_by
    # Trials that are asked again count as open in the view of a run, and not in its journal.
    if job.view is None or job.settings.retry_errors:
        folder = RunFolder.open(job.folder)
    else:
        folder = job.view.copy()
    summary = summarise(folder)
    write_views(job.settings, folder, summary)
    return RunResult(
        folder=folder,
        summary=summary,
        warnings=tuple(job.warnings),
        stopped_by=stopped_by,
        was_finished=job.was_finished,
        part=_count_shard(job, folder.states),
    )


def _count_shard(job: Job, states: TrialStates) -> ShardProgress | None:
    if job.shard is None:
        return None
    trial_states = job.list_states(states)
    still_open = trial_states.count(TrialState.OPEN) + trial_states.count(TrialState.ANSWERED)
    return ShardProgress(part=job.shard, owed=len(trial_states), open=still_open)


def lacks_views(settings: Settings, folder: Path) -> bool:
    """Whether a file is missing that `write_views` writes, because its process was killed."""
    pictures = [folder / name for name in PICTURES] if settings.heatmap_png else []
    paths = [path for path in _list_views(settings, folder).values() if path is not None]
    return not all(path.exists() for path in paths + pictures)


def write_views(settings: Settings, folder: RunFolder, summary: Summary) -> None:
    """Every file a run leaves beside its journal, where the settings want it."""
    export_files(folder, **_list_views(settings, folder.path))
    if settings.heatmap_png:
        # Pictures belong to the report, which lies above the engine.
        draw = load_target("recall_bench.reporting.heatmap.heatmap_picture:draw_run")
        draw(folder, summary, *(folder.path / name for name in PICTURES))


def _list_views(settings: Settings, folder: Path) -> dict[str, Path | None]:
    questions = settings.question_log or folder / QUESTIONS
    return {
        "result": settings.json_out or folder / RESULT,
        "progress": settings.progress_jsonl or folder / PROGRESS,
        "questions": questions if settings.write_question_log else None,
        "failures": settings.failure_log or folder / FAILURES,
    }


def write_progress_file(job: Job) -> None:
    """Bring a running job's progress.jsonl up to date."""
    if job.view is None:
        raise AssertionError("a job that runs has a view")
    # A copy, because what is computed from a folder is kept with it, and this one changes.
    folder = job.view.copy()
    export_files(folder, progress=job.settings.progress_jsonl or folder.path / PROGRESS)
