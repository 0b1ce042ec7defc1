"""A program that is given a text and gives one back, and leaves nothing running behind."""

import os
import signal
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
class Ended:
    """How a program ended, and what it said."""

    code: int
    out: str
    err: str


async def run_child(
    command: Sequence[str], text: str, *, folder: str, environ: Mapping[str, str]
) -> Ended:
    """Run a program to its end with the text on its standard input; no shell is involved.

    It gets a process group of its own. However this ends, by the program itself or because the
    caller gave up, no process of that group outlives it.
    """
    try:
        process = await anyio.open_process(command, cwd=folder, env=environ, start_new_session=True)
    except OSError as error:
        raise ModelFault(f"{command[0]}: cannot be started: {error.strerror}") from None
    out, err = bytearray(), bytearray()
    assert process.stdin is not None  # noqa: S101 - all three are pipes by default
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_feed, process.stdin, text.encode())
            tasks.start_soon(_drain, process.stdout, out)
            tasks.start_soon(_drain, process.stderr, err)
            code = await process.wait()
            # What the program started and left behind may hold its pipes open for ever.
            tasks.cancel_scope.deadline = anyio.current_time() + GRACE_S
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
    return Ended(code=code, out=out.decode(errors="replace"), err=err.decode(errors="replace"))


async def _feed(stream: ByteSendStream, text: bytes) -> None:
    """Write it all; a program that does not want to read it all is free not to."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stream.send(text)
        await stream.aclose()


async def _drain(stream: ByteReceiveStream, into: bytearray) -> None:
    async for chunk in stream:
        into += chunk[: max(0, _OUTPUT_LIMIT - len(into))]


async def _end(process: Process) -> None:
    """Ask the whole group to end, then make it."""
    if process.returncode is None:
        _signal_group(process, signal.SIGTERM)
        with anyio.move_on_after(GRACE_S):
            await process.wait()
    _signal_group(process, signal.SIGKILL)
    await process.wait()
    await process.aclose()


def _signal_group(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
