"""One memory held by an in-process adapter, in a thread of its own."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import msgspec

from recall_bench.core.history import Episode
from recall_bench.core.memory import Answer, Holdings, RetrievalReply
from recall_bench.core.question import Question
from recall_bench.errors import SystemFault
from recall_bench.systems.python.adapter import Adapter, translate_adapter_error
from recall_bench.systems.python.holdings import (
    INSPECTION_METHODS,
    read_stored_bytes,
    read_stored_days,
)
from recall_bench.systems.python.reply import AdapterReply
from recall_bench.systems.python.worker_thread import CallOutcome, WorkerThread, make_stuck_error


class PythonMemory:
    """An adapter, and the thread in which all of its calls are made.

    Only an adapter that answers in plain code and declares a `max_concurrency` above 1 is also
    called from other threads, and only to answer.
    """

    def __init__(self, adapter: Adapter, worker: WorkerThread, folder: Path | None = None) -> None:
        self.adapter = adapter
        self.folder = folder
        """The state directory of the adapter, if it wants one."""
        self.scenario = ""
        self.is_closed = False
        self._worker = worker
        self._helpers: list[WorkerThread] = []
        self._idle: list[WorkerThread] = []
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def is_stuck(self) -> bool:
        """Whether a call could not be stopped, so that no other can be made."""
        return self._worker.is_stuck or any(helper.is_stuck for helper in self._helpers)

    async def begin(self, *, gives_folder: bool) -> None:
        """Let the adapter set up, after giving it its state directory if it has none yet."""

        def call() -> object:
            if gives_folder:
                setattr(self.adapter.subject, "state_dir", self.folder)  # noqa: B010  not ours
            return self.adapter.call("setup")

        await self.run_call(call)

    async def ingest(self, episode: Episode) -> None:
        """Hand one day to the adapter."""
        await self.run_call(partial(self.adapter.ingest, episode, self.scenario))

    async def settle(self) -> None:
        """Let the adapter finish taking in what it was handed."""
        await self.run_call(partial(self.adapter.call, "finalize_ingestion"))

    async def answer(self, question: Question) -> AdapterReply:
        """What the adapter says or finds; NotAnAnswer if that is nothing one could grade."""
        ask = partial(self.adapter.answer, question)
        if self.adapter.is_async or self.adapter.max_concurrency == 1:
            return _check_reply(await self.run_call(ask))
        self._limiter = self._limiter or anyio.CapacityLimiter(self.adapter.max_concurrency)
        async with self._limiter:
            helper = self._idle.pop() if self._idle else self._add_helper()
            try:
                return _check_reply(await self.run_call(ask, helper))
            finally:
                self._idle.append(helper)

    async def attest(self) -> int | None:
        """How many days the adapter says it has taken in; None if it does not say."""
        if not self.adapter.defines("days_ingested"):
            return None
        count = await self.run_call(partial(self.adapter.call, "days_ingested"))
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise SystemFault(f"days_ingested() returned {count!r}, which is no number of days")
        return count

    async def close(self) -> None:
        """Let the adapter tear down, and end its threads. A stuck memory is left behind."""
        if self.is_closed:
            return
        try:
            if not self.is_stuck:
                await self.run_call(partial(self.adapter.call, "teardown"))
        finally:
            await self.discard()

    async def run_call(
        self, call: Callable[[], object], worker: WorkerThread | None = None
    ) -> object:
        """Make a call in the memory's thread; what it raises becomes an error of ours."""
        if self.is_stuck:
            raise make_stuck_error()
        return unwrap_outcome(await (worker or self._worker).run(call))

    async def discard(self) -> None:
        """End the threads and remove the state directory, without a word to the adapter."""
        self.is_closed = True
        with anyio.CancelScope(shield=True):
            for worker in (self._worker, *self._helpers):
                await worker.stop()
        if self.folder is not None and not self.is_stuck:
            shutil.rmtree(self.folder, ignore_errors=True)

    def release_threads(self) -> None:
        """Let the threads end, without waiting for them."""
        for worker in (self._worker, *self._helpers):
            worker.release()

    def _add_helper(self) -> WorkerThread:
        helper = WorkerThread("adapter query")
        self._helpers.append(helper)
        return helper


class InspectableMemory(PythonMemory):
    """One whose adapter says what it holds."""

    async def holdings(self) -> Holdings:
        """What the adapter says of itself now; None for what it has no method for."""
        told = {
            "days": await self.run_call(partial(read_stored_days, self.adapter)),
            "bytes": await self.run_call(partial(read_stored_bytes, self.adapter)),
        }
        return msgspec.convert(told, Holdings)


def build_memory(
    adapter: Adapter, worker: WorkerThread, folder: Path | None = None
) -> PythonMemory:
    """The memory an adapter holds, of the kind that can do what the adapter can."""
    kind = InspectableMemory if any(map(adapter.defines, INSPECTION_METHODS)) else PythonMemory
    return kind(adapter, worker, folder)


def unwrap_outcome(outcome: CallOutcome) -> object:
    """What a call of somebody else's code returned; what it raised becomes an error of ours."""
    if outcome.error is None:
        return outcome.value
    fault = translate_adapter_error(outcome.error)
    raise fault from (None if fault is outcome.error else outcome.error)


def _check_reply(value: object) -> AdapterReply:
    if not isinstance(value, Answer | RetrievalReply):
        raise TypeError(f"an adapter's answer was read as {type(value).__name__}")
    return value
