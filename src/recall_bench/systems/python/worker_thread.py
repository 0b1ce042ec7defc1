"""A thread for user code, whose calls can be stopped.

Calls run one after another in one daemon thread, so that an object made in one call (a sqlite3
connection, say) can be used in the next; coroutines run in that thread's event loop, many at a
time. Cancelling a call really ends it: a coroutine is cancelled, plain code gets an exception
raised inside it. What reacts to neither, such as a long sleep in C, cannot be ended: its thread is
abandoned and dies with the process.
"""

import asyncio
import contextlib
import ctypes
import inspect
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar

import anyio

from recall_bench.core.errors import SystemStuck

GRACE_S = 1.0
"""How long a cancelled call may take to end."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended. Its error is a value: a SystemExit that is raised would end us too."""

    value: object = None
    error: BaseException | None = None


class Interrupt(BaseException):
    """Raised inside a call to end it. Not an Exception, so that few handlers catch it."""


class _WorkerJob:
    def __init__(self, call: Callable[[], object], announce: Callable[[], object]) -> None:
        self.call = call
        self.outcome: CallOutcome | None = None
        self.is_cancelled = False
        self.task: asyncio.Task[CallOutcome] | None = None
        self.is_started = False
        self._announce = announce

    def finish(self, outcome: CallOutcome) -> None:
        if self.outcome is None:
            self.outcome = outcome
            # RuntimeError: the loop was closed, so nothing waits in it.
            with contextlib.suppress(RuntimeError):
                self._announce()

    def cancel(self) -> None:
        if self.task is None:
            return
        if self.is_started:
            self.task.cancel()
        else:
            # A coroutine that never starts warns; its first step is already scheduled.
            self.task.get_loop().call_soon(self.cancel)

    async def wait_for(self, awaitable: Awaitable[object]) -> CallOutcome:
        self.is_started = True
        try:
            return CallOutcome(await awaitable)
        except BaseException as error:  # noqa: BLE001  user code
            return CallOutcome(error=error)


class CallWorker(Protocol):
    """Runs calls that share state, one after another, in one thread."""

    @property
    def is_stuck(self) -> bool:
        """Whether a call could not be stopped, so that no more calls are possible."""

    async def run(self, call: Callable[[], object]) -> CallOutcome:
        """Run a call, await its result if it is awaitable, and return how it ended."""

    def run_blocking(self, call: Callable[[], object]) -> CallOutcome:
        """The same for a caller without an event loop."""

    def release(self) -> None:
        """Let the thread end, without waiting for it."""

    async def stop(self) -> None:
        """End the thread."""


class WorkerThread:
    """A daemon thread for calls that share state."""

    def __init__(self, name: str) -> None:
        self.is_stuck = False
        self._lock = threading.Lock()
        self._jobs: deque[_WorkerJob] = deque()
        self._unfinished: set[_WorkerJob] = set()
        self._running: _WorkerJob | None = None
        """The job whose plain code is running: an interrupt would hit it."""
        self._was_interrupted = False
        """Whether an interrupt was sent to the running call; it may arrive after the call's end."""
        self._is_ending = False
        self._announce_end: Callable[[], object] = lambda: None
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_DaemonThreads())
        self._thread = threading.Thread(target=self._run_thread, name=name, daemon=True)
        self._thread.start()

    async def run(self, call: Callable[[], object]) -> CallOutcome:
        """Run a call, await its result if it is awaitable, and return how it ended.

        Cancelling this ends the call. If the call cannot be ended, the worker is stuck, and every
        other call on it ends with SystemStuck.
        """
        loop = asyncio.get_running_loop()
        done = anyio.Event()
        job = self._submit(call, lambda: loop.call_soon_threadsafe(done.set))
        try:
            await done.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._cancel_job(job, done)
            raise
        return job.outcome or CallOutcome()

    def run_blocking(self, call: Callable[[], object]) -> CallOutcome:
        """The same for a caller without an event loop; it waits without a limit."""
        done = threading.Event()
        job = self._submit(call, done.set)
        done.wait()
        return job.outcome or CallOutcome()

    def release(self) -> None:
        """Let the thread end, without waiting for it."""
        self._is_ending = True
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)

    async def stop(self) -> None:
        """End the thread; a stuck one lasts until the process ends."""
        if self._is_ending:
            return
        loop = asyncio.get_running_loop()
        ended = anyio.Event()
        self._announce_end = lambda: loop.call_soon_threadsafe(ended.set)
        self.release()
        with anyio.move_on_after(GRACE_S, shield=True):
            await ended.wait()

    def _submit(self, call: Callable[[], object], announce: Callable[[], object]) -> _WorkerJob:
        if self.is_stuck:
            raise make_stuck_error()
        job = _WorkerJob(call, announce)
        with self._lock:
            self._unfinished.add(job)
        self._jobs.append(job)
        self._loop.call_soon_threadsafe(self._loop.stop)
        return job

    async def _cancel_job(self, job: _WorkerJob, done: anyio.Event) -> None:
        with self._lock:
            job.is_cancelled = True
            awaits_its_turn = self._running not in (None, job)
            if self._running is job:
                self._was_interrupted = True
                self._interrupt_thread()
        # RuntimeError: the worker was stopped, so there is nothing to cancel.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(job.cancel)
        if awaits_its_turn:
            return
        with anyio.move_on_after(GRACE_S):
            await done.wait()
        if not done.is_set():
            self._give_up()

    def _give_up(self) -> None:
        with self._lock:
            self.is_stuck = True
            unfinished, self._unfinished = self._unfinished, set()
        for job in unfinished:
            job.finish(CallOutcome(error=make_stuck_error()))
        # An endless loop in a coroutine would keep taking time from every other memory.
        self._interrupt_thread()
        self.release()

    def _interrupt_thread(self) -> None:
        if self._thread.is_alive():
            ident = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Interrupt))

    def _run_thread(self) -> None:
        """The main function of the thread; everything below runs in it."""
        try:
            while not self._is_ending:
                self._run_loop()
                # Plain code runs while the loop is stopped: it may call asyncio.run.
                while self._jobs and not self._is_ending:
                    self._run_job(self._jobs.popleft())
            farewell = self._loop.create_task(self._close_loop())
            while not farewell.done():
                self._run_loop()
        except Interrupt:
            pass
        finally:
            self._loop.close()
            with contextlib.suppress(RuntimeError):
                self._announce_end()

    def _run_loop(self) -> None:
        """Run coroutines until the loop is stopped."""
        # A background task of the adapter may raise SystemExit, which asyncio re-raises.
        with contextlib.suppress(SystemExit, KeyboardInterrupt, Interrupt):
            self._loop.run_forever()

    def _run_job(self, job: _WorkerJob) -> None:
        asyncio.set_event_loop(self._loop)
        outcome = CallOutcome()
        try:
            try:
                if self._begin_call(job):
                    outcome = call_safely(job.call)
            finally:
                self._end_call()
        except Interrupt:
            # It came too late for the call, and hit us afterwards.
            self._end_call()
        if inspect.isawaitable(outcome.value):
            job.task = self._loop.create_task(job.wait_for(outcome.value))
            job.task.add_done_callback(lambda task: self._finish_job(job, _get_task_outcome(task)))
        else:
            self._finish_job(job, outcome)

    def _begin_call(self, job: _WorkerJob) -> bool:
        with self._lock:
            if job.is_cancelled:
                return False
            self._running = job
            return True

    def _end_call(self) -> None:
        with self._lock:
            self._running = None
            was_interrupted, self._was_interrupted = self._was_interrupted, False
        if was_interrupted:
            self._await_interrupt()

    def _await_interrupt(self) -> None:
        """Let an interrupt that is on its way arrive here, at nothing.

        One more is sent, in place of the other if that has not arrived. Withdrawing it instead
        would leave a flag that makes Python 3.11 loop forever in a thread that is profiled.
        """
        try:
            self._interrupt_thread()
            while True:
                pass
        except Interrupt:
            return

    def _finish_job(self, job: _WorkerJob, outcome: CallOutcome) -> None:
        with self._lock:
            self._unfinished.discard(job)
        job.finish(outcome)

    async def _close_loop(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._loop.shutdown_asyncgens()
        self._loop.stop()


class _DaemonThreads(ThreadPoolExecutor):
    """For `asyncio.to_thread`: Python waits for the usual pool at exit, even if it hangs."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> "Future[_T]":
        future: Future[_T] = Future()

        def run_task() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as error:  # noqa: BLE001  user code
                    future.set_exception(error)

        threading.Thread(target=run_task, name="to_thread", daemon=True).start()
        return future


def make_stuck_error() -> SystemStuck:
    """The error of every call on a stuck worker."""
    return SystemStuck(
        "the adapter did not stop when its time was up, so this memory can no longer be used"
    )


def call_safely(call: Callable[[], object]) -> CallOutcome:
    """How a call ended, whatever it raised."""
    try:
        return CallOutcome(call())
    except BaseException as error:  # noqa: BLE001  user code
        return CallOutcome(error=error)


def _get_task_outcome(task: asyncio.Task[CallOutcome]) -> CallOutcome:
    return CallOutcome(error=asyncio.CancelledError()) if task.cancelled() else task.result()
