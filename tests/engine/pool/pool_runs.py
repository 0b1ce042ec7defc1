"""Runs on a pool whose workers live in this process, or in processes of their own."""

import pickle
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from recall_bench.core.errors import BenchError
from recall_bench.core.event import Event
from recall_bench.core.settings import Settings
from recall_bench.core.trial_states import TrialStates
from recall_bench.engine.assembly import assemble
from recall_bench.engine.executor import make_pool_runner
from recall_bench.engine.experiment import RunResult, build_result, execute
from recall_bench.engine.job import Job
from recall_bench.engine.runs.journal import read_events
from recall_bench.engine.worker import Worker
from recall_bench.engine.worker_messages import (
    OnEvents,
    RunUnit,
    Unit,
    UnitEvents,
    UnitFailure,
    WorkerLost,
)
from recall_bench.engine.worker_pool import StartWorker, WorkerPool
from tests.engine.result_views import views

_CODE = re.compile(rb'"code": ?\[[^]]*\]')

Watching = Callable[[Event, TrialStates], None]


def sent(message: object) -> Any:
    """What arrives at the other end of a pipe."""
    return pickle.loads(pickle.dumps(message))


class Beside:
    """A worker in this process. What it is sent is pickled all the same."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.worker = Worker()
        self.is_closed = False
        self.performed: list[Unit] = []
        self.stopped_by: list[str] = []

    async def perform(self, message: RunUnit, told: OnEvents) -> None:
        self.performed.append(message.unit)
        raised: list[UnitFailure] = []

        def tell(events: UnitEvents) -> None:
            heard = sent(events)
            if heard.failure is not None:
                raised.append(heard.failure)
            elif heard.lines or heard.snapshot is not None:
                self.tells(told, heard)

        await self.worker.perform(sent(message), tell)
        if raised:
            raise raised[0].to_error()

    def tells(self, told: OnEvents, events: UnitEvents) -> None:
        told(events)

    async def stop(self, run: str, reason: UnitFailure) -> None:
        self.stopped_by.append(str(reason.to_error()))
        self.worker.stop(run, reason)

    async def close(self) -> None:
        self.is_closed = True
        await self.worker.close()


class Frail(Beside):
    """Dies over what it is doing after some messages, and takes everything with it."""

    def __init__(self, number: int, lives_for: int) -> None:
        super().__init__(number)
        self._left = lives_for
        self._is_dead = False
        self._scopes: set[anyio.CancelScope] = set()

    async def perform(self, message: RunUnit, told: OnEvents) -> None:
        if not self._is_dead:
            with anyio.CancelScope() as scope:
                self._scopes.add(scope)
                try:
                    await super().perform(message, told)
                except Exception:
                    # Nor is what fails in a dead worker because another task took its folder.
                    if not self._is_dead:
                        raise
                finally:
                    self._scopes.discard(scope)
        if self._is_dead:
            raise WorkerLost(f"worker {self.number} died", has_begun=True)

    def tells(self, told: OnEvents, events: UnitEvents) -> None:
        self._left -= 1
        if self._left < 0:
            # Nothing that a dead worker says is heard any more.
            self._is_dead = True
            for scope in self._scopes:
                scope.cancel()
            return
        told(events)

    async def close(self) -> None:
        """End what is under way first: its threads still read the folders that are removed."""
        with anyio.move_on_after(60, shield=True):
            while self._scopes:  # noqa: ASYNC110 - it ends at once, unless a thread is busy
                await anyio.sleep(0.01)
            await super().close()


@dataclass
class StartedWorkers:
    """Starts workers in this process, and keeps them."""

    all: list[Beside] = field(default_factory=list)
    make: Callable[[int], Beside] = Beside

    async def __call__(self, number: int) -> Beside:
        await anyio.lowlevel.checkpoint()
        worker = self.make(number)
        self.all.append(worker)
        return worker


def frail(seed: int, deaths: int, most: int = 40) -> StartedWorkers:
    """The first `deaths` workers die, each after a random number of messages; the others do not."""
    chance = random.Random(seed)

    def make(number: int) -> Beside:
        return Frail(number, chance.randrange(most)) if number <= deaths else Beside(number)

    return StartedWorkers(make=make)


def settings(into: Path, **given: Any) -> Settings:
    """Settings for a small run without pictures."""
    return Settings(**{"heatmap_png": False, "skip_preflight": True, **given}, into=into)


def spread(
    job: Job, start: StartWorker, workers: int = 2, observe: Watching | None = None
) -> RunResult:
    """Run a job on a pool."""
    stopped_by: list[BenchError] = []
    watch = observe or (lambda event, states: None)

    async def run() -> None:
        async with WorkerPool(start, workers, job.settings.max_calls) as pool:
            try:
                await job.run(watch, make_pool_runner(pool, job))
            except BenchError as error:
                stopped_by.append(error)

    async def bounded() -> None:
        with anyio.fail_after(60):
            await run()

    anyio.run(bounded)
    return build_result(job, stopped_by[0] if stopped_by else None)


def alone(job: Job) -> RunResult:
    """Run a job in this process."""
    return execute(job)


def run_spread(
    into: Path, workers: int = 2, start: StartWorker | None = None, **given: Any
) -> RunResult:
    """A run on a pool in this process."""
    return spread(assemble(settings(into, **given)), start or StartedWorkers(), workers)


def run_alone(into: Path, **given: Any) -> RunResult:
    """The same run, as a single process does it."""
    return alone(assemble(settings(into, **given)))


def outcome(folder: Path) -> dict[str, bytes]:
    """Every result file, wall times and the code's digest aside: others may be editing it."""
    return {name: _CODE.sub(b"", content) for name, content in views(folder).items()}


def asked_again(log: Path) -> dict[str, int]:
    """By line of a log that a system writes, how often it is there, if more than once."""
    counted = Counter(log.read_text().splitlines())
    return {line: times for line, times in counted.items() if times > 1}


def kinds(folder: Path) -> Counter[str]:
    """How many events of each kind are on record."""
    return Counter(type(event).__name__ for event in read_events(folder / "journal.jsonl"))


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something holds; fails if it never does."""
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await anyio.sleep(0.01)
