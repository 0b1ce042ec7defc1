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
from recall_bench.running.worker_messages import (
    HEADER_BYTES,
    READY,
    OnMessage,
    RunSpec,
    SnapshotReady,
    Task,
    TaskFailure,
    TaskLimits,
    TaskStarted,
    WorkerCommand,
    WorkerLost,
    WorkerMessage,
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
"""How long a cancelled task may go on sending what was paid for."""
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
        command = (sys.executable, "-P", "-m", f"{_PACKAGE}.running.worker_template")
        server = ForkServer(
            (*command, ",".join(_list_imported())), folder=Path(folder), environ=os.environ
        )
        try:
            yield partial(_copy_template, server)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(server.close)


def _list_imported() -> list[str]:
    """List the modules of ours that this process has imported, and a worker will too."""
    return sorted(
        name
        for name in sys.modules
        if name.startswith(f"{_PACKAGE}.") and not name.startswith(_NOT_IMPORTED)
    )


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
    command = [sys.executable, "-P", "-m", "recall_bench.running.worker_process"]
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
        self._has_reader = False
        """Whether one of the waiting tasks reads the replies of all."""
        self._tickets = READY
        self._pending: dict[int, _PendingTask] = {}
        self._is_lost = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def wait_ready(self) -> None:
        """Wait until it has started."""
        await self._send(("hello", list(sys.path)))
        ticket, _ = await self._receive()
        if ticket != READY:
            raise WorkerLost(f"{self._name} sent a reply before it was ready")

    async def prepare(self, spec: RunSpec) -> None:
        """Send it a run."""
        await self._send(("prepare", spec))

    async def perform(
        self, run: str, task: Task, limits: TaskLimits, on_message: OnMessage
    ) -> None:
        """Have a task done, and pass on the messages that it sends."""
        self._tickets += 1
        ticket, mine = self._tickets, _PendingTask(on_message)
        self._pending[ticket] = mine
        try:
            await self._send(("perform", ticket, run, task, limits))
            await self._listen(mine)
        except WorkerLost as lost:
            lost.has_begun = mine.has_begun
            raise
        except anyio.get_cancelled_exc_class():
            await self._cancel_task(ticket, mine)
            raise
        finally:
            self._pending.pop(ticket, None)
        if mine.failure is not None:
            raise mine.failure

    async def stop(self, run: str, reason: TaskFailure) -> None:
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

    async def _listen(self, mine: "_PendingTask") -> None:
        """Wait until a task is over.

        One of the waiting tasks reads the replies of all; when it ends, another takes over.
        """
        while not mine.is_over:
            if self._is_lost:
                raise WorkerLost(f"{self._name} died")
            if self._has_reader:
                await mine.wait_turn()
                continue
            self._has_reader = True
            try:
                while not mine.is_over:
                    ticket, message = await self._receive()
                    if (other := self._pending.get(ticket)) is not None:
                        other.receive(message)
            except WorkerLost:
                self._is_lost = True
                raise
            finally:
                self._has_reader = False
                for other in self._pending.values():
                    other.notify()

    async def _cancel_task(self, ticket: int, mine: "_PendingTask") -> None:
        """Cancel a task, and wait for what it still sends: what was paid for is recorded."""
        with anyio.move_on_after(_CANCEL_TIMEOUT_S, shield=True), suppress(WorkerLost):
            await self._send(("cancel", ticket))
            await self._listen(mine)

    async def _receive(self) -> tuple[int, WorkerMessage | None]:
        """Receive the next reply; a cancelled reader leaves it whole to the next one."""
        try:
            content = await self._replies.read()
        except _ENDS as end:
            raise WorkerLost(f"{self._name} died") from end
        ticket, message = decode_frame(content)
        return ticket, message  # type: ignore[return-value]

    async def _send(self, command: WorkerCommand) -> None:
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


class _PendingTask:
    """One task that the process is doing."""

    def __init__(self, on_message: OnMessage) -> None:
        self._on_message = on_message
        self._changed = anyio.Event()
        self.has_begun = False
        self.is_over = False
        self.failure: Exception | None = None
        """Why it ended early, or what its callback raised."""

    async def wait_turn(self) -> None:
        """Wait until it is over, or until it should read the replies."""
        self._changed = anyio.Event()
        await self._changed.wait()

    def notify(self) -> None:
        """Wake the waiting task."""
        self._changed.set()

    def receive(self, message: WorkerMessage | None) -> None:
        """Handle one message. It raises nothing, for the reader may belong to another task."""
        match message:
            case None:
                self.is_over = True
                self.notify()
            case TaskStarted():
                self.has_begun = True
            case TaskFailure():
                self.failure = self.failure or message.to_error()
            case _:
                self._deliver(message)

    def _deliver(self, message: bytes | SnapshotReady) -> None:
        if self.failure is not None:
            return
        try:
            self._on_message(message)
        except Exception as error:  # noqa: BLE001 - raised in the task it belongs to
            self.failure = error
