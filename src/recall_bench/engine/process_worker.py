"""The driver's side of a worker in a process of its own."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from recall_bench.core.fork_server import ForkServer, can_fork
from recall_bench.engine.worker_messages import (
    HEADER_BYTES,
    OnEvents,
    RunUnit,
    UnitEvents,
    UnitFailure,
    WorkerLost,
    decode_frame,
    decode_length,
    encode_frame,
)

_CHUNK_BYTES = 1 << 16
_STDERR = 2
_ENDS = (anyio.BrokenResourceError, anyio.EndOfStream, OSError)
"""What a pipe raises when its other end is gone."""
_START_TIMEOUT_S = 60.0
"""How long a process may take to start."""
_CANCEL_TIMEOUT_S = 5.0
"""How long a cancelled unit may go on sending what was paid for."""
_STOP_TIMEOUT_S = 20.0
"""How long it may take to close its memories: a system has ten seconds for each."""


_PACKAGE = "recall_bench"
_NOT_IMPORTED = (f"{_PACKAGE}.cli", f"{_PACKAGE}.reporting", f"{_PACKAGE}.__main__")
"""What a driver has imported and no worker needs."""


@asynccontextmanager
async def open_template() -> AsyncIterator[Callable[[int], Awaitable["ProcessWorker"]]]:
    """Yield what starts a worker: as a copy of one process where that can be, else by itself.

    A worker by itself imports for two thirds of a second of processor time.
    """
    if not can_fork():
        yield start_process
        return
    with TemporaryDirectory() as folder:
        # The modules of ours that this process has imported, and a worker will too.
        names = sorted(
            name
            for name in sys.modules
            if name.startswith(f"{_PACKAGE}.") and not name.startswith(_NOT_IMPORTED)
        )
        command = (sys.executable, "-P", "-m", f"{_PACKAGE}.engine.worker_template")
        server = ForkServer((*command, ",".join(names)), folder=Path(folder), environ=os.environ)
        try:
            yield partial(_copy_template, server)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(server.close)


async def _copy_template(server: ForkServer, number: int) -> "ProcessWorker":
    try:
        with anyio.CancelScope(shield=True):
            process = await server.fork_process(str(Path.cwd()), stderr=_STDERR)
    except OSError:
        # The server is gone; the same trouble may not meet a process of its own.
        return await start_process(number)
    return await _confirm_start(ProcessWorker(process, number), number)


async def start_process(number: int) -> "ProcessWorker":
    """Start a worker process; WorkerLost if it does not start."""
    # -P: modules of the current folder must not shadow others.
    command = [sys.executable, "-P", "-m", "recall_bench.engine.worker_process"]
    try:
        # Shielded: a caller cancelled while the process starts could not end it.
        with anyio.CancelScope(shield=True):
            # In a session of its own, so that Ctrl-C in a terminal reaches the driver only.
            process = await anyio.open_process(command, stderr=None, start_new_session=True)
    except OSError as error:
        raise WorkerLost(f"worker {number} cannot be started ({error.strerror})") from error
    return await _confirm_start(ProcessWorker(process, number), number)


async def _confirm_start(worker: "ProcessWorker", number: int) -> "ProcessWorker":
    """Return a worker once it has started; WorkerLost if it does not."""
    try:
        with anyio.fail_after(_START_TIMEOUT_S):
            await worker.wait_ready()
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await worker.close()
        if isinstance(error, TimeoutError):
            raise WorkerLost(f"worker {number} did not start in {_START_TIMEOUT_S:g} s") from error
        raise
    return worker


class ProcessWorker:
    """A worker process, driven through its standard input and output."""

    def __init__(self, process: Process, number: int) -> None:
        if process.stdin is None or process.stdout is None:
            raise AssertionError("a worker is started with pipes")
        self._process = process
        self._name = f"worker {number}"
        self._commands: ByteSendStream = process.stdin
        self._replies = _FrameReader(process.stdout)
        self._writing = anyio.Lock()
        self._is_lost = False
        """Whether it still sends events of a unit that was cancelled."""

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def wait_ready(self) -> None:
        """Wait until it has started."""
        await self._send(("hello", list(sys.path)))
        await self._receive()

    async def perform(self, message: RunUnit, on_events: OnEvents) -> None:
        """Have a unit done, and pass on the events that it sends."""
        failure: UnitFailure | None = None
        has_begun = False
        if self._is_lost:
            raise WorkerLost(f"{self._name} did not end what was cancelled")
        try:
            await self._send(("perform", message))
            while True:
                events = await self._receive()
                has_begun = True
                on_events(events)
                failure = failure or events.failure
                if events.is_over:
                    break
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
            await self._send(("cancel",))
            while not (events := await self._receive()).is_over:
                # What cannot be recorded was refused before, and is raised there.
                with suppress(Exception):
                    on_events(events)
            self._is_lost = False

    async def stop(self, run: str, reason: UnitFailure) -> None:
        """Let it begin nothing new."""
        with suppress(WorkerLost):
            await self._send(("stop", run, reason))

    async def close(self) -> None:
        """Let it close its memories; kill it if it does not end in time."""
        with anyio.CancelScope(shield=True):
            with suppress(WorkerLost):
                await self._send(("close",))
            with suppress(OSError, anyio.BrokenResourceError):
                await self._commands.aclose()
            with anyio.move_on_after(_STOP_TIMEOUT_S) as scope:
                await self._process.wait()
            if scope.cancelled_caught:
                self._process.kill()
                await self._process.wait()
            await self._process.aclose()

    async def _receive(self) -> UnitEvents:
        """Receive the next events; a cancelled reader leaves them whole to the next one."""
        try:
            content = await self._replies.read()
        except _ENDS as end:
            raise WorkerLost(f"{self._name} died") from end
        events = decode_frame(content)
        if not isinstance(events, UnitEvents):
            raise WorkerLost(f"{self._name} sent something else than events")
        return events

    async def _send(self, command: tuple[object, ...]) -> None:
        try:
            # Half a command would garble all that follow. A worker always reads, so this ends.
            with anyio.CancelScope(shield=True):
                async with self._writing:
                    await self._commands.send(encode_frame(command))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as gone:
            raise WorkerLost(f"{self._name} died") from gone


class _FrameReader:
    """Reads frames from a pipe, as many at a time as lie in it: a turn for each would cost more."""

    def __init__(self, stream: ByteReceiveStream) -> None:
        self._stream = stream
        self._buffer = bytearray()
        self._start = 0
        """Where in the buffer the next frame begins."""

    async def read(self) -> bytes:
        """Read the content of the next frame."""
        await self._fill(HEADER_BYTES)
        length = decode_length(self._buffer[self._start : self._start + HEADER_BYTES])
        # This may move the frame to the front of the buffer.
        await self._fill(HEADER_BYTES + length)
        content = self._start + HEADER_BYTES
        self._start = content + length
        return bytes(self._buffer[content : self._start])

    async def _fill(self, size: int) -> None:
        """Wait until the buffer holds this much of the next frame."""
        if len(self._buffer) - self._start >= size:
            return
        del self._buffer[: self._start]
        self._start = 0
        while len(self._buffer) < size:
            self._buffer += await self._stream.receive(_CHUNK_BYTES)
