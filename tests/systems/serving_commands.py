"""Commands that serve, in a process of their own that starts fast."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tests.warm_commands import StartedCommand, start_command


@dataclass(frozen=True)
class ServingCommand:
    """A command that runs, and what it prints meanwhile."""

    process: StartedCommand
    out: TextIO
    err: TextIO


@contextmanager
def serve_command(
    words: Sequence[object],
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    module: str | None = None,
) -> Iterator[ServingCommand]:
    """A command, or a module with these words, which is killed at the end."""
    (out, own_out), (err, own_err) = os.pipe(), os.pipe()
    with os.fdopen(out, encoding="utf-8") as said, os.fdopen(err, encoding="utf-8") as told:
        try:
            process = start_command(
                words, cwd=cwd, environ=environ, module=module, stdout=own_out, stderr=own_err
            )
        finally:
            # Its output ends with it only if nobody else can write there.
            os.close(own_out)
            os.close(own_err)
        try:
            yield ServingCommand(process, said, told)
        finally:
            process.kill()
            process.wait()


def read_address(command: ServingCommand) -> str:
    """The address at which `serve` says that it listens."""
    said = command.err.readline()
    assert said.startswith("serving on "), said + command.err.read()
    return said.removeprefix("serving on ").strip()
