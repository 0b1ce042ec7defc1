"""A memory living through a scenario, day by day."""

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import anyio
from anyio.lowlevel import checkpoint as breathe

from recall_bench.core.event import FeedFailed, Ingested, Settled
from recall_bench.core.memory import Memory
from recall_bench.core.schedule import Sheet
from recall_bench.errors import SystemFault, SystemGone, SystemTimeout
from recall_bench.running.examination import Examination
from recall_bench.running.patience import persistently, within

T = TypeVar("T")

_CLOSING_S = 10.0


class FeedFault(Exception):
    """A system that could not be opened, fed or settled, and where."""

    def __init__(self, event: FeedFailed) -> None:
        super().__init__(event.message)
        self.event = event


async def bounded(
    stage: str,
    call: Callable[[], Awaitable[T]],
    *,
    exam: Examination,
    sheet: Sheet,
    day: int | None = None,
) -> T:
    """What the call returns. A fault or an overrun becomes a FeedFault of this stage."""
    timeout_s = exam.plan.feed_timeout_s

    async def once() -> T:
        overrun = SystemTimeout(f"{stage} took longer than {timeout_s:g} s")
        return await within(timeout_s, call(), overrun)

    try:
        return await persistently(once)
    except SystemFault as fault:
        raise FeedFault(_failed(stage, fault, exam, sheet, day)) from fault


def _failed(
    stage: str,
    fault: SystemFault | SystemGone,
    exam: Examination,
    sheet: Sheet,
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


class Life:
    """A memory and how far into the story it has come."""

    def __init__(self, memory: Memory, exam: Examination, fed: int = 0) -> None:
        self.memory = memory
        self._exam = exam
        self._fed = fed

    async def live_until(self, sheet: Sheet) -> None:
        """Feed every day up to the sheet's checkpoint, then let the memory settle.

        Once the court has adjourned it stops between two days and raises why.
        """
        exam = self._exam
        scenario, label = exam.scenario.id, sheet.checkpoint.label
        episodes = exam.scenario.episodes
        while self._fed < len(episodes) and episodes[self._fed].day <= sheet.cutoff:
            exam.court.check()
            episode = episodes[self._fed]
            started = time.perf_counter()
            ingest = partial(self.memory.ingest, episode)
            await bounded("ingest", ingest, exam=exam, sheet=sheet, day=episode.day)
            seconds = time.perf_counter() - started
            self._fed += 1
            exam.record(
                Ingested(
                    at=datetime.now(UTC),
                    scenario=scenario,
                    day=episode.day,
                    checkpoint=label,
                    seconds=seconds,
                )
            )
            # A memory that only computes never lets go of the loop, and a signal to stop is
            # heard only when someone does.
            await breathe()
        started = time.perf_counter()
        await bounded("settle", self.memory.settle, exam=exam, sheet=sheet)
        seconds = time.perf_counter() - started
        exam.record(
            Settled(at=datetime.now(UTC), scenario=scenario, checkpoint=label, seconds=seconds)
        )


async def begin(exam: Examination, sheet: Sheet) -> Life:
    """A memory that has lived nothing yet, opened for the sake of this checkpoint."""
    open_memory = partial(exam.system.open, exam.scenario.id)
    return Life(await bounded("open", open_memory, exam=exam, sheet=sheet), exam)


async def close(memory: Memory, exam: Examination, sheet: Sheet) -> None:
    """Release a memory. A failure to do so is recorded and costs no result."""
    await release(memory.close, exam, sheet)


async def release(call: Callable[[], Awaitable[None]], exam: Examination, sheet: Sheet) -> None:
    """Let go of something nobody needs any more, whatever it says to that."""
    fault: SystemFault | SystemGone | None = None
    with anyio.move_on_after(_CLOSING_S, shield=True) as scope:
        try:
            await call()
        except (SystemFault, SystemGone) as raised:
            fault = raised
    if scope.cancelled_caught:
        fault = SystemTimeout(f"close took longer than {_CLOSING_S:g} s")
    if fault is not None:
        exam.record(_failed("close", fault, exam, sheet))
