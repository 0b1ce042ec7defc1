"""Selectors that are a program: the prompt on its standard input, a name on each line it prints.

It is run anew for every prompt, in the folder that holds `memory/`, with our environment.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import anyio
from anyio.abc import ByteSendStream
from msgspec import Meta

from recall_bench.core.memory import SystemCard
from recall_bench.core.record import Record
from recall_bench.errors import NotAnAnswer, SystemFault, SystemGone, SystemTimeout, UsageError
from recall_bench.selection.files.memory_file import MemoryFile
from recall_bench.selection.selectors.names import check_names
from recall_bench.selection.selectors.selector import MemorySelection
from recall_bench.systems.builtin.options import read_options
from recall_bench.systems.command.lines import StderrTail, quote_bytes
from recall_bench.systems.command.program import CommandProgram, find_program
from recall_bench.systems.command.running import DRAIN_S, ProgramExit, collect_output, collect_tail
from recall_bench.systems.remote.child import ChildProcess, start_process

_OUTPUT_LIMIT = 4 * 1024 * 1024


class CommandOptions(Record, frozen=True, kw_only=True):
    """How a program is run."""

    max_concurrency: Annotated[int, Meta(ge=1)] = 8
    """How many of it may run at once; 1 for one that writes where another would read."""


def build_command_selector(
    target: str, config: Mapping[str, object], *, folder: Path, timeout_s: float | None = None
) -> "CommandSelector":
    """The selector behind `command:PROGRAM ARGS…`; UsageError if there is no such program.

    A run gives a selection `timeout_s`. The program gets a twentieth of a second less, so that
    the fault can tell what it said last.
    """
    program = find_program(target)
    options = read_options(program.name, config, CommandOptions)
    if not folder.is_dir():
        raise UsageError(f"{program.name}: there is no folder {folder} to run it in")
    limit_s = None if timeout_s is None else timeout_s - min(0.05, timeout_s / 10)
    return CommandSelector(program, options, folder=folder, timeout_s=limit_s)


class CommandSelector:
    """A program that picks memories."""

    def __init__(
        self,
        program: CommandProgram,
        options: CommandOptions,
        *,
        folder: Path,
        timeout_s: float | None,
    ) -> None:
        self.program = program
        self.folder = folder
        """Where it is run."""
        self.timeout_s = timeout_s
        self.card = SystemCard(
            name=program.name,
            version=program.version,
            config={"command": list(program.spelled)},
            max_concurrency=options.max_concurrency,
        )

    async def open(self, memories: Sequence[MemoryFile]) -> "CommandChooser":
        """The program reads the folder itself; we only learn which names are known."""
        return CommandChooser(self, frozenset(memory.name for memory in memories))

    async def close(self) -> None:
        """Nothing is held: every program was ended."""


class CommandChooser:
    """A program and the names it may give without being doubted."""

    def __init__(self, selector: CommandSelector, known: frozenset[str]) -> None:
        self._selector = selector
        self._known = known

    async def select(self, prompt: str) -> MemorySelection:
        """Run the program once.

        SystemFault if it fails, SystemTimeout if it takes too long, NotAnAnswer if it prints
        anything but names, SystemGone if it cannot be started at all.
        """
        program = self._selector.program
        ended = await _run_program(self._selector, prompt.encode())
        if ended.code != 0:
            how = f"exit code {ended.code}" if ended.code > 0 else f"signal {-ended.code}"
            raise SystemFault(f"{program.name} ended with {how}{ended.last_words.format_last()}")
        if len(ended.out) > _OUTPUT_LIMIT:
            raise NotAnAnswer(f"{program.name} printed more than {_OUTPUT_LIMIT >> 20} MB")
        try:
            lines = ended.out.decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise NotAnAnswer(
                f"{program.name} printed {quote_bytes(ended.out)}, which is not UTF-8 (byte "
                f"{error.start}); let it print names in UTF-8"
            ) from error
        said = filter(None, map(str.strip, lines))
        return MemorySelection(names=check_names(said, self._known, program.name))

    async def close(self) -> None:
        """Nothing is held."""


async def _run_program(selector: CommandSelector, text: bytes) -> ProgramExit:
    """Run the program to its end. However this ends, nothing of its process group outlives it."""
    child = await _start_program(selector)
    process, timeout_s = child.process, selector.timeout_s
    out, last_words = bytearray(), StderrTail()
    overran = False
    try:
        with anyio.move_on_after(timeout_s) as limit:
            async with anyio.create_task_group() as pipes:
                pipes.start_soon(_feed, process.stdin, text)
                pipes.start_soon(collect_output, process.stdout, out, _OUTPUT_LIMIT)
                pipes.start_soon(collect_tail, process.stderr, last_words)
                await process.wait()
                pipes.cancel_scope.deadline = anyio.current_time() + DRAIN_S
        overran = limit.cancelled_caught
    finally:
        await child.end(grace_s=0)
    if overran:
        raise SystemTimeout(
            f"{selector.program.name} did not end within {timeout_s:g} s{last_words.format_last()}"
        )
    return ProgramExit(code=process.returncode or 0, out=bytes(out), last_words=last_words)


async def _start_program(selector: CommandSelector) -> ChildProcess:
    program = selector.program
    try:
        return await start_process(program.command, folder=selector.folder, environ=os.environ)
    except OSError as error:
        raise SystemGone(
            f"{program.name} cannot be started ({error.strerror}); when that is mended, run the "
            "same command again"
        ) from error


async def _feed(stream: ByteSendStream | None, text: bytes) -> None:
    if stream is None:
        return
    # A program that does not want to read it all is free not to.
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stream.send(text)
        await stream.aclose()
