"""Feed a memory day by day, let it settle, and record what it says about itself."""

import time
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import anyio
from anyio.lowlevel import checkpoint as yield_turn

from recall_bench.core.errors import BenchError, SystemFault, SystemGone, SystemStuck, SystemTimeout
from recall_bench.core.event import INGEST, FeedFailed, Ingested, Inspected, Settled
from recall_bench.core.memory import BulkIngestMemory, Holdings, Memory, MemoryWithHoldings
from recall_bench.core.retry import SYSTEM, retry
from recall_bench.core.scenario import Episode
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.engine.scenario_run import ScenarioRun
from recall_bench.systems.memory_call import call_system

T = TypeVar("T")

_MAX_BYTES = 2**63
"""The largest number that a journal can hold."""


async def inspect_memory(
    memory: Memory, fed: Sequence[Episode], *, run: ScenarioRun, point: CheckpointPlan
) -> bool:
    """Record which days a memory lost and how large it is, once a checkpoint.

    Faults are recorded and not raised: a system that is gone is noticed at the first question.
    Returns False if the memory timed out: it may be stuck, and the scenario's other memories are
    not inspected any more.
    """
    label = point.checkpoint.label
    if not isinstance(memory, MemoryWithHoldings) or label in run.inspected:
        return True
    run.inspected.add(label)
    lost: tuple[int, ...] | None = None
    fault: SystemFault | SystemGone | None = None
    size: int | None = None
    try:
        timeout_s = run.plan.feed_timeout_s
        holdings = await call_system("looking into it", memory.holdings, timeout_s=timeout_s)
        if holdings == Holdings():
            return True
        size = holdings.bytes
        if size is not None and not 0 <= size < _MAX_BYTES:
            size, fault = None, SystemFault(f"it reports a size of {size} bytes")
        if holdings.days is not None and fault is None:
            days = frozenset(holdings.days)
            # An empty day cannot be lost.
            lost = tuple(day.day for day in fed if day.day not in days and day.text.strip())
    except (SystemFault, SystemGone) as raised:
        size, fault = None, raised
    run.record(
        Inspected(
            at=datetime.now(UTC),
            scenario=run.scenario.id,
            checkpoint=label,
            lost=lost,
            bytes=size,
            fault=None if fault is None else f"{type(fault).__name__}: {fault}",
        )
    )
    is_hanging = isinstance(fault, SystemTimeout | SystemStuck)
    if is_hanging:
        run.inspected.update(run.trials.row)
    return not is_hanging


_CLOSE_TIMEOUT_S = 10.0
_LATE_HINT = "; --ingest-timeout sets the limit"


class FeedFault(Exception):
    """The system could not be opened, fed or settled; `event` says where."""

    def __init__(self, event: FeedFailed) -> None:
        super().__init__(event.message)
        self.event = event


async def call_in_time(
    stage: str,
    call: Callable[[], Awaitable[T]],
    *,
    run: ScenarioRun,
    point: CheckpointPlan,
    day: int | None = None,
) -> T:
    """Return the result of the call; a fault or a timeout becomes a FeedFault of this stage."""
    try:
        return await call_system(stage, call, timeout_s=run.plan.feed_timeout_s, hint=_LATE_HINT)
    except SystemFault as fault:
        raise FeedFault(make_failure(stage, fault, run, point, day)) from fault


def make_failure(
    stage: str,
    fault: BenchError,
    run: ScenarioRun,
    point: CheckpointPlan,
    day: int | None = None,
) -> FeedFailed:
    """Make the record of what went wrong with a memory."""
    return FeedFailed(
        at=datetime.now(UTC),
        scenario=run.scenario.id,
        checkpoint=point.checkpoint.label,
        stage=stage,
        fault=type(fault).__name__,
        message=str(fault),
        day=day,
    )


class FedMemory:
    """A memory and the number of episodes it was fed."""

    def __init__(self, memory: Memory, run: ScenarioRun, fed: int = 0) -> None:
        self.memory = memory
        self._run = run
        self._fed = fed

    async def feed_until(self, point: CheckpointPlan) -> None:
        """Feed every day up to the checkpoint, let the memory settle, and inspect it.

        Once the budget is spent, feeding stops between two days and the reason is raised.
        """
        run = self._run
        try:
            await self._feed_and_settle(point)
            fed = run.scenario.fed_episodes[: self._fed]
            if not await inspect_memory(self.memory, fed, run=run, point=point):
                await self._recover(point)
        finally:
            run.record_exchanges(point, INGEST)
            run.read_meter(point, INGEST)

    async def _feed_and_settle(self, point: CheckpointPlan) -> None:
        if isinstance(self.memory, BulkIngestMemory):
            if self._list_due(point):
                self._run.budget.check()
            try:
                async with self._run.budget.calls.limit(SYSTEM):
                    await retry(partial(self._feed_stream_once, self.memory, point))
            except SystemFault as fault:
                due = self._list_due(point)
                day = due[0].day if due else None
                raise FeedFault(make_failure("ingest", fault, self._run, point, day)) from fault
            self._run.budget.check()
        else:
            await self._feed_days(point)
        run = self._run
        async with run.budget.calls.limit(SYSTEM):
            started = time.perf_counter()
            await call_in_time("settle", self.memory.settle, run=run, point=point)
            seconds = time.perf_counter() - started
        run.record(
            Settled(
                at=datetime.now(UTC),
                scenario=run.scenario.id,
                checkpoint=point.checkpoint.label,
                seconds=seconds,
            )
        )

    async def _recover(self, point: CheckpointPlan) -> None:
        """Go on with a memory that hung during inspection, or feed a new one from the start.

        Inspection must cost no trial. Settling again changes nothing, so a memory that still
        settles is usable.
        """
        run = self._run
        try:
            await call_in_time("settle", self.memory.settle, run=run, point=point)
        except FeedFault:
            await close_memory(self.memory, run, point)
            self.memory, self._fed = (await open_fed_memory(run, point)).memory, 0
            await self._feed_and_settle(point)

    def _list_due(self, point: CheckpointPlan) -> Sequence[Episode]:
        """List the episodes up to the checkpoint that were not fed yet, in story order."""
        unfed = self._run.scenario.fed_episodes[self._fed :]
        return unfed[: bisect_right(unfed, point.cutoff, key=lambda episode: episode.day)]

    async def _feed_days(self, point: CheckpointPlan) -> None:
        run = self._run
        for episode in self._list_due(point):
            run.budget.check()
            async with run.budget.calls.limit(SYSTEM):
                started = time.perf_counter()
                ingest = partial(self.memory.ingest, episode)
                try:
                    await call_in_time("ingest", ingest, run=run, point=point, day=episode.day)
                finally:
                    if hasattr(self.memory, "take_sessions"):
                        from recall_bench.engine.agent_events import record_day_sessions

                        record_day_sessions(run, self.memory, episode, point.checkpoint.label)
                self._record_day(episode, point, time.perf_counter() - started)
            # A memory that only computes never yields to the event loop, and without a turn
            # of the loop no signal is handled.
            await yield_turn()

    async def _feed_stream_once(self, memory: BulkIngestMemory, point: CheckpointPlan) -> None:
        """Feed what is due; the timeout starts anew with each day the memory confirms."""
        budget, timeout_s = self._run.budget, self._run.plan.feed_timeout_s
        due = self._list_due(point)
        if not due:
            return
        waiting = iter(due)
        since = time.perf_counter()

        def note_day(episode: Episode) -> None:
            nonlocal since
            if episode is not next(waiting, None):
                raise SystemFault(f"it confirmed day {episode.day} out of order")
            seconds, since = time.perf_counter() - since, time.perf_counter()
            self._record_day(episode, point, seconds)
            scope.deadline = anyio.current_time() + timeout_s
            if budget.stop_reason is not None:
                scope.cancel()

        with anyio.CancelScope(deadline=anyio.current_time() + timeout_s) as scope:
            await memory.ingest_all(due, note_day)
        if budget.stop_reason is not None:
            return
        if scope.cancelled_caught:
            raise SystemTimeout(f"ingest took longer than {timeout_s:g} s{_LATE_HINT}")
        if missing := len(list(waiting)):
            raise SystemFault(
                f"it took {len(due) - missing} of {len(due)} days and ended the stream"
            )

    def _record_day(self, episode: Episode, point: CheckpointPlan, seconds: float) -> None:
        self._fed += 1
        self._run.record_exchanges(point, INGEST)
        self._run.record(
            Ingested(
                at=datetime.now(UTC),
                scenario=self._run.scenario.id,
                day=episode.day,
                checkpoint=point.checkpoint.label,
                seconds=seconds,
            )
        )


async def open_fed_memory(run: ScenarioRun, point: CheckpointPlan) -> FedMemory:
    """Open an empty memory; a failure is recorded for this checkpoint."""
    open_memory = partial(run.system.open, run.scenario.id)
    return FedMemory(await call_in_time("open", open_memory, run=run, point=point), run)


async def close_memory(memory: Memory, run: ScenarioRun, point: CheckpointPlan) -> None:
    """Close a memory; a failure is recorded and costs no result."""
    await release(memory.close, run, point)


async def release(
    call: Callable[[], Awaitable[None]], run: ScenarioRun, point: CheckpointPlan
) -> None:
    """Call something that frees a resource; a failure is recorded and costs no result."""
    fault: SystemFault | SystemGone | None = None
    with anyio.move_on_after(_CLOSE_TIMEOUT_S, shield=True) as scope:
        try:
            await call()
        except (SystemFault, SystemGone) as raised:
            fault = raised
    if scope.cancelled_caught:
        fault = SystemTimeout(f"close took longer than {_CLOSE_TIMEOUT_S:g} s")
    if fault is not None:
        run.record(make_failure("close", fault, run, point))
