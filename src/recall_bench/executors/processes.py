"""Workers that are processes of this machine."""

import sys
from collections.abc import Callable
from contextlib import suppress

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from recall_bench.executors.assignments import (
    Assignment,
    Brief,
    Message,
    Raised,
    Terms,
    Told,
    WorkerLost,
)
from recall_bench.executors.frames import (
    HEADER_BYTES,
    READY,
    Order,
    content_of,
    framed,
    length_of,
)

_STARTING_S = 60.0
"""How long a process may take to say that it is there."""
_STOPPING_S = 20.0
"""How long it may take to close its memories: a system has ten seconds for each."""


async def hire_process(number: int) -> "ProcessColleague":
    """A worker in a process of its own; WorkerLost if it does not come up."""
    command = [sys.executable, "-m", "recall_bench.executors.worker_process"]
    try:
        process = await anyio.open_process(command, stderr=None)
    except OSError as error:
        raise WorkerLost(f"worker {number} cannot be started ({error.strerror})") from error
    colleague = ProcessColleague(process, number)
    try:
        with anyio.fail_after(_STARTING_S):
            await colleague.greet()
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await colleague.close()
        if isinstance(error, TimeoutError):
            raise WorkerLost(f"worker {number} did not start in {_STARTING_S:g} s") from error
        raise
    return colleague


class ProcessColleague:
    """A worker process, spoken to through its standard input and output."""

    def __init__(self, process: Process, number: int) -> None:
        if process.stdin is None or process.stdout is None:
            raise AssertionError("a worker is started with pipes")
        self._process = process
        self._name = f"worker {number}"
        self._orders: ByteSendStream = process.stdin
        self._replies = BufferedByteReceiveStream(_receiving(process.stdout))
        self._writing = anyio.Lock()
        self._reading = anyio.Lock()
        self._tickets = READY
        self._under_way: dict[int, _UnderWay] = {}
        self._is_lost = False

    async def greet(self) -> None:
        """Wait until it is there."""
        await self._send(("hello", list(sys.path)))
        ticket, _ = await self._reply()
        if ticket != READY:
            raise WorkerLost(f"{self._name} speaks out of turn")

    async def brief(self, brief: Brief) -> None:
        """Tell it of a run."""
        await self._send(("brief", brief))

    async def perform(self, run: str, assignment: Assignment, terms: Terms, told: Told) -> None:
        """Have it carry out an assignment, and hear all it tells meanwhile."""
        self._tickets += 1
        ticket, mine = self._tickets, _UnderWay(told)
        self._under_way[ticket] = mine
        try:
            await self._send(("perform", ticket, run, assignment, terms))
            await self._listen(mine)
        finally:
            self._under_way.pop(ticket, None)
        if mine.raised is not None:
            raise mine.raised.error()

    async def adjourn(self, run: str, reason: Raised) -> None:
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
            with anyio.move_on_after(_STOPPING_S) as patience:
                await self._process.wait()
            if patience.cancelled_caught:
                self._process.kill()
                await self._process.wait()
            await self._process.aclose()

    async def _listen(self, mine: "_UnderWay") -> None:
        """Hear replies, whoever they are for, until ours is over.

        One of those who wait reads for all of them; when it leaves, another takes its place.
        """
        while not mine.is_over:
            if self._is_lost:
                raise WorkerLost(f"{self._name} died")
            async with self._reading:
                while not mine.is_over:
                    try:
                        ticket, message = await self._reply()
                    except WorkerLost:
                        self._is_lost = True
                        raise
                    other = self._under_way.get(ticket)
                    if other is not None:
                        other.hear(message)
                        if other.is_over and other is not mine:
                            # It waits for the lock: let it find out.
                            break

    async def _reply(self) -> tuple[int, Message | None]:
        try:
            header = await self._replies.receive_exactly(HEADER_BYTES)
            content = await self._replies.receive_exactly(length_of(header))
        except (anyio.IncompleteRead, anyio.BrokenResourceError, anyio.EndOfStream, OSError) as end:
            raise WorkerLost(f"{self._name} died") from end
        ticket, message = content_of(content)
        return ticket, message  # type: ignore[return-value]

    async def _send(self, order: Order) -> None:
        try:
            async with self._writing:
                await self._orders.send(framed(order))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as gone:
            raise WorkerLost(f"{self._name} died") from gone


class _UnderWay:
    """What is known of one assignment."""

    def __init__(self, told: Callable[[bytes], None] | Told) -> None:
        self._told = told
        self.raised: Raised | None = None
        self.is_over = False

    def hear(self, message: Message | None) -> None:
        if message is None:
            self.is_over = True
        elif isinstance(message, Raised):
            self.raised = message
        else:
            self._told(message)  # type: ignore[arg-type]


def _receiving(stream: ByteReceiveStream) -> ByteReceiveStream:
    return stream
