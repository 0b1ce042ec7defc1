"""A matrix file is refused in one sentence a problem: what, on which line, and what to do."""

from pathlib import Path

import pytest

from recall_bench.core.errors import BenchError, Problems, UsageError
from recall_bench.core.settings import Executor
from recall_bench.features.comparison.matrix_file import DEFAULT, MatrixLimits, read_matrix


def written(folder: Path, text: str) -> Path:
    path = folder / "small.yaml"
    path.write_text(text)
    return path


def test_one_system_is_enough(tmp_path: Path) -> None:
    matrix = read_matrix(written(tmp_path, "systems: [bm25]"))

    assert (matrix.name, matrix.into) == ("small", Path("recall-runs/small"))
    assert [each.name for each in matrix.systems] == ["bm25"]
    assert (matrix.baseline, matrix.seeds) == ("bm25", (42,))
    assert [each.name for each in matrix.settings] == [DEFAULT]


def test_everything_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("")
    text = """
name: all
into: here
run: {personas: [a], ranges: [30d], topK: 5}
models: {judge: offline}
systems:
  - bm25
  - {name: k20, adapter: hybrid, config: {k: 20}, run: {timeout: 5}}
  - ./mine.py:Memory
seeds: [1, 2]
settings: [{name: small, sample: 10, models: {reader: extractive}}, {name: 2, sample: 20}]
baseline: k20
limits: {maxCost: 2, maxTokens: 100, maxCalls: 3}
executor: processes
workers: 4
"""
    matrix = read_matrix(written(tmp_path, text))

    assert matrix.into == tmp_path / "here"
    assert matrix.shared["personas"] == ("a",)
    assert matrix.shared["executor"] is Executor.PROCESSES
    assert matrix.shared["workers"] == 4
    assert [each.name for each in matrix.systems] == ["bm25", "k20", "mine"]
    assert matrix.systems[1].given["timeout_ms"] == 5
    assert matrix.systems[1].given["config"] == {"k": 20}
    assert matrix.systems[2].given["adapter"] == str(tmp_path / "./mine.py:Memory")
    assert matrix.settings[0].given == {"sample": 10, "reader": "extractive"}
    assert matrix.settings[1].name == "2"
    assert matrix.limits == MatrixLimits(max_cost_usd=2.0, max_tokens=100, max_calls=3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("systms: [bm25]", "line 1: unknown key 'systms'; did you mean 'systems'?"),
        ("systems: []", "line 1: systems: names no system"),
        ("systems: [a, A]", "line 1: systems: two of them are called 'A', the first on line 1"),
        ("systems:\n  - {name: a/b, adapter: bm25}", "line 2: systems.name: 'a/b' cannot be"),
        ("systems:\n  - {adaptor: x}", "line 2: unknown key 'adaptor'; did you mean 'adapter'?"),
        ("systems: [a]\nrun:\n  sampel: 3", "line 3: unknown key 'sampel'; did you mean 'sample'?"),
        (
            "systems: [a]\nrun:\n  seed: 3",
            "line 3: run.seed: 'seed' cannot stand here; say",
        ),
        ("systems: [a]\nrun:\n  sample: many", "line 3: run.sample: expected a whole number"),
        (
            "systems: [a]\nsettings:\n  - {sample: 1}",
            "line 3: settings: a setting must be a mapping",
        ),
        (
            "systems: [a]\nsettings:\n  - name: s\n    smaple: 1",
            "line 4: unknown key 'smaple'; did you mean 'sample'?",
        ),
        (
            "systems: [a]\nsettings:\n  - name: s\n    sample: x",
            "line 4: settings.sample: expected a whole number, got a text",
        ),
        *(
            (
                f"systems: [a]\nsettings:\n  - name: s\n    {key}",
                "cannot stand here; say it at the top",
            )
            for key in (
                "executor: ray",
                "workers: 7",
                "workerCpus: 1",
                "workerEnv: [A]",
                "rayAddress: auto",
            )
        ),
        (
            "systems:\n  - adapter: a\n    run:\n      workers: 7",
            "line 4: systems.run.workers: 'workers' cannot stand here; say it at the top",
        ),
        ("systems: [a]\nseeds: [1, 1]", "line 2: seeds: the same seed stands twice"),
        ("systems: [a]\nseeds: x", "line 2: seeds: 'x' is not a list of whole numbers"),
        ("systems: [abc]\nbaseline: abd", "line 2: baseline: 'abd' is not one of the systems; did"),
        ("systems: [a]\nlimits: {maxcost: 1}", "line 2: unknown key 'maxcost'; did you mean 'max"),
        ("systems: [a]\nlimits: {maxCost: no}", "line 2: limits.maxCost: 'no' is not a limit"),
        ("- a", "a matrix must be a mapping"),
    ],
)
def test_each_mistake_is_reported_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BenchError) as error:
        read_matrix(written(tmp_path, text))

    assert said in str(error.value)
    assert str(tmp_path / "small.yaml") in str(error.value)
    assert error.value.exit_code == 2


def test_where_the_work_is_done_may_be_said_at_the_top_in_either_place(tmp_path: Path) -> None:
    beside = read_matrix(written(tmp_path, "systems: [a]\nexecutor: processes\nworkers: 2"))
    within = read_matrix(written(tmp_path, "systems: [a]\nrun: {executor: processes, workers: 2}"))

    assert beside.shared == within.shared
    assert within.shared["workers"] == 2


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    text = "systems: [bm25, bm25]\nseeds: []\nbaseline: x\n"

    with pytest.raises(Problems) as error:
        read_matrix(written(tmp_path, text))

    assert len(error.value.problems) == 3


def test_systems_that_are_no_list_are_one_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        read_matrix(written(tmp_path, "systems: bm25\n"))

    assert str(error.value).endswith("systems: must be a list; begin each entry with a dash")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        read_matrix(tmp_path / "none.yaml")


@pytest.mark.parametrize("text", ["executor: threads", "run: {executor: threads}"])
def test_a_word_that_is_none_of_a_few_is_answered_with_these(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        UsageError, match="'threads' is not valid; choose one of local, processes, ray"
    ):
        read_matrix(written(tmp_path, f"systems: [a]\n{text}"))
