"""A run in a child process that is killed, for the tests of resuming.

Forked from one warm process, so that a hundred deaths take seconds.
"""

import os
import re
import signal
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from recall_bench.core import user_code
from recall_bench.core.event import Answered, Event, Judged, NotAnswered
from recall_bench.judging.offline.calibration import load_model
from recall_bench.runs.journal import Journal, read_events
from tests.forking import end_with

_HEAVY = ("bm25s", "numpy.typing", "Stemmer", "yaml", "anyio._backends._asyncio", "anyio.to_thread")
_WHOLE = ("cli", "core", "datasets", "judging.offline", "reporting", "runs", "running")

for _name in (*_HEAVY, "recall_bench.library", "recall_bench.systems.builtin.baselines"):
    import_module(_name)  # once, before the forks
for _package in _WHOLE:
    _found = import_module(f"recall_bench.{_package}")
    for _module in walk_packages(_found.__path__, f"{_found.__name__}."):
        import_module(_module.name)

# What every run works out first, and each of hundreds of forks would again: which plugins there
# are, and what the offline judge reads from the package.
_INSTALLED = {kind: user_code.list_plugins(kind) for kind in user_code.PLUGIN_KINDS}
for _with_evidence in (True, False):
    load_model(with_evidence=_with_evidence)

FILES = ("result.json", "questions.jsonl", "failures.jsonl", "progress.jsonl")

_WALL = re.compile(
    rb'"(timestamp|startedAt|endedAt|latencyMs|durationMs|ingestMs|queryMs|totalIngestionMs'
    rb'|totalQueryMs|p50Ms|p95Ms)": ?("[^"]*"|[-0-9.e]+|null)'
)


def in_child(words: list[str], *, events: int | None = None, seconds: float | None = None) -> int:
    """Run the command in a fork; kill -9 after so many events or seconds. Its wait status."""
    child = os.fork()
    if child == 0:
        setattr(user_code, "list_plugins", _INSTALLED.__getitem__)  # noqa: B010 - mypy forbids assignment
        if events is not None:
            _kill_after(events)
        if seconds is not None:
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            signal.setitimer(signal.ITIMER_REAL, seconds)
        end_with(words)
    return os.waitpid(child, 0)[1]


def _kill_after(events: int) -> None:
    append, left = Journal.append, [events]

    def counted(journal: Journal, event: Event) -> None:
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        append(journal, event)

    setattr(Journal, "append", counted)  # noqa: B010 - mypy forbids the plain assignment


def views(folder: Path) -> dict[str, bytes]:
    """Every result file, wall times aside."""
    return {name: _WALL.sub(rb'"\1": 0', (folder / name).read_bytes()) for name in FILES}


def done_twice(folder: Path) -> list[str]:
    """Trials that were asked, judged or reviewed more than once."""
    events = list(read_events(folder / "journal.jsonl"))
    asked = Counter(str(e.trial) for e in events if isinstance(e, Answered | NotAnswered))
    judged = Counter(
        (str(e.trial), e.primary is not None or e.review_fault is not None)
        for e in events
        if isinstance(e, Judged)
    )
    return [str(name) for name, times in (*asked.items(), *judged.items()) if times > 1]
