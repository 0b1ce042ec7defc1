"""An experiment: cells of (settings, dataset), each one run in a folder of its own.

`run` is one cell, `rejudge` a cell with recorded answers, `ablate` a base and its variants, `eval` a
system and its controls, `matrix` a product of systems, settings and seeds.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio

from recall_bench.running.execution import execute
from recall_bench.running.executor import OnPool
from recall_bench.running.job import Job, Observer
from recall_bench.runs.journal import JOURNAL, read_events
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.run_result import RunResult
from recall_bench.runs.summary import summarise


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
        folder=folder,
        summary=summarise(folder),
        warnings=tuple(job.warnings),
        was_finished=True,
    )
