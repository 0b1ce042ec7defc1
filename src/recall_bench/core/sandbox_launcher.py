"""Starts a program in a sandbox: this process confines itself and becomes the program."""

import os
import sys
from pathlib import Path

import msgspec

from recall_bench.core.record import Record
from recall_bench.core.sandbox import SandboxPolicy

CANNOT_RUN = 126


class LaunchSpec(Record, frozen=True, kw_only=True):
    """What the launcher reads from the file on its command line, which it removes."""

    command: tuple[str, ...]
    policy: SandboxPolicy


def main() -> None:
    """Become the program of the spec; exit with 126 if it cannot be executed."""
    from recall_bench.core.connection_supervisor import enter_sandbox

    place = Path(sys.argv[1])
    spec = msgspec.json.decode(place.read_bytes(), type=LaunchSpec)
    place.unlink()
    enter_sandbox(spec.policy)
    try:
        os.execv(spec.command[0], spec.command)  # noqa: S606 - without a shell
    except OSError as error:
        sys.stderr.write(f"{spec.command[0]} cannot be run: {error.strerror}\n")
        sys.exit(CANNOT_RUN)
