"""Serves a system to the parent process: requests and replies as lines of JSON."""

import asyncio
import os
import queue
import sys
import threading
from dataclasses import dataclass

import anyio
import msgspec

from recall_bench.core.child_process import LineSplitter, LineTooLong, quote_bytes
from recall_bench.core.errors import BenchError, UsageError
from recall_bench.systems.servers.host import SystemHost, encode_fault
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


async def serve_stdio(host: SystemHost, pipes: Pipes) -> None:
    """Reply to every request until the input ends; many may be under way at once.

    UsageError at a line that is no request. The host stays open.
    """
    requests = _RequestReader(pipes.requests)
    replies = _ReplyWriter(pipes.replies)
    refused: UsageError | None = None
    async with anyio.create_task_group() as group:
        try:
            while (line := await requests.read_line()) is not None:
                group.start_soon(_reply_to, host, _decode_envelope(line), replies)
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


async def _reply_to(host: SystemHost, envelope: Envelope, replies: "_ReplyWriter") -> None:
    try:
        body = msgspec.to_builtins(await host.handle(_decode_request(envelope)))
        replies.send(Envelope(id=envelope.id, body=body))
    except BenchError as error:
        replies.send(Envelope(id=envelope.id, error=encode_fault(error)))
    except msgspec.ValidationError as error:
        message = f"{envelope.do!r} cannot be read: {error}"
        replies.send(Envelope(id=envelope.id, error=WireFault(kind="unsupported", message=message)))


def _decode_request(envelope: Envelope) -> wire.Request:
    if envelope.do not in wire.VERBS:
        raise UsageError(f"there is no request {envelope.do!r}; known: {', '.join(wire.VERBS)}")
    return msgspec.convert(envelope.body, wire.VERBS[envelope.do][0])


class _RequestReader:
    """Lines from a descriptor, read in a thread: it may be a pipe, a file or a terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | UsageError | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="requests", daemon=True).start()

    async def read_line(self) -> bytes | None:
        """The next line; None at the end of the input, UsageError if the line is too long."""
        line = await self._lines.get()
        if isinstance(line, UsageError):
            raise line
        return line

    def _read(self) -> None:
        splitter = LineSplitter()
        try:
            while piece := os.read(self._descriptor, _PIECE):
                for line in splitter.feed(piece):
                    self._enqueue(line)
        except OSError:
            pass  # the input is gone
        except LineTooLong:
            self._enqueue(
                UsageError("standard input holds a line without an end; send less in one")
            )
        else:
            if rest := splitter.get_rest():
                self._enqueue(rest)
        self._enqueue(None)

    def _enqueue(self, line: bytes | UsageError | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            return  # the loop was closed


class _ReplyWriter:
    """Lines to a descriptor, written in a thread: a slow reader delays nothing else."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._written = anyio.Event()
        threading.Thread(target=self._write, name="replies", daemon=True).start()

    def send(self, envelope: Envelope) -> None:
        """Queue an envelope for writing."""
        self._lines.put(msgspec.json.encode(envelope) + b"\n")

    async def close(self) -> None:
        """Return once everything is written, or the reader is gone."""
        self._lines.put(None)
        with anyio.move_on_after(_DRAIN_TIMEOUT_S):
            await self._written.wait()

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            pass  # the parent is gone; the end of its input ends us
        try:
            self._loop.call_soon_threadsafe(self._written.set)
        except RuntimeError:
            return
