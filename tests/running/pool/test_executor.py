"""Who carries out a job is found from its settings, and what cannot be is said at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Lifecycle
from recall_bench.core.settings import Executor, Settings
from recall_bench.running import ray_worker
from recall_bench.running.assembly import assemble
from recall_bench.running.executor import choose_runner, collect_environment
from recall_bench.testing import ScriptedSystem
from tests.commands import Invoke
from tests.gardener import write_persona
from tests.running.pool.pool_runs import settings


def run_in_child(before: str, *words: object, after: str = "") -> tuple[int, str]:
    """The command in a process where something was done first; its code, and what it said."""
    script = (
        f"import sys\n{before}\nfrom recall_bench.cli.main import main\n"
        f"sys.argv[0] = 'recall-bench'\ntry:\n    main()\nfinally:\n    {after or 'pass'}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_without_ray_it_says_what_to_install_and_writes_nothing(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_persona(tmp_path / "data")
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(ray_worker, "_CALM", {})  # variables that would outlast the test

    shown = invoke(
        *("run", "--data", tmp_path / "data", "--adapter", "bm25", "--executor", "ray"),
        *("--into", tmp_path / "run"),
    )

    assert shown.code == 2, shown.err
    assert "--executor ray: needs Ray; pip install -e '.[ray]' in the checkout" in shown.err
    assert not (tmp_path / "run" / "journal.jsonl").exists()


def test_nothing_else_imports_ray(tmp_path: Path) -> None:
    """One process runs the command here, and then with a worker."""
    write_persona(tmp_path / "data")
    words = ["run", "--data", str(tmp_path / "data"), "--adapter", "bm25", "--ranges", "3d"]
    words += ["--no-heatmap-png", "--no-page"]
    without = "assert not any(name.split('.')[0] == 'ray' for name in sys.modules)"
    alone = ["recall-bench", *words, "--executor", "local", "--into", str(tmp_path / "alone")]

    code, err = run_in_child(
        "import recall_bench.running.executor\n"
        f"from recall_bench.cli.main import main\nlast, sys.argv = sys.argv, {alone!r}\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert ended.code == 0, ended.code\n"
        f"{without}\nsys.argv = last",
        *(*words, "--executor", "processes", "--workers", 1, "--into", tmp_path / "run"),
        after=without,
    )

    assert code == 0, err
    assert (tmp_path / "alone" / "result.json").is_file()
    assert (tmp_path / "run" / "result.json").is_file()


def test_an_object_of_this_process_cannot_be_sent_to_others(tmp_path: Path) -> None:
    write_persona(tmp_path / "data")
    own = ScriptedSystem(lambda lived, question: "")
    own.card = SystemCard(name="mine", version="1")
    given = {"data": tmp_path / "data", "executor": Executor.PROCESSES, "ranges": ("3d",)}

    with pytest.raises(UsageError, match="mine is an object of this process; name its code"):
        choose_runner(assemble(settings(tmp_path / "run", **given), own))


def test_a_memory_that_was_kept_is_for_one_process(tmp_path: Path) -> None:
    write_persona(tmp_path / "data")
    job = assemble(
        settings(
            tmp_path / "run",
            data=tmp_path / "data",
            adapter="bm25",
            ranges=("3d",),
            executor=Executor.PROCESSES,
            lifecycle=Lifecycle.GROWING,
            skip_catchup_ingest=True,
        )
    )

    with pytest.raises(UsageError, match="say --executor local"):
        choose_runner(job)


def test_workers_elsewhere_are_given_our_variables_and_those_that_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RECALL_BENCH_CACHE", "/shared/cache")
    monkeypatch.setenv("SOME_KEY", "secret")
    monkeypatch.setenv("ANOTHER", "thing")

    found = collect_environment(Settings(worker_env=("SOME_KEY",)))

    assert found["RECALL_BENCH_CACHE"] == "/shared/cache"
    assert found["SOME_KEY"] == "secret"
    assert "ANOTHER" not in found
    with pytest.raises(UsageError, match="--worker-env: NOT_THERE is not set here"):
        collect_environment(Settings(worker_env=("NOT_THERE",)))
