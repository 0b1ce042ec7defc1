"""Commands in forks of one warm process, killed after some events or seconds."""

import os
import signal
from pathlib import Path
from typing import Any

from recall_bench.core.event import Event
from recall_bench.runs.journal import Journal
from tests.forking import end_with


def warm_up(into: Path, **given: Any) -> None:
    """Import and load what a run needs before the forks, by running one."""
    import recall_bench.cli.console
    import recall_bench.cli.run
    import recall_bench.cli.run_display

    assert recall_bench.run(into=into, heatmap_png=False, **given).exit_code == 0


def in_child(words: list[str], *, events: int | None = None, seconds: float | None = None) -> int:
    """Run the command in a fork, killed -9 after this many events or seconds; its wait status."""
    child = os.fork()
    if child == 0:
        if events is not None:
            _kill_after(events)
        if seconds is not None:
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            signal.setitimer(signal.ITIMER_REAL, seconds)
        end_with(words)
    return os.waitpid(child, 0)[1]


def _kill_after(events: int) -> None:
    append, left = Journal.append, [events]

    def append_or_die(journal: Journal, event: Event) -> None:
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        append(journal, event)

    setattr(Journal, "append", append_or_die)  # noqa: B010 - mypy forbids the plain assignment
