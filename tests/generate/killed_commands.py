"""A command in a child process that is killed just before or after it puts something on disk.

Forked from one warm process, so that hundreds of deaths take seconds.
"""

import os
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from recall_bench.core.append_log import AppendLog
from recall_bench.core.atomic_file import AtomicFile
from recall_bench.generate.call_log import FOLDER
from tests.forking import end_with

for _package in ("cli", "generate", "models", "datasets"):
    _found = import_module(f"recall_bench.{_package}")
    for _module in walk_packages(_found.__path__, f"{_found.__name__}."):
        import_module(_module.name)
import_module("anyio._backends._asyncio")


def in_child(words: list[str], moment: int | None = None) -> int | None:
    """Run the command in a fork; kill -9 at the so many-th moment. Its exit code, None if killed.

    Moments are those around every line and every file that is written.
    """
    child = os.fork()
    if child == 0:
        if moment is not None:
            _die_at(moment)
        end_with(words)
    status = os.waitpid(child, 0)[1]
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def _die_at(moment: int) -> None:
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
