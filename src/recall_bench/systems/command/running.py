"""One program run to its end."""

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream

from recall_bench.errors import NotAnAnswer, SystemFault, SystemGone, SystemTimeout
from recall_bench.systems.command.lines import StderrTail
from recall_bench.systems.command.program import CommandProgram, build_environment
from recall_bench.systems.remote.child import DEVNULL, ChildProcess, start_process

_OUTPUT_LIMIT = 64 * 1024 * 1024

DRAIN_S = 1.0
"""How long a program that ended may leave its output open, which what it started may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramExit:
    """How a program ended, and what it said."""

    code: int
    out: bytes
    last_words: StderrTail


async def run_program(
    program: CommandProgram, words: Sequence[str], *, folder: Path, timeout_s: float | None
) -> ProgramExit:
    """Run a program with these words in a folder, with nothing on its standard input.

    However this ends, nothing of its process group outlives it. SystemTimeout when it takes
    longer than it may.
    """
    child = await _start_program(program, words, folder)
    out, last_words = bytearray(), StderrTail()
    overran = False
    try:
        with anyio.move_on_after(timeout_s) as limit:
            async with anyio.create_task_group() as readers:
                readers.start_soon(collect_output, child.process.stdout, out, _OUTPUT_LIMIT)
                readers.start_soon(collect_tail, child.process.stderr, last_words)
                await child.process.wait()
                readers.cancel_scope.deadline = anyio.current_time() + DRAIN_S
        overran = limit.cancelled_caught
    finally:
        await child.end(grace_s=0)
    if overran:
        raise SystemTimeout(
            f"{program.name} found nothing within {timeout_s:g} s{last_words.format_last()}"
        )
    if len(out) > _OUTPUT_LIMIT:
        raise NotAnAnswer(f"{program.name} printed more than {_OUTPUT_LIMIT >> 20} MB")
    return ProgramExit(code=child.process.returncode or 0, out=bytes(out), last_words=last_words)


async def _start_program(
    program: CommandProgram, words: Sequence[str], folder: Path
) -> ChildProcess:
    try:
        return await start_process(
            (program.command[0], *words),
            folder=folder,
            environ=build_environment(folder),
            stdin=DEVNULL,
        )
    except (OSError, ValueError) as error:
        # Text that no argument can hold is this question's trouble; all else is every question's.
        if isinstance(error, ValueError) or error.errno == errno.E2BIG:
            message = f"{program.name} cannot be given this question as an argument: {error}"
            raise SystemFault(message) from error
        raise SystemGone(
            f"{program.name} cannot be started ({error.strerror}); when that is mended, run the "
            "same command again"
        ) from error


async def collect_output(stream: ByteReceiveStream | None, out: bytearray, limit: int) -> None:
    """Keep what a program prints, up to one byte beyond the limit, which tells of more."""
    if stream is None:
        return
    async for piece in stream:
        # The rest is read and thrown away: a program that cannot write does not end.
        out += piece[: max(0, limit + 1 - len(out))]


async def collect_tail(stream: ByteReceiveStream | None, last_words: StderrTail) -> None:
    """Keep the end of what a program says on the side."""
    if stream is None:
        return
    async for piece in stream:
        last_words.feed(piece)
