"""A run with many workers on one screen: how far it is, how fast, at what cost, and what lags."""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Protocol

import click

from recall_bench.cli.watch import RunWatch, open_display
from recall_bench.core.event import Event
from recall_bench.core.standing import TrialStates
from recall_bench.core.usage import Usage
from recall_bench.executors.crew import Lane, WorkerPool
from recall_bench.executors.opening import OnPool
from recall_bench.job import Job, Observer
from recall_bench.reporting.money import format_dollars
from recall_bench.reporting.text import format_duration, format_round_duration
from recall_bench.settings import Executor

if TYPE_CHECKING:
    from rich.live import Live

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
