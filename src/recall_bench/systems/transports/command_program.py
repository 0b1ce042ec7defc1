"""The program that an `--adapter` or `--selector` target names, and running it once."""

import errno
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.child_process import ProcessExit, run_process
from recall_bench.core.errors import NotAnAnswer, SystemFault, SystemGone, SystemTimeout, UsageError
from recall_bench.core.folders import digest_program, is_file
from recall_bench.core.memory import UNDECLARED


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProgram:
    """A program and its arguments."""

    name: str
    """Its name in messages, as in `python search.py`."""
    spelled: tuple[str, ...]
    """The words as they were given."""
    command: tuple[str, ...]
    """The words to start it with, in any folder."""
    version: str
    """A digest of its own file and its script; `undeclared` if there is neither."""


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
    path = shutil.which(words[0])
    if path is None:
        raise UsageError(
            f"there is no program {words[0]!r} that can be run; check its path, and that it may be "
            "executed"
        )
    program = Path(path).absolute()
    rest = tuple(_expand_path(word) for word in words[1:])
    script = next((f" {Path(word).name}" for word in words[1:] if is_file(word)), "")
    return CommandProgram(
        name=f"{Path(words[0]).name}{script}",
        spelled=tuple(words),
        command=(str(program), *rest),
        version=digest_program(words, program) or UNDECLARED,
    )


def _expand_path(word: str) -> str:
    """A file by its full path; also the file of `file.py:factory`."""
    file, colon, factory = word.rpartition(":")
    if file.endswith(".py") and is_file(file):
        return f"{Path(file).absolute()}{colon}{factory}"
    return str(Path(word).absolute()) if is_file(word) else word


async def run_program(
    program: CommandProgram,
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    output_limit: int,
    stdin: bytes = b"",
    timeout_s: float | None = None,
) -> ProcessExit:
    """Run a program to a successful end; its whole process group is gone afterwards.

    SystemFault if it fails, SystemTimeout if it takes too long, NotAnAnswer if it prints too much,
    SystemGone if it cannot be started.
    """
    try:
        ended = await run_process(
            command,
            folder=folder,
            environ=environ,
            output_limit=output_limit,
            stdin=stdin,
            timeout_s=timeout_s,
        )
    except (OSError, ValueError) as error:
        # A text that no argument can hold fails this question; anything else fails all of them.
        if isinstance(error, ValueError) or error.errno == errno.E2BIG:
            message = f"{program.name} cannot be given this question as an argument: {error}"
            raise SystemFault(message) from error
        raise SystemGone(
            f"{program.name} cannot be started ({error.strerror}); when that is fixed, run the "
            "same command again"
        ) from error
    if ended.code is None:
        raise SystemTimeout(
            f"{program.name} did not end within {timeout_s:g} s{ended.stderr.format_last()}"
        )
    if ended.code != 0:
        how = f"exit code {ended.code}" if ended.code > 0 else f"signal {-ended.code}"
        raise SystemFault(f"{program.name} ended with {how}{ended.stderr.format_last()}")
    if len(ended.out) > output_limit:
        raise NotAnAnswer(f"{program.name} printed more than {output_limit >> 20} MB")
    return ended
