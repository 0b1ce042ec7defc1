"""A copy of a process ends as an interpreter does, with everything but its memory put away."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fork_server import can_fork

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes are copied on Linux alone")

PROGRAM = """
import atexit, threading, time
from tests.end_copy import end_copy

def print_late():
    time.sleep(0.05)
    print("thread")

atexit.register(print, "exit function")
threading.Thread(target=print_late).start()
print("main")
{end}
"""


def run_program(end: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(end=end)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environ,
        text=True,
        check=False,
    )


def test_threads_exit_functions_and_output_are_as_at_the_usual_end() -> None:
    usual, copy = run_program("raise SystemExit(3)"), run_program("end_copy(3)")

    assert copy.stdout == usual.stdout == "main\nthread\nexit function\n"
    assert copy.returncode == usual.returncode == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_changes_the_code() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        usual, copy = run_program("raise SystemExit(3)", full), run_program("end_copy(3)", full)
    finally:
        os.close(full)

    assert copy.returncode == usual.returncode == 120
