"""Cells that share a pool have the same results as cells in turn, and share one budget."""

import re
from pathlib import Path

import pytest

from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.usage import Usage
from recall_bench.engine.experiment import CellStage, SharedBudget, read_spent
from recall_bench.features.comparison.matrix_run import MatrixResult, open_matrix, run_matrix
from tests.engine.result_views import views
from tests.features.comparison.test_cells_in_turn import JUDGE, ignore_cells
from tests.fixtures.running_matrix import Write


def done(path: Path, **flags: object) -> MatrixResult:
    matrix, cells = open_matrix(path, flags)
    return run_matrix(matrix, cells, watcher=ignore_cells)


def shared(path: Path, into: Path, **flags: object) -> MatrixResult:
    return done(path, into=into, executor="processes", workers=2, **flags)


def test_together_they_come_to_the_same_as_one_after_another(
    write: Write, broken: Path, tmp_path: Path
) -> None:
    path = write(f"systems: [bm25, {broken.name}, none]")

    together, alone = shared(path, tmp_path / "together"), done(path, into=tmp_path / "alone")

    assert [each.exit_code for each in together.outcomes] == [0, 5, 0]
    assert [each.reason for each in together.outcomes] == [each.reason for each in alone.outcomes]
    for one, other in zip(together.outcomes, alone.outcomes, strict=True):
        assert views(one.cell.folder) == views(other.cell.folder)


def test_what_is_finished_is_left_alone_and_the_rest_goes_on(write: Write, tmp_path: Path) -> None:
    judge = "models: {judge: stub}\n"
    shared(write(f"{judge}systems: [none]"), tmp_path / "runs")
    journal = tmp_path / "runs/default/42/none/journal.jsonl"
    before = journal.read_bytes()

    found = shared(write(f"{judge}systems: [none, random]"), tmp_path / "runs")

    assert [each.was_finished for each in found.outcomes] == [True, False]
    assert journal.read_bytes() == before


def test_money_is_one_limit_while_they_run_side_by_side(write: Write, tmp_path: Path) -> None:
    """Forty-five verdicts at a quarter each; each worker may have one verdict under way.

    A verdict takes longer than the message that stops a worker, as one that is paid for does.
    """
    slow = "    import anyio\n    await anyio.sleep(0.03)\n    exhibit.bill"
    (tmp_path / "judge.py").write_text(JUDGE.replace("    exhibit.bill", slow))
    path = write("models: {judge: judge.py}\nsystems: [none, random, recency]")

    found = shared(path, tmp_path / "runs", max_cost_usd=3.0)

    folders = [each.cell.folder for each in found.outcomes]
    spent = sum(read_spent(folder).cost_usd for folder in folders)
    assert {each.exit_code for each in found.outcomes} == {8}
    assert 3.0 <= spent <= 3.0 + 2 * 0.25
    assert any(
        re.search(r"cost \$3\.\d+ and --max-cost allows \$3\.0000", each.reason or "")
        for each in found.outcomes
    )

    found = shared(path, tmp_path / "runs", max_cost_usd=100.0)

    assert found.exit_code == 0
    assert sum(read_spent(folder).cost_usd for folder in folders) == pytest.approx(45 * 0.25)
    assert [each.stage for each in found.outcomes] == [CellStage.DONE] * 3


def test_a_cell_knows_what_the_others_have_spent() -> None:
    one, two = Path("one"), Path("two")
    spent = {one: Usage(cost_usd=3), two: Usage(cost_usd=4)}

    budget = SharedBudget(max_cost_usd=10, spent=spent)

    assert budget.sum_others(two).cost_usd == 3
    assert budget.sum_others(one).cost_usd == 4


def test_a_matrix_of_no_systems_is_refused(write: Write, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        shared(write("systems: []"), tmp_path / "runs")


@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_what_an_executor_cannot_do_is_refused_before_any_cell_is_begun(
    write: Write, tmp_path: Path, executor: str
) -> None:
    path = write(
        f"executor: {executor}\nsystems: [bm25, hybrid]\n"
        "settings:\n  - {name: kept, lifecycle: growing, skipCatchupIngest: true}"
    )

    with pytest.raises(BenchError) as refused:
        done(path)

    assert refused.value.exit_code == 2
    assert "bm25: --skip-catchup-ingest works only with --executor local" in str(refused.value)
    assert "hybrid: --skip-catchup-ingest" in str(refused.value)
    assert not list((tmp_path / "runs").rglob("journal.jsonl"))
