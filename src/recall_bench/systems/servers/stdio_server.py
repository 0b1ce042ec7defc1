"""Serves a system to the parent process: requests and replies as lines of JSON."""

import asyncio
import os
import queue
import select
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
import msgspec

from recall_bench.core.child_process import LineSplitter, LineTooLong, quote_bytes
from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.untrusted_json import decode_untrusted_json, decode_untrusted_line
from recall_bench.systems.servers.host import encode_fault
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.wire import Envelope, WireFault

_DRAIN_TIMEOUT_S = 10.0
"""How long open requests may take after the end of the input."""

_PIECE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipes:
    """Two file descriptors that only the protocol uses."""

    requests: int
    replies: int


def claim_pipes() -> Pipes:
    """Take over standard input and output.

    From now on everything printed goes to standard error, even from C or a child process, and
    standard input is empty.
    """
    sys.stdout.flush()
    pipes = Pipes(requests=os.dup(0), replies=os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return pipes


CANCEL = "cancel"
"""Cancels the request with the id in the body, which is replied to at once. Our harness sends it to
adapters in processes of their own; it is no part of the protocol for programs."""


class CancelRequest(wire.WireMessage, frozen=True, kw_only=True):
    """The body of `cancel`."""

    id: int


Handle = Callable[[wire.Request], Awaitable[wire.Reply]]
EncodeFault = Callable[[BenchError], WireFault]


async def serve_stdio(
    handle: Handle,
    pipes: Pipes,
    encode: EncodeFault = encode_fault,
    writer: "type[DirectWriter | ThreadWriter] | None" = None,
    watch: Callable[[Callable[[], None]], None] | None = None,
) -> None:
    """Reply to every request until the input ends; many may be under way at once.

    `watch` is given a function that takes what has arrived, for moments when the loop cannot.
    UsageError at a line that is no request.
    """
    server = _StdioServer(handle, pipes.requests, (writer or ThreadWriter)(pipes.replies), encode)
    if watch is not None:
        watch(server.read_arrived)
    try:
        await server.ended
    finally:
        await server.finish()


class _StdioServer:
    """Reads lines from a descriptor, and replies to each in a task that can be cancelled.

    It is read in a thread where the loop cannot watch it, as with a file.
    """

    def __init__(
        self,
        handle: Handle,
        requests: int,
        replies: "DirectWriter | ThreadWriter",
        encode: EncodeFault,
    ) -> None:
        self._handle = handle
        self._requests = requests
        self._replies = replies
        self._encode = encode
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done at the end of the input; gets what is raised and cannot be sent."""
        self._splitter = LineSplitter()
        self._open: set[asyncio.Task[None]] = set()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        """By the id of the request; a client may use one again before it was replied to."""
        try:
            self._loop.add_reader(requests, self._read_ready)
        except (NotImplementedError, OSError):
            threading.Thread(target=self._read_all, name="requests", daemon=True).start()

    def read_arrived(self) -> None:
        """Take what has arrived, also while the loop does not run."""
        if not self.ended.done() and select.select([self._requests], [], [], 0)[0]:
            self._read_ready()

    async def finish(self) -> None:
        """Wait for the open requests, and give up those that take too long."""
        if self._open:
            _, late = await asyncio.wait(self._open, timeout=_DRAIN_TIMEOUT_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._replies.close()

    def _read_piece(self) -> bytes:
        try:
            return os.read(self._requests, _PIECE)
        except OSError:
            return b""  # the input is gone

    def _read_ready(self) -> None:
        self._take_piece(self._read_piece())
        if self.ended.done():
            self._loop.remove_reader(self._requests)

    def _read_all(self) -> None:
        piece = b"-"
        # RuntimeError: the loop was closed.
        with suppress(RuntimeError):
            while piece and not self.ended.done():
                piece = self._read_piece()
                self._loop.call_soon_threadsafe(self._take_piece, piece)

    def _take_piece(self, piece: bytes) -> None:
        if self.ended.done():
            return
        try:
            for line in self._splitter.feed(piece):
                self._start_reply(line)
            if not piece:
                if rest := self._splitter.get_rest():
                    self._start_reply(rest)
                self.ended.set_result(None)
        except LineTooLong:
            message = "standard input holds a line without an end; send less in one"
            self.ended.set_exception(UsageError(message))
        except UsageError as error:
            self.ended.set_exception(error)

    def _start_reply(self, line: bytes) -> None:
        """Start to reply, or cancel another reply; UsageError if the line is no request."""
        try:
            envelope = decode_untrusted_json(line, Envelope)
        except msgspec.DecodeError as error:
            raise UsageError(
                f"standard input holds something that is not a request: {quote_bytes(line)} "
                f'({error}); send lines like {{"id": 1, "do": "health", "body": {{}}}}'
            ) from error
        if envelope.do == CANCEL:
            # What names no request cancels none.
            with suppress(msgspec.DecodeError):
                number = decode_untrusted_json(envelope.body, CancelRequest).id
                if number in self._tasks:
                    self._tasks[number].cancel()
            return
        task = self._loop.create_task(self._reply_to(envelope))
        self._tasks[envelope.id] = task
        self._open.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._open.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.ended.done():
            self.ended.set_exception(error)

    async def _reply_to(self, envelope: Envelope) -> None:
        error = WireFault(kind="timeout", message="it was cancelled")
        try:
            if envelope.do not in wire.VERBS:
                raise UsageError(
                    f"there is no request {envelope.do!r}; known: {', '.join(wire.VERBS)}"
                )
            request = decode_untrusted_line(_REQUESTS[envelope.do], envelope.body)
            body = msgspec.json.encode(await self._handle(request))
            # A body without fields is left out.
            reply = Envelope(id=envelope.id)
            if body != b"{}":
                reply = Envelope(id=envelope.id, body=msgspec.Raw(body))
            self._replies.send(reply)
            return
        except BenchError as raised:
            error = self._encode(raised)
        except msgspec.DecodeError as raised:
            message = f"{envelope.do!r} cannot be read: {raised}"
            error = WireFault(kind="unsupported", message=message)
        except asyncio.CancelledError:
            pass
        finally:
            if self._tasks.get(envelope.id) is asyncio.current_task():
                del self._tasks[envelope.id]
        self._replies.send(Envelope(id=envelope.id, error=error))


_REQUESTS: dict[str, msgspec.json.Decoder[wire.Request]] = {
    verb: msgspec.json.Decoder(request) for verb, (request, _) in wire.VERBS.items()
}


class DirectWriter:
    """Lines to a descriptor whose reader is always fast."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def send(self, envelope: Envelope) -> None:
        """Write an envelope."""
        # If the parent is gone, the end of its input ends us.
        with suppress(OSError):
            _write_line(self._descriptor, envelope)

    async def close(self) -> None:
        """Nothing is left to write."""


def _write_line(descriptor: int, envelope: Envelope) -> None:
    rest = memoryview(msgspec.json.encode(envelope) + b"\n")
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class ThreadWriter:
    """Lines to a descriptor, written in a thread: a slow reader delays nothing else."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: queue.SimpleQueue[Envelope | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._written = anyio.Event()
        threading.Thread(target=self._write, name="replies", daemon=True).start()

    def send(self, envelope: Envelope) -> None:
        """Queue an envelope for writing."""
        self._lines.put(envelope)

    async def close(self) -> None:
        """Return once everything is written, or the reader is gone."""
        self._lines.put(None)
        with anyio.move_on_after(_DRAIN_TIMEOUT_S):
            await self._written.wait()

    def _write(self) -> None:
        # If the parent is gone, the end of its input ends us.
        with suppress(OSError):
            while (line := self._lines.get()) is not None:
                _write_line(self._descriptor, line)
        # RuntimeError: the loop was closed.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._written.set)
