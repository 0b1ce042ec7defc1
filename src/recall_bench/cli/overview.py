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

from recall_bench.cli.watch import Watch, display
from recall_bench.core.event import Event
from recall_bench.core.standing import Standings
from recall_bench.core.usage import Usage
from recall_bench.executors.crew import Crew, Lane
from recall_bench.executors.opening import Joined
from recall_bench.job import Job, Observer
from recall_bench.reporting.money import dollars
from recall_bench.reporting.text import duration, round_duration
from recall_bench.settings import Executor

if TYPE_CHECKING:
    from rich.live import Live

_WINDOW_S = 60.0
"""The rate is that of the last minute: what is slow now says more about the end."""
_AT_A_TERMINAL_S = 0.5
_IN_A_LOG_S = 30.0
_NAMED = 3
"""So many of what lags behind are named."""


class Screen(Protocol):
    """Where an overview is shown."""

    def show(self, lines: list[str]) -> None:
        """These, in place of those before."""
        ...

    def say(self, line: str) -> None:
        """One line that stays."""
        ...


class Overview:
    """Follows a run that a crew carries out, and shows it even while nothing happens."""

    def __init__(self, job: Job, screen: Screen, *, is_terse: bool = False) -> None:
        self._screen = screen
        self._watch = Watch(job, self, is_terse=is_terse)
        self._crew: Crew | None = None
        self._standings: Standings | None = None
        self._job = job
        self._progress = Progress(monotonic)

    def joined(self, crew: Crew) -> None:
        """Know the crew."""
        self._crew = crew

    def __call__(self, event: Event, standings: Standings) -> None:
        """Take notice of one event."""
        if self._standings is None:
            self._progress.owed = self._job.owed(standings)
            self._progress.note(standings)
            self._standings = standings
        self._watch(event, standings)

    def refresh(self) -> None:
        """Show how things are now. May be called from another thread."""
        if self._standings is not None:
            self._progress.note(self._standings)
            self._screen.show(self.lines(self._standings))

    def part(self) -> None:
        """Say of the crew what should not go unnoticed."""
        if self._crew is None:
            return
        if self._crew.lost:
            many = "workers" if self._crew.lost > 1 else "worker"
            self._screen.say(f"  [bench] {self._crew.lost} {many} died, and others took over")
        if self._crew.why_fewer is not None:
            self._screen.say(f"  [bench] fewer workers than asked for: {self._crew.why_fewer}")

    @contextmanager
    def ticking(self, every_s: float) -> Iterator[None]:
        """Refresh so often while the block lasts."""
        over = threading.Event()

        def tick() -> None:
            while not over.wait(every_s):
                self.refresh()

        thread = threading.Thread(target=tick, name="overview", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def advance(self, done: int, owed: int, doing: str) -> None:
        """The whole is counted here: what one worker does at the moment says little."""

    def say(self, line: str) -> None:
        """Pass it on."""
        self._screen.say(line)

    def lines(self, standings: Standings) -> list[str]:
        """The run, its workers, and what lags behind."""
        cost = standings.usage + standings.reading_usage
        lines = [self._progress.words(cost)]
        if self._crew is not None:
            lines += crew_lines(self._crew, monotonic())
        return lines


class Progress:
    """Trials done over time; `clock` tells seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self.done = self.errors = 0
        self.owed = 0
        """What is to be done here, as whoever carries it out says."""

    def note(self, standings: Standings) -> None:
        """Count anew."""
        now, known = self._clock(), list(standings.scenarios.values())
        self.done = sum(each.done for each in known)
        self.errors = sum(each.errors for each in known)
        self._seen.append((now, self.done))
        while now - self._seen[0][0] > _WINDOW_S and len(self._seen) > 2:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """Trials a second of late; None before that can be told."""
        (since, before), (now, done) = self._seen[0], self._seen[-1]
        return (done - before) / (now - since) if done > before and now > since else None

    def words(self, cost: Usage) -> str:
        """How far, how fast, what went wrong, what it cost, and when it will be over."""
        share = 100 * self.done / self.owed if self.owed else 100.0
        words = [f"{self.done:,} of {self.owed:,} trials ({share:.0f} %)"]
        rate = self.rate
        if rate is not None:
            words.append(f"{rate:,.1f} a second" if rate >= 1 else f"{60 * rate:,.1f} a minute")
        words.append(f"{self.errors:,} error{'' if self.errors == 1 else 's'}")
        if cost.cost_usd or cost.tokens:
            words.append(f"{dollars(cost)}, {cost.tokens:,} tokens")
        if rate is not None and self.done < self.owed:
            left_s = (self.owed - self.done) / rate
            end = datetime.now().astimezone() + timedelta(seconds=left_s)
            words.append(f"{round_duration(left_s)} left, until {end:%H:%M}")
        return " · ".join(words)


def crew_lines(crew: Crew, now: float) -> list[str]:
    """Who is there, what they do, and what takes far longer than such work usually does."""
    busy = {lane: sum(each.lane is lane for each in list(crew.doing.values())) for lane in Lane}
    words = [f"{crew.present} of {crew.size} workers"]
    words += [f"{count} {_DOING[lane]}" for lane, count in busy.items() if count]
    if crew.lost:
        words.append(f"{crew.lost} lost and replaced")
    lines = [" · ".join(words)]
    late = crew.stragglers()
    lines += [
        f"lags: {each.what}, {duration(now - each.since)} on worker {each.worker}"
        for each in late[:_NAMED]
    ]
    if len(late) > _NAMED:
        lines.append(f"lags: {len(late) - _NAMED} more")
    return lines


_DOING = {Lane.FEED: "feeding", Lane.ASK: "asking", Lane.GRADE: "judging"}


@contextmanager
def watching(job: Job, *, is_terse: bool = False) -> Iterator[tuple[Observer, Joined]]:
    """Someone who follows the job as suits its executor, and hears of its crew."""
    if job.settings.executor is Executor.LOCAL:
        with display() as shown:
            yield Watch(job, shown, is_terse=is_terse), lambda _: None
        return
    is_seen = sys.stderr.isatty()
    with _screen(is_seen=is_seen) as screen:
        every_s = _AT_A_TERMINAL_S if is_seen else _IN_A_LOG_S
        overview = Overview(job, screen, is_terse=is_terse)
        with overview.ticking(every_s):
            yield overview, overview.joined
        overview.part()


@contextmanager
def _screen(*, is_seen: bool) -> Iterator[Screen]:
    if not is_seen:
        yield _Log()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        yield _Terminal(live)


class _Log:
    def show(self, lines: list[str]) -> None:
        click.echo("  " + " | ".join(lines), err=True)

    def say(self, line: str) -> None:
        click.echo(line, err=True)


class _Terminal:
    def __init__(self, live: "Live") -> None:
        self._live = live

    def show(self, lines: list[str]) -> None:
        from rich.text import Text

        self._live.update(Text("\n".join(lines)))

    def say(self, line: str) -> None:
        self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)
