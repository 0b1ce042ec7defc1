"""How many calls all workers together may have under way, to a system and to a provider."""

import itertools
import statistics
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

import anyio
from anyio.abc import TaskGroup

from recall_bench.core.errors import SystemGone
from recall_bench.running.worker_messages import (
    AskTask,
    FeedTask,
    OnMessage,
    RunSpec,
    SnapshotReady,
    Task,
    TaskFailure,
    TaskLimits,
    WorkerLost,
)


@dataclass(slots=True, eq=False)
class _TicketRequest:
    count: int
    given: anyio.Event = field(default_factory=anyio.Event)


class FairSemaphore:
    """A FIFO semaphore of which several tickets can be taken at once.

    A request for several gets those that are free at its turn and does not wait for more: others
    may hold theirs for as long as a memory exists.
    """

    def __init__(self, tickets: int) -> None:
        self.tickets = tickets
        self._left = tickets
        self._queue: deque[_TicketRequest] = deque()

    @asynccontextmanager
    async def hold(self, count: int) -> AsyncIterator[int]:
        """Hold up to `count` tickets, at least one, while the block lasts."""
        taken = await self._take(count)
        try:
            yield taken
        finally:
            self._left += taken
            self._serve()

    async def _take(self, count: int) -> int:
        waiting = _TicketRequest(count)
        self._queue.append(waiting)
        self._serve()
        try:
            await waiting.given.wait()
        except BaseException:
            if waiting.given.is_set():
                self._left += waiting.count
            else:
                self._queue.remove(waiting)
            self._serve()
            raise
        return waiting.count

    def _serve(self) -> None:
        while self._queue and self._left:
            waiting = self._queue.popleft()
            waiting.count = min(waiting.count, self._left)
            self._left -= waiting.count
            waiting.given.set()


class CallLimits:
    """Limits the calls of all workers together, to each system and each provider."""

    def __init__(self, max_calls: int | None) -> None:
        self.max_calls = max_calls
        self._semaphores: dict[str, FairSemaphore] = {}
        self._units: dict[str, anyio.CapacityLimiter] = {}

    def limit_units(self, callee: str, most: int) -> anyio.CapacityLimiter:
        """Return the limiter of work units at a time, shared by all runs of a system."""
        return self._units.setdefault(callee, anyio.CapacityLimiter(most))

    @asynccontextmanager
    async def allow_feeding(self, callee: str) -> AsyncIterator[None]:
        """Allow feeding a memory whose copies are asked meanwhile; one call is left for asking."""
        if self.max_calls is None:
            yield
            return
        semaphore = self._semaphores.setdefault(
            f"feeding {callee}", FairSemaphore(max(1, self.max_calls - 1))
        )
        async with semaphore.hold(1):
            yield

    @asynccontextmanager
    async def allow_calls(self, callees: Sequence[str], count: int) -> AsyncIterator[int]:
        """Allow up to `count` calls at a time to each callee, at least one; yields how many.

        Semaphores are taken in one order everywhere, so that no two tasks wait for each other.
        """
        if self.max_calls is None:
            yield count
            return
        async with AsyncExitStack() as stack:
            for name in sorted(set(callees)):
                semaphore = self._semaphores.setdefault(name, FairSemaphore(self.max_calls))
                count = await stack.enter_async_context(semaphore.hold(count))
            yield count


_SLOW_FACTOR = 3.0
"""A task is slow when it takes this many times as long as usual."""

_MAX_FAILED_STARTS = 3
"""The pool gives up after this many workers per slot died before they did anything."""


class WorkerHandle(Protocol):
    """A worker as its driver sees it; several tasks may be under way at once."""

    async def prepare(self, spec: RunSpec) -> None:
        """Send it a run."""
        ...

    async def perform(
        self, run: str, task: Task, limits: TaskLimits, on_message: OnMessage
    ) -> None:
        """Have a task done; raises what the worker raised, or WorkerLost."""
        ...

    async def stop(self, run: str, reason: TaskFailure) -> None:
        """Let it begin nothing new for a run."""
        ...

    async def close(self) -> None:
        """Let it close its memories and end; raises nothing, even if it is gone already."""
        ...


StartWorker = Callable[[int], Awaitable[WorkerHandle]]
"""Starts the worker with this number, which is used once; WorkerLost if it cannot."""


class Lane(StrEnum):
    """A kind of task; a worker does one task of each kind at a time.

    The lanes are independent, so that feeding does not wait for asking, nor asking for a slow
    judge.
    """

    FEED = "feed"
    ASK = "ask"
    GRADE = "grade"

    @classmethod
    def pick(cls, task: Task) -> Self:
        """Return the lane of a task."""
        match task:
            case FeedTask():
                return cls("feed")
            case AskTask():
                return cls("ask")
        return cls("grade")


@dataclass(slots=True, kw_only=True)
class RunningTask:
    """A task under way."""

    what: str
    lane: Lane
    worker: int
    since: float
    """By the monotonic clock."""


@dataclass(slots=True)
class _PoolSlot:
    """A worker and what it has been sent."""

    number: int
    worker: WorkerHandle
    prepared: set[str] = field(default_factory=set)
    preparing: anyio.Lock = field(default_factory=anyio.Lock)
    last: dict[Lane, tuple[str, str]] = field(default_factory=dict)
    """The run and scenario of its last task, by lane."""
    is_lost: bool = False


@dataclass(slots=True, eq=False)
class _LaneRequest:
    wanted: tuple[str, str]
    given: anyio.Event = field(default_factory=anyio.Event)
    slot: _PoolSlot | None = None


class WorkerPool:
    """Workers that are started when the block is entered and closed when it is left.

    A worker that dies is replaced. Runs may share a pool: each task goes to a free worker, if
    possible to one that has loaded its scenario.
    """

    def __init__(self, start: StartWorker, size: int) -> None:
        self.size = size
        self.why_fewer: Exception | None = None
        """Why the pool has fewer workers than it should."""
        self.lost = 0
        """How many workers died."""
        self.doing: dict[int, RunningTask] = {}
        self.took: dict[Lane, deque[float]] = {lane: deque(maxlen=200) for lane in Lane}
        """Seconds that the last tasks of each lane took."""
        self._start = start
        self._numbers = itertools.count(1)
        self._tickets = itertools.count(1)
        self._slots: dict[int, _PoolSlot] = {}
        self._free: dict[Lane, list[_PoolSlot]] = {lane: [] for lane in Lane}
        self._waiting: dict[Lane, deque[_LaneRequest]] = {lane: deque() for lane in Lane}
        self._group: TaskGroup | None = None
        self._broken: Exception | None = None
        self._failed_in_a_row = 0

    @property
    def present(self) -> int:
        """How many workers are alive now."""
        return len(self._slots)

    async def __aenter__(self) -> Self:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        for _ in range(self.size):
            self._group.start_soon(self._start_worker)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if self._group is None:
            return None
        self._group.cancel_scope.cancel()
        try:
            return await self._group.__aexit__(kind, error, trace)
        finally:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as leaving:
                    for slot in self._slots.values():
                        leaving.start_soon(_close_worker, slot.worker)

    async def perform(
        self, spec: RunSpec, task: Task, limits: Callable[[], TaskLimits], on_message: OnMessage
    ) -> None:
        """Have the next free worker do the task, within the limits of that moment.

        Raises what the worker or `limits` raised, WorkerLost if the worker died, and the reason if
        the pool can have no worker at all.
        """

        def note_message(message: bytes | SnapshotReady) -> None:
            self._failed_in_a_row = 0
            on_message(message)

        lane = Lane.pick(task)
        slot = await self._take_slot(lane, (spec.run, task.scenario))
        ticket, started = next(self._tickets), time.monotonic()
        self.doing[ticket] = RunningTask(
            what=describe_task(task), lane=lane, worker=slot.number, since=started
        )
        try:
            async with slot.preparing:
                if spec.run not in slot.prepared:
                    await slot.worker.prepare(spec)
                    slot.prepared.add(spec.run)
            await slot.worker.perform(spec.run, task, limits(), note_message)
            self._failed_in_a_row = 0
            self.took[lane].append(time.monotonic() - started)
        except WorkerLost:
            self._replace_dead(slot)
            raise
        finally:
            del self.doing[ticket]
            slot.last[lane] = (spec.run, task.scenario)
            self._release(slot, lane)

    async def stop(self, run: str, reason: TaskFailure) -> None:
        """Let every worker begin nothing new for a run."""
        async with anyio.create_task_group() as group:
            for slot in self._slots.values():
                if run in slot.prepared:
                    group.start_soon(slot.worker.stop, run, reason)

    def find_stragglers(self, least_s: float = 10.0) -> list[RunningTask]:
        """Find tasks that take much longer than usual, longest first."""
        now, found = time.monotonic(), []
        for doing in list(self.doing.values()):
            took = self.took[doing.lane]
            usual = statistics.median(list(took)) if took else None
            if usual is not None and now - doing.since > max(least_s, _SLOW_FACTOR * usual):
                found.append(doing)
        return sorted(found, key=lambda doing: doing.since)

    async def _take_slot(self, lane: Lane, wanted: tuple[str, str]) -> _PoolSlot:
        while (slot := await self._wait_for_slot(lane, wanted)).is_lost:
            # It died between being released and being taken.
            continue
        return slot

    async def _wait_for_slot(self, lane: Lane, wanted: tuple[str, str]) -> _PoolSlot:
        free = self._free[lane]
        if free:
            chosen = next((slot for slot in free if slot.last.get(lane) == wanted), free[0])
            free.remove(chosen)
            return chosen
        if self._broken is not None:
            raise self._broken
        waiting = _LaneRequest(wanted)
        self._waiting[lane].append(waiting)
        try:
            await waiting.given.wait()
        except BaseException:
            if waiting.slot is not None:
                self._release(waiting.slot, lane)
            elif waiting in self._waiting[lane]:
                self._waiting[lane].remove(waiting)
            raise
        if waiting.slot is None:
            raise self._broken or SystemGone(
                "all workers were lost; run the same command again, with fewer --workers if memory "
                "was short"
            )
        return waiting.slot

    def _release(self, slot: _PoolSlot, lane: Lane) -> None:
        """Give a worker to the oldest request, or to an early one for its loaded scenario."""
        if slot.is_lost:
            return
        queue = self._waiting[lane]
        if not queue:
            self._free[lane].append(slot)
            return
        first = itertools.islice(queue, 2 * self.size)
        chosen = next((each for each in first if each.wanted == slot.last.get(lane)), queue[0])
        queue.remove(chosen)
        chosen.slot = slot
        chosen.given.set()

    async def _start_worker(self) -> None:
        """Start one worker; fail the waiting requests if there can be none."""
        number = next(self._numbers)
        try:
            worker = await self._start(number)
        except WorkerLost as lost:
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= _MAX_FAILED_STARTS * max(self.size, 2):
                self._fail_waiting(SystemGone(f"workers end as soon as they start: {lost}"))
            elif self._group is not None:
                self._group.start_soon(self._start_worker)
            return
        except Exception as error:  # noqa: BLE001 - raised in the tasks that wait
            self._fail_waiting(error)
            return
        slot = self._slots[number] = _PoolSlot(number, worker)
        for lane in Lane:
            self._release(slot, lane)

    def _replace_dead(self, slot: _PoolSlot) -> None:
        """Count a dead worker once, and start another."""
        if slot.is_lost:
            return
        slot.is_lost = True
        self.lost += 1
        self._failed_in_a_row += 1
        self._slots.pop(slot.number, None)
        for free in self._free.values():
            if slot in free:
                free.remove(slot)
        if self._group is not None:
            self._group.start_soon(_close_worker, slot.worker)
        if self._failed_in_a_row >= _MAX_FAILED_STARTS * max(self.size, 2):
            self._fail_waiting(
                SystemGone(
                    f"{self._failed_in_a_row} workers died one after another without any result; "
                    "run the same command again to retry"
                )
            )
        elif self._group is not None:
            self._group.start_soon(self._start_worker)

    def _fail_waiting(self, error: Exception) -> None:
        """Fail all requests, waiting and later ones, unless other workers are alive."""
        if self._slots and not isinstance(error, SystemGone):
            # Other workers run, so this is the trouble of one.
            self.why_fewer = self.why_fewer or error
            return
        self._broken = self._broken or error
        for queue in self._waiting.values():
            while queue:
                queue.popleft().given.set()


async def _close_worker(worker: WorkerHandle) -> None:
    with anyio.CancelScope(shield=True):
        await worker.close()


def describe_task(task: Task) -> str:
    """Describe a task in a few words, for the progress display."""
    match task:
        case AskTask(batches=batches):
            first = batches[0]
            place = f"@{first.checkpoint}#{first.repeat}"
            more = f" and {len(batches) - 1} more" if len(batches) > 1 else ""
            return f"{task.scenario}{place}{more}"
        case FeedTask():
            return f"{task.scenario}, feeding"
        case _:
            return f"{task.scenario}, judging"
