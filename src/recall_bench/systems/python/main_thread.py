"""User code in the main thread of a process that does nothing else: no call changes threads.

The event loop, which receives requests, stops while plain code runs, so that it may run a loop of
its own. A signal then says that there is a message: if it cancels the call that runs, the handler
raises an exception inside it. Coroutines run in the event loop, many at a time.
"""

import asyncio
import contextlib
import inspect
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine

from recall_bench.systems.python.worker_thread import CallOutcome, Interrupt, call_safely

CANCEL_SIGNAL = getattr(signal, "SIGURG", None)
"""Sent after a message that cancels a call. A process that does not expect it ignores it."""


class _PlainJob:
    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call
        self.owner = asyncio.current_task()
        """The task that waits for it."""
        self.outcome: asyncio.Future[CallOutcome] = asyncio.get_running_loop().create_future()

    @property
    def is_cancelled(self) -> bool:
        return self.owner is not None and self.owner.cancelling() > 0


class MainThread:
    """Runs calls that share state, as a `WorkerThread` does; there is one in a process."""

    is_stuck = False
    """Never: who asks for a call that cannot be stopped ends this process."""

    def __init__(self) -> None:
        self.has_awaited = False
        """Whether coroutines of the user ran in the loop: it may hold something of theirs."""
        self._earlier_loops: list[asyncio.AbstractEventLoop] = []
        self._begin()

    def _begin(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._jobs: deque[_PlainJob] = deque()
        self._running: _PlainJob | None = None
        """The job whose plain code is running, unless it is being stopped."""
        self._was_signalled = False
        self._receive: Callable[[], None] = lambda: None

    def begin_again(self) -> None:
        """Start anew in a copy of the process, from within a call that does not return."""
        # Closing it, also when it is deleted, would act on descriptors that are others by now.
        self._earlier_loops.append(self._loop)
        self._begin()

    def serve(self, work: Coroutine[None, None, None]) -> None:
        """Run a coroutine to its end, and the calls that it makes."""
        if CANCEL_SIGNAL is not None:
            signal.signal(CANCEL_SIGNAL, self._take_signal)
        asyncio.set_event_loop(self._loop)
        task = self._loop.create_task(work)
        task.add_done_callback(lambda _: self._loop.stop())
        while not task.done():
            self._run_loop()
            while self._jobs:
                self._run_job(self._jobs.popleft())
        task.result()

    def watch_messages(self, receive: Callable[[], None]) -> None:
        """Receive messages by this function when a signal comes; it does not wait for any."""
        self._receive = receive

    async def run(self, call: Callable[[], object]) -> CallOutcome:
        """Run a call, await its result if it is awaitable, and return how it ended.

        Cancelling this ends the call.
        """
        job = _PlainJob(call)
        self._jobs.append(job)
        self._loop.stop()
        outcome = await job.outcome
        if not inspect.isawaitable(outcome.value):
            return outcome
        self.has_awaited = True
        return await _wait_for(outcome.value)

    def run_blocking(self, call: Callable[[], object]) -> CallOutcome:
        """The same within plain code."""
        outcome = call_safely(call)
        if not inspect.isawaitable(outcome.value):
            return outcome
        self.has_awaited = True
        task = self._loop.create_task(_wait_for(outcome.value))
        task.add_done_callback(lambda _: self._loop.stop())
        while not task.done():
            self._run_loop()
        return task.result()

    def release(self) -> None:
        """The thread ends with the process."""

    async def stop(self) -> None:
        """The thread ends with the process."""

    def _run_loop(self) -> None:
        """Run coroutines until the loop is stopped."""
        # A background task of the adapter may raise SystemExit, which asyncio re-raises.
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            self._loop.run_forever()

    def _run_job(self, job: _PlainJob) -> None:
        outcome = CallOutcome()
        try:
            self._running = job
            if self._was_signalled:
                self._stop_if_cancelled()
            if not job.is_cancelled:
                outcome = call_safely(job.call)
            self._running = None
        except Interrupt as interrupt:
            # It came too late for the call, and hit us afterwards.
            outcome = CallOutcome(error=interrupt)
        if not job.outcome.done():
            job.outcome.set_result(outcome)
        elif inspect.iscoroutine(outcome.value):
            outcome.value.close()

    def _take_signal(self, *_: object) -> None:
        self._was_signalled = True
        # The loop itself receives what comes while it runs.
        if self._running is not None:
            self._stop_if_cancelled()

    def _stop_if_cancelled(self) -> None:
        self._was_signalled = False
        # Plain code may run the loop itself, which receives messages then.
        if not self._loop.is_running():
            self._receive()
        if self._running is not None and self._running.is_cancelled:
            self._running = None
            raise Interrupt


async def _wait_for(awaitable: Awaitable[object]) -> CallOutcome:
    """How an awaitable ended, in a task of its own: what it raises must not hit ours."""
    started = asyncio.Event()

    async def wait() -> CallOutcome:
        started.set()
        try:
            return CallOutcome(await awaitable)
        except BaseException as error:  # noqa: BLE001  user code
            return CallOutcome(error=error)

    task = asyncio.get_running_loop().create_task(wait())
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        # A coroutine that never starts warns.
        await started.wait()
        task.cancel()
        await asyncio.wait([task])
        raise
    return task.result()
