"""A command in a process of its own that is killed just before or after it puts something on disk.

A copy of a process that has imported everything, so that hundreds of deaths take seconds. It is no
fork of the test process: that may have threads of gRPC, which a fork waits for without end.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from recall_bench.core.append_log import AppendLog
from recall_bench.core.atomic_file import AtomicFile
from recall_bench.features.personas.call_log import FOLDER
from tests.warm_commands import run_command


def in_child(words: list[str], moment: int | None = None) -> int | None:
    """Run the command; kill -9 at the moment with this number. Its exit code, None if killed.

    Moments are those around every line and every file that is written.
    """
    code = run_command(words, moment=moment)
    return None if code == -signal.SIGKILL else code


def die_at(moment: int) -> None:
    """Kill this process at the moment with this number."""
    left = [moment]

    def passes() -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(method: Callable[..., None]) -> Callable[..., None]:
        def wrapped(*arguments: object) -> None:
            passes()
            method(*arguments)
            passes()

        return wrapped

    for owner, name in ((AppendLog, "append_line"), (AtomicFile, "write"), (AtomicFile, "commit")):
        setattr(owner, name, around(getattr(owner, name)))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a persona but the books of generation."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and FOLDER not in path.parts
    }
