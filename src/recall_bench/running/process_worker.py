"""Workers that are processes of this machine."""

import sys
from contextlib import suppress

import anyio
from anyio.abc import ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

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

_ENDS = (anyio.IncompleteRead, anyio.BrokenResourceError, anyio.EndOfStream, OSError)
"""How a pipe says that nobody is at its other end."""
_START_TIMEOUT_S = 60.0
"""How long a process may take to say that it is there."""
_CANCEL_TIMEOUT_S = 5.0
"""How long an assignment that is broken off may go on telling what became of it."""
_STOP_TIMEOUT_S = 20.0
"""How long it may take to close its memories: a system has ten seconds for each."""


async def start_process(number: int) -> "ProcessWorker":
    """A worker in a process of its own; WorkerLost if it does not come up."""
    # Modules of the folder that somebody happens to be in must not stand in for others.
    command = [sys.executable, "-P", "-m", "recall_bench.running.worker_process"]
    try:
        # In a session of its own, a key pressed at the terminal reaches the driver alone.
        process = await anyio.open_process(command, stderr=None, start_new_session=True)
    except OSError as error:
        raise WorkerLost(f"worker {number} cannot be started ({error.strerror})") from error
    colleague = ProcessWorker(process, number)
    try:
        with anyio.fail_after(_START_TIMEOUT_S):
            await colleague.wait_ready()
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await colleague.close()
        if isinstance(error, TimeoutError):
            raise WorkerLost(f"worker {number} did not start in {_START_TIMEOUT_S:g} s") from error
        raise
    return colleague


class ProcessWorker:
    """A worker process, spoken to through its standard input and output."""

    def __init__(self, process: Process, number: int) -> None:
        if process.stdin is None or process.stdout is None:
            raise AssertionError("a worker is started with pipes")
        self._process = process
        self._name = f"worker {number}"
        self._orders: ByteSendStream = process.stdin
        self._replies = BufferedByteReceiveStream(process.stdout)
        self._header: bytes | None = None
        """Of a reply whose rest was not read yet."""
        self._writing = anyio.Lock()
        self._is_read = False
        """Whether somebody hears replies for everyone."""
        self._tickets = READY
        self._under_way: dict[int, _PendingTask] = {}
        self._is_lost = False

    @property
    def pid(self) -> int:
        """The process, as the operating system knows it."""
        return self._process.pid

    async def wait_ready(self) -> None:
        """Wait until it is there."""
        await self._send(("hello", list(sys.path)))
        ticket, _ = await self._receive()
        if ticket != READY:
            raise WorkerLost(f"{self._name} speaks out of turn")

    async def prepare(self, brief: RunSpec) -> None:
        """Tell it of a run."""
        await self._send(("brief", brief))

    async def perform(self, run: str, assignment: Task, terms: TaskLimits, told: OnMessage) -> None:
        """Have it carry out an assignment, and hear all it tells meanwhile."""
        self._tickets += 1
        ticket, mine = self._tickets, _PendingTask(told)
        self._under_way[ticket] = mine
        try:
            await self._send(("perform", ticket, run, assignment, terms))
            await self._listen(mine)
        except WorkerLost as lost:
            lost.has_begun = mine.has_begun
            raise
        except anyio.get_cancelled_exc_class():
            await self._cancel_task(ticket, mine)
            raise
        finally:
            self._under_way.pop(ticket, None)
        if mine.failure is not None:
            raise mine.failure

    async def stop(self, run: str, reason: TaskFailure) -> None:
        """Have it begin nothing new."""
        with suppress(WorkerLost):
            await self._send(("adjourn", run, reason))

    async def close(self) -> None:
        """Let it close its memories; end it, if it does not."""
        with anyio.CancelScope(shield=True):
            with suppress(WorkerLost):
                await self._send(("stop",))
            with suppress(OSError, anyio.BrokenResourceError):
                await self._orders.aclose()
            with anyio.move_on_after(_STOP_TIMEOUT_S) as patience:
                await self._process.wait()
            if patience.cancelled_caught:
                self._process.kill()
                await self._process.wait()
            await self._process.aclose()

    async def _listen(self, mine: "_PendingTask") -> None:
        """Hear replies, whoever they are for, until ours is over.

        One of those who wait reads for all of them; when it leaves, another takes its place.
        """
        while not mine.is_over:
            if self._is_lost:
                raise WorkerLost(f"{self._name} died")
            if self._is_read:
                await mine.wait_turn()
                continue
            self._is_read = True
            try:
                while not mine.is_over:
                    ticket, message = await self._receive()
                    if (other := self._under_way.get(ticket)) is not None:
                        other.receive(message)
            except WorkerLost:
                self._is_lost = True
                raise
            finally:
                self._is_read = False
                for other in self._under_way.values():
                    other.notify()

    async def _cancel_task(self, ticket: int, mine: "_PendingTask") -> None:
        """Have it stop, and hear what it still has to tell: what was paid for goes on record."""
        with anyio.move_on_after(_CANCEL_TIMEOUT_S, shield=True), suppress(WorkerLost):
            await self._send(("cancel", ticket))
            await self._listen(mine)

    async def _receive(self) -> tuple[int, WorkerMessage | None]:
        """The next reply. Who is cancelled over it leaves it whole to the next who reads."""
        try:
            if self._header is None:
                self._header = await self._replies.receive_exactly(HEADER_BYTES)
            content = await self._replies.receive_exactly(decode_length(self._header))
        except _ENDS as end:
            raise WorkerLost(f"{self._name} died") from end
        self._header = None
        ticket, message = decode_frame(content)
        return ticket, message  # type: ignore[return-value]

    async def _send(self, order: WorkerCommand) -> None:
        try:
            # Half an order would garble all that follow; a worker always reads.
            with anyio.CancelScope(shield=True):
                async with self._writing:
                    await self._orders.send(encode_frame(order))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as gone:
            raise WorkerLost(f"{self._name} died") from gone


class _PendingTask:
    """What is known of one assignment."""

    def __init__(self, told: OnMessage) -> None:
        self._told = told
        self._news = anyio.Event()
        self.has_begun = False
        self.is_over = False
        self.failure: Exception | None = None
        """Why it ended early, or what came of telling about it."""

    async def wait_turn(self) -> None:
        """Wait until it is over, or somebody has to read."""
        self._news = anyio.Event()
        await self._news.wait()

    def notify(self) -> None:
        """Have whoever waits look again."""
        self._news.set()

    def receive(self, message: WorkerMessage | None) -> None:
        """Take in one reply. Raises nothing: whoever reads it may be about something else."""
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
            self._told(message)
        except Exception as error:  # noqa: BLE001 - raised by whoever has the assignment
            self.failure = error
