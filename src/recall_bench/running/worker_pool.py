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
    """So many tickets. Who came first is served first, so that nobody waits for ever.

    Who wants several takes those that are left when its turn comes, and waits for no more: others
    may hold theirs for as long as a memory lives.
    """

    def __init__(self, tickets: int) -> None:
        self.tickets = tickets
        self._left = tickets
        self._queue: deque[_TicketRequest] = deque()

    @asynccontextmanager
    async def hold(self, count: int) -> AsyncIterator[int]:
        """Hold so many tickets while the block lasts, or fewer, but at least one."""
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
    """A pool for each system and each provider, made when it is first needed."""

    def __init__(self, max_calls: int | None) -> None:
        self.max_calls = max_calls
        self._pools: dict[str, FairSemaphore] = {}
        self._shards: dict[str, anyio.CapacityLimiter] = {}

    def limit_units(self, whom: str, most: int) -> anyio.CapacityLimiter:
        """The places for shards that a system stands, whichever of several runs they belong to."""
        return self._shards.setdefault(whom, anyio.CapacityLimiter(most))

    @asynccontextmanager
    async def allow_feeding(self, whom: str) -> AsyncIterator[None]:
        """The right to feed a memory of this system whose copies are asked meanwhile.

        So few have it at a time that one call is always left for asking.
        """
        if self.max_calls is None:
            yield
            return
        pool = self._pools.setdefault(f"feeding {whom}", FairSemaphore(max(1, self.max_calls - 1)))
        async with pool.hold(1):
            yield

    @asynccontextmanager
    async def allow_calls(self, whom: Sequence[str], count: int) -> AsyncIterator[int]:
        """The right to have so many calls under way to each of these; at least one.

        Pools are taken in one order by everybody, so that no two wait for each other.
        """
        if self.max_calls is None:
            yield count
            return
        async with AsyncExitStack() as stack:
            for name in sorted(set(whom)):
                pool = self._pools.setdefault(name, FairSemaphore(self.max_calls))
                count = await stack.enter_async_context(pool.hold(count))
            yield count


_MAX_FAILED_STARTS = 3
"""After so many workers in a row that died before they did anything, no other is tried."""


class WorkerHandle(Protocol):
    """A worker as its driver sees it. Several assignments may be under way at once."""

    async def prepare(self, brief: RunSpec) -> None:
        """Tell it of a run."""
        ...

    async def perform(self, run: str, assignment: Task, terms: TaskLimits, told: OnMessage) -> None:
        """Have it carry out an assignment.

        Returns when it has; raises what the worker raised, or WorkerLost.
        """
        ...

    async def stop(self, run: str, reason: TaskFailure) -> None:
        """Have it begin nothing new for a run."""
        ...

    async def close(self) -> None:
        """Let it end what it must, and go. Raises nothing, even if it is gone already."""
        ...


StartWorker = Callable[[int], Awaitable[WorkerHandle]]
"""Starts the worker with this number, which is never given again; WorkerLost if it cannot."""


class Lane(StrEnum):
    """What a worker does one of at a time.

    The lanes of a worker go on beside each other, so that feeding waits for no asking and a slow
    judge idles no system.
    """

    FEED = "feed"
    ASK = "ask"
    GRADE = "grade"

    @classmethod
    def pick(cls, assignment: Task) -> Self:
        """The lane an assignment belongs in."""
        match assignment:
            case FeedTask():
                return cls("feed")
            case AskTask():
                return cls("ask")
        return cls("grade")


@dataclass(slots=True, kw_only=True)
class RunningTask:
    """An assignment under way."""

    what: str
    lane: Lane
    worker: int
    since: float
    """By the monotonic clock."""


@dataclass(slots=True)
class _PoolSlot:
    """A worker and what the crew knows of it."""

    number: int
    colleague: WorkerHandle
    briefed: set[str] = field(default_factory=set)
    briefing: anyio.Lock = field(default_factory=anyio.Lock)
    last: dict[Lane, tuple[str, str]] = field(default_factory=dict)
    """Which run and scenario it was last busy with."""
    is_lost: bool = False


@dataclass(slots=True, eq=False)
class _LaneRequest:
    wanted: tuple[str, str]
    given: anyio.Event = field(default_factory=anyio.Event)
    hand: _PoolSlot | None = None


class WorkerPool:
    """So many workers, hired when the block is entered and let go when it is left.

    One that dies is replaced. Runs may share a crew: each assignment goes to the next worker
    that is free, rather to one that knows its scenario.
    """

    def __init__(self, hire: StartWorker, size: int) -> None:
        self.size = size
        self.why_fewer: Exception | None = None
        """Why not so many could be hired, where they could not."""
        self.lost = 0
        """How many workers died."""
        self.doing: dict[int, RunningTask] = {}
        self.took: dict[Lane, deque[float]] = {lane: deque(maxlen=200) for lane in Lane}
        """How long the last assignments of each lane took, in seconds."""
        self._hire = hire
        self._numbers = itertools.count(1)
        self._tickets = itertools.count(1)
        self._hands: dict[int, _PoolSlot] = {}
        self._free: dict[Lane, list[_PoolSlot]] = {lane: [] for lane in Lane}
        self._waiting: dict[Lane, deque[_LaneRequest]] = {lane: deque() for lane in Lane}
        self._group: TaskGroup | None = None
        self._broken: Exception | None = None
        self._in_vain = 0

    @property
    def present(self) -> int:
        """How many workers are there now."""
        return len(self._hands)

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
                    for hand in self._hands.values():
                        leaving.start_soon(_close_worker, hand.colleague)

    async def perform(
        self, brief: RunSpec, assignment: Task, terms: Callable[[], TaskLimits], told: OnMessage
    ) -> None:
        """Have the next free worker carry it out, on the terms of that moment.

        Raises what the worker raised, WorkerLost if it died over it, what asking for the terms
        raised, and what keeps the crew from having any worker at all.
        """

        def note_message(message: bytes | SnapshotReady) -> None:
            self._in_vain = 0
            told(message)

        lane = Lane.pick(assignment)
        hand = await self._take_slot(lane, (brief.run, assignment.scenario))
        ticket, started = next(self._tickets), time.monotonic()
        self.doing[ticket] = RunningTask(
            what=describe_task(assignment), lane=lane, worker=hand.number, since=started
        )
        try:
            async with hand.briefing:
                if brief.run not in hand.briefed:
                    await hand.colleague.prepare(brief)
                    hand.briefed.add(brief.run)
            await hand.colleague.perform(brief.run, assignment, terms(), note_message)
            self._in_vain = 0
            self.took[lane].append(time.monotonic() - started)
        except WorkerLost:
            self._replace_dead(hand)
            raise
        finally:
            del self.doing[ticket]
            hand.last[lane] = (brief.run, assignment.scenario)
            self._release(hand, lane)

    async def stop(self, run: str, reason: TaskFailure) -> None:
        """Have every worker begin nothing new for a run."""
        async with anyio.create_task_group() as group:
            for hand in self._hands.values():
                if run in hand.briefed:
                    group.start_soon(hand.colleague.stop, run, reason)

    def find_stragglers(self, times: float = 3.0, least_s: float = 10.0) -> list[RunningTask]:
        """What takes several times as long as such assignments usually do, longest first."""
        now, found = time.monotonic(), []
        for doing in list(self.doing.values()):
            took = self.took[doing.lane]
            usual = statistics.median(list(took)) if took else None
            if usual is not None and now - doing.since > max(least_s, times * usual):
                found.append(doing)
        return sorted(found, key=lambda doing: doing.since)

    async def _take_slot(self, lane: Lane, wanted: tuple[str, str]) -> _PoolSlot:
        while (hand := await self._wait_for_slot(lane, wanted)).is_lost:
            # It died between being handed over and being taken.
            continue
        return hand

    async def _wait_for_slot(self, lane: Lane, wanted: tuple[str, str]) -> _PoolSlot:
        free = self._free[lane]
        if free:
            chosen = next((hand for hand in free if hand.last.get(lane) == wanted), free[0])
            free.remove(chosen)
            return chosen
        if self._broken is not None:
            raise self._broken
        waiting = _LaneRequest(wanted)
        self._waiting[lane].append(waiting)
        try:
            await waiting.given.wait()
        except BaseException:
            if waiting.hand is not None:
                self._release(waiting.hand, lane)
            elif waiting in self._waiting[lane]:
                self._waiting[lane].remove(waiting)
            raise
        if waiting.hand is None:
            raise self._broken or SystemGone("there is no worker left")
        return waiting.hand

    def _release(self, hand: _PoolSlot, lane: Lane) -> None:
        """Hand a worker to who has waited longest, or to one of the first who wants it most."""
        if hand.is_lost:
            return
        queue = self._waiting[lane]
        if not queue:
            self._free[lane].append(hand)
            return
        first = itertools.islice(queue, 2 * self.size)
        chosen = next((each for each in first if each.wanted == hand.last.get(lane)), queue[0])
        queue.remove(chosen)
        chosen.hand = hand
        chosen.given.set()

    async def _start_worker(self) -> None:
        """Hire one worker; tell those who wait if there will be none."""
        number = next(self._numbers)
        try:
            colleague = await self._hire(number)
        except WorkerLost as lost:
            self._in_vain += 1
            if self._in_vain >= _MAX_FAILED_STARTS * max(self.size, 2):
                self._fail_waiting(SystemGone(f"workers die as soon as they start: {lost}"))
            elif self._group is not None:
                self._group.start_soon(self._start_worker)
            return
        except Exception as error:  # noqa: BLE001 - raised by whoever waits for a worker
            self._fail_waiting(error)
            return
        hand = self._hands[number] = _PoolSlot(number, colleague)
        for lane in Lane:
            self._release(hand, lane)

    def _replace_dead(self, hand: _PoolSlot) -> None:
        """Count a dead worker once, and hire another."""
        if hand.is_lost:
            return
        hand.is_lost = True
        self.lost += 1
        self._in_vain += 1
        self._hands.pop(hand.number, None)
        for free in self._free.values():
            if hand in free:
                free.remove(hand)
        if self._group is not None:
            self._group.start_soon(_close_worker, hand.colleague)
        if self._in_vain >= _MAX_FAILED_STARTS * max(self.size, 2):
            self._fail_waiting(
                SystemGone(
                    f"{self._in_vain} workers died one after another, and none of them had "
                    "anything to show; the same command tries again"
                )
            )
        elif self._group is not None:
            self._group.start_soon(self._start_worker)

    def _fail_waiting(self, error: Exception) -> None:
        """Nobody can be hired: whoever waits, or comes later, is told why."""
        if self._hands and not isinstance(error, SystemGone):
            # Some are at work, so it is one worker's trouble: the others go on.
            self.why_fewer = self.why_fewer or error
            return
        self._broken = self._broken or error
        for queue in self._waiting.values():
            while queue:
                queue.popleft().given.set()


async def _close_worker(colleague: WorkerHandle) -> None:
    with anyio.CancelScope(shield=True):
        await colleague.close()


def describe_task(assignment: Task) -> str:
    """An assignment in a word or two, for people who watch."""
    match assignment:
        case AskTask(papers=papers):
            first = papers[0]
            place = f"@{first.checkpoint}#{first.repeat}"
            more = f" and {len(papers) - 1} more" if len(papers) > 1 else ""
            return f"{assignment.scenario}{place}{more}"
        case FeedTask():
            return f"{assignment.scenario}, feeding"
        case _:
            return f"{assignment.scenario}, judging"
