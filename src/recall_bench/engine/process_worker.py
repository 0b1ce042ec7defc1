"""A worker in a process of its own: the driver's side of it, and `main`, which serves the driver.

Both sides send pickles over the pipes of standard input and output. The worker ends on command, and
when its driver is gone. What the system prints goes to standard error.
"""

import asyncio
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from typing import BinaryIO

import anyio
import anyio.to_thread

from recall_bench.core.redacted_output import redact_output
from recall_bench.core.runtime import STOP_SIGNALS
from recall_bench.engine.worker import Worker
from recall_bench.engine.worker_messages import (
    OnEvents,
    RunUnit,
    UnitEvents,
    UnitFailure,
    WorkerLost,
)

_START_TIMEOUT_S = 60.0
"""How long a process may take to start."""
_CANCEL_TIMEOUT_S = 5.0
"""How long a cancelled unit may go on sending what was paid for."""
_STOP_TIMEOUT_S = 20.0
"""How long it may take to close its memories: a system has ten seconds for each."""


async def start_process(number: int) -> "ProcessWorker":
    """Start a worker process; WorkerLost if it does not start."""
    try:
        worker = ProcessWorker(number)
    except OSError as error:
        raise WorkerLost(f"worker {number} cannot be started ({error.strerror})") from error
    try:
        with anyio.fail_after(_START_TIMEOUT_S):
            await worker.wait_ready()
    except BaseException as error:
        await worker.close()
        if isinstance(error, TimeoutError):
            raise WorkerLost(f"worker {number} did not start in {_START_TIMEOUT_S:g} s") from error
        raise
    return worker


class ProcessWorker:
    """A worker process, driven through its standard input and output."""

    def __init__(self, number: int) -> None:
        # -P: modules of the current folder must not shadow others.
        command = [sys.executable, "-P", "-m", "recall_bench.engine.process_worker"]
        # In a session of its own, so that Ctrl-C in a terminal reaches the driver only.
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._name = f"worker {number}"
        self._loop = asyncio.get_running_loop()
        self._arrive, self._events = anyio.create_memory_object_stream[UnitEvents](math.inf)
        self._is_lost = False
        """Whether it still sends events of a unit that was cancelled."""
        self._reader = threading.Thread(target=self._read, name=self._name, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def _read(self) -> None:
        """Read events until the process ends, in a thread: a pickle says itself how long it is."""
        replies = self._process.stdout
        # RuntimeError: the loop may be closed before the process has ended.
        with suppress(RuntimeError):
            try:
                while replies is not None:
                    events = pickle.load(replies)  # noqa: S301 - our own process wrote it
                    self._loop.call_soon_threadsafe(self._arrive.send_nowait, events)
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                self._loop.call_soon_threadsafe(self._arrive.close)

    async def wait_ready(self) -> None:
        """Wait until it has started."""
        self._send("hello", list(sys.path))
        await self._receive()

    async def perform(self, message: RunUnit, on_events: OnEvents) -> None:
        """Have a unit done, and pass on the events that it sends."""
        failure: UnitFailure | None = None
        has_begun = False
        if self._is_lost:
            raise WorkerLost(f"{self._name} did not end what was cancelled")
        try:
            self._send("perform", message)
            is_over = False
            while not is_over:
                events = await self._receive()
                has_begun = True
                on_events(events)
                failure, is_over = failure or events.failure, events.is_over
        except WorkerLost as lost:
            lost.has_begun = has_begun
            raise
        except BaseException:
            # Also where an event was refused: the next unit must not meet the events of this one.
            await self._cancel_unit(on_events)
            raise
        if failure is not None:
            raise failure.to_error()

    async def _cancel_unit(self, on_events: OnEvents) -> None:
        """Cancel the unit, and wait for what it still sends: what was paid for is recorded."""
        self._is_lost = True
        with anyio.move_on_after(_CANCEL_TIMEOUT_S, shield=True), suppress(WorkerLost):
            self._send("cancel")
            while not (events := await self._receive()).is_over:
                # What cannot be recorded was refused before, and is raised there.
                with suppress(Exception):
                    on_events(events)
            self._is_lost = False

    async def stop(self, run: str, reason: UnitFailure) -> None:
        """Let it begin nothing new."""
        with suppress(WorkerLost):
            self._send("stop", run, reason)

    async def close(self) -> None:
        """Let it close its memories; kill it if it does not end in time."""
        with suppress(WorkerLost):
            self._send("close")
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._end)
        self._events.close()

    def _end(self) -> None:
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    async def _receive(self) -> UnitEvents:
        try:
            return await self._events.receive()
        except anyio.EndOfStream as end:
            raise WorkerLost(f"{self._name} died") from end

    def _send(self, *command: object) -> None:
        commands = self._process.stdin
        try:
            if commands is not None:
                # A worker always reads, so this does not wait for its system.
                pickle.dump(command, commands, protocol=pickle.HIGHEST_PROTOCOL)
                commands.flush()
        except (OSError, ValueError) as gone:
            raise WorkerLost(f"{self._name} died") from gone


def main() -> None:
    """Serve the driver at the other end of the pipes."""
    for number in STOP_SIGNALS:
        # A signal to the process group is meant for the driver, which ends its workers. SIG_IGN
        # would be inherited by every program that a system starts.
        signal.signal(number, lambda *_: None)
    # The pipes are taken over, so that the system under test cannot use them.
    commands, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        with redact_output():
            anyio.run(_serve, commands, replies)
    except* (BrokenPipeError, ConnectionResetError):
        # The driver is gone; what is in the buffer has no reader.
        os._exit(1)


async def _serve(commands: BinaryIO, replies: BinaryIO) -> None:
    worker, scope = Worker(), anyio.CancelScope()

    def send(events: UnitEvents) -> None:
        pickle.dump(events, replies, protocol=pickle.HIGHEST_PROTOCOL)
        replies.flush()

    async def run_unit(message: RunUnit) -> None:
        nonlocal scope
        with anyio.CancelScope() as scope:
            await worker.perform(message, send)
        if scope.cancelled_caught:
            send(UnitEvents(is_over=True))

    try:
        async with anyio.create_task_group() as group:
            while True:
                read_next = partial(_read_command, commands)
                match await anyio.to_thread.run_sync(read_next, abandon_on_cancel=True):
                    case ("hello", list(path)):
                        sys.path[:] = path
                        send(UnitEvents())
                    case ("perform", RunUnit() as message):
                        group.start_soon(run_unit, message)
                    case ("cancel",):
                        scope.cancel()
                    case ("stop", str(run), UnitFailure() as reason):
                        worker.stop(run, reason)
                    case _:
                        group.cancel_scope.cancel()
                        return
    finally:
        with anyio.CancelScope(shield=True):
            await worker.close()


def _read_command(commands: BinaryIO) -> object:
    """Read the next command; None once the driver is gone."""
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        return pickle.load(commands)  # noqa: S301 - our own driver wrote it
    # Ends the process even if its system never yields to the event loop.
    last_resort = threading.Timer(_STOP_TIMEOUT_S, os._exit, [1])
    last_resort.daemon = True
    last_resort.start()
    return None


if __name__ == "__main__":
    main()
