"""Kill -9 at any moment, then the same command: the result is that of an undisturbed run.

A killed run leaves the journal lines it has written, so resuming is tested in this process, from
the first lines of a whole journal, for many events. That a kill leaves just these lines is tested
with real kills, at some events and at random moments.
"""

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

import recall_bench
from recall_bench.core.event import Judged, RunResumed
from recall_bench.engine.runs.journal import JOURNAL, read_events
from tests.engine.result_views import done_twice, views
from tests.gardener import write_persona
from tests.thoroughness import IS_EXHAUSTIVE, choose_cases, choose_number
from tests.warm_commands import run_command, start_command

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


def check_resumes(tmp_path: Path, cuts: Sequence[int], **given: Any) -> None:
    """Resume the run in `tmp_path/whole` from its first lines, and half a line, at some cuts."""
    whole = tmp_path / "whole"
    lines = (whole / JOURNAL).read_bytes().splitlines(keepends=True)
    for cut in choose_cases(cuts, 10):
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
def test_a_run_resumes_from_any_event(
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
def test_a_reviewed_run_resumes_from_any_event(
    tmp_path: Path, data: Path, parallelism: int, last: int
) -> None:
    """One verdict at a time; at the last events, which are reviews, also three at a time."""
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


forks = pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX systems do")


@forks
def test_a_killed_process_leaves_all_it_has_written(tmp_path: Path, data: Path) -> None:
    """What a real kill at an event leaves is the journal up to that event, and the run resumes."""
    words = ["run", "--data", data, "--ranges", "5d,10d", "--adapter", "bm25"]
    words += ["--no-heatmap-png", "--no-page", "--into"]
    assert run_command([*words, tmp_path / "whole"]) == 0
    expected = views(tmp_path / "whole")
    events = sum(1 for _ in read_events(tmp_path / "whole" / JOURNAL))
    for count in choose_cases([0, 1, 2, *range(5, events - 1, 7), events - 1], 4):
        folder = tmp_path / f"cut-{count}"
        assert run_command([*words, folder], events=count) == -signal.SIGKILL, count
        assert sum(1 for _ in read_events(folder / JOURNAL)) == count
        assert run_command([*words, folder]) == 0, count
        assert views(folder) == expected, count
        assert done_twice(folder) == [], count


def kill_at(words: list[object], seconds: float) -> int:
    """Start a command and kill it at this moment; its exit code, 0 if it ended before."""
    command = start_command(words)
    try:
        return command.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        command.kill()
        return command.wait()


@forks
@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "deaths"),
    [("offline", 1), ("a file", choose_number(2, 4))],
    ids=["offline judge", "quick judge"],
)
def test_kills_at_random_moments_of_a_larger_run(tmp_path: Path, judge: str, deaths: int) -> None:
    """A judge that reads the history takes most of a run's time: few deaths are elsewhere then."""
    chance = random.Random(judge)
    (tmp_path / "marks.py").write_text(MARKS)
    words: list[object] = ["run", "--personas", "harbour-office", "--adapter", "bm25"]
    words += ["--ranges", "every:10" if IS_EXHAUSTIVE else "5d,10d"]
    words += ["--groups-enabled", "--parallelism", "4"]
    words += ["--judge", judge if judge == "offline" else tmp_path / "marks.py"]
    words += ["--no-heatmap-png", "--no-page", "--into"]
    run_command(["--version"])  # the first command also starts what later ones are copies of
    started = perf_counter()
    assert run_command([*words, tmp_path / "whole"]) == 0
    took = perf_counter() - started
    expected = views(tmp_path / "whole")
    events = sum(1 for _ in read_events(tmp_path / "whole" / JOURNAL))
    # Before, it starts and reads; after, it often outruns the clock.
    span = (0.0, 1.0) if IS_EXHAUSTIVE else (0.5, 0.9)
    for number, moment in enumerate([chance.uniform(*span) for _ in range(deaths)]):
        folder = tmp_path / f"cut-{number}"
        code = kill_at([*words, folder], 0.01 + moment * took)
        if code == 0:  # it outran the clock: kill it by what it has written instead
            shutil.rmtree(folder)
            code = run_command([*words, folder], events=int(moment * events))
        assert code == -signal.SIGKILL, code
        assert run_command([*words, folder]) == 0
        assert views(folder) == expected, number
        assert done_twice(folder) == [], number
        shutil.rmtree(folder)
