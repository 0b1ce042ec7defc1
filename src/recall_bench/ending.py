"""A job carried out to its end, or to what stops it, and everything it leaves behind."""

import signal
from dataclasses import dataclass

import anyio

from recall_bench.core.event import Event
from recall_bench.core.standing import Standings
from recall_bench.errors import BenchError, FolderBusy, Interrupted
from recall_bench.interruption import cancelled_by_signals
from recall_bench.job import Job, Observer
from recall_bench.outputs import FAILURES, PICTURES, PROGRESS, QUESTIONS, RESULT
from recall_bench.reporting.files.export import export
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import Status, Summary, summarise
from recall_bench.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run that came to a stop, and how."""

    folder: RunFolder
    summary: Summary
    warnings: tuple[str, ...]
    stopped_by: BenchError | None = None
    """What ended it early: a system or a judge that is gone, spent money, an interruption."""
    was_finished: bool = False
    """Whether the folder held the finished run already, so that nobody was asked anything."""

    @property
    def is_valid(self) -> bool:
        """Whether the scores may be quoted: everything was asked, and failures were few."""
        return self.summary.validity.status is Status.VALID

    @property
    def exit_code(self) -> int:
        """As the table in `recall_bench.errors` has it."""
        if self.stopped_by is not None:
            return self.stopped_by.exit_code
        overall = self.summary.overall
        if overall.open or self.summary.unstarted:
            return 4
        if overall.not_answered > self.summary.plan.error_budget * overall.owed:
            return 5
        return 6 if overall.failed > overall.not_answered else 0


def carry_out(job: Job, observe: Observer | None = None) -> Finished:
    """Run an assembled job, then write every view of it."""
    stopped_by: BenchError | None
    try:
        stopped_by = anyio.run(to_its_end, job, observe)
    except KeyboardInterrupt:
        stopped_by = Interrupted(signal.SIGINT)
    return finished(job, stopped_by)


async def to_its_end(job: Job, observe: Observer | None) -> BenchError | None:
    """Run the job; what stopped it early, or None if nothing did."""
    try:
        await _interruptible(job, observe or _ignore)
    except FolderBusy:
        raise
    except BenchError as error:
        return error
    except BaseExceptionGroup as group:
        return _only_fault(group)
    return None


def finished(job: Job, stopped_by: BenchError | None) -> Finished:
    """What a job that came to its end left behind, with every view of it written."""
    if stopped_by is not None and not job.journal.exists():
        raise stopped_by
    folder = RunFolder.open(job.folder)
    summary = summarise(folder)
    write_views(job.settings, folder, summary)
    return Finished(
        folder=folder,
        summary=summary,
        warnings=tuple(job.warnings),
        stopped_by=stopped_by,
        was_finished=job.was_finished,
    )


def _only_fault(group: BaseExceptionGroup[BaseException]) -> BenchError:
    """The fault several tasks met together; the group itself if a bug is among them."""
    faults, others = group.split(BenchError)
    if others is not None or faults is None:
        raise group
    leaf: BaseException = faults
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    if not isinstance(leaf, BenchError):
        raise group
    return leaf


def _ignore(event: Event, standings: Standings) -> None:
    """Nobody is watching."""


async def _interruptible(job: Job, observe: Observer) -> None:
    """Run the job; a signal to stop cancels it, so that memories are closed first."""
    with anyio.CancelScope() as scope, cancelled_by_signals(scope) as received:
        await job.run(observe)
    if received:
        raise Interrupted(received[0])


def write_views(settings: Settings, folder: RunFolder, summary: Summary) -> None:
    """Every file a run leaves beside its journal, where the settings want it."""
    from recall_bench.reporting.heatmap.drawing import draw
    from recall_bench.reporting.heatmap.sources import heatmap_of_run

    questions = settings.question_log or folder.path / QUESTIONS
    export(
        folder,
        result=settings.json_out or folder.path / RESULT,
        progress=settings.progress_jsonl or folder.path / PROGRESS,
        questions=questions if settings.write_question_log else None,
        failures=settings.failure_log or folder.path / FAILURES,
    )
    if settings.heatmap_png:
        picture = heatmap_of_run(folder, summary)
        for name in PICTURES:
            draw(picture, folder.path / name)


def write_progress_file(job: Job) -> None:
    """Bring a running job's progress.jsonl up to date."""
    folder = RunFolder.open(job.folder)
    export(folder, progress=job.settings.progress_jsonl or folder.path / PROGRESS)
