"""A program started for us, which dies with everything it started: when told to, or with us."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import anyio
from anyio.abc import Process

TERMINATE_GRACE_S = 1.0
"""How long a program may take to end once it is asked to."""

PIPE = subprocess.PIPE
DEVNULL = subprocess.DEVNULL

Channel = int | IO[bytes]
"""`PIPE`, `DEVNULL` or an open file."""

_GUARD_SCRIPT = 'trap "" HUP INT TERM; read -r group && { read -r _; kill -KILL -"$group"; }'
"""Learns the group from the first line and ends it once nobody holds the other end of the pipe.

The kernel can do this too (PR_SET_PDEATHSIG), but only on Linux, only for the child itself and
not for what it started, and already when the thread ends that started it.
"""


class ChildProcess:
    """A program in a session of its own, without a terminal, for those with an event loop."""

    def __init__(self, process: Process, guard: "_GroupGuard") -> None:
        self.process = process
        """Its pid, its return code, its pipes. End it through `end` alone."""
        self._guard = guard

    async def end(self, *, grace_s: float = TERMINATE_GRACE_S) -> None:
        """Ask the whole group to end, make it end, and close its pipes. Can be called twice.

        Nothing cancels this. With no grace it is not asked.
        """
        with anyio.CancelScope(shield=True):
            if self.process.returncode is None and grace_s > 0:
                _terminate_group(self.process.pid)
                with anyio.move_on_after(grace_s):
                    await self.process.wait()
            if self._guard.is_on:
                _kill_group(self.process.pid)
            await self.process.wait()
            await self.process.aclose()
            self._guard.release()


class BlockingChildProcess:
    """The same for a thread without an event loop."""

    def __init__(self, process: "subprocess.Popen[bytes]", guard: "_GroupGuard") -> None:
        self.process = process
        """Its pid, its return code, its pipes. End it through `end` alone."""
        self._guard = guard

    def end(self, *, grace_s: float = TERMINATE_GRACE_S) -> None:
        """Ask the whole group to end, make it end, and close its pipes. Can be called twice."""
        if self.process.poll() is None and grace_s > 0:
            _terminate_group(self.process.pid)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(grace_s)
        if self._guard.is_on:
            _kill_group(self.process.pid)
        with self.process:  # closes the pipes and waits
            pass
        self._guard.release()


async def start_process(
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    stdin: Channel = PIPE,
    stdout: Channel = PIPE,
    stderr: Channel = PIPE,
) -> ChildProcess:
    """Start a program, no shell involved, in this folder and with this environment alone.

    OSError if it cannot be started. On Windows a group dies when told to, but not with us.
    """
    guard = _GroupGuard()
    try:
        process = await anyio.open_process(
            command,
            cwd=folder,
            env=environ,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=sys.platform != "win32",
            creationflags=_get_creation_flags(),
        )
    except BaseException:
        guard.release()
        raise
    guard.watch(process.pid)
    return ChildProcess(process, guard)


def start_blocking_process(
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    stdin: Channel = PIPE,
    stdout: Channel = PIPE,
    stderr: Channel = PIPE,
) -> BlockingChildProcess:
    """What `start_child` does, for a thread without an event loop."""
    guard = _GroupGuard()
    try:
        process = subprocess.Popen(  # noqa: S603 - running it is the purpose
            command,
            cwd=folder,
            env=environ,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=sys.platform != "win32",
            creationflags=_get_creation_flags(),
        )
    except BaseException:
        guard.release()
        raise
    guard.watch(process.pid)
    return BlockingChildProcess(process, guard)


class _GroupGuard:
    """A tiny process that outlives us for as long as it takes to end a group."""

    def __init__(self) -> None:
        self.is_on = True
        """Whether the group is still ours to end; its number may mean another one later."""
        self._process: subprocess.Popen[bytes] | None = None
        if sys.platform != "win32":
            # Started before what it guards, so that there is no moment without it.
            self._process = subprocess.Popen(  # noqa: S603
                ("/bin/sh", "-c", _GUARD_SCRIPT),
                cwd="/",
                env={},
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=DEVNULL,
                start_new_session=True,
            )

    def watch(self, group: int) -> None:
        """End this group if we die."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(b"%d\n" % group)
            self._process.stdin.flush()

    def release(self) -> None:
        """Nothing is left to guard."""
        self.is_on = False
        if self._process is not None:
            self._process.kill()
            with self._process:  # closes the pipe and waits
                pass


def _get_creation_flags() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NEW_PROCESS_GROUP
    return 0


def _terminate_group(group: int) -> None:
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGTERM)


def _kill_group(group: int) -> None:
    if sys.platform == "win32":
        # Exits with an error if they are all gone already, which is what is wanted.
        command = ("taskkill", "/T", "/F", "/PID", str(group))
        subprocess.run(command, check=False, capture_output=True)  # noqa: S603
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


LINE_LIMIT = 256 * 1024 * 1024
"""More than this without an end is no line."""

_KEPT_BYTES = 8192
_QUOTED_LINES = 5
_QUOTED_CHARACTERS = 300


class LineTooLong(Exception):
    """A line that has no end."""


class LineSplitter:
    """Makes whole lines of whatever pieces they arrive in, each byte looked at once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that end in this piece, without their ends; blank ones are left out."""
        *ended, rest = piece.split(b"\n")
        for end in ended:
            line = b"".join((*self._parts, end)).strip()
            self._parts, self._length = [], 0
            if line:
                yield line
        self._parts.append(rest)
        self._length += len(rest)
        if self._length > LINE_LIMIT:
            raise LineTooLong

    def get_rest(self) -> bytes:
        """What came after the last end of a line."""
        return b"".join(self._parts).strip()


class StderrTail:
    """The end of what a program wrote to its standard error."""

    def __init__(self) -> None:
        self._kept = b""

    def feed(self, piece: bytes) -> None:
        """Keep it, and forget what came long before."""
        self._kept = (self._kept + piece)[-_KEPT_BYTES:]

    def list_lines(self) -> list[str]:
        """The last lines that say something, each cut to a readable length."""
        text = self._kept.decode("utf-8", "replace")
        said = [line.strip() for line in text.splitlines() if line.strip()]
        return [line[:_QUOTED_CHARACTERS] for line in said[-_QUOTED_LINES:]]

    def format_all(self) -> str:
        """All of them in one clause that begins with a comma; empty if nothing was said."""
        said = " | ".join(self.list_lines())
        return f", and its last words were: {said}" if said else ""

    def format_last(self) -> str:
        """The very last one in a clause that begins with a colon; empty if nothing was said."""
        said = self.list_lines()
        return f": {said[-1]}" if said else ""


def quote_bytes(line: bytes) -> str:
    """A line as messages quote it."""
    text = line[:_QUOTED_CHARACTERS].decode("utf-8", "replace")
    return repr(text if len(line) <= _QUOTED_CHARACTERS else f"{text}…")
