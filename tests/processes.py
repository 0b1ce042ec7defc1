"""Looking at processes from outside: whether they run, and which a program started."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

TIMEOUT_S = 60.0

SPAWNING_SCRIPT = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    with open("pids.tmp", "w") as file:
        file.write(f"{os.getpid()} {child}")
    os.rename("pids.tmp", "pids")
time.sleep(600)
"""
"""Ignores the request to end, and so does the child it starts; `pids` names both."""

SPAWNING_COMMAND = (sys.executable, "-c", SPAWNING_SCRIPT)


def is_running(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    # A zombie has ended; its parent has not noticed yet.
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Return as soon as something holds; the test fails if it never does."""
    deadline = monotonic() + TIMEOUT_S
    while not holds():
        assert monotonic() < deadline, f"waited in vain for {what}"
        sleep(0.01)


def read_pids(folder: Path) -> list[int]:
    """The pids that `SPAWNING_SCRIPT` wrote, once it did."""
    wait_until((folder / "pids").exists, "the program's note of its processes")
    return [int(word) for word in (folder / "pids").read_text().split()]


def wait_until_gone(pids: list[int]) -> None:
    """Return once none of them runs."""
    wait_until(lambda: not any(map(is_running, pids)), f"the end of {pids}")


def list_children(parent: int | None = None) -> set[str]:
    """The processes that this one, or another, has started and not seen end, where they are listed.

    A thread may end while they are read; its children are another thread's then.
    """
    found: set[str] = set()
    for listed in Path(f"/proc/{parent or 'self'}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update(listed.read_text().split())
    return found
