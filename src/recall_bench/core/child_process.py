"""Child processes: started in a group of their own, which ends when we end it and when we die."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NotRequired, TypedDict, Unpack

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

TERMINATE_GRACE_S = 1.0
"""How long a program may take to end after SIGTERM."""

DRAIN_TIMEOUT_S = 1.0
"""How long the pipes of a program that ended may stay open: its own children may hold them."""

LINE_LIMIT = 256 * 1024 * 1024
"""The most bytes in one line."""

PIPE = subprocess.PIPE
DEVNULL = subprocess.DEVNULL

Channel = int | IO[bytes]
"""`PIPE`, `DEVNULL` or an open file."""

_STDERR_BYTES = 8192
_QUOTED_LINES = 5
_QUOTED_CHARACTERS = 300

_GUARD_SCRIPT = 'trap "" HUP INT TERM; read -r group && { read -r _; kill -KILL -"$group"; }'
"""Reads the group's number, waits until the pipe closes, and kills the group.

PR_SET_PDEATHSIG would do this in the kernel, but only on Linux, only for the child itself and not
for what it started, and already when the thread ends that started it.
"""


class ChildProcess:
    """A program in a session of its own, without a terminal."""

    def __init__(self, process: Process, guard: "_GroupGuard") -> None:
        self.process = process
        """Its pid, return code and pipes. Use `end` to end it."""
        self._guard = guard

    async def end(self, *, grace_s: float = TERMINATE_GRACE_S) -> None:
        """Terminate the whole group, kill it after the grace, and close the pipes.

        Cancellation does not interrupt this. It may be called twice. No grace means kill at once.
        """
        with anyio.CancelScope(shield=True):
            try:
                if self.process.returncode is None and grace_s > 0 and _terminate_group(self):
                    with anyio.move_on_after(grace_s):
                        await self.process.wait()
            finally:
                # A second Ctrl-C gets through the shield and cuts the waiting short.
                if self._guard.is_on:
                    _kill_group(self.process)
                await self.process.wait()
                await self.process.aclose()
                self._guard.release()


class BlockingChildProcess:
    """The same for a thread without an event loop."""

    def __init__(self, process: "subprocess.Popen[bytes]", guard: "_GroupGuard") -> None:
        self.process = process
        """Its pid, return code and pipes. Use `end` to end it."""
        self._guard = guard

    def end(self, *, grace_s: float = TERMINATE_GRACE_S) -> None:
        """Terminate the whole group, kill it after the grace, and close the pipes."""
        if self.process.poll() is None and grace_s > 0 and _terminate_group(self):
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(grace_s)
        if self._guard.is_on:
            _kill_group(self.process)
        with self.process:  # closes the pipes and waits
            pass
        self._guard.release()


class ProcessOptions(TypedDict):
    """Where and how a program is started; a channel that is not given is a pipe."""

    folder: Path
    environ: Mapping[str, str]
    """Exactly this environment."""
    stdin: NotRequired[Channel]
    stdout: NotRequired[Channel]
    stderr: NotRequired[Channel]
    pass_fds: NotRequired[Sequence[int]]
    """More descriptors that it gets; not on Windows."""


async def start_process(command: Sequence[str], **options: Unpack[ProcessOptions]) -> ChildProcess:
    """Start a program without a shell.

    OSError if it cannot be started. On Windows the group ends with `end`, but not when we die.
    """
    with guard_group() as guard:
        # Shielded: a caller cancelled while the program starts could not end it.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(command, **_build_arguments(options))
        guard.watch(process.pid)
    return ChildProcess(process, guard)


def start_blocking_process(
    command: Sequence[str], **options: Unpack[ProcessOptions]
) -> BlockingChildProcess:
    """Do what `start_process` does, in a thread without an event loop."""
    with guard_group() as guard:
        process = subprocess.Popen(command, **_build_arguments(options))  # noqa: S603
        guard.watch(process.pid)
    return BlockingChildProcess(process, guard)


def _build_arguments(options: ProcessOptions) -> dict[str, Any]:
    return {
        "cwd": options["folder"],
        "env": options["environ"],
        **{name: options.get(name, PIPE) for name in ("stdin", "stdout", "stderr")},
        "start_new_session": sys.platform != "win32",
        "creationflags": _get_creation_flags(),
        "pass_fds": options.get("pass_fds", ()),
    }


@contextmanager
def guard_group() -> Iterator["_GroupGuard"]:
    """A guard that is released if starting what it is to watch fails."""
    guard = _GroupGuard()
    try:
        yield guard
    except BaseException:
        guard.release()
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessExit:
    """How a program ended and what it printed."""

    code: int | None
    """None if it ran out of time and was killed."""
    out: bytes
    """Standard output, up to one byte more than the limit."""
    stderr: "StderrTail"


async def run_process(
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    output_limit: int,
    stdin: bytes = b"",
    timeout_s: float | None = None,
    grace_s: float = 0.0,
) -> ProcessExit:
    """Run a program to its end with these bytes on its standard input.

    However this ends, no process of its group survives. `grace_s` is the time between SIGTERM and
    SIGKILL if the caller is cancelled or time runs out. OSError if it cannot be started.
    """
    child = await start_process(
        command, folder=folder, environ=environ, stdin=PIPE if stdin else DEVNULL
    )
    process, out, stderr = child.process, bytearray(), StderrTail()
    try:
        with anyio.move_on_after(timeout_s) as limit:
            async with anyio.create_task_group() as pipes:
                pipes.start_soon(_write_input, process.stdin, stdin)
                pipes.start_soon(_collect_output, process.stdout, out, output_limit)
                pipes.start_soon(collect_stderr, process.stderr, stderr)
                await process.wait()
                pipes.cancel_scope.deadline = anyio.current_time() + DRAIN_TIMEOUT_S
    finally:
        await child.end(grace_s=grace_s)
    code = None if limit.cancelled_caught else process.returncode
    return ProcessExit(code=code, out=bytes(out), stderr=stderr)


async def collect_stderr(stream: ByteReceiveStream | None, tail: "StderrTail") -> None:
    """Read standard error to its end, or until the pipe is closed on our side."""
    if stream is None:
        return
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async for piece in stream:
            tail.feed(piece)
    tail.finish()


class StderrTail:
    """The end of what a program wrote to its standard error."""

    def __init__(self) -> None:
        self._kept = b""

    def feed(self, piece: bytes) -> None:
        """Append bytes, and forget the oldest."""
        self._kept = (self._kept + piece)[-_STDERR_BYTES:]

    def finish(self) -> None:
        """Take note of the end."""

    @property
    def text(self) -> str:
        """Everything that is kept."""
        return self._kept.decode("utf-8", "replace")

    def format_all(self) -> str:
        """The last lines as a clause that begins with a comma; empty if there are none."""
        lines = " | ".join(self._list_lines())
        return f", and its last lines were: {lines}" if lines else ""

    def format_last(self) -> str:
        """The last line as a clause that begins with a colon; empty if there is none."""
        lines = self._list_lines()
        return f": {lines[-1]}" if lines else ""

    def _list_lines(self) -> list[str]:
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return [line[:_QUOTED_CHARACTERS] for line in lines[-_QUOTED_LINES:]]


class LineTooLong(Exception):
    """A line of more than `LINE_LIMIT` bytes."""


class LineSplitter:
    """Joins pieces of bytes into whole lines, in linear time."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that end in this piece, stripped; blank ones are left out."""
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
        """What came after the last line end."""
        return b"".join(self._parts).strip()


def quote_bytes(line: bytes) -> str:
    """A line as error messages quote it."""
    text = line[:_QUOTED_CHARACTERS].decode("utf-8", "replace")
    return repr(text if len(line) <= _QUOTED_CHARACTERS else f"{text}…")


class _GroupGuard:
    """A small process that kills the group if we die first."""

    def __init__(self) -> None:
        self.is_on = True
        """Whether the group is ours to kill; later its number may belong to another."""
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
        """Kill this group if we die."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(b"%d\n" % group)
            self._process.stdin.flush()

    def release(self) -> None:
        """Stop guarding."""
        self.is_on = False
        if self._process is not None:
            self._process.kill()
            with self._process:  # closes the pipe and waits
                pass


async def _write_input(stream: ByteSendStream | None, content: bytes) -> None:
    if stream is None:
        return
    # A program need not read all of it.
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stream.send(content)
        await stream.aclose()


async def _collect_output(stream: ByteReceiveStream | None, out: bytearray, limit: int) -> None:
    if stream is None:
        return
    async for piece in stream:
        # The rest is read and dropped: a program that cannot write does not end.
        out += piece[: max(0, limit + 1 - len(out))]


def _get_creation_flags() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NEW_PROCESS_GROUP
    return 0


def _terminate_group(child: ChildProcess | BlockingChildProcess) -> bool:
    """Whether the group could be asked: Windows has no signal that every program handles."""
    if sys.platform == "win32":
        return False
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.process.pid, signal.SIGTERM)
    return True


def _kill_group(process: "Process | subprocess.Popen[bytes]") -> None:
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.returncode is None:
        # Only while it lives: afterwards its tree is not found, and its number may be reused.
        command = ("taskkill", "/T", "/F", "/PID", str(process.pid))
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=10)  # noqa: S603
        with suppress(ProcessLookupError):
            process.kill()
