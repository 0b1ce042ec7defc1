"""The program an `--adapter` target names: found once, started in any folder."""

import errno
import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream

from recall_bench.core.child_process import DEVNULL, ChildProcess, StderrTail, start_process
from recall_bench.core.errors import NotAnAnswer, SystemFault, SystemGone, SystemTimeout, UsageError
from recall_bench.core.memory import UNDECLARED

STATE_DIR = "RECALL_BENCH_STATE_DIR"
"""The variable that tells a program its own folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProgram:
    """A program and its arguments."""

    name: str
    """What messages call it, as in `python search.py`."""
    spelled: tuple[str, ...]
    """The words as they were given."""
    command: tuple[str, ...]
    """The words to start it with, wherever it is started."""
    version: str
    """Changes with the files that are named; `undeclared` if none is."""


def find_program(target: str) -> CommandProgram:
    """The program behind `command:PROGRAM ARGS…` or `once:PROGRAM ARGS…`, split like a shell does.

    It will run in a folder of its own, so a word that names a file here becomes that file's full
    path. UsageError if there is no such program.
    """
    form, _, line = target.partition(":")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(
            f"{target!r} cannot be split into words ({error}); quote it as for a shell"
        ) from None
    if not words:
        raise UsageError(f"{target!r} names no program; write '{form}:PROGRAM ARGS…'")
    found = shutil.which(words[0])
    if found is None:
        raise UsageError(
            f"there is no program {words[0]!r} that can be run; check its path, and that it may be "
            "executed"
        )
    rest = tuple(_expand_path(word) for word in words[1:])
    script = next((f" {Path(word).name}" for word in words[1:] if _is_file(word)), "")
    return CommandProgram(
        name=f"{Path(words[0]).name}{script}",
        spelled=tuple(words),
        command=(str(Path(found).absolute()), *rest),
        version=_digest_files(words),
    )


def build_environment(folder: Path) -> dict[str, str]:
    """Our environment, and where the program's own folder is."""
    return {**os.environ, STATE_DIR: str(folder)}


def _expand_path(word: str) -> str:
    """A file by its full path, an adapter in one as `file.py:factory` too."""
    file, colon, factory = word.rpartition(":")
    if file.endswith(".py") and _is_file(file):
        return f"{Path(file).absolute()}{colon}{factory}"
    return str(Path(word).absolute()) if _is_file(word) else word


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False


def _digest_files(words: Sequence[str]) -> str:
    """A digest of the files that are named; a program from the search path is not among them."""
    files = [word for word in words if _is_file(word) and (word != words[0] or os.sep in word)]
    if not files:
        return UNDECLARED
    digest = sha256()
    for word in files:
        with Path(word).open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()[:12]


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
