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
    words = ("--data", data, "--ranges", "5d", "--adapter", "none", "--into", into)

    assert run_unread("run", "-q", *words, "--no-heatmap-png") == (141, "")
    assert RunFolder.open(into).is_finished
    assert (into / "result.json").exists()
    assert (into / "report" / "report.html").exists()
