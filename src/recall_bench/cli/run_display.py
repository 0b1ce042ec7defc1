"""The progress of a run: a bar or a screen at a terminal, lines in a log."""

import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import product
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
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.usage import Usage, format_dollars
from recall_bench.engine.execution import write_progress_file
from recall_bench.engine.executor import OnPool
from recall_bench.engine.job import Job, Observer
from recall_bench.engine.runs.summary import summarise_checkpoint
from recall_bench.reporting.formats import format_duration, format_round_duration
from recall_bench.reporting.run_text import format_progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.progress import Progress

    from recall_bench.engine.worker_pool import WorkerPool


_REFRESH_S = 30.0
"""The least number of seconds between two rewrites of progress.jsonl."""


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
        self._left: dict[tuple[str, str], int] = {}
        self._has_outcome: dict[str, bytearray] = {}
        """By scenario, one byte per trial: whether its outcome was counted."""
        self._done = self._owed = self._tenths = 0
        self._total_owed = 0
        """All trials owed here, counted on demand."""
        self._faults: set[str] = set()
        self._refreshed = monotonic()
        self._pause_s = _REFRESH_S

    def __call__(self, event: Event, states: TrialStates) -> None:
        """Handle an event that the states already include."""
        match event:
            case Judged(trial=trial, review_fault=fault):
                if fault is not None:
                    self._print_first(
                        f"review {fault.split(':')[0]}", f"{trial}: not reviewed, {fault}"
                    )
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
                self._print_first(
                    f"{stage} {fault}", f"{scenario}: {stage} failed, {fault}: {message}"
                )
            case Ingested(scenario=scenario, day=day):
                self._count_scenario(scenario, states)
                self._display.update(self._done, self._owed, f"{scenario}, day {day}")
            case _:
                pass

    def _print_first(self, fault: str, line: str) -> None:
        """Print the first error of each kind; the files have all."""
        if fault not in self._faults:
            self._faults.add(fault)
            self._display.print_line(f"  [bench] {line}")

    def _count_scenario(self, scenario: str, states: TrialStates) -> None:
        """Count what a scenario owes, at its first event."""
        if scenario in self._has_outcome:
            return
        scenario_states = states.scenarios[scenario]
        over = self._has_outcome[scenario] = bytearray(len(scenario_states.grid))
        for row, checkpoint_plan in enumerate(scenario_states.checkpoint_plans):
            label, left = checkpoint_plan.checkpoint.label, 0
            shard_repeats = [
                repeat
                for repeat in range(scenario_states.repeats)
                if self._job.is_in_shard(scenario, label, repeat)
            ]
            for repeat, item in product(shard_repeats, checkpoint_plan.asked):
                is_over = (
                    scenario_states.get_status(row, repeat, item).state >= TrialState.NOT_ANSWERED
                )
                over[scenario_states.compute_slot(row, repeat, item)] = is_over
                left += not is_over
            owed = len(checkpoint_plan.asked) * len(shard_repeats)
            self._left[scenario, label] = left
            self._owed += owed
            self._done += owed - left

    def _count_outcome(self, trial: Trial, states: TrialStates) -> None:
        """Count a trial's outcome once; a later review is not counted again."""
        key = trial.scenario, trial.checkpoint
        slot = states.scenarios[trial.scenario].find_slot(trial)
        is_new = trial.scenario not in self._has_outcome
        if is_new:
            self._count_scenario(trial.scenario, states)
        if not self._has_outcome[trial.scenario][slot]:
            self._has_outcome[trial.scenario][slot] = is_new = True
            self._left[key] -= 1
            self._done += 1
        doing = trial.checkpoint if is_new else "reviewing"
        cost = f", {format_dollars(states.usage)}" if states.usage.cost_usd else ""
        self._display.update(self._done, self._owed, f"{trial.scenario}, {doing}{cost}")
        if self._is_terse:
            self._print_tenths(states)
        if is_new and self._left[key] == 0:
            self._finish_checkpoint(trial, states)

    def _print_tenths(self, states: TrialStates) -> None:
        """Print the progress of the whole, at most ten times."""
        tenths = 10 * self._done // self._count_owed(states)
        if tenths > self._tenths:
            self._tenths = tenths
            self._display.print_line(f"  {self._done:,} of {self._total_owed:,}")

    def _count_owed(self, states: TrialStates) -> int:
        self._total_owed = self._total_owed or self._job.count_owed(states)
        return self._total_owed

    def _finish_checkpoint(self, trial: Trial, states: TrialStates) -> None:
        scenario_states = states.scenarios[trial.scenario]
        row = scenario_states.row[trial.checkpoint]
        if not self._is_terse:
            self._display.print_line(
                format_progress(
                    summarise_checkpoint(scenario_states, row),
                    persona=trial.scenario,
                    index=row + 1,
                    total=len(scenario_states.checkpoint_plans),
                )
            )
        is_over = self._done == self._count_owed(states)
        if not is_over and monotonic() - self._refreshed > self._pause_s:
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


class _SilentDisplay:
    def update(self, done: int, owed: int, doing: str) -> None:
        """Show nothing."""

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

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as progress:
        yield _BarDisplay(progress)


class _ConsoleDisplay:
    def __init__(self, console: "Console") -> None:
        self._console = console

    def print_line(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class _BarDisplay(_ConsoleDisplay):
    def __init__(self, progress: "Progress") -> None:
        super().__init__(progress.console)
        self._progress = progress
        self._task = progress.add_task("starting", total=None)

    def update(self, done: int, owed: int, doing: str) -> None:
        self._progress.update(self._task, completed=done, total=owed, description=doing)


_WINDOW_S = 60.0
"""The rate is that of the last minute, which predicts the end best."""
_TERMINAL_REFRESH_S = 0.5
_LOG_REFRESH_S = 30.0
_MAX_NAMED = 3
"""The most slow tasks that are listed by name."""


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
        self._screen = screen
        self._watch = RunWatch(job, self, is_terse=is_terse)
        self._pool: WorkerPool | None = None
        self._states: TrialStates | None = None
        self._job = job
        self._progress = RunProgress(monotonic)

    def set_pool(self, pool: "WorkerPool") -> None:
        """Set the pool of the run."""
        self._pool = pool

    def __call__(self, event: Event, states: TrialStates) -> None:
        """Handle an event."""
        if self._states is None:
            self._progress.owed = self._job.count_owed(states)
            self._progress.count_trials(states)
            self._states = states
        self._watch(event, states)

    def refresh(self) -> None:
        """Show the current state. May be called from another thread."""
        if self._states is not None:
            self._progress.count_trials(self._states)
            self._screen.show(self.render_lines(self._states))

    def report_losses(self) -> None:
        """Print lost workers, and why there are fewer than requested."""
        if self._pool is None:
            return
        if self._pool.lost:
            self._screen.print_line(f"  [bench] workers lost and replaced: {self._pool.lost}")
        if self._pool.why_fewer is not None:
            self._screen.print_line(
                f"  [bench] fewer workers than requested: {self._pool.why_fewer}"
            )

    @contextmanager
    def refresh_every(self, every_s: float) -> Iterator[None]:
        """Refresh at this interval inside the block."""
        stopped = threading.Event()

        def refresh_until_stopped() -> None:
            while not stopped.wait(every_s):
                self.refresh()

        thread = threading.Thread(target=refresh_until_stopped, name="overview", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()

    def update(self, done: int, owed: int, doing: str) -> None:
        """Ignored: the overview shows the whole run."""

    def print_line(self, line: str) -> None:
        """Print the line on the screen."""
        self._screen.print_line(line)

    def render_lines(self, states: TrialStates) -> list[str]:
        """The progress of the run, its workers, and late tasks."""
        cost = states.usage + states.reading_usage
        lines = [self._progress.describe(cost)]
        if self._pool is not None:
            lines += render_pool_lines(self._pool, monotonic())
        return lines


class RunProgress:
    """Trials done over time; `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self.done = self.errors = 0
        self.owed = 0
        """The trials to be done here."""

    def count_trials(self, states: TrialStates) -> None:
        """Count the done and the failed trials."""
        now, known = self._clock(), list(states.scenarios.values())
        self.done = sum(each.done_count for each in known)
        self.errors = sum(each.error_count for each in known)
        self._seen.append((now, self.done))
        while now - self._seen[0][0] > _WINDOW_S and len(self._seen) > 2:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """Recent trials per second; None if unknown."""
        (since, before), (now, done) = self._seen[0], self._seen[-1]
        return (done - before) / (now - since) if done > before and now > since else None

    def describe(self, cost: Usage) -> str:
        """Progress, rate, errors, cost and remaining time in one line."""
        share = 100 * self.done / self.owed if self.owed else 100.0
        words = [f"{self.done:,} of {self.owed:,} trials ({share:.0f} %)"]
        rate = self.rate
        if rate is not None:
            words.append(f"{rate:,.1f} a second" if rate >= 1 else f"{60 * rate:,.1f} a minute")
        words.append(format_quantity(self.errors, "error"))
        if cost.cost_usd or cost.tokens:
            words.append(f"{format_dollars(cost)}, {cost.tokens:,} tokens")
        if rate is not None and self.done < self.owed:
            left_s = (self.owed - self.done) / rate
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
        f"slow: {each.what}, {format_duration(now - each.since)} on worker {each.worker}"
        for each in late[:_MAX_NAMED]
    ]
    if len(late) > _MAX_NAMED:
        lines.append(f"slow: {len(late) - _MAX_NAMED} more")
    return lines


_KIND_WORDS = {"feed": "feeding", "ask": "asking", "grade": "judging"}
"""By the kind of a unit of work."""


@contextmanager
def watch_run(
    job: Job, *, is_terse: bool = False, is_quiet: bool = False
) -> Iterator[tuple[Observer, OnPool]]:
    """An observer that suits the job's executor, and the callback that gets its pool."""
    if is_quiet:
        yield RunWatch(job, _SilentDisplay(), is_terse=True), lambda _: None
        return
    if job.settings.executor is Executor.LOCAL:
        with open_display() as shown:
            yield RunWatch(job, shown, is_terse=is_terse), lambda _: None
        return
    is_terminal = sys.stderr.isatty()
    with _open_screen(is_terminal=is_terminal) as screen:
        every_s = _TERMINAL_REFRESH_S if is_terminal else _LOG_REFRESH_S
        overview = RunOverview(job, screen, is_terse=is_terse)
        with overview.refresh_every(every_s):
            yield overview, overview.set_pool
        overview.report_losses()


@contextmanager
def _open_screen(*, is_terminal: bool) -> Iterator[OverviewScreen]:
    if not is_terminal:
        yield _LogScreen()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        yield _TerminalScreen(live)


class _LogScreen(LineDisplay):
    def show(self, lines: list[str]) -> None:
        click.echo("  " + " | ".join(lines), err=True)


class _TerminalScreen(_ConsoleDisplay):
    def __init__(self, live: "Live") -> None:
        super().__init__(live.console)
        self._live = live

    def show(self, lines: list[str]) -> None:
        from rich.text import Text

        self._live.update(Text("\n".join(lines)))
