"""Copies that a child process makes of itself by `fork`, as child processes of ours. Linux alone.

We send the child four descriptors over a channel, and it forks. The copy takes them as its standard
streams and as a channel of its own, over which it says hello; the kernel adds its number.
"""

import asyncio
import gc
import os
import signal as signals
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from signal import Signals

import anyio
import msgspec
from anyio.abc import ByteStream, Process

from recall_bench.core.child_process import ChildProcess, guard_group
from recall_bench.core.errors import NotOffered, SystemGone
from recall_bench.core.untrusted_json import decode_untrusted_json

_MESSAGE_BYTES = 1 << 16
_CREDENTIALS = struct.Struct("3i")
_MOST_DESCRIPTORS = 256
"""More than a process has that runs no code of others yet."""


def can_copy() -> bool:
    """Whether it works here: only Linux shows what a process shares, and waits for any process."""
    return sys.platform.startswith("linux") and hasattr(os, "pidfd_open")


class Hello(msgspec.Struct):
    """What a process says first, or why it made no copy."""

    own: list[int] = []
    """The descriptors that it has before any code of others runs."""
    refusal: str = ""


class CopyChannel:
    """Our side of the channel to one process that can copy itself."""

    def __init__(self) -> None:
        self._ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.settimeout(0)
        self._ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._own: frozenset[str] = frozenset()
        self._copies: dict[int, CopiedProcess] = {}
        self.pid = 0
        """The number of the process, by the word of the kernel, once it said hello."""

    def read_hello(self) -> None:
        """Take its first message, which has arrived; NotOffered if that is a refusal."""
        try:
            size = socket.CMSG_SPACE(_CREDENTIALS.size)
            message, notes, _, _ = self._ours.recvmsg(_MESSAGE_BYTES, size)
            hello = decode_untrusted_json(message, Hello)
        except (OSError, msgspec.MsgspecError) as error:
            raise SystemGone("the adapter's process ended while it was copied") from error
        if hello.refusal:
            raise NotOffered(hello.refusal)
        self._own = frozenset(map(str, hello.own))
        self.pid, _, _ = _CREDENTIALS.unpack(notes[0][2])

    def find_obstacle(self) -> str | None:
        """What the process would share with a copy, or lose in it; None if it can be copied."""
        if not self.pid:
            self.read_hello()
        place = Path("/proc", str(self.pid))
        try:
            if (threads := len([*(place / "task").iterdir()])) > 1:
                return f"it runs {threads} threads"
            children = (place / "task" / str(self.pid) / "children").read_text().split()
            if {int(child) for child in children} - self._copies.keys():
                return "it has started programs"
            for entry in (place / "fd").iterdir():
                if entry.name not in self._own:
                    return f"it has {entry.readlink()} open"
            for line in (place / "maps").read_text().splitlines():
                if line.split()[1].startswith("rw-s"):
                    return "it shares memory with other processes"
        except OSError as error:
            return f"what it has open cannot be read ({error.strerror})"
        return None

    async def copy(self) -> "tuple[ChildProcess, CopyChannel]":
        """A copy of the process, and the channel to it; NotOffered if the process refuses."""
        channel = CopyChannel()
        pairs = [socket.socketpair() for _ in range(3)]
        ended = [pid for pid, copy in self._copies.items() if copy.is_closed]
        try:
            with guard_group() as guard:
                theirs = [*(other.fileno() for _, other in pairs), channel.theirs.fileno()]
                socket.send_fds(self._ours, [msgspec.json.encode(ended)], theirs)
                for end in (*(other for _, other in pairs), channel.theirs):
                    end.close()
                for pid in ended:
                    del self._copies[pid]
                await _wait_until_readable(channel._ours.fileno())
                channel.read_hello()
                guard.watch(channel.pid)
                ends = [_SocketEnd(*await asyncio.open_connection(sock=own)) for own, _ in pairs]
                process = self._copies[channel.pid] = CopiedProcess(channel.pid, ends)
            return ChildProcess(process, guard), channel
        except BaseException as error:
            channel.close()
            for end in (end for pair in pairs for end in pair):
                end.close()
            if isinstance(error, OSError):
                raise SystemGone(f"the adapter's process cannot be copied ({error})") from error
            raise

    def close(self) -> None:
        """Close both ends."""
        self._ours.close()
        self.theirs.close()


class _SocketEnd(ByteStream):
    """Our end of a standard stream of a copy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self, max_bytes: int = _MESSAGE_BYTES) -> bytes:
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


class CopiedProcess(Process):
    """A copy: not a child of ours, so the kernel tells us of its end by a descriptor."""

    def __init__(self, pid: int, streams: Sequence[_SocketEnd]) -> None:
        self._pid = pid
        self._streams = streams
        self._descriptor = os.pidfd_open(pid)
        """Names the process, and no other one, until `aclose`."""
        self._code: int | None = None
        self._waiting = anyio.Lock()
        """A descriptor can be waited for once at a time."""
        self.is_closed = False
        """Whether its number may be given to another process."""

    async def wait(self) -> int:
        """Wait until it has ended, and return its exit code; -9 if it is unknown."""
        async with self._waiting:
            if self._code is None:
                await _wait_until_readable(self._descriptor)
                self._code = -Signals.SIGKILL
                # What it was copied from has not waited for it yet, so that it has an entry.
                with suppress(OSError):
                    entry = Path("/proc", str(self._pid), "stat").read_text()
                    self._code = os.waitstatus_to_exitcode(int(entry.split()[-1]))
        return self._code

    async def aclose(self) -> None:
        """Close the streams, wait for its end, and let go of its number."""
        for stream in self._streams:
            await stream.aclose()
        await self.wait()
        if not self.is_closed:
            self.is_closed = True
            os.close(self._descriptor)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(Signals.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(Signals.SIGKILL)

    def send_signal(self, signal: Signals) -> None:
        """Send it a signal, if it has not ended."""
        if not self.is_closed:
            with suppress(ProcessLookupError):
                signals.pidfd_send_signal(self._descriptor, signal)

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


async def _wait_until_readable(descriptor: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


def say_hello(channel: socket.socket) -> None:
    """In a process that can copy itself: name the descriptors that it has."""
    channel.send(msgspec.json.encode(Hello(own=_list_descriptors())))


class CopyRequest:
    """A request for a copy, in the process that is to be copied."""

    def __init__(self, ended: list[int], descriptors: list[int]) -> None:
        self._ended = ended
        """The numbers of earlier copies, which nobody needs any more."""
        self._descriptors = descriptors

    @classmethod
    def take(cls, channel: socket.socket) -> "CopyRequest | None":
        """The request that has arrived; None at the end of the channel."""
        message, descriptors, _, _ = socket.recv_fds(channel, _MESSAGE_BYTES, 4)
        if not message:
            return None
        return cls(decode_untrusted_json(message, list[int]), descriptors)

    def fork(self, refusal: str | None) -> tuple[int, int, socket.socket] | None:
        """Make the copy, or refuse it.

        In the copy it returns the descriptors of its input and output, and its channel; nothing
        else of the original is open there. In the original it returns None.
        """
        given, answer, errors, channel = self._descriptors
        for pid in self._ended:
            os.waitpid(pid, 0)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with socket.socket(fileno=channel) as own:
            try:
                if refusal is None and os.fork() == 0:
                    # A collection would touch, and so copy, every object of the original.
                    gc.freeze()
                    os.setsid()
                    os.dup2(errors, 1)
                    os.dup2(errors, 2)
                    for descriptor in _list_descriptors():
                        if descriptor > 2 and descriptor not in {given, answer, channel}:
                            os.close(descriptor)
                    return given, answer, socket.socket(fileno=own.detach())
            except OSError as error:
                refusal = f"it cannot be copied: {error.strerror}"
            for descriptor in (given, answer, errors):
                os.close(descriptor)
            if refusal is not None:
                own.send(msgspec.json.encode(Hello(refusal=refusal)))
        return None


def reap_copies() -> None:
    """At the end of a process that can copy itself: let go of the numbers of its copies."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _list_descriptors() -> list[int]:
    numbers = []
    for number in range(_MOST_DESCRIPTORS):
        with suppress(OSError):
            os.fstat(number)
            numbers.append(number)
    return numbers
