"""Child processes that start fast: copies of one that has imported everything already.

Starting Python and importing takes longer than many runs ask of an adapter. The server does it once
and copies itself for each child. It runs our code alone, so a child finds nothing of others in it.
"""

import asyncio
import errno
import os
import signal as signals
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
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
FORK, READ_CODE, REAP = b"fork ", b"code ", b"reap "
"""The messages to the server: a text for the new child, with its three descriptors, to which it
replies with the child's number, or with a negative error number; the number of a child that has
ended, to which it replies with its exit code; and the same to let go of its number."""


def can_fork() -> bool:
    """Whether it works here: only Linux can wait for a process that is not our child."""
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
        # Shielded: cancelled before the reply comes, it would leave a child running.
        with guard_group() as guard, anyio.CancelScope(shield=True):
            with ExitStack() as ours, ExitStack() as theirs:
                pairs = []
                for _ in range(3):
                    own, other = socket.socketpair()
                    pairs.append((ours.enter_context(own), theirs.enter_context(other)))
                descriptors = [other.fileno() for _, other in pairs]
                message = FORK + text.encode()
                pid = await anyio.to_thread.run_sync(self._exchange, message, descriptors)
                if pid < 0:
                    raise OSError(-pid, os.strerror(-pid))
                # A child whose standard input is closed ends.
                connect = asyncio.open_connection
                streams = [_SocketEnd(*await connect(sock=own)) for own, _ in pairs]
                process = _ForkedProcess(self, pid, streams)
                ours.pop_all()
            guard.watch(pid)
        return ChildProcess(process, guard)

    def read_code(self, pid: int) -> int:
        """The exit code of a child that has ended, as `subprocess` counts; OSError without it.

        Its number, which is also that of its group, is given to no other process before `reap`.
        """
        return self._exchange(READ_CODE + b"%d" % pid, ())

    def reap(self, pid: int) -> None:
        """Let go of the number of a child that has ended."""
        with suppress(OSError):
            self._exchange(REAP + b"%d" % pid, ())

    def close(self) -> None:
        """End the server. Its children are ended by their owners."""
        with self._lock:
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
            end = f": {lines[-1]}" if lines else " and printed nothing"
            raise OSError(0, f"its server ended{end}")
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
        # What is not sent at once keeps it open until the child reads it or ends.
        if not self._writer.transport.get_write_buffer_size():
            with suppress(OSError):
                await self._writer.wait_closed()


class _ForkedProcess(Process):
    """A child of the server."""

    def __init__(self, server: ForkServer, pid: int, streams: Sequence[_SocketEnd]) -> None:
        self._server = server
        self._pid = pid
        self._streams = streams
        self._end: int | None = os.pidfd_open(pid)
        """Names the process, and no other one, until `aclose`."""
        self._code: int | None = None
        self._waiting = anyio.Lock()

    async def wait(self) -> int:
        """Wait until it has ended, and return its exit code; -9 if it is unknown."""
        async with self._waiting:
            if self._code is None:
                await self._wait_for_end()
                try:
                    self._code = await anyio.to_thread.run_sync(self._server.read_code, self._pid)
                except OSError:
                    self._code = -9
        return self._code

    async def _wait_for_end(self) -> None:
        loop, ended, end = asyncio.get_running_loop(), asyncio.Event(), self._end
        if end is None:
            return
        loop.add_reader(end, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(end)

    async def aclose(self) -> None:
        """Close the streams, wait for its end, and let go of its number."""
        for stream in self._streams:
            await stream.aclose()
        await self.wait()
        if self._end is not None:
            end, self._end = self._end, None
            os.close(end)
            await anyio.to_thread.run_sync(self._server.reap, self._pid)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(Signals.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(Signals.SIGKILL)

    def send_signal(self, signal: Signals) -> None:
        """Send it a signal, if it has not ended."""
        if self._end is not None:
            with suppress(ProcessLookupError):
                signals.pidfd_send_signal(self._end, signal)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, once it was waited for."""
        return self._code

    @property
    def stdin(self) -> _SocketEnd:
        """Its standard input."""
        return self._streams[0]

    @property
    def stdout(self) -> _SocketEnd:
        """Its standard output."""
        return self._streams[1]

    @property
    def stderr(self) -> _SocketEnd:
        """Its standard error."""
        return self._streams[2]


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
        if message.startswith((READ_CODE, REAP)):
            options = os.WNOWAIT if message.startswith(READ_CODE) else 0
            control.send(b"%d" % _wait_for_child(int(message[len(REAP) :]), options))
            continue
        if not message.startswith(FORK):
            os._exit(0)
        try:
            pid = os.fork()
        except OSError as error:
            pid = -(error.errno or errno.EAGAIN)
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


def _wait_for_child(pid: int, flags: int) -> int:
    """The exit code of a child, as `subprocess` counts."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | flags)
    if ended is None:
        raise AssertionError("waiting without WNOHANG returns a child")
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
