"""A cell is an ordinary run in a folder of its own; all are checked before the first is begun."""

from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.comparison.matrix_cells import select_cells
from recall_bench.features.comparison.matrix_run import open_matrix
from tests.commands import Invoke
from tests.fixtures.running_matrix import Write


def test_every_combination_has_a_folder(write: Write, tmp_path: Path) -> None:
    text = "systems: [bm25, {name: h, adapter: hybrid, config: {k: 3}}]\nseeds: [1, 2]\n"
    text += "settings: [{name: s, sample: 1}, {name: l, sample: 2, topK: 4}]"

    _, cells = open_matrix(write(text))

    assert [cell.label for cell in cells[:3]] == ["s/1/bm25", "s/1/h", "s/2/bm25"]
    assert len({cell.folder for cell in cells}) == len(cells) == 8
    last = cells[-1]
    assert last.folder == tmp_path / "runs/l/2/h"
    found = last.settings
    assert (found.seed, found.sample, found.top_k, found.config) == (2, 2, 4, {"k": 3})


def test_flags_win_over_the_file(write: Write) -> None:
    path = write("systems: [bm25]\nlimits: {maxCost: 1, maxCalls: 2}\nworkers: 2")

    flags = {"into": "there", "workers": 3, "max_cost_usd": 9.0, "max_calls": 5}
    matrix, cells = open_matrix(path, flags)

    assert matrix.into == Path("there")
    assert matrix.limits.max_cost_usd == 9.0
    assert (cells[0].settings.workers, cells[0].settings.max_calls) == (3, 5)


def test_cells_are_chosen_by_system_or_whole_name(write: Write) -> None:
    _, cells = open_matrix(write("systems: [bm25, hybrid]\nseeds: [1, 2]"))

    assert [c.label for c in select_cells(cells, ["hy*"])] == [
        "default/1/hybrid",
        "default/2/hybrid",
    ]
    assert [c.label for c in select_cells(cells, ["*/2/*"])] == [
        "default/2/bm25",
        "default/2/hybrid",
    ]
    with pytest.raises(UsageError, match="matches no cell; the systems are bm25, hybrid"):
        select_cells(cells, ["x*"])


def test_all_that_is_wrong_with_any_cell_is_said_and_nothing_is_begun(
    write: Write, invoke: Invoke, tmp_path: Path
) -> None:
    shown = invoke("matrix", write("systems: [bm25, nosuch, {name: h, adapter: other}]"))

    assert shown.code == 2
    assert "error: nosuch: " in shown.err
    assert "error: h: " in shown.err
    assert not list((tmp_path / "runs").rglob("journal.jsonl"))


def test_a_folder_with_another_plan_is_named_and_kept(
    write: Write, invoke: Invoke, tmp_path: Path
) -> None:
    assert invoke("matrix", write("systems: [bm25, hybrid]")).code == 0
    journals = sorted((tmp_path / "runs").rglob("journal.jsonl"))
    before = [path.read_bytes() for path in journals]
    path = write("systems: [{name: bm25, adapter: bm25, config: {k: 3}}, hybrid, full-context]")

    shown = invoke("matrix", path)

    assert shown.code == 2
    assert f"{tmp_path / 'runs/default/42/bm25'} holds a run with other system" in shown.err
    assert "go on with the other cells by --only" in shown.err
    assert [path.read_bytes() for path in journals] == before
    assert invoke("matrix", path, "--only", "full*").code == 0


def test_cells_are_listed_with_how_far_they_are(write: Write, invoke: Invoke) -> None:
    path = write("systems: [bm25, hybrid]")
    invoke("matrix", path, "--only", "bm25")

    lines = invoke("matrix", path, "--list").out.splitlines()

    assert [line.split()[:2] for line in lines] == [
        ["default/42/bm25", "done"],
        ["default/42/hybrid", "new"],
    ]
