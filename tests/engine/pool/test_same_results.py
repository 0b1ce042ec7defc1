"""One process, a pool and several processes: the same plan has the same result."""

from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.plan import Lifecycle
from recall_bench.core.settings import Executor
from recall_bench.engine.assembly import assemble
from recall_bench.engine.rejudge_assembly import assemble_rejudge
from recall_bench.engine.worker_messages import UnitKind
from tests.engine.pool.pool_runs import (
    StartedWorkers,
    alone,
    frail,
    kinds,
    outcome,
    run_alone,
    run_spread,
    settings,
    spread,
)
from tests.engine.result_views import done_twice
from tests.features.datasets.evaluation.eval_datasets import assembled as assembled_evaluation
from tests.features.datasets.evaluation.eval_datasets import request_for, write_locomo
from tests.gardener import write_persona
from tests.thoroughness import choose_number

FIRST = """
async def judge(exhibit):
    fails = int(exhibit.item.id[-3:]) % 3 == 0
    return {"correctness": 0 if fails else 3, "completeness": 2, "grounded": 1}
"""
SECOND = """
async def judge(exhibit):
    number = int(exhibit.item.id[-3:])
    return {"correctness": number % 4, "completeness": number % 3, "grounded": number % 2}
"""

OWN_FILES = '''
from pathlib import Path

class Adapter:
    """Keeps its days in files, and fails at some questions."""

    name, version = "files", "1"

    def __init__(self, state_dir):
        self.folder = Path(state_dir)

    def setup(self):
        pass

    def teardown(self):
        pass

    def ingest_day(self, day, content, metadata):
        (self.folder / f"{day}.txt").write_text(content)

    def finalize_ingestion(self):
        pass

    def query(self, question):
        if "kale" in question or "dill" in question:
            raise ValueError("I do not like that one")
        lines = [line for path in sorted(self.folder.iterdir())
                 for line in path.read_text().splitlines()]
        wanted = set(question.lower().strip("?").split())
        return max(lines, key=lambda line: len(wanted & set(line.lower().strip(".").split())))
'''

GARDEN: dict[str, Any] = {"adapter": "bm25", "ranges": ("3d", "5d", "10d")}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gardens")
    for name in ("gardener", "grower", "hedger"):
        write_persona(folder, name)
    return folder


_ALONE: dict[str, tuple[int, dict[str, bytes]]] = {}
"""What one process makes of settings: run once for all tests that share them."""


def compared(
    tmp_path: Path, workers: int = 2, start: StartedWorkers | None = None, **given: Any
) -> Path:
    """Compare a run with a pool and the same in one process; the folder of the former."""
    key = repr(sorted(given.items(), key=lambda each: each[0]))
    if key not in _ALONE:
        one = run_alone(tmp_path / "one", **given)
        _ALONE[key] = one.exit_code, outcome(tmp_path / "one")
    pool = run_spread(tmp_path / "pool", workers, start, **given)
    assert (pool.exit_code, outcome(tmp_path / "pool")) == _ALONE[key]
    assert not (tmp_path / "pool" / ".exchange").exists()
    return tmp_path / "pool"


@pytest.mark.parametrize("workers", [1, 9])
@pytest.mark.parametrize("lifecycle", list(Lifecycle))
def test_every_lifecycle_with_repeats_and_a_sample(
    tmp_path: Path, data: Path, lifecycle: Lifecycle, workers: int
) -> None:
    given = GARDEN | {"lifecycle": lifecycle, "repeats": 2, "sample": 2, "data": data}

    folder = compared(tmp_path, workers, **given)

    assert done_twice(folder) == []


@pytest.mark.parametrize("lifecycle", list(Lifecycle))
@pytest.mark.parametrize("seed", range(choose_number(1, 2)))
def test_every_lifecycle_with_workers_that_die(
    tmp_path: Path, data: Path, lifecycle: Lifecycle, seed: int
) -> None:
    """Two of them: a third might be one too many for whatever was on all three."""
    started = frail(seed, deaths=2)
    given = GARDEN | {"lifecycle": lifecycle, "repeats": 2, "data": data}

    folder = compared(tmp_path, 3, started, **given)

    assert done_twice(folder) == []
    assert len(started.all) == 5, "a worker did not die"


@pytest.mark.parametrize("has_own", [False, True])
def test_workers_judge_what_they_ask(tmp_path: Path, data: Path, has_own: bool) -> None:
    (tmp_path / "first.py").write_text(FIRST)
    started = StartedWorkers()
    judge = {"judge": str(tmp_path / "first.py") if has_own else "stub"}

    run_spread(tmp_path / "pool", 2, started, **GARDEN | judge | {"data": data})

    units = [unit for worker in started.all for unit in worker.performed]
    assert UnitKind.GRADE not in {unit.kind for unit in units}
    assert kinds(tmp_path / "pool")["Judged"] == kinds(tmp_path / "pool")["Answered"] > 0


def test_reviews_by_an_appellate_judge(tmp_path: Path, data: Path) -> None:
    (tmp_path / "first.py").write_text(FIRST)
    (tmp_path / "second.py").write_text(SECOND)
    judges = {
        "judge": str(tmp_path / "first.py"),
        "appellate_judge": str(tmp_path / "second.py"),
        "parallelism": 3,
    }

    folder = compared(tmp_path, 2, frail(4, deaths=2), **GARDEN | judges | {"data": data})

    assert done_twice(folder) == []
    assert b'"primary"' in (folder / "journal.jsonl").read_bytes()


def test_a_system_that_fails_at_some_questions(tmp_path: Path, data: Path) -> None:
    (tmp_path / "files.py").write_text(OWN_FILES)
    given = GARDEN | {"adapter": str(tmp_path / "files.py"), "data": data, "repeats": 2}
    given["personas"] = ("gardener",)

    folder = compared(tmp_path, 2, **given)

    assert kinds(folder)["NotAnswered"] > 4
    assert (folder / "failures.jsonl").read_bytes()


@pytest.mark.parametrize("fault", ["CrashesOnSeventh", "RemembersQuestions"])
def test_a_system_with_a_fault(tmp_path: Path, data: Path, fault: str) -> None:
    given = GARDEN | {"adapter": f"tests.faulty.faults:{fault}", "data": data}
    given["personas"] = ("gardener",)

    compared(tmp_path, 2, error_budget=1.0, repeats=2, **given)


def test_a_plain_adapter_whose_process_is_copied(tmp_path: Path, data: Path) -> None:
    """In one process it is fed once, and in a pool by each worker: the answers are the same."""
    (tmp_path / "plain.py").write_text(
        "class Adapter:\n"
        "    def setup(self):\n        self.days, self.count = [], 0\n"
        "    def ingest_day(self, day, content, metadata):\n        self.days.append(day)\n"
        "    def query(self, question):\n"
        "        self.count += 1\n        return f'{self.count} after {self.days}'\n"
    )
    compared(tmp_path, 3, **GARDEN | {"adapter": str(tmp_path / "plain.py"), "data": data})


def test_a_system_that_cannot_be_copied(tmp_path: Path, data: Path) -> None:
    (tmp_path / "single.py").write_text(
        "from recall_bench.features.doctor.honest import Honest\n"
        "class Adapter(Honest):\n    can_snapshot = False\n"
    )

    given = GARDEN | {"adapter": str(tmp_path / "single.py"), "data": data}

    compared(tmp_path, 2, **given)

    for more, memories in (({"repeats": 2}, 60), ({}, None), ({"lifecycle": "fresh"}, None)):
        job = assemble(settings(tmp_path / "often", **given | {"ranges": ("every:1",)} | more))
        notes = [note for note in job.warnings if "--lifecycle growing feeds 30 days," in note]
        assert [f"{memories} memories and 330 days in all" in note for note in notes] == (
            [] if memories is None else [True]
        )


def test_a_part_of_a_plan(tmp_path: Path, data: Path) -> None:
    given = GARDEN | {"lifecycle": Lifecycle.FRESH, "repeats": 2, "data": data, "shard": "2/3"}

    compared(tmp_path, 2, **given)


def test_answers_that_are_judged_again(tmp_path: Path, data: Path) -> None:
    run_alone(tmp_path / "run", **GARDEN, data=data)
    (tmp_path / "first.py").write_text(FIRST)
    judge = {"judge": str(tmp_path / "first.py")}

    for name in ("one", "pool"):
        job = assemble_rejudge(tmp_path / "run", {**judge, "into": tmp_path / name, "data": data})
        ended = alone(job) if name == "one" else spread(job, StartedWorkers())
        assert ended.exit_code == 0

    assert outcome(tmp_path / "pool") == outcome(tmp_path / "one")


@pytest.mark.parametrize("skips", [True, False])
def test_a_public_dataset(tmp_path: Path, skips: bool) -> None:
    data = write_locomo(tmp_path / "locomo10.json")

    for name in ("one", "pool"):
        request = request_for(
            "locomo", data, tmp_path / name, adapter="bm25", skip_qa=skips, floors=False
        )
        job = assembled_evaluation(request).job
        ended = alone(job) if name == "one" else spread(job, StartedWorkers())
        assert ended.exit_code == 0
        assert kinds(job.folder)["Judged"] == (0 if skips else 7)

    assert outcome(tmp_path / "pool" / "run") == outcome(tmp_path / "one" / "run")


def test_one_process_continues_what_a_pool_began_and_the_other_way_round(
    tmp_path: Path, data: Path
) -> None:
    given = GARDEN | {"lifecycle": Lifecycle.FORKED, "repeats": 2, "data": data}
    run_alone(tmp_path / "one", **given)
    whole = (tmp_path / "one" / "journal.jsonl").read_bytes().splitlines(keepends=True)

    for kept in (60,):
        for name in ("one", "pool"):
            folder = tmp_path / f"{name}-{kept}"
            source = tmp_path / "one" if name == "pool" else tmp_path / f"pool-of-{kept}"
            if name == "one":
                run_spread(source, **given)
                whole_here = (source / "journal.jsonl").read_bytes().splitlines(keepends=True)
            else:
                whole_here = whole
            folder.mkdir()
            (folder / "journal.jsonl").write_bytes(b"".join(whole_here[:kept]))
            go_on = run_spread if name == "pool" else run_alone
            assert go_on(folder, **given).exit_code == 0
            assert outcome(folder) == outcome(tmp_path / "one")
            assert done_twice(folder) == []


def test_several_processes(tmp_path: Path, data: Path) -> None:
    """In real processes, with snapshots that travel: the same, and nothing is asked twice."""
    given = GARDEN | {"lifecycle": Lifecycle.FORKED, "repeats": 2, "data": data}
    run_alone(tmp_path / "one", **given)
    into = tmp_path / "processes"
    job = assemble(settings(into, executor=Executor.PROCESSES, workers=2, **given))
    assert alone(job).exit_code == 0
    assert outcome(into) == outcome(tmp_path / "one")
    assert done_twice(into) == []
