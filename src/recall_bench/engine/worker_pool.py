"""A pool of workers: each does one unit at a time, and one that dies is replaced."""

import itertools
import math
import statistics
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

import anyio
from anyio.abc import TaskGroup

from recall_bench.core.errors import SystemGone
from recall_bench.engine.worker_messages import (
    OnEvents,
    RunSpec,
    RunUnit,
    Unit,
    UnitEvents,
    UnitFailure,
    UnitKind,
    UnitLimits,
    WorkerLost,
)

_SLOW_FACTOR = 3.0
"""A unit is slow when it takes this many times as long as usual."""
_MAX_FAILED_STARTS = 3
"""The pool gives up after this many workers per slot died before they did anything."""


class WorkerHandle(Protocol):
    """A worker as its driver sees it."""

    async def perform(self, message: RunUnit, on_events: OnEvents) -> None:
        """Have a unit done; raises what the worker raised, or WorkerLost."""
        ...

    async def stop(self, run: str, reason: UnitFailure) -> None:
        """Let it begin nothing new for a run."""
        ...

    async def close(self) -> None:
        """Let it close its memories and end; raises nothing, even if it is gone already."""
        ...


StartWorker = Callable[[int], Awaitable[WorkerHandle]]
"""Starts the worker with this number, which is used once; WorkerLost if it cannot."""


@dataclass(slots=True, kw_only=True)
class RunningUnit:
    """A unit under way."""

    what: str
    kind: UnitKind
    worker: int
    since: float
    """By the monotonic clock."""


@dataclass(slots=True)
class _PoolSlot:
    number: int
    worker: WorkerHandle
    prepared: set[str] = field(default_factory=set)
    """The runs that it was told of."""


class WorkerPool:
    """Workers that are started when the block is entered and closed when it is left.

    Runs may share a pool: units are done in the order they come. A limit on calls is divided among
    the workers, and keeps the pool as small as itself.
    """

    def __init__(self, start: StartWorker, size: int, max_calls: int | None = None) -> None:
        self.size = size if max_calls is None else min(size, max_calls)
        self.calls_each = None if max_calls is None else max_calls // self.size
        """Calls at a time that one worker may have under way; None is no limit."""
        self.why_fewer: Exception | None = None
        """Why the pool has fewer workers than it should."""
        self.lost = 0
        """How many workers died."""
        self.doing: dict[int, RunningUnit] = {}
        self.took: dict[UnitKind, deque[float]] = {kind: deque(maxlen=200) for kind in UnitKind}
        """Seconds that the last units of each kind took."""
        self._start = start
        self._numbers = itertools.count(1)
        self._tickets = itertools.count(1)
        self._slots: dict[int, _PoolSlot] = {}
        self._limits: dict[str, anyio.CapacityLimiter] = {}
        self._group: TaskGroup | None = None
        self._broken: Exception | None = None
        self._failed_in_a_row = 0

    @property
    def present(self) -> int:
        """How many workers are alive now."""
        return len(self._slots)

    def limit_units(self, name: str, most: int) -> anyio.CapacityLimiter:
        """Return the limiter of units at a time, shared by all runs that use its name."""
        return self._limits.setdefault(name, anyio.CapacityLimiter(most))

    async def __aenter__(self) -> Self:
        self._release, self._free = anyio.create_memory_object_stream[_PoolSlot](math.inf)
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
            self._release.close()
            self._free.close()
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as leaving:
                    for slot in self._slots.values():
                        leaving.start_soon(_close_worker, slot.worker)

    async def perform(
        self, spec: RunSpec, unit: Unit, limits: Callable[[], UnitLimits], on_events: OnEvents
    ) -> None:
        """Have the next free worker do the unit, within the limits of that moment.

        Raises what the worker or `limits` raised, WorkerLost if the worker died, and the reason if
        the pool can have no worker at all.
        """

        def note_events(events: UnitEvents) -> None:
            self._failed_in_a_row = 0
            on_events(events)

        try:
            slot = await self._free.receive()
        except anyio.EndOfStream:
            raise self._broken or SystemGone("all workers were lost") from None
        ticket, started, is_lost = next(self._tickets), time.monotonic(), False
        self.doing[ticket] = RunningUnit(
            what=str(unit), kind=unit.kind, worker=slot.number, since=started
        )
        try:
            message = RunUnit(
                run=spec.run,
                spec=None if spec.run in slot.prepared else spec,
                unit=unit,
                limits=limits(),
            )
            slot.prepared.add(spec.run)
            await slot.worker.perform(message, note_events)
            self._failed_in_a_row = 0
            self.took[unit.kind].append(time.monotonic() - started)
        except WorkerLost:
            is_lost = True
            self._replace_dead(slot)
            raise
        finally:
            del self.doing[ticket]
            if not is_lost and self._broken is None:
                self._release.send_nowait(slot)

    async def stop(self, run: str, reason: UnitFailure) -> None:
        """Let every worker begin nothing new for a run."""
        async with anyio.create_task_group() as group:
            for slot in self._slots.values():
                if run in slot.prepared:
                    group.start_soon(slot.worker.stop, run, reason)

    def find_stragglers(self, least_s: float = 10.0) -> list[RunningUnit]:
        """Find units that take much longer than usual, longest first."""
        now, stragglers = time.monotonic(), []
        for doing in list(self.doing.values()):
            took = self.took[doing.kind]
            usual = statistics.median(list(took)) if took else None
            if usual is not None and now - doing.since > max(least_s, _SLOW_FACTOR * usual):
                stragglers.append(doing)
        return sorted(stragglers, key=lambda doing: doing.since)

    async def _start_worker(self) -> None:
        """Start one worker; fail the waiting units if there can be none."""
        number = next(self._numbers)
        try:
            worker = await self._start(number)
        except WorkerLost as lost:
            self._count_failure(f"workers end as soon as they start: {lost}")
        except Exception as error:  # noqa: BLE001 - raised for the units that wait
            if self._slots:
                # Other workers run, so this is the trouble of one.
                self.why_fewer = self.why_fewer or error
            else:
                self._give_up(error)
        else:
            slot = self._slots[number] = _PoolSlot(number, worker)
            if self._broken is None:
                self._release.send_nowait(slot)

    def _replace_dead(self, slot: _PoolSlot) -> None:
        """Count a dead worker, and start another."""
        self.lost += 1
        del self._slots[slot.number]
        if self._group is not None:
            self._group.start_soon(_close_worker, slot.worker)
        self._count_failure(
            "workers died one after another without any result; run the same command again, with "
            "fewer --workers if memory was short"
        )

    def _count_failure(self, reason: str) -> None:
        """Start another worker, unless too many have failed in a row."""
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= _MAX_FAILED_STARTS * max(self.size, 2):
            self._give_up(SystemGone(reason))
        elif self._group is not None:
            self._group.start_soon(self._start_worker)

    def _give_up(self, error: Exception) -> None:
        """Fail all units, waiting and later ones."""
        self._broken = self._broken or error
        self._release.close()


async def _close_worker(worker: WorkerHandle) -> None:
    with anyio.CancelScope(shield=True):
        await worker.close()
