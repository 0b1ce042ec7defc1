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


FIRST = """
from recall_bench.core.usage import Usage

async def judge(exhibit):
    exhibit.bill(Usage(calls=1, cost_usd=0.25))
    fails = int(exhibit.item.id[-3:]) % 3 == 0
    return {"correctness": 0 if fails else 3, "completeness": 2, "grounded": 1}
"""

SECOND = """
from recall_bench.core.usage import Usage

async def judge(exhibit):
    exhibit.bill(Usage(calls=1, cost_usd=0.5))
    number = int(exhibit.item.id[-3:])
    return {"correctness": number % 4, "completeness": number % 3, "grounded": number % 2}
"""


def write_judges(folder: Path) -> list[str]:
    """Two judges that charge, and the flags that name them."""
    (folder / "first.py").write_text(FIRST)
    (folder / "second.py").write_text(SECOND)
    return ["--judge", str(folder / "first.py"), "--appellate-judge", str(folder / "second.py")]


@pytest.mark.parametrize(("parallelism", "last"), [(1, 1000), (3, 8)])
def test_at_every_event_of_a_reviewed_run(tmp_path: Path, parallelism: int, last: int) -> None:
    """All of them one verdict at a time; the last ones, which are reviews, also three at a time."""
    write_persona(tmp_path / "data")

    scenario(f"""
        import shutil
        base = Path({str(tmp_path)!r})
        command = ["run", "--data", str(base / "data"), "--ranges", "5d,10d", "--adapter", "bm25",
                   *{write_judges(tmp_path)!r}, "--parallelism", "{parallelism}",
                   "--no-heatmap-png", "--into"]
        assert in_child([*command, str(base / "whole")]) == 0
        expected = views(base / "whole")
        events = list(read(base / "whole" / "journal.jsonl"))
        reviews = [n for n, e in enumerate(events) if isinstance(e, Judged) and e.primary]
        assert len(reviews) == 8, reviews
        assert reviews[4:] == list(range(len(events) - 5, len(events) - 1)), reviews
        for n in range(max(0, len(events) - {last}), len(events)):
            folder = base / f"cut-{{n}}"
            assert in_child([*command, str(folder)], events=n) == {int(signal.SIGKILL)}, n
            assert in_child([*command, str(folder)]) == 0, n
            assert views(folder) == expected, n
            assert done_twice(folder) == [], n
            shutil.rmtree(folder)
    """)


def test_each_time_the_money_is_spent(tmp_path: Path) -> None:
    """Twenty-five cents more every time: it ends where a run without a limit does."""
    write_persona(tmp_path / "data")

    scenario(f"""
        import os
        base = Path({str(tmp_path)!r})
        command = ["run", "--data", str(base / "data"), "--ranges", "5d,10d", "--adapter", "bm25",
                   *{write_judges(tmp_path)!r}, "--no-heatmap-png", "--into"]
        assert in_child([*command, str(base / "whole")]) == 0
        folder = base / "bit by bit"
        codes = []
        while codes[-1:] != [0]:
            limit = 0.25 * (len(codes) + 1)
            status = in_child([*command, str(folder), "--max-cost", str(limit)])
            codes.append(os.waitstatus_to_exitcode(status))
            assert len(codes) < 50
        assert set(codes[:-1]) == {{8}}, codes
        assert len(codes) == 30, codes
        assert views(folder) == views(base / "whole")
        assert done_twice(folder) == []
    """)


MARKS = """
async def judge(exhibit):
    number = sum(map(ord, exhibit.item.id))
    return {"correctness": number % 4, "completeness": number % 3, "grounded": number % 2}
"""


@pytest.mark.parametrize(
    ("judge", "deaths"), [("offline", 12), ("a file", 38)], ids=["offline judge", "quick judge"]
)
def test_at_fifty_random_moments_of_a_larger_run(tmp_path: Path, judge: str, deaths: int) -> None:
    """A judge that reads the history takes most of a run's time: few deaths are elsewhere then."""
    chance = random.Random(deaths)
    moments = [chance.random() for _ in range(deaths)]
    (tmp_path / "marks.py").write_text(MARKS)
    named = judge if judge == "offline" else str(tmp_path / "marks.py")

    scenario(f"""
        import shutil
        import time
        base = Path({str(tmp_path)!r})
        command = ["run", "--adapter", "bm25", "--ranges", "every:5", "--groups-enabled",
                   "--judge", {named!r}, "--parallelism", "4", "--no-heatmap-png", "--into"]
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
