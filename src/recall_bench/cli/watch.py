"""A run as it happens: a bar for people at a terminal, a line a checkpoint for logs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from time import monotonic
from typing import TYPE_CHECKING, Protocol

import click

from recall_bench.core.event import (
    Answered,
    Event,
    FeedFailed,
    Ingested,
    Judged,
    NotAnswered,
    NotJudged,
    Postponed,
)
from recall_bench.core.plan import Trial
from recall_bench.core.standing import TrialState, TrialStates
from recall_bench.ending import write_progress_file
from recall_bench.job import Job
from recall_bench.reporting.money import format_dollars
from recall_bench.reporting.summary import summarise_checkpoint
from recall_bench.reporting.text import format_progress

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_REFRESH_S = 30.0
"""How old progress.jsonl may be while checkpoints are being finished."""


class RunDisplay(Protocol):
    """Where progress is shown."""

    def update(self, done: int, owed: int, doing: str) -> None:
        """So many trials of so many have their outcome."""
        ...

    def print_line(self, line: str) -> None:
        """One line that stays."""
        ...


class RunWatch:
    """Follows a run's events, says when a checkpoint is done, and keeps progress.jsonl fresh."""

    def __init__(self, job: Job, display: RunDisplay, *, is_terse: bool = False) -> None:
        self._job = job
        self._is_terse = is_terse
        """Whether checkpoints are too many, and each too small, to say a line about every one."""
        self._display = display
        self._left: dict[tuple[str, str], int] = {}
        self._over: dict[str, bytearray] = {}
        """By scenario, a byte a trial: whether its outcome was counted."""
        self._done = self._owed = self._tenths = 0
        self._all = 0
        """What is owed here in all, counted once it is of use."""
        self._faults: set[str] = set()
        self._refreshed = monotonic()
        self._pause_s = _REFRESH_S

    def __call__(self, event: Event, standings: TrialStates) -> None:
        """Take notice of one event, which the standings know already."""
        match event:
            case Judged(trial=trial, review_fault=fault):
                if fault is not None:
                    self._print_first(
                        f"review {fault.split(':')[0]}", f"{trial}: not reviewed, {fault}"
                    )
                self._count_outcome(trial, standings)
            case Answered(trial=trial) if standings.plan.unjudged:
                self._count_outcome(trial, standings)
            case NotAnswered(trial=trial, fault=fault, message=message):
                self._print_first(fault, f"{trial}: not answered, {fault}: {message}")
                self._count_outcome(trial, standings)
            case Postponed(trial=trial, fault=fault, message=message):
                self._print_first(fault, f"{trial}: put again after a pause, {fault}: {message}")
            case NotJudged(trial=trial, fault=fault, message=message):
                self._print_first(fault, f"{trial}: not judged, {fault}: {message}")
            case FeedFailed(scenario=scenario, stage=stage, fault=fault, message=message):
                self._print_first(
                    f"{stage} {fault}", f"{scenario}: {stage} failed, {fault}: {message}"
                )
            case Ingested(scenario=scenario, day=day):
                self._count_scenario(scenario, standings)
                self._display.update(self._done, self._owed, f"{scenario}, day {day}")
            case _:
                pass

    def _print_first(self, fault: str, line: str) -> None:
        """Say the first of each kind at once; the rest are in the files."""
        if fault not in self._faults:
            self._faults.add(fault)
            self._display.print_line(f"  [bench] {line}")

    def _count_scenario(self, scenario: str, standings: TrialStates) -> None:
        """Count what a scenario owes the first time it is heard of."""
        if scenario in self._over:
            return
        standing = standings.scenarios[scenario]
        over = self._over[scenario] = bytearray(len(standing.grid))
        for row, sheet in enumerate(standing.checkpoint_plans):
            label, left = sheet.checkpoint.label, 0
            ours = [
                repeat
                for repeat in range(standing.repeats)
                if self._job.is_in_shard(scenario, label, repeat)
            ]
            for repeat, item in product(ours, sheet.asked):
                is_over = standing.get_status(row, repeat, item).state >= TrialState.NOT_ANSWERED
                over[standing.compute_slot(row, repeat, item)] = is_over
                left += not is_over
            owed = len(sheet.asked) * len(ours)
            self._left[scenario, label] = left
            self._owed += owed
            self._done += owed - left

    def _count_outcome(self, trial: Trial, standings: TrialStates) -> None:
        """Count a trial's outcome; a review is a second word on one that was counted."""
        key = trial.scenario, trial.checkpoint
        slot = standings.scenarios[trial.scenario].find_slot(trial)
        is_new = trial.scenario not in self._over
        if is_new:
            self._count_scenario(trial.scenario, standings)
        if not self._over[trial.scenario][slot]:
            self._over[trial.scenario][slot] = is_new = True
            self._left[key] -= 1
            self._done += 1
        doing = trial.checkpoint if is_new else "reviewing"
        cost = f", {format_dollars(standings.usage)}" if standings.usage.cost_usd else ""
        self._display.update(self._done, self._owed, f"{trial.scenario}, {doing}{cost}")
        if self._is_terse:
            self._print_tenths(standings)
        if is_new and self._left[key] == 0:
            self._finish_checkpoint(trial, standings)

    def _print_tenths(self, standings: TrialStates) -> None:
        """Say how far the whole is, ten times at most."""
        self._all = self._all or self._job.count_owed(standings)
        tenths = 10 * self._done // self._all
        if tenths > self._tenths:
            self._tenths = tenths
            self._display.print_line(f"  {self._done:,} of {self._all:,}")

    def _finish_checkpoint(self, trial: Trial, standings: TrialStates) -> None:
        standing = standings.scenarios[trial.scenario]
        row = standing.row[trial.checkpoint]
        if not self._is_terse:
            self._display.print_line(
                format_progress(
                    summarise_checkpoint(standing, row),
                    persona=trial.scenario,
                    index=row + 1,
                    total=len(standing.checkpoint_plans),
                )
            )
        if monotonic() - self._refreshed > self._pause_s:
            started = monotonic()
            write_progress_file(self._job)
            self._refreshed = monotonic()
            # Rereading the journal takes longer as it grows: never more than a twentieth of
            # the time goes into keeping the file fresh.
            self._pause_s = max(_REFRESH_S, 20 * (self._refreshed - started))


class LineDisplay:
    """Plain lines on stderr."""

    def update(self, done: int, owed: int, doing: str) -> None:
        """Logs have no use for a moving bar."""

    def print_line(self, line: str) -> None:
        """Print the line."""
        click.echo(line, err=True)


@contextmanager
def open_display() -> Iterator[RunDisplay]:
    """A progress bar if stderr is a terminal, plain lines otherwise."""
    if not sys.stderr.isatty():
        yield LineDisplay()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as progress:
        yield _BarDisplay(progress, progress.add_task("starting", total=None))


class _BarDisplay:
    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        self._progress = progress
        self._task = task

    def update(self, done: int, owed: int, doing: str) -> None:
        self._progress.update(self._task, completed=done, total=owed, description=doing)

    def print_line(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)
