"""One limit for all workers together: of calls, of memories, of money and of tokens."""

from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.plan import Lifecycle
from recall_bench.core.settings import Executor
from recall_bench.engine.assembly import assemble
from recall_bench.engine.rejudge_assembly import assemble_rejudge
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.worker_messages import UnitKind
from tests.engine.pool.pool_runs import (
    StartedWorkers,
    alone,
    outcome,
    run_alone,
    run_spread,
    settings,
    spread,
)
from tests.engine.result_views import done_twice
from tests.gardener import write_persona

RANGES = ("3d", "6d", "10d")
MANY_RANGES = tuple(f"{days}d" for days in range(1, 8))

SYSTEM = """
import time
from pathlib import Path

def log(name, line):
    with (Path({here!r}) / name).open("a") as file:
        file.write(line + "\\n")

class Adapter:
    name, version, max_concurrency, max_shards, can_snapshot = "slow", "1", 4, {max_shards}, True

    def setup(self):
        log("memories", "+")
        self.lines = []

    def teardown(self):
        log("memories", "-")

    def ingest_day(self, day, content, metadata):
        log("calls", "+")
        time.sleep(0.002)
        self.lines += content.splitlines()
        log("calls", "-")

    def finalize_ingestion(self):
        pass

    def query(self, question):
        log("calls", "+")
        time.sleep(0.005)
        log("calls", "-")
        wanted = set(question.lower().strip("?").split())
        return max(self.lines, key=lambda line: len(wanted & set(line.lower().strip(".").split())))
"""

JUDGE = """
import anyio
from pathlib import Path
from recall_bench.core.usage import Usage

def log(line):
    with (Path({here!r}) / "verdicts").open("a") as file:
        file.write(line + "\\n")

async def judge(exhibit):
    log("+")
    try:
        await anyio.sleep({seconds})
    finally:
        log("-")
    exhibit.bill(Usage(calls=1, input_tokens=90, output_tokens=10, cost_usd=0.25))
    fails = int(exhibit.item.id[-3:]) % 3 == 0
    return {{"correctness": 0 if fails else 3, "completeness": 2, "grounded": 1}}
"""


@pytest.fixture
def garden(tmp_path: Path) -> dict[str, Any]:
    for name in ("gardener", "grower", "hedger"):
        write_persona(tmp_path / "data", name)
    return {"data": tmp_path / "data", "ranges": RANGES}


def system(folder: Path, max_shards: int | None = None) -> str:
    (folder / "slow.py").write_text(SYSTEM.format(here=str(folder), max_shards=max_shards))
    return str(folder / "slow.py")


def judge(folder: Path, seconds: float = 0.005) -> str:
    (folder / "charging.py").write_text(JUDGE.format(here=str(folder), seconds=seconds))
    return str(folder / "charging.py")


def most(log: Path) -> int:
    """How many were inside at a time, by a log of who comes and goes."""
    inside = found = 0
    for line in log.read_text().splitlines():
        inside += 1 if line == "+" else -1
        found = max(found, inside)
    return found


@pytest.mark.parametrize(
    ("max_calls", "lifecycle"),
    [(1, Lifecycle.FRESH), (3, Lifecycle.FRESH), (2, Lifecycle.FORKED), (3, Lifecycle.FORKED)],
)
def test_never_more_calls_to_a_system_than_allowed(
    tmp_path: Path, garden: dict[str, Any], max_calls: int, lifecycle: Lifecycle
) -> None:
    ended = run_spread(
        tmp_path / "pool",
        workers=4,
        adapter=system(tmp_path),
        in_process=True,  # it counts its calls in files
        lifecycle=lifecycle,
        parallelism=4,
        max_calls=max_calls,
        **garden,
    )

    assert ended.exit_code == 0
    assert most(tmp_path / "calls") == max_calls


def test_without_a_limit_there_are_more(tmp_path: Path, garden: dict[str, Any]) -> None:
    run_spread(
        tmp_path / "pool",
        workers=4,
        adapter=system(tmp_path),
        in_process=True,  # it counts its calls in files
        lifecycle=Lifecycle.FRESH,
        parallelism=4,
        **garden,
    )

    assert most(tmp_path / "calls") > 3


def test_never_more_verdicts_are_sought_than_allowed(
    tmp_path: Path, garden: dict[str, Any]
) -> None:
    given = garden | {"adapter": "bm25", "judge": judge(tmp_path), "parallelism": 4}

    run_spread(tmp_path / "free", workers=3, **given)
    assert most(tmp_path / "verdicts") > 2

    (tmp_path / "verdicts").unlink()
    assert run_spread(tmp_path / "bound", workers=3, max_calls=2, **given).exit_code == 0
    assert most(tmp_path / "verdicts") == 2


def divided(started: StartedWorkers) -> bool:
    """Whether anything was fed for others to ask."""
    return any(each.kind is UnitKind.FEED for worker in started.all for each in worker.performed)


def test_a_system_that_stands_one_worker_never_has_two(
    tmp_path: Path, garden: dict[str, Any]
) -> None:
    given = garden | {
        "adapter": system(tmp_path, 1),
        "in_process": True,
        "lifecycle": Lifecycle.FRESH,
    }

    assert run_spread(tmp_path / "pool", workers=4, **given).exit_code == 0

    assert most(tmp_path / "memories") == 1


@pytest.mark.parametrize("stood", [1, 2])
def test_feeding_and_asking_never_wait_for_each_other(
    tmp_path: Path, garden: dict[str, Any], stood: int
) -> None:
    """More checkpoints than snapshots may wait, and more memories to feed than there are places."""
    given = garden | {
        "adapter": system(tmp_path, stood),
        "in_process": True,
        "lifecycle": Lifecycle.FORKED,
        "ranges": MANY_RANGES,
    }
    run_alone(tmp_path / "one", **given)

    for workers in (1, 4):
        started, into = StartedWorkers(), tmp_path / f"pool-{workers}"
        assert run_spread(into, workers, started, **given).exit_code == 0
        assert divided(started) == (stood > 1 and workers > 1)
        assert outcome(into) == outcome(tmp_path / "one")


def spent(folder: Path) -> float:
    return RunFolder.open(folder).states.usage.cost_usd


@pytest.mark.parametrize(
    ("limit", "more"),
    [({"max_cost_usd": 5.0}, {"max_cost_usd": 500.0}), ({"max_tokens": 2000}, {})],
)
def test_money_and_tokens_are_spent_by_all_workers_together(
    tmp_path: Path, garden: dict[str, Any], limit: dict[str, Any], more: dict[str, Any]
) -> None:
    """Twenty verdicts are allowed; those that are under way when the last is told come on top."""
    given = garden | {"adapter": "bm25", "judge": judge(tmp_path, 0.02), "parallelism": 2}
    run_alone(tmp_path / "one", **given)

    stopped = run_spread(tmp_path / "pool", workers=3, **given | limit)

    assert stopped.exit_code == 8
    assert "with a higher limit to continue" in str(stopped.stopped_by)
    assert 5.0 <= spent(tmp_path / "pool") <= 5.0 + 0.25 * (3 * 2)

    whole = run_spread(tmp_path / "pool", workers=3, **given | more)

    assert whole.exit_code == 0
    assert spent(tmp_path / "pool") == spent(tmp_path / "one")
    assert done_twice(tmp_path / "pool") == []
    assert outcome(tmp_path / "pool") == outcome(tmp_path / "one")


def test_workers_stop_when_the_money_is_spent_however_much_they_were_given(
    tmp_path: Path, garden: dict[str, Any]
) -> None:
    """Answers on record are handed out by the dozen. Six are judged at a time, and six more may be
    begun before the news is round; by itself each worker would spend all that is left."""
    run_alone(tmp_path / "run", adapter="bm25", **garden)
    given = {"judge": judge(tmp_path, 0.02), "data": garden["data"], "into": tmp_path / "again"}
    job = assemble_rejudge(tmp_path / "run", {**given, "parallelism": 2, "max_cost_usd": 5.0})

    stopped = spread(job, StartedWorkers(), 3)

    assert stopped.exit_code == 8
    assert 5.0 <= spent(tmp_path / "again") <= 5.0 + 0.25 * (2 * 3 * 2)


def test_money_is_spent_by_processes_together(tmp_path: Path, garden: dict[str, Any]) -> None:
    given = garden | {"adapter": "bm25", "judge": judge(tmp_path, 0.05), "parallelism": 2}
    given |= {"executor": Executor.PROCESSES, "workers": 2, "personas": ("gardener",)}

    stopped = alone(assemble(settings(tmp_path / "run", max_cost_usd=3.0, **given)))

    assert stopped.exit_code == 8
    assert 3.0 <= spent(tmp_path / "run") <= 3.0 + 0.25 * (2 * 2)
    assert alone(assemble(settings(tmp_path / "run", **given))).exit_code == 0
    assert done_twice(tmp_path / "run") == []


def test_a_limit_that_the_last_verdict_reaches_has_ended_nothing(
    tmp_path: Path, garden: dict[str, Any]
) -> None:
    given = garden | {"adapter": "bm25", "judge": judge(tmp_path, 0)}
    run_alone(tmp_path / "one", **given)
    total = spent(tmp_path / "one")

    ended = run_spread(tmp_path / "pool", max_cost_usd=total, **given)

    assert ended.exit_code == 0
    assert ended.stopped_by is None
    assert spent(tmp_path / "pool") == total


GONE = """
from recall_bench.core.errors import JudgeGone

async def judge(exhibit):
    raise JudgeGone("the key is wrong; set another")
"""


def test_a_judge_that_is_gone_ends_the_run_as_in_one_process(
    tmp_path: Path, garden: dict[str, Any]
) -> None:
    (tmp_path / "gone.py").write_text(GONE)
    given = garden | {
        "adapter": system(tmp_path),
        "in_process": True,
        "judge": str(tmp_path / "gone.py"),
    }
    given |= {"lifecycle": Lifecycle.FRESH, "ranges": MANY_RANGES}
    started = StartedWorkers()

    one = run_alone(tmp_path / "one", **given)
    pool = run_spread(tmp_path / "pool", 2, started, **given)

    assert one.exit_code == pool.exit_code == 6
    assert str(pool.stopped_by) == str(one.stopped_by)
    asks = [
        each for worker in started.all for each in worker.performed if each.kind is UnitKind.ASK
    ]
    assert len(asks) < 3 * len(MANY_RANGES), "it went on asking for nothing"
    assert [worker.stopped_by for worker in started.all] == [[str(one.stopped_by)]] * 2
