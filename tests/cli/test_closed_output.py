"""A reader that has enough, such as `head`, ends a command as it ends other programs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recall_bench.runs.run_folder import RunFolder


def run_unread(*words: str | Path) -> tuple[int, str]:
    """The exit code and stderr of a command whose output is closed before it prints."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "recall_bench", *words],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    return done.returncode, done.stderr


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


def run_into_shell(words: str, data: Path) -> tuple[int, str]:
    """The exit code and stdout of a run with these redirections."""
    run = "run --ranges 5d --adapter none --judge stub --no-heatmap-png --no-page --into r"
    command = f"{sys.executable} -m recall_bench {run} --data {data} {words}"
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=False, cwd=data.parent
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("words", ["2>&-", "2>/dev/full", "<&- 2>&-"])
def test_progress_that_cannot_be_shown_stops_nothing(data: Path, words: str) -> None:
    code, out = run_into_shell(words, data)

    assert code == 0
    assert out
    assert RunFolder.open(data.parent / "r").is_finished


def test_a_closed_output_stops_nothing(data: Path) -> None:
    assert run_into_shell(">&-", data) == (0, "")
    assert RunFolder.open(data.parent / "r").is_finished


def test_a_full_output_is_said_after_the_run(data: Path) -> None:
    assert run_into_shell(">/dev/full 2>err", data) == (1, "")
    assert RunFolder.open(data.parent / "r").is_finished
    assert "no space left to print the output" in (data.parent / "err").read_text()
