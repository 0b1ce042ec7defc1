"""A run as it happens: a bar for people at a terminal, a line a checkpoint for logs."""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
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
from recall_bench.core.settings import Executor
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.usage import Usage, format_dollars
from recall_bench.reporting.formats import format_duration, format_round_duration
from recall_bench.reporting.run_text import format_progress
from recall_bench.running.execution import write_progress_file
from recall_bench.running.executor import OnPool
from recall_bench.running.job import Job, Observer
from recall_bench.running.worker_pool import Lane, WorkerPool
from recall_bench.runs.summary import summarise_checkpoint

if TYPE_CHECKING:
    from rich.live import Live
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


_WINDOW_S = 60.0
"""The rate is that of the last minute: what is slow now says more about the end."""
_TERMINAL_REFRESH_S = 0.5
_LOG_REFRESH_S = 30.0
_MAX_NAMED = 3
"""So many of what lags behind are named."""


class OverviewScreen(Protocol):
    """Where an overview is shown."""

    def show(self, lines: list[str]) -> None:
        """These, in place of those before."""
        ...

    def print_line(self, line: str) -> None:
        """One line that stays."""
        ...


class RunOverview:
    """Follows a run that a crew carries out, and shows it even while nothing happens."""

    def __init__(self, job: Job, screen: OverviewScreen, *, is_terse: bool = False) -> None:
        self._screen = screen
        self._watch = RunWatch(job, self, is_terse=is_terse)
        self._crew: WorkerPool | None = None
        self._standings: TrialStates | None = None
        self._job = job
        self._progress = RunProgress(monotonic)

    def set_pool(self, crew: WorkerPool) -> None:
        """Know the crew."""
        self._crew = crew

    def __call__(self, event: Event, standings: TrialStates) -> None:
        """Take notice of one event."""
        if self._standings is None:
            self._progress.owed = self._job.count_owed(standings)
            self._progress.count_trials(standings)
            self._standings = standings
        self._watch(event, standings)

    def refresh(self) -> None:
        """Show how things are now. May be called from another thread."""
        if self._standings is not None:
            self._progress.count_trials(self._standings)
            self._screen.show(self.render_lines(self._standings))

    def report_losses(self) -> None:
        """Say of the crew what should not go unnoticed."""
        if self._crew is None:
            return
        if self._crew.lost:
            many = "workers" if self._crew.lost > 1 else "worker"
            self._screen.print_line(
                f"  [bench] {self._crew.lost} {many} died, and others took over"
            )
        if self._crew.why_fewer is not None:
            self._screen.print_line(
                f"  [bench] fewer workers than asked for: {self._crew.why_fewer}"
            )

    @contextmanager
    def refresh_every(self, every_s: float) -> Iterator[None]:
        """Refresh so often while the block lasts."""
        over = threading.Event()

        def refresh_until_over() -> None:
            while not over.wait(every_s):
                self.refresh()

        thread = threading.Thread(target=refresh_until_over, name="overview", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def update(self, done: int, owed: int, doing: str) -> None:
        """The whole is counted here: what one worker does at the moment says little."""

    def print_line(self, line: str) -> None:
        """Pass it on."""
        self._screen.print_line(line)

    def render_lines(self, standings: TrialStates) -> list[str]:
        """The run, its workers, and what lags behind."""
        cost = standings.usage + standings.reading_usage
        lines = [self._progress.describe(cost)]
        if self._crew is not None:
            lines += render_pool_lines(self._crew, monotonic())
        return lines


class RunProgress:
    """Trials done over time; `clock` tells seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self.done = self.errors = 0
        self.owed = 0
        """What is to be done here, as whoever carries it out says."""

    def count_trials(self, standings: TrialStates) -> None:
        """Count anew."""
        now, known = self._clock(), list(standings.scenarios.values())
        self.done = sum(each.done_count for each in known)
        self.errors = sum(each.error_count for each in known)
        self._seen.append((now, self.done))
        while now - self._seen[0][0] > _WINDOW_S and len(self._seen) > 2:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """Trials a second of late; None before that can be told."""
        (since, before), (now, done) = self._seen[0], self._seen[-1]
        return (done - before) / (now - since) if done > before and now > since else None

    def describe(self, cost: Usage) -> str:
        """How far, how fast, what went wrong, what it cost, and when it will be over."""
        share = 100 * self.done / self.owed if self.owed else 100.0
        words = [f"{self.done:,} of {self.owed:,} trials ({share:.0f} %)"]
        rate = self.rate
        if rate is not None:
            words.append(f"{rate:,.1f} a second" if rate >= 1 else f"{60 * rate:,.1f} a minute")
        words.append(f"{self.errors:,} error{'' if self.errors == 1 else 's'}")
        if cost.cost_usd or cost.tokens:
            words.append(f"{format_dollars(cost)}, {cost.tokens:,} tokens")
        if rate is not None and self.done < self.owed:
            left_s = (self.owed - self.done) / rate
            end = datetime.now().astimezone() + timedelta(seconds=left_s)
            words.append(f"{format_round_duration(left_s)} left, until {end:%H:%M}")
        return " · ".join(words)


def render_pool_lines(crew: WorkerPool, now: float) -> list[str]:
    """Who is there, what they do, and what takes far longer than such work usually does."""
    busy = {lane: sum(each.lane is lane for each in list(crew.doing.values())) for lane in Lane}
    words = [f"{crew.present} of {crew.size} workers"]
    words += [f"{count} {_LANE_WORDS[lane]}" for lane, count in busy.items() if count]
    if crew.lost:
        words.append(f"{crew.lost} lost and replaced")
    lines = [" · ".join(words)]
    late = crew.find_stragglers()
    lines += [
        f"lags: {each.what}, {format_duration(now - each.since)} on worker {each.worker}"
        for each in late[:_MAX_NAMED]
    ]
    if len(late) > _MAX_NAMED:
        lines.append(f"lags: {len(late) - _MAX_NAMED} more")
    return lines


_LANE_WORDS = {Lane.FEED: "feeding", Lane.ASK: "asking", Lane.GRADE: "judging"}


@contextmanager
def watch_run(job: Job, *, is_terse: bool = False) -> Iterator[tuple[Observer, OnPool]]:
    """Someone who follows the job as suits its executor, and hears of its crew."""
    if job.settings.executor is Executor.LOCAL:
        with open_display() as shown:
            yield RunWatch(job, shown, is_terse=is_terse), lambda _: None
        return
    is_seen = sys.stderr.isatty()
    with _open_screen(is_seen=is_seen) as screen:
        every_s = _TERMINAL_REFRESH_S if is_seen else _LOG_REFRESH_S
        overview = RunOverview(job, screen, is_terse=is_terse)
        with overview.refresh_every(every_s):
            yield overview, overview.set_pool
        overview.report_losses()


@contextmanager
def _open_screen(*, is_seen: bool) -> Iterator[OverviewScreen]:
    if not is_seen:
        yield _LogScreen()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        yield _TerminalScreen(live)


class _LogScreen:
    def show(self, lines: list[str]) -> None:
        click.echo("  " + " | ".join(lines), err=True)

    def print_line(self, line: str) -> None:
        click.echo(line, err=True)


class _TerminalScreen:
    def __init__(self, live: "Live") -> None:
        self._live = live

    def show(self, lines: list[str]) -> None:
        from rich.text import Text

        self._live.update(Text("\n".join(lines)))

    def print_line(self, line: str) -> None:
        self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)
