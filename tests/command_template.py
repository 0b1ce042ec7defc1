"""The process that commands of tests are copies of: it imports everything, by running once."""

import gc
import importlib
import io
import json
import os
import runpy
import signal
import sys
import threading
from contextlib import redirect_stderr
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryDirectory
from typing import cast

from recall_bench.cli.main import main
from recall_bench.core import retry
from recall_bench.core.event import Event
from recall_bench.engine.runs.journal import Journal
from tests.end_copy import end_copy
from tests.features.personas.killed_commands import die_at
from tests.flushing import skip_flushes
from tests.fork_server import serve_forks
from tests.gardener import write_persona

_COMMANDS = (
    "archive.run_files_command",
    "comparison.matrix_command",
    "datasets.eval_command",
    "judges.rejudge_command",
)
_PACKAGES = ("features.personas", "systems.python")
"""Packages whose modules are all imported: the commands of generation import them late."""
_LATE = ("scipy.special",)
"""What only intervals from more questions import than those of the run here, for 0.3 s a copy."""


def warm_up() -> None:
    """Import what commands need, and run one: two days of the gardener."""
    skip_flushes()
    # As in the process of a test: four seconds of pauses for each call that fails throughout.
    retry.RETRY_PAUSES_S = (0.05, 0.1, 0.2)
    for module in _COMMANDS:
        importlib.import_module(f"recall_bench.features.{module}")
    for name in _PACKAGES:
        package = importlib.import_module(f"recall_bench.{name}")
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    for module in _LATE:
        importlib.import_module(module)
    with TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        write_persona(Path(folder, "data"), days=2)
        words = ["run", "--data", f"{folder}/data", "--into", f"{folder}/run", "--adapter", "bm25"]
        sys.argv = ["recall-bench", *words, "--ranges", "2d", "--no-heatmap-png", "--no-page"]
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    assert code == 0, code
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(timeout=5)
    others = [thread.name for thread in threading.enumerate()[1:]]
    assert not others, f"copies would miss {others}"


def kill_after(events: int, kind: str | None) -> None:
    """Kill this process with SIGKILL before it records more than this many events.

    With a kind, only events of that kind count, and it is killed as soon as the last is on record.
    """
    append, left = Journal.append, [events]

    def append_or_die(journal: Journal, event: Event) -> None:
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        append(journal, event)
        if kind in (None, type(event).__name__):
            left[0] -= 1
        if kind is not None and left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(Journal, "append", append_or_die)  # noqa: B010 - mypy forbids the plain assignment


def receive_request() -> str:
    """Return in each copy of this process, with what it is to do."""
    if len(sys.argv) > 1:
        return sys.argv[1]
    warm_up()
    # A collection in a copy would write to, and so copy, every page that it shares.
    gc.freeze()
    return serve_forks()


def run_request() -> None:
    """Run the command, or the module, as a process of its own does."""
    request = json.loads(receive_request())
    os.environ.clear()
    os.environ.update(request["environ"])
    os.chdir(request["folder"])
    if request["events"] is not None:
        kill_after(request["events"], request["kind"])
    if request["moment"] is not None:
        die_at(request["moment"])
    sys.argv = ["recall-bench", *request["words"]]
    try:
        if request["module"] is None:
            main()
        else:
            runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
            end_copy(0)
    except SystemExit as ended:
        end_copy(cast("int", ended.code))


if __name__ == "__main__":
    run_request()
