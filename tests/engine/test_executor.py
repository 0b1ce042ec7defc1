"""Who carries out a job is found from its settings, and what cannot be is said at once."""

import sys
from pathlib import Path

import pytest

from recall_bench.core.distribution import format_install
from recall_bench.core.errors import UsageError
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Lifecycle
from recall_bench.core.settings import Executor, Settings
from recall_bench.engine import ray_worker
from recall_bench.engine.assembly import assemble
from recall_bench.engine.executor import choose_runner, collect_environment
from tests.commands import Invoke
from tests.engine.pool.pool_runs import settings
from tests.faulty.fakes import ScriptedSystem
from tests.gardener import write_persona
from tests.warm_commands import start_command


def test_without_ray_it_says_what_to_install_and_writes_nothing(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_persona(tmp_path / "data")
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(
        ray_worker, "_RAY_ENV_DEFAULTS", {}
    )  # variables that would outlast the test

    shown = invoke(
        *("run", "--data", tmp_path / "data", "--adapter", "bm25", "--executor", "ray"),
        *("--into", tmp_path / "run"),
    )

    assert shown.code == 2, shown.err
    assert f"--executor ray: needs Ray; {format_install('ray')}" in shown.err
    assert not (tmp_path / "run" / "journal.jsonl").exists()


def test_nothing_else_imports_ray(tmp_path: Path) -> None:
    """A copy of a process that has run a command runs it twice."""
    write_persona(tmp_path / "data")
    words = ["--data", tmp_path / "data", "--adapter", "bm25", "--ranges", "3d", "--workers", "1"]
    words += ["--no-heatmap-png", "--no-page"]

    copy = start_command(["run", *words], cwd=tmp_path, module="tests.engine.pool.without_ray")
    _, err = copy.communicate()

    assert copy.returncode == 0, err.decode()
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

    with pytest.raises(UsageError, match="works only with --executor local"):
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
    with pytest.raises(UsageError, match=r"--worker-env NOT_THERE: .* is not set; set it"):
        collect_environment(Settings(worker_env=("NOT_THERE",)))
