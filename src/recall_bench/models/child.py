"""A program that is given a text and gives one back, and leaves nothing running behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from recall_bench.errors import ModelFault

GRACE_S = 1.0
"""How long a program may take to end once it is told to, or to close its output once it ended."""

_OUTPUT_LIMIT = 4 * 1024 * 1024
"""Beyond this, output is read and thrown away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """How a program ended, and what it said."""

    code: int
    out: str
    err: str


async def run_child(
    command: Sequence[str], text: str, *, folder: str, environ: Mapping[str, str]
) -> ChildResult:
    """Run a program to its end with the text on its standard input; no shell is involved.

    It gets a process group of its own. However this ends, by the program itself or because the
    caller gave up, no process of that group outlives it. On Windows a caller that gives up ends the
    program and all that it started, but what a program leaves behind when it ends by itself lives.
    """
    # Shielded, because a caller that gave up on a program half started could not end it.
    with anyio.CancelScope(shield=True):
        process = await _start(command, folder, environ)
    out, err = bytearray(), bytearray()
    assert process.stdin is not None  # noqa: S101 - all three are pipes by default
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_feed, process.stdin, text.encode())
            tasks.start_soon(_collect_output, process.stdout, out)
            tasks.start_soon(_collect_output, process.stderr, err)
            code = await process.wait()
            # What the program started and left behind may hold its pipes open for ever.
            tasks.cancel_scope.deadline = anyio.current_time() + GRACE_S
    finally:
        with anyio.CancelScope(shield=True):
            await _stop(process)
    return ChildResult(
        code=code, out=out.decode(errors="replace"), err=err.decode(errors="replace")
    )


async def _start(command: Sequence[str], folder: str, environ: Mapping[str, str]) -> Process:
    try:
        return await anyio.open_process(
            command,
            cwd=folder,
            env=environ,
            start_new_session=sys.platform != "win32",
            creationflags=_choose_creation_flags(),
        )
    except OSError as error:
        raise ModelFault(f"{command[0]}: cannot be started: {error.strerror}") from None


async def _feed(stream: ByteSendStream, text: bytes) -> None:
    """Write it all; a program that does not want to read it all is free not to."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stream.send(text)
        await stream.aclose()


async def _collect_output(stream: ByteReceiveStream, into: bytearray) -> None:
    async for chunk in stream:
        into += chunk[: max(0, _OUTPUT_LIMIT - len(into))]


async def _stop(process: Process) -> None:
    """Ask the whole group to end, then make it."""
    try:
        if process.returncode is None and _terminate(process):
            with anyio.move_on_after(GRACE_S):
                await process.wait()
    finally:
        # Even if a second Ctrl-C, which no shield keeps out, cuts the waiting short.
        _kill(process)
        await process.wait()
        await process.aclose()


def _choose_creation_flags() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NEW_PROCESS_GROUP
    return 0


def _terminate(process: Process) -> bool:
    """Whether there was a way to ask: Windows has none that programs without a window heed."""
    if sys.platform == "win32":
        return False
    _send_signal(process, signal.SIGTERM)
    return True


def _kill(process: Process) -> None:
    if sys.platform != "win32":
        _send_signal(process, signal.SIGKILL)
    elif process.returncode is None:
        # Only while it lives: its number may be another's afterwards, and its tree is not found.
        command = ("taskkill", "/T", "/F", "/PID", str(process.pid))
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=10)  # noqa: S603
        with suppress(ProcessLookupError):
            process.kill()


def _send_signal(process: Process, number: signal.Signals) -> None:
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
