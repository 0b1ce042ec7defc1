"""Kill -9 at any moment, then the same command: the result is that of an undisturbed run."""

import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.gardener import write_persona

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="forks, as POSIX systems do"),
]


def scenario(body: str) -> None:
    """Run the body in a warm process of its own that may fork freely."""
    script = "from tests.killing import *\n" + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("lifecycle", ["forked", "fresh", "growing"])
def test_at_every_event_of_a_small_run(tmp_path: Path, lifecycle: str) -> None:
    write_persona(tmp_path / "data")

    scenario(f"""
        import shutil
        base = Path({str(tmp_path)!r})
        command = ["run", "--data", str(base / "data"), "--ranges", "5d,10d", "--adapter", "bm25",
                   "--lifecycle", {lifecycle!r}, "--no-heatmap-png", "--into"]
        assert in_child([*command, str(base / "whole")]) == 0
        expected = views(base / "whole")
        events = sum(1 for _ in read(base / "whole" / "journal.jsonl"))
        assert events > 40
        for n in range(events):
            folder = base / f"cut-{{n}}"
            assert in_child([*command, str(folder)], events=n) == {int(signal.SIGKILL)}, n
            assert in_child([*command, str(folder)]) == 0, n
            assert views(folder) == expected, n
            assert done_twice(folder) == [], n
            shutil.rmtree(folder)
    """)


def test_at_fifty_random_moments_of_a_larger_run(tmp_path: Path) -> None:
    chance = random.Random(20)
    moments = [chance.random() for _ in range(50)]

    scenario(f"""
        import shutil
        import time
        base = Path({str(tmp_path)!r})
        command = ["run", "--adapter", "bm25", "--ranges", "every:5", "--groups-enabled",
                   "--parallelism", "4", "--no-heatmap-png", "--into"]
        assert in_child([*command, str(base / "warm")]) == 0
        started = time.perf_counter()
        assert in_child([*command, str(base / "whole")]) == 0
        took = time.perf_counter() - started
        expected = views(base / "whole")
        events = sum(1 for _ in read(base / "whole" / "journal.jsonl"))
        for n, moment in enumerate({moments!r}):
            folder = base / f"cut-{{n}}"
            status = in_child([*command, str(folder)], seconds=0.01 + moment * took)
            if status == 0:  # it outran the clock: kill it by what it has written instead
                shutil.rmtree(folder)
                status = in_child([*command, str(folder)], events=int(moment * events))
            assert status == {int(signal.SIGKILL)}, status
            assert in_child([*command, str(folder)]) == 0
            assert views(folder) == expected, n
            assert done_twice(folder) == [], n
            shutil.rmtree(folder)
    """)
