"""Looking into a memory before it is asked: what it still holds, and how large it has become."""

import time
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import anyio
from anyio.lowlevel import checkpoint as breathe

from recall_bench.core.budget import SYSTEM
from recall_bench.core.errors import SystemFault, SystemGone, SystemStuck, SystemTimeout
from recall_bench.core.event import INGEST, FeedFailed, Ingested, Inspected, Settled
from recall_bench.core.memory import BulkIngestMemory, Holdings, Memory, MemoryWithHoldings
from recall_bench.core.retry import limit_time, retry
from recall_bench.core.scenario import Episode
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.running.scenario_run import ScenarioRun

_MOST_BYTES = 2**63
"""No journal could hold more, and no memory does."""


async def inspect_memory(
    memory: Memory, fed: Sequence[Episode], *, exam: ScenarioRun, sheet: CheckpointPlan
) -> bool:
    """Put on record what a memory says of itself that was fed these episodes, once a checkpoint.

    Nothing that goes wrong with it is raised: it is recorded, and whoever is gone will be missed
    when the first question is put. False if the memory did not come back in time: it may be stuck,
    and the scenario's other memories are spared the same.
    """
    label = sheet.checkpoint.label
    if not isinstance(memory, MemoryWithHoldings) or label in exam.inspected:
        return True
    exam.inspected.add(label)
    try:
        held = await _read_holdings(memory, exam.plan.feed_timeout_s)
    except (SystemFault, SystemGone) as fault:
        _record_inspection(exam, label, fault=f"{type(fault).__name__}: {fault}")
        if not isinstance(fault, SystemTimeout | SystemStuck):
            return True
        exam.inspected.update(exam.standing.row)
        return False
    if held != Holdings():
        _record_inspection(exam, label, lost=_find_lost_days(fed, held), size=held.bytes)
    return True


async def _read_holdings(memory: MemoryWithHoldings, timeout_s: float) -> Holdings:
    async def read_once() -> Holdings:
        overrun = SystemTimeout(f"looking into it took longer than {timeout_s:g} s")
        return await limit_time(timeout_s, memory.holdings(), overrun)

    held = await retry(read_once)
    if held.bytes is not None and not 0 <= held.bytes < _MOST_BYTES:
        raise SystemFault(f"it says that it takes {held.bytes} bytes")
    return held


def _find_lost_days(fed: Sequence[Episode], held: Holdings) -> tuple[int, ...] | None:
    """The days it holds nothing of. A day without a word leaves nothing to hold."""
    if held.days is None:
        return None
    kept = frozenset(held.days)
    return tuple(each.day for each in fed if each.day not in kept and each.text.strip())


def _record_inspection(
    exam: ScenarioRun,
    checkpoint: str,
    *,
    lost: tuple[int, ...] | None = None,
    size: int | None = None,
    fault: str | None = None,
) -> None:
    exam.record(
        Inspected(
            at=datetime.now(UTC),
            scenario=exam.scenario.id,
            checkpoint=checkpoint,
            lost=lost,
            bytes=size,
            fault=fault,
        )
    )


T = TypeVar("T")

_CLOSE_TIMEOUT_S = 10.0


class FeedFault(Exception):
    """A system that could not be opened, fed or settled, and where."""

    def __init__(self, event: FeedFailed) -> None:
        super().__init__(event.message)
        self.event = event


async def call_in_time(
    stage: str,
    call: Callable[[], Awaitable[T]],
    *,
    exam: ScenarioRun,
    sheet: CheckpointPlan,
    day: int | None = None,
) -> T:
    """What the call returns. A fault or an overrun becomes a FeedFault of this stage."""
    timeout_s = exam.plan.feed_timeout_s

    async def call_once() -> T:
        overrun = SystemTimeout(f"{stage} took longer than {timeout_s:g} s")
        return await limit_time(timeout_s, call(), overrun)

    try:
        return await retry(call_once)
    except SystemFault as fault:
        raise FeedFault(_make_failure(stage, fault, exam, sheet, day)) from fault


def _make_failure(
    stage: str,
    fault: SystemFault | SystemGone,
    exam: ScenarioRun,
    sheet: CheckpointPlan,
    day: int | None = None,
) -> FeedFailed:
    return FeedFailed(
        at=datetime.now(UTC),
        scenario=exam.scenario.id,
        checkpoint=sheet.checkpoint.label,
        stage=stage,
        fault=type(fault).__name__,
        message=str(fault),
        day=day,
    )


class FedMemory:
    """A memory and how far into the story it has come."""

    def __init__(self, memory: Memory, exam: ScenarioRun, fed: int = 0) -> None:
        self.memory = memory
        self._exam = exam
        self._fed = fed

    async def feed_until(self, sheet: CheckpointPlan) -> None:
        """Feed every day up to the sheet's checkpoint, let the memory settle, and look into it.

        Once the court has adjourned it stops between two days and raises why.
        """
        exam = self._exam
        try:
            await self._feed_and_settle(sheet)
            fed = exam.scenario.fed_episodes[: self._fed]
            if not await inspect_memory(self.memory, fed, exam=exam, sheet=sheet):
                await self._recover(sheet)
        finally:
            exam.read_meter(sheet, INGEST)

    async def _feed_and_settle(self, sheet: CheckpointPlan) -> None:
        if isinstance(self.memory, BulkIngestMemory):
            await self._feed_stream(self.memory, sheet)
        else:
            await self._feed_days(sheet)
        await self._settle(sheet)

    async def _recover(self, sheet: CheckpointPlan) -> None:
        """Go on with a memory that hung while it was looked into, or live all of it in another.

        Looking into a memory must cost no trial. Settling again changes nothing, so a memory that
        can do it is as it was.
        """
        exam = self._exam
        try:
            await call_in_time("settle", self.memory.settle, exam=exam, sheet=sheet)
        except FeedFault:
            await close_memory(self.memory, exam, sheet)
            self.memory, self._fed = (await open_fed_memory(exam, sheet)).memory, 0
            await self._feed_and_settle(sheet)

    def _list_due(self, sheet: CheckpointPlan) -> Sequence[Episode]:
        """What the checkpoint still wants to have been fed, in story order."""
        left = self._exam.scenario.fed_episodes[self._fed :]
        return left[: bisect_right(left, sheet.cutoff, key=lambda episode: episode.day)]

    async def _feed_days(self, sheet: CheckpointPlan) -> None:
        """Hand over one day after another."""
        exam = self._exam
        for episode in self._list_due(sheet):
            exam.court.check()
            async with exam.court.calls.limit(SYSTEM):
                started = time.perf_counter()
                ingest = partial(self.memory.ingest, episode)
                await call_in_time("ingest", ingest, exam=exam, sheet=sheet, day=episode.day)
                self._record_day(episode, sheet, time.perf_counter() - started)
            # A memory that only computes never lets go of the loop, and a signal to stop is
            # heard only when someone does.
            await breathe()

    async def _feed_stream(self, memory: BulkIngestMemory, sheet: CheckpointPlan) -> None:
        """Hand over all days at once; a day counts as fed when the memory says it took it."""
        if self._list_due(sheet):
            self._exam.court.check()
        try:
            async with self._exam.court.calls.limit(SYSTEM):
                await retry(partial(self._feed_stream_once, memory, sheet))
        except SystemFault as fault:
            left = self._list_due(sheet)
            day = left[0].day if left else None
            raise FeedFault(_make_failure("ingest", fault, self._exam, sheet, day)) from fault
        self._exam.court.check()

    async def _feed_stream_once(self, memory: BulkIngestMemory, sheet: CheckpointPlan) -> None:
        """Hand over what is due. The time allowed for a day starts anew with each one taken."""
        court, timeout_s = self._exam.court, self._exam.plan.feed_timeout_s
        due = self._list_due(sheet)
        if not due:
            return
        waiting = iter(due)
        since = time.perf_counter()

        def note_day(episode: Episode) -> None:
            nonlocal since
            if episode is not next(waiting, None):
                raise SystemFault(f"it says that it took day {episode.day} out of turn")
            seconds, since = time.perf_counter() - since, time.perf_counter()
            self._record_day(episode, sheet, seconds)
            scope.deadline = anyio.current_time() + timeout_s
            if court.stop_reason is not None:
                scope.cancel()

        with anyio.CancelScope(deadline=anyio.current_time() + timeout_s) as scope:
            await memory.ingest_all(due, note_day)
        if court.stop_reason is not None:
            return
        if scope.cancelled_caught:
            raise SystemTimeout(f"ingest took longer than {timeout_s:g} s")
        if left := len(list(waiting)):
            raise SystemFault(f"it took {len(due) - left} of {len(due)} days and ended the stream")

    def _record_day(self, episode: Episode, sheet: CheckpointPlan, seconds: float) -> None:
        self._fed += 1
        self._exam.record(
            Ingested(
                at=datetime.now(UTC),
                scenario=self._exam.scenario.id,
                day=episode.day,
                checkpoint=sheet.checkpoint.label,
                seconds=seconds,
            )
        )

    async def _settle(self, sheet: CheckpointPlan) -> None:
        exam = self._exam
        async with exam.court.calls.limit(SYSTEM):
            started = time.perf_counter()
            await call_in_time("settle", self.memory.settle, exam=exam, sheet=sheet)
            seconds = time.perf_counter() - started
        exam.record(
            Settled(
                at=datetime.now(UTC),
                scenario=exam.scenario.id,
                checkpoint=sheet.checkpoint.label,
                seconds=seconds,
            )
        )


async def open_fed_memory(exam: ScenarioRun, sheet: CheckpointPlan) -> FedMemory:
    """A memory that has lived nothing yet, opened for the sake of this checkpoint."""
    open_memory = partial(exam.system.open, exam.scenario.id)
    return FedMemory(await call_in_time("open", open_memory, exam=exam, sheet=sheet), exam)


async def close_memory(memory: Memory, exam: ScenarioRun, sheet: CheckpointPlan) -> None:
    """Release a memory. A failure to do so is recorded and costs no result."""
    await release(memory.close, exam, sheet)


async def release(
    call: Callable[[], Awaitable[None]], exam: ScenarioRun, sheet: CheckpointPlan
) -> None:
    """Let go of something nobody needs any more, whatever it says to that."""
    fault: SystemFault | SystemGone | None = None
    with anyio.move_on_after(_CLOSE_TIMEOUT_S, shield=True) as scope:
        try:
            await call()
        except (SystemFault, SystemGone) as raised:
            fault = raised
    if scope.cancelled_caught:
        fault = SystemTimeout(f"close took longer than {_CLOSE_TIMEOUT_S:g} s")
    if fault is not None:
        exam.record(_make_failure("close", fault, exam, sheet))
