"""A reader that has enough, such as `head`, ends a command as it ends other programs."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall_bench.engine.runs.run_folder import RunFolder
from tests.thoroughness import choose_cases
from tests.warm_commands import start_command


def run_unread(*words: str | Path) -> tuple[int, str]:
    """The exit code and stderr of a command whose output is closed before it prints."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = start_command(words, stdout=writing)
        _, err = command.communicate()
    finally:
        os.close(writing)
    return command.wait(), err.decode()


@pytest.mark.parametrize("words", [("--help",), ("ranges",), ("run", "--help")])
def test_it_ends_without_a_word(words: tuple[str, ...]) -> None:
    assert run_unread(*words) == (141, "")


def test_a_run_is_finished_all_the_same(data: Path) -> None:
    into = data.parent / "r"
    words = ("--data", data, "--ranges", "5d", "--adapter", "none", "--judge", "stub")

    assert run_unread("run", "-q", *words, "--no-heatmap-png", "--into", into) == (141, "")
    assert RunFolder.open(into).is_finished
    assert (into / "result.json").exists()
    assert (into / "report" / "report.html").exists()


RUN = (
    *("run", "--ranges", "5d", "--adapter", "none", "--judge", "stub"),
    *("--no-heatmap-png", "--no-page", "--into", "r"),
)


@pytest.mark.parametrize("closed", choose_cases(["<&- 2>&-", "2>&-", ">&-"], 2))
def test_closed_streams_stop_nothing(data: Path, closed: str) -> None:
    """In a new process: Python has no objects for streams that are closed when it starts."""
    words = shlex.join([sys.executable, "-m", "recall_bench", *RUN, "--data", str(data)])
    done = subprocess.run(
        ["/bin/sh", "-c", f"{words} {closed}"], capture_output=True, check=False, cwd=data.parent
    )

    assert done.returncode == 0
    assert bool(done.stdout) is (closed != ">&-")
    assert RunFolder.open(data.parent / "r").is_finished


@pytest.fixture
def full() -> Iterator[int]:
    """A descriptor of a file that cannot be written to."""
    with Path("/dev/full").open("wb") as file:
        yield file.fileno()


def test_progress_that_cannot_be_shown_stops_nothing(data: Path, full: int) -> None:
    command = start_command([*RUN, "--data", data], cwd=data.parent, stderr=full)
    out, _ = command.communicate()

    assert command.returncode == 0
    assert out
    assert RunFolder.open(data.parent / "r").is_finished


def test_a_full_output_is_said_after_the_run(data: Path, full: int) -> None:
    command = start_command([*RUN, "--data", data], cwd=data.parent, stdout=full)
    _, err = command.communicate()

    assert command.returncode == 1
    assert RunFolder.open(data.parent / "r").is_finished
    assert b"the disk behind standard output is full" in err
