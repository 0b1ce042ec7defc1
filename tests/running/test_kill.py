"""Kill -9 at any moment, then the same command: the result is that of an undisturbed run.

A killed run leaves the journal lines it has written, so resuming is tested in this process, from
the first lines of a whole journal, for every event. That a kill leaves just these lines is tested
with real kills, at some events and at random moments.
"""

import random
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import recall_bench
from recall_bench.core.event import Judged, RunResumed
from recall_bench.runs.journal import JOURNAL, read_events
from tests.gardener import write_persona
from tests.running.result_views import done_twice, views

GARDEN: dict[str, Any] = {"adapter": "bm25", "ranges": ("5d", "10d"), "heatmap_png": False}

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

MARKS = """
async def judge(exhibit):
    number = sum(map(ord, exhibit.item.id))
    return {"correctness": number % 4, "completeness": number % 3, "grounded": number % 2}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("garden")
    write_persona(folder)
    return folder


def write_judges(folder: Path) -> dict[str, str]:
    """Two judges that charge, and the settings that name them."""
    (folder / "first.py").write_text(FIRST)
    (folder / "second.py").write_text(SECOND)
    return {"judge": str(folder / "first.py"), "appellate_judge": str(folder / "second.py")}


def check_resumes(tmp_path: Path, cuts: Iterable[int], **given: Any) -> None:
    """Resume the run in `tmp_path/whole` from its first lines, and half a line, at each cut."""
    whole = tmp_path / "whole"
    lines = (whole / JOURNAL).read_bytes().splitlines(keepends=True)
    for cut in cuts:
        folder = tmp_path / f"cut-{cut}"
        folder.mkdir()
        torn = lines[cut][: len(lines[cut]) // 2] if cut % 2 else b""
        (folder / JOURNAL).write_bytes(b"".join(lines[:cut]) + torn)

        result = recall_bench.run(into=folder, **given)

        assert result.exit_code == 0, cut
        assert views(folder) == views(whole), cut
        assert done_twice(folder) == [], cut
        shutil.rmtree(folder)


@pytest.mark.parametrize(("lifecycle", "step"), [("forked", 1), ("fresh", 3), ("growing", 3)])
def test_a_run_resumes_from_every_event(
    tmp_path: Path, data: Path, lifecycle: str, step: int
) -> None:
    given = GARDEN | {"data": data, "lifecycle": lifecycle}
    recall_bench.run(into=tmp_path / "whole", **given)
    events = sum(1 for _ in read_events(tmp_path / "whole" / JOURNAL))
    assert events > 40

    check_resumes(tmp_path, range(0, events, step), **given)


def test_a_resumed_run_says_so_and_a_finished_one_stays_as_it_is(
    tmp_path: Path, data: Path
) -> None:
    given = GARDEN | {"data": data, "into": tmp_path}
    recall_bench.run(**given)
    journal = tmp_path / JOURNAL
    finished = journal.read_bytes()

    recall_bench.run(**given)
    assert journal.read_bytes() == finished

    journal.write_bytes(b"".join(finished.splitlines(keepends=True)[:10]))
    recall_bench.run(**given)
    resumed = [n for n, event in enumerate(read_events(journal)) if isinstance(event, RunResumed)]
    assert resumed == [10]


@pytest.mark.parametrize(("parallelism", "last"), [(1, 1000), (3, 8)])
def test_a_reviewed_run_resumes_from_every_event(
    tmp_path: Path, data: Path, parallelism: int, last: int
) -> None:
    """All of them one verdict at a time; the last ones, which are reviews, also three at a time."""
    given = GARDEN | {"data": data, "parallelism": parallelism, **write_judges(tmp_path)}
    recall_bench.run(into=tmp_path / "whole", **given)
    events = list(read_events(tmp_path / "whole" / JOURNAL))
    reviews = [n for n, e in enumerate(events) if isinstance(e, Judged) and e.primary]
    assert len(reviews) == 8, reviews
    assert reviews[4:] == list(range(len(events) - 5, len(events) - 1)), reviews

    check_resumes(tmp_path, range(max(0, len(events) - last), len(events)), **given)


def test_a_run_resumes_each_time_the_money_is_spent(tmp_path: Path, data: Path) -> None:
    """Twenty-five cents more every time: it ends where a run without a limit does."""
    given = GARDEN | {"data": data, **write_judges(tmp_path)}
    recall_bench.run(into=tmp_path / "whole", **given)
    folder = tmp_path / "bit by bit"

    codes = [1]
    while codes[-1] and len(codes) < 50:
        limit = 0.25 * len(codes)
        codes.append(recall_bench.run(into=folder, max_cost_usd=limit, **given).exit_code)

    assert codes[1:] == [8] * 29 + [0]
    assert views(folder) == views(tmp_path / "whole")
    assert done_twice(folder) == []


def run_script(body: str) -> None:
    """Run the body in a process of its own that may fork freely."""
    helpers = (
        "import shutil, time\nfrom pathlib import Path\nfrom recall_bench.runs.journal import *\n"
        "from tests.running.child_runs import in_child, warm_up\n"
        "from tests.running.result_views import done_twice, views\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", helpers + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr


forks = pytest.mark.skipif(sys.platform == "win32", reason="forks, as POSIX systems do")


@forks
def test_a_killed_process_leaves_all_it_has_written(tmp_path: Path, data: Path) -> None:
    """What a real kill at an event leaves is the journal up to that event, and the run resumes."""
    run_script(f"""
        base = Path({str(tmp_path)!r})
        command = ["run", "--data", {str(data)!r}, "--ranges", "5d,10d", "--adapter", "bm25",
                   "--no-heatmap-png", "--no-page", "--into"]
        warm_up(base / "warm", data={str(data)!r}, ranges="5d", adapter="bm25")
        assert in_child([*command, str(base / "whole")]) == 0
        expected = views(base / "whole")
        events = sum(1 for _ in read_events(base / "whole" / "journal.jsonl"))
        for n in sorted({{0, 1, 2, *range(5, events, 7), events - 1}}):
            folder = base / f"cut-{{n}}"
            assert in_child([*command, str(folder)], events=n) == {int(signal.SIGKILL)}, n
            assert sum(1 for _ in read_events(folder / "journal.jsonl")) == n
            assert in_child([*command, str(folder)]) == 0, n
            assert views(folder) == expected, n
            assert done_twice(folder) == [], n
    """)


@forks
@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "deaths"), [("offline", 1), ("a file", 4)], ids=["offline judge", "quick judge"]
)
def test_kills_at_random_moments_of_a_larger_run(tmp_path: Path, judge: str, deaths: int) -> None:
    """A judge that reads the history takes most of a run's time: few deaths are elsewhere then."""
    chance = random.Random(deaths)
    moments = [chance.random() for _ in range(deaths)]
    (tmp_path / "marks.py").write_text(MARKS)
    named = judge if judge == "offline" else str(tmp_path / "marks.py")

    run_script(f"""
        base = Path({str(tmp_path)!r})
        command = ["run", "--personas", "harbour-office", "--adapter", "bm25",
                   "--ranges", "every:10", "--groups-enabled",
                   "--judge", {named!r}, "--parallelism", "4",
                   "--no-heatmap-png", "--no-page", "--into"]
        warm_up(base / "warm", personas="harbour-office", adapter="bm25", ranges="every:10",
                judge={named!r})
        started = time.perf_counter()
        assert in_child([*command, str(base / "whole")]) == 0
        took = time.perf_counter() - started
        expected = views(base / "whole")
        events = sum(1 for _ in read_events(base / "whole" / "journal.jsonl"))
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
