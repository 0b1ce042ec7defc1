"""Child processes that start fast: copies of one that has imported everything already.

Starting Python and importing takes longer than many runs ask of an adapter. The server does it once
and copies itself for each child. It runs nobody's code but ours, so a child finds nothing in it.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import Signals
from threading import Lock

import anyio
import anyio.to_thread
from anyio.abc import ByteStream, Process

from recall_bench.core.child_process import (
    DEVNULL,
    BlockingChildProcess,
    ChildProcess,
    guard_group,
    start_blocking_process,
)

MESSAGE_BYTES = 1 << 16
"""The longest message."""
FORK, REAP = b"fork ", b"reap "
"""The messages to the server: a text for the new child, with its three descriptors; and the number
of a child that has ended. It replies with the child's number, and with its exit code."""


def can_fork() -> bool:
    """Whether there can be such a server here: only Linux tells of the end of other's children."""
    return sys.platform.startswith("linux") and hasattr(os, "pidfd_open")


class ForkServer:
    """The parent's side. It belongs to no event loop; the children belong to the one of `fork`."""

    def __init__(self, command: Sequence[str], *, folder: Path, environ: Mapping[str, str]) -> None:
        self._log = folder / "server.log"
        self._lock = Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs, self._log.open("wb") as log:
                self._child: BlockingChildProcess = start_blocking_process(
                    command,
                    folder=folder,
                    environ=environ,
                    stdin=theirs.fileno(),
                    stdout=DEVNULL,
                    stderr=log,
                )
        except BaseException:
            self._control.close()
            raise

    async def fork(self, text: str) -> ChildProcess:
        """Start a child that is given this text; OSError if the server has ended."""
        with guard_group() as guard:
            with anyio.CancelScope(shield=True):
                process = await self._fork_process(text)
            guard.watch(process.pid)
        return ChildProcess(process, guard)

    async def _fork_process(self, text: str) -> "_ForkedProcess":
        pairs = [socket.socketpair() for _ in range(3)]
        ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        try:
            message = FORK + text.encode()
            descriptors = [end.fileno() for end in theirs]
            pid = await anyio.to_thread.run_sync(self._exchange, message, descriptors)
        except BaseException:
            for end in ours:
                end.close()
            raise
        finally:
            for end in theirs:
                end.close()
        streams = [_SocketEnd(*await asyncio.open_connection(sock=end)) for end in ours]
        return _ForkedProcess(self, pid, streams)

    def reap(self, pid: int) -> int:
        """The exit code of a child that has ended, as `subprocess` counts; OSError without it."""
        return self._exchange(REAP + b"%d" % pid, ())

    def close(self) -> None:
        """End the server. Its children are ended by whoever holds them."""
        self._control.close()
        self._child.end()

    def _exchange(self, message: bytes, descriptors: Sequence[int]) -> int:
        with self._lock:
            try:
                socket.send_fds(self._control, [message], descriptors)
                reply = self._control.recv(MESSAGE_BYTES)
            except OSError:
                reply = b""
        if not reply:
            lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise OSError(0, f"its server ended: {lines[-1] if lines else 'without a word'}")
        return int(reply)


class _SocketEnd(ByteStream):
    """Our end of a standard stream of a child."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self, max_bytes: int = MESSAGE_BYTES) -> bytes:
        """The next bytes; EndOfStream at the end."""
        try:
            piece = await self._reader.read(max_bytes)
        except OSError as error:
            raise anyio.BrokenResourceError from error
        if not piece:
            raise anyio.EndOfStream
        return piece

    async def send(self, item: bytes) -> None:
        """Send all of it, even if this is cancelled."""
        if self._writer.is_closing():
            raise anyio.ClosedResourceError
        self._writer.write(item)
        try:
            await self._writer.drain()
        except OSError as error:
            raise anyio.BrokenResourceError from error

    async def send_eof(self) -> None:
        """Send nothing more."""
        self._writer.write_eof()

    async def aclose(self) -> None:
        """Close it; what was written before is still sent."""
        self._writer.close()


class _ForkedProcess(Process):
    """A child of the server."""

    def __init__(self, server: ForkServer, pid: int, streams: Sequence[_SocketEnd]) -> None:
        self._server = server
        self._pid = pid
        self._stdin, self._stdout, self._stderr = streams
        self._end = os.pidfd_open(pid)
        self._code: int | None = None
        self._waiting = anyio.Lock()

    async def wait(self) -> int:
        """Wait until it has ended, and return its exit code; -9 if nobody knows it."""
        async with self._waiting:
            if self._code is None:
                await self._wait_for_end()
                try:
                    self._code = await anyio.to_thread.run_sync(self._server.reap, self._pid)
                except OSError:
                    self._code = -9
                os.close(self._end)
        return self._code

    async def _wait_for_end(self) -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._end, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._end)

    async def aclose(self) -> None:
        """Close the streams and wait for its end."""
        for stream in (self._stdin, self._stdout, self._stderr):
            await stream.aclose()
        await self.wait()

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(Signals.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(Signals.SIGKILL)

    def send_signal(self, signal: Signals) -> None:
        """Send it a signal, if it has not ended."""
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, once somebody waited for it."""
        return self._code

    @property
    def stdin(self) -> _SocketEnd:
        """Its standard input."""
        return self._stdin

    @property
    def stdout(self) -> _SocketEnd:
        """Its standard output."""
        return self._stdout

    @property
    def stderr(self) -> _SocketEnd:
        """Its standard error."""
        return self._stderr


def serve_forks() -> str:
    """The child's side: copies this process on request, until the parent is gone.

    Returns in each copy, with the text that it is given; its standard streams are its own.
    """
    control = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 3)
        if message.startswith(REAP):
            _, status = os.waitpid(int(message[len(REAP) :]), 0)
            control.send(b"%d" % os.waitstatus_to_exitcode(status))
            continue
        if not message.startswith(FORK):
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            control.close()
            os.setsid()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            return message[len(FORK) :].decode()
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(b"%d" % pid)
