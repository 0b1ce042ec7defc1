"""Serves a system to the parent process: requests and replies as lines of JSON."""

import asyncio
import os
import queue
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
import msgspec
from anyio.abc import TaskGroup

from recall_bench.core.child_process import LineSplitter, LineTooLong, quote_bytes
from recall_bench.core.errors import BenchError, UsageError
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
) -> None:
    """Reply to every request until the input ends; many may be under way at once.

    UsageError at a line that is no request.
    """
    requests = _RequestReader(pipes.requests)
    replies = (writer or ThreadWriter)(pipes.replies)
    replier = _Replier(handle, replies, encode)
    refused: UsageError | None = None
    async with anyio.create_task_group() as group:
        try:
            while (line := await requests.read_line()) is not None:
                replier.start(_decode_envelope(line), group)
        except UsageError as error:
            refused = error
        group.cancel_scope.deadline = anyio.current_time() + _DRAIN_TIMEOUT_S
    await replies.close()
    if refused is not None:
        raise refused


def _decode_envelope(line: bytes) -> Envelope:
    try:
        return msgspec.json.decode(line, type=Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"standard input holds what is no request: {quote_bytes(line)} ({error}); "
            'send lines like {"id": 1, "do": "health", "body": {}}'
        ) from error


class _Replier:
    """Replies to requests, each in a task that can be cancelled."""

    def __init__(
        self, handle: Handle, replies: "DirectWriter | ThreadWriter", encode: EncodeFault
    ) -> None:
        self._handle = handle
        self._replies = replies
        self._encode = encode
        self._scopes: dict[int, anyio.CancelScope] = {}

    def start(self, envelope: Envelope, group: TaskGroup) -> None:
        """Start to reply, or cancel another reply."""
        if envelope.do == CANCEL:
            scope = self._scopes.get(msgspec.json.decode(envelope.body, type=CancelRequest).id)
            if scope is not None:
                scope.cancel()
            return
        scope = self._scopes[envelope.id] = anyio.CancelScope()
        group.start_soon(self._reply_to, envelope, scope)

    async def _reply_to(self, envelope: Envelope, scope: anyio.CancelScope) -> None:
        error = WireFault(kind="timeout", message="it was cancelled")
        try:
            with scope:
                body = msgspec.json.encode(await self._handle(_decode_request(envelope)))
                self._replies.send(Envelope(id=envelope.id, body=msgspec.Raw(body)))
                return
        except BenchError as raised:
            error = self._encode(raised)
        except msgspec.ValidationError as raised:
            message = f"{envelope.do!r} cannot be read: {raised}"
            error = WireFault(kind="unsupported", message=message)
        finally:
            # A client may use an id again before its first request was replied to.
            if self._scopes.get(envelope.id) is scope:
                del self._scopes[envelope.id]
        self._replies.send(Envelope(id=envelope.id, error=error))


def _decode_request(envelope: Envelope) -> wire.Request:
    if envelope.do not in wire.VERBS:
        raise UsageError(f"there is no request {envelope.do!r}; known: {', '.join(wire.VERBS)}")
    return _REQUESTS[envelope.do].decode(envelope.body)


_REQUESTS: dict[str, msgspec.json.Decoder[wire.Request]] = {
    verb: msgspec.json.Decoder(request) for verb, (request, _) in wire.VERBS.items()
}


class _RequestReader:
    """Lines from a descriptor, read in a thread where the loop cannot watch it, as with a file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | UsageError | None] = asyncio.Queue()
        self._splitter = LineSplitter()
        try:
            self._loop.add_reader(descriptor, self._read_ready)
        except (NotImplementedError, OSError):
            threading.Thread(target=self._read_all, name="requests", daemon=True).start()

    async def read_line(self) -> bytes | None:
        """The next line; None at the end of the input, UsageError if the line is too long."""
        line = await self._lines.get()
        if isinstance(line, UsageError):
            raise line
        return line

    def _read_ready(self) -> None:
        if not self._read_piece(self._lines.put_nowait):
            self._loop.remove_reader(self._descriptor)

    def _read_all(self) -> None:
        while self._read_piece(self._enqueue_from_thread):
            pass

    def _read_piece(self, enqueue: Callable[[bytes | UsageError | None], None]) -> bool:
        """Whether there may be more."""
        try:
            piece = os.read(self._descriptor, _PIECE)
            for line in self._splitter.feed(piece):
                enqueue(line)
        except OSError:
            piece = b""  # the input is gone
        except LineTooLong:
            enqueue(UsageError("standard input holds a line without an end; send less in one"))
            piece = b""
        else:
            if not piece and (rest := self._splitter.get_rest()):
                enqueue(rest)
        if not piece:
            enqueue(None)
        return bool(piece)

    def _enqueue_from_thread(self, line: bytes | UsageError | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            return  # the loop was closed


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
        try:
            while (line := self._lines.get()) is not None:
                _write_line(self._descriptor, line)
        except OSError:
            pass  # the parent is gone; the end of its input ends us
        try:
            self._loop.call_soon_threadsafe(self._written.set)
        except RuntimeError:
            return
