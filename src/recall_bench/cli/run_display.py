"""The progress of a run: a bar or a screen at a terminal, lines in a log."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Protocol

import click

from recall_bench.core.errors import JudgePending
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
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.plan import Trial
from recall_bench.core.settings import Executor
from recall_bench.core.trial_states import TrialStates
from recall_bench.core.usage import format_dollars
from recall_bench.engine.executor import OnPool
from recall_bench.engine.experiment import write_progress_file
from recall_bench.engine.job import Job, Observer
from recall_bench.engine.runs.summary import summarise_checkpoint
from recall_bench.reporting.formats import format_duration, format_round_duration
from recall_bench.reporting.run_text import format_progress

if TYPE_CHECKING:
    from recall_bench.engine.worker_pool import WorkerPool

_REFRESH_S = 30.0
"""The least number of seconds between two rewrites of progress.jsonl, or two lines of a log."""
_TERMINAL_REFRESH_S = 0.5
_MAX_NAMED = 3
"""The most slow tasks that are listed by name."""
_KIND_WORDS = {"feed": "feeding", "ask": "asking", "grade": "judging"}
"""By the kind of a unit of work."""


class RunDisplay(Protocol):
    """Where progress is shown."""

    def update(self, done: int, owed: int, doing: str) -> None:
        """Show that `done` of `owed` trials have an outcome."""
        ...

    def print_line(self, line: str) -> None:
        """Print a permanent line."""
        ...


class RunWatch:
    """An observer that prints progress and rewrites progress.jsonl from time to time."""

    def __init__(self, job: Job, display: RunDisplay, *, is_terse: bool = False) -> None:
        self._job = job
        self._is_terse = is_terse
        """Whether to print a line per 10 % of the run instead of one per checkpoint."""
        self._display = display
        self._done: dict[tuple[str, str], int] = {}
        """The trials with an outcome, by scenario and checkpoint."""
        self._total = self._tenths = 0
        self._owed = 0
        """All trials owed here, counted with the first event."""
        self._faults: set[str] = set()
        self._refreshed = monotonic()
        self._pause_s = _REFRESH_S

    def __call__(self, event: Event, states: TrialStates) -> None:
        """Handle an event that the states already include."""
        match event:
            case Judged(trial=trial, review_fault=fault):
                if fault is not None:
                    kind = fault.split(":")[0]
                    self._print_first(f"review {kind}", f"{trial}: not reviewed, {fault}")
                self._count_outcome(trial, states)
            case Answered(trial=trial) if states.plan.unjudged:
                self._count_outcome(trial, states)
            case NotAnswered(trial=trial, fault=fault, message=message):
                self._print_first(fault, f"{trial}: not answered, {fault}: {message}")
                self._count_outcome(trial, states)
            case Postponed(trial=trial, fault=fault, message=message):
                self._print_first(fault, f"{trial}: asked again after a pause, {fault}: {message}")
            case NotJudged(fault=JudgePending.__name__):
                # The command ends with what all of them wait for.
                pass
            case NotJudged(trial=trial, fault=fault, message=message):
                self._print_first(fault, f"{trial}: not judged, {fault}: {message}")
            case FeedFailed(scenario=scenario, stage=stage, fault=fault, message=message):
                line = f"{scenario}: {stage} failed, {fault}: {message}"
                self._print_first(f"{stage} {fault}", line)
            case Ingested(scenario=scenario, day=day):
                self._count_begun(states)
                self._display.update(self._total, self._owed, f"{scenario}, day {day}")

    def _print_first(self, fault: str, line: str) -> None:
        """Print the first error of each kind; the files have all."""
        if fault not in self._faults:
            self._faults.add(fault)
            self._display.print_line(f"  [bench] {line}")

    def _count_begun(self, states: TrialStates) -> None:
        """Count what is owed, and what an earlier process did, at the first event."""
        if not self._owed:
            self._owed = self._job.count_owed(states)
            for name, scenario in states.scenarios.items():
                for row, plan in enumerate(scenario.checkpoint_plans):
                    self._done[name, plan.checkpoint.label] = scenario.count_done(row)
            self._total = sum(self._done.values())

    def _count_outcome(self, trial: Trial, states: TrialStates) -> None:
        """Count a trial's outcome once; a later review is not counted again."""
        is_first = not self._owed
        self._count_begun(states)
        scenario, key = states.scenarios[trial.scenario], (trial.scenario, trial.checkpoint)
        row = scenario.row[trial.checkpoint]
        count = scenario.count_done(row)
        is_new = is_first or count > self._done[key]
        self._total += count - self._done[key]
        self._done[key], done = count, self._total
        doing = trial.checkpoint if is_new else "reviewing"
        cost = f", {format_dollars(states.usage)}" if states.usage.cost_usd else ""
        self._display.update(done, self._owed, f"{trial.scenario}, {doing}{cost}")
        tenths = 10 * done // max(1, self._owed)
        if self._is_terse and tenths > self._tenths:
            self._tenths = tenths
            self._display.print_line(f"  {done:,} of {self._owed:,}")
        if not is_new or count < self._job.count_owed_at(scenario, trial):
            return
        if not self._is_terse:
            self._display.print_line(
                format_progress(
                    summarise_checkpoint(scenario, row),
                    persona=trial.scenario,
                    index=row + 1,
                    total=len(scenario.checkpoint_plans),
                )
            )
        if done < self._owed and monotonic() - self._refreshed > self._pause_s:
            started = monotonic()
            write_progress_file(self._job)
            self._refreshed = monotonic()
            # The file takes longer as the run grows: at most a fiftieth of the time goes into it.
            self._pause_s = max(_REFRESH_S, 50 * (self._refreshed - started))


class LineDisplay:
    """Plain lines on stderr."""

    def update(self, done: int, owed: int, doing: str) -> None:
        """Logs have no progress bar."""

    def print_line(self, line: str) -> None:
        """Print the line."""
        click.echo(line, err=True)

    def show(self, lines: list[str]) -> None:
        """Print the status of a pool on one line."""
        click.echo("  " + " | ".join(lines), err=True)


class _SilentDisplay(LineDisplay):
    def print_line(self, line: str) -> None:
        """Print nothing; the files have all errors."""


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

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(TextColumn("{task.description}"), *columns, console=console) as progress:
        task = progress.add_task("starting", total=None)

        class BarDisplay:
            """A bar, below the lines."""

            def update(self, done: int, owed: int, doing: str) -> None:
                """Move the bar."""
                progress.update(task, completed=done, total=owed, description=doing)

            def print_line(self, line: str) -> None:
                """Print a line above the bar."""
                console.print(line, markup=False, highlight=False, soft_wrap=True)

        yield BarDisplay()


class OverviewScreen(Protocol):
    """Where an overview is shown."""

    def show(self, lines: list[str]) -> None:
        """Replace the shown lines."""
        ...

    def print_line(self, line: str) -> None:
        """Print a permanent line."""
        ...


class RunOverview:
    """An observer of a run by a worker pool; it refreshes even while no event arrives."""

    def __init__(self, job: Job, screen: OverviewScreen, *, is_terse: bool = False) -> None:
        self._job = job
        self._screen = screen
        self._watch = RunWatch(job, self, is_terse=is_terse)
        self.pool: WorkerPool | None = None
        self._states: TrialStates | None = None
        self._owed = self._done_before = 0
        self._since = monotonic()

    def set_pool(self, pool: "WorkerPool") -> None:
        """Set the pool of the run."""
        self.pool = pool

    def __call__(self, event: Event, states: TrialStates) -> None:
        """Handle an event."""
        if self._states is None:
            self._owed = self._job.count_owed(states)
            self._done_before = sum(scenario.done_count for scenario in states.scenarios.values())
            self._since = monotonic()
            self._states = states
        self._watch(event, states)

    def update(self, done: int, owed: int, doing: str) -> None:
        """Ignored: the overview shows the whole run."""

    def print_line(self, line: str) -> None:
        """Print the line on the screen."""
        self._screen.print_line(line)

    def refresh(self) -> None:
        """Show the current state. May be called from another thread."""
        if self._states is not None:
            lines = [self.describe(self._states, monotonic() - self._since)]
            lines += [] if self.pool is None else render_pool_lines(self.pool, monotonic())
            self._screen.show(lines)

    def describe(self, states: TrialStates, seconds: float) -> str:
        """Progress, rate, errors, cost and remaining time after these seconds, in one line."""
        scenarios = list(states.scenarios.values())
        done = sum(scenario.done_count for scenario in scenarios)
        share = 100 * done / self._owed if self._owed else 100.0
        words = [f"{done:,} of {self._owed:,} trials ({share:.0f} %)"]
        rate = (done - self._done_before) / seconds if seconds else 0.0
        if rate:
            words.append(f"{rate:,.1f} a second" if rate >= 1 else f"{60 * rate:,.1f} a minute")
        words.append(format_quantity(sum(scenario.error_count for scenario in scenarios), "error"))
        cost = states.usage + states.reading_usage
        if cost.cost_usd or cost.tokens:
            words.append(f"{format_dollars(cost)}, {cost.tokens:,} tokens")
        if rate and done < self._owed:
            left_s = (self._owed - done) / rate
            end = datetime.now().astimezone() + timedelta(seconds=left_s)
            words.append(f"{format_round_duration(left_s)} left, until {end:%H:%M}")
        return " · ".join(words)


def render_pool_lines(pool: "WorkerPool", now: float) -> list[str]:
    """The workers, what they do, and tasks that take far longer than usual."""
    kinds = Counter(str(unit.kind) for unit in list(pool.doing.values()))
    words = [f"{pool.present} of {pool.size} workers"]
    words += [f"{kinds[kind]} {word}" for kind, word in _KIND_WORDS.items() if kinds[kind]]
    if pool.lost:
        words.append(f"{pool.lost} lost and replaced")
    lines = [" · ".join(words)]
    late = pool.find_stragglers()
    lines += [
        f"slow: {unit.what}, {format_duration(now - unit.since)} on worker {unit.worker}"
        for unit in late[:_MAX_NAMED]
    ]
    if len(late) > _MAX_NAMED:
        lines.append(f"slow: {len(late) - _MAX_NAMED} more")
    return lines


@contextmanager
def watch_run(
    job: Job, *, is_terse: bool = False, is_quiet: bool = False
) -> Iterator[tuple[Observer, OnPool]]:
    """An observer that suits the job's executor, and the callback that gets its pool."""
    if is_quiet:
        yield RunWatch(job, _SilentDisplay(), is_terse=True), lambda _: None
        return
    if job.settings.executor is Executor.LOCAL:
        with open_display() as display:
            yield RunWatch(job, display, is_terse=is_terse), lambda _: None
        return
    with _open_screen() as (screen, every_s):
        overview, stopped = RunOverview(job, screen, is_terse=is_terse), threading.Event()

        def refresh_until_stopped() -> None:
            while not stopped.wait(every_s):
                overview.refresh()

        thread = threading.Thread(target=refresh_until_stopped, name="overview", daemon=True)
        thread.start()
        try:
            yield overview, overview.set_pool
        finally:
            stopped.set()
            thread.join()
        pool = overview.pool
        if pool is not None and pool.lost:
            screen.print_line(f"  [bench] workers lost and replaced: {pool.lost}")
        if pool is not None and pool.why_fewer is not None:
            screen.print_line(f"  [bench] fewer workers than requested: {pool.why_fewer}")


@contextmanager
def _open_screen() -> Iterator[tuple[OverviewScreen, float]]:
    """The screen for an overview, and the seconds between two refreshes of it."""
    if not sys.stderr.isatty():
        yield LineDisplay(), _REFRESH_S
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=4, transient=True) as live:

        class TerminalScreen:
            """The overview, below the lines."""

            def show(self, lines: list[str]) -> None:
                """Replace the overview."""
                live.update(Text("\n".join(lines)))

            def print_line(self, line: str) -> None:
                """Print a line above it."""
                console.print(line, markup=False, highlight=False, soft_wrap=True)

        yield TerminalScreen(), _TERMINAL_REFRESH_S
