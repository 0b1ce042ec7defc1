"""A failing cell stops no other; the budget is shared; nothing is asked twice."""

import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from recall_bench.core.event import Answered, Event, NotAnswered
from recall_bench.core.plan import Plan
from recall_bench.core.settings import Settings
from recall_bench.core.trial_states import TrialStates
from recall_bench.core.usage import Usage
from recall_bench.engine.experiment import (
    CellStage,
    CellWatcher,
    EventWatcher,
    ExperimentCell,
    SharedBudget,
    read_spent,
)
from recall_bench.engine.job import Job
from recall_bench.engine.runs.journal import read_events
from recall_bench.features.comparison.matrix_cells import MatrixCell
from recall_bench.features.comparison.matrix_progress import MatrixBoard
from recall_bench.features.comparison.matrix_run import MatrixResult, open_matrix, run_matrix
from tests.commands import Invoke
from tests.fixtures.running_matrix import Write
from tests.gardener import ADAPTER
from tests.warm_commands import start_command

JUDGE = """
from recall_bench.core.usage import Usage

async def judge(exhibit):
    exhibit.bill(Usage(calls=1, input_tokens=10, cost_usd=0.25))
    return {"correctness": 3, "completeness": 2, "grounded": 1}
"""


class Beginnings(EventWatcher):
    """Collects the cells that are begun."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []

    def begin(self, cell: ExperimentCell) -> None:
        self.begun.append(cell.label)


def ignore_cells(cells: Sequence[MatrixCell], warnings: Sequence[str]) -> CellWatcher:
    return Beginnings()


def done(path: Path, watcher: CellWatcher | None = None, **flags: object) -> MatrixResult:
    matrix, cells = open_matrix(path, flags)
    return run_matrix(matrix, cells, watcher=lambda *_: watcher or Beginnings())


def test_a_cell_that_fails_does_not_stop_the_others(
    write: Write, broken: Path, invoke: Invoke
) -> None:
    shown = invoke("matrix", write(f"systems: [bm25, {broken.name}, hybrid]"))

    assert shown.code == 5
    assert "error: default/42/broken: 15 of 15 trials failed" in shown.err
    assert shown.out.index("Missing") < shown.out.index("Setting default")
    assert "default/42/broken  invalid: 15 of 15 trials failed, budget 5 %" in shown.out
    assert "1. " in shown.out
    assert "3. " not in shown.out


def test_finished_cells_are_not_touched_again(write: Write) -> None:
    path = write("systems: [bm25, hybrid]")
    done(path)
    watcher = Beginnings()

    again = done(path, watcher)

    assert watcher.begun == []
    assert all(each.was_finished for each in again.outcomes)
    assert again.exit_code == 0


def test_a_new_system_is_all_that_is_run(write: Write, tmp_path: Path) -> None:
    done(write("systems: [bm25]"))
    journal = tmp_path / "runs/default/42/bm25/journal.jsonl"
    before = journal.read_bytes()

    found = done(write("systems: [bm25, hybrid]"))

    assert [each.was_finished for each in found.outcomes] == [True, False]
    assert journal.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX systems do")
@pytest.mark.parametrize("executor", ["local", "processes"])
def test_a_signal_stops_the_cell_that_runs_and_begins_no_other(
    write: Write, tmp_path: Path, executor: str
) -> None:
    class Killer(Beginnings):
        noted = False

        def note(self, cell: ExperimentCell, event: Event, states: TrialStates) -> None:
            if not self.noted:  # a second signal would end this process
                self.noted = True
                signal.raise_signal(signal.SIGTERM)

    path, watcher = write("systems: [bm25, hybrid]"), Killer()

    found = done(path, watcher, executor=executor, workers=1)

    assert watcher.begun == ["default/42/bm25"]
    assert found.exit_code == 143
    assert [each.stage for each in found.outcomes] == [CellStage.FAILED, CellStage.NOT_BEGUN]
    assert (tmp_path / "runs/default/42/bm25/result.json").exists()
    assert not (tmp_path / "runs/default/42/hybrid/journal.jsonl").exists()
    assert done(path).exit_code == 0


def test_money_is_one_limit_for_all_cells(write: Write, tmp_path: Path) -> None:
    """Fifteen verdicts a cell at a quarter each: five dollars are spent in the second cell."""
    (tmp_path / "judge.py").write_text(JUDGE)
    path = write("models: {judge: judge.py}\nsystems: [bm25, hybrid, recency]")

    found = done(path, max_cost_usd=5.0)

    assert [each.exit_code for each in found.outcomes] == [0, 8, 8]
    assert "not begun" in (found.outcomes[2].reason or "")
    folders = [each.cell.folder for each in found.outcomes]
    assert sum(read_spent(folder).cost_usd for folder in folders) == pytest.approx(5.0)

    found = done(path, max_cost_usd=100.0)

    assert found.exit_code == 0
    assert sum(read_spent(folder).cost_usd for folder in folders) == pytest.approx(45 * 0.25)


def test_a_cell_keeps_to_the_limit_of_all_and_counts_what_others_spend(plan: Plan) -> None:
    one, two = Path("one"), Path("two")
    spent = {one: Usage(cost_usd=3, input_tokens=30), two: Usage(cost_usd=1, input_tokens=10)}
    budget = SharedBudget(max_cost_usd=10, max_tokens=50, spent=spent)
    job = Job(
        settings=Settings(), plan=plan, folder=two, components=cast("Any", None), questions={}
    )

    budget.bind(job)

    assert (job.settings.max_cost_usd, job.settings.max_tokens) == (10, 50)
    assert job.spent_elsewhere() == Usage(cost_usd=3, input_tokens=30)
    assert budget.exhausted is None
    spent[one] = Usage(cost_usd=9)
    assert job.spent_elsewhere().cost_usd == 9
    assert "$10.0000 of $10.0000" in (budget.exhausted or "")


def test_the_board_counts_what_is_done(write: Write) -> None:
    now = [0.0]

    class TickingBoard(MatrixBoard):
        def note(self, cell: ExperimentCell, event: Event, states: TrialStates) -> None:
            now[0] += 0.5
            super().note(cell, event, states)

    matrix, cells = open_matrix(write("systems: [bm25, hybrid]"))
    board = TickingBoard([cell.label for cell in cells], lambda: now[0])
    run_matrix(matrix, cells, watcher=lambda *_: board)

    lines = list(board.lines.values())
    assert [(line.done, line.owed, line.stage) for line in lines] == [(15, 15, CellStage.DONE)] * 2
    assert "15/15" in lines[0].format()
    assert board.format_total().startswith("2 of 2 cells · 30 trials")


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX systems do")
def test_killed_at_any_moment_it_goes_on_and_asks_nothing_twice(
    write: Write, tmp_path: Path
) -> None:
    slow = ADAPTER.replace(
        "        wanted = ", "        __import__('time').sleep(0.05)\n        wanted = "
    )
    (tmp_path / "slow.py").write_text(slow)
    path = write("systems: [bm25, slow.py]")
    journal = tmp_path / "runs/default/42/slow/journal.jsonl"
    process = start_command(["matrix", path])
    try:
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.read_bytes().count(b'"type":"answered"') >= 3):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.kill()
        process.communicate()
    asked = journal.read_bytes().count(b'"type":"answered"')
    assert 3 <= asked < 15
    first = (tmp_path / "runs/default/42/bm25/journal.jsonl").read_bytes()

    found = done(path)

    assert found.exit_code == 0
    assert [each.was_finished for each in found.outcomes] == [True, False]
    assert (tmp_path / "runs/default/42/bm25/journal.jsonl").read_bytes() == first
    events = list(read_events(journal))
    times = Counter(str(e.trial) for e in events if isinstance(e, Answered | NotAnswered))
    assert len(times) == 15
    assert set(times.values()) == {1}


def test_a_log_has_a_short_line_for_each_quarter(write: Write, invoke: Invoke) -> None:
    shown = invoke("matrix", write("systems: [bm25, hybrid]"))

    said = [line for line in shown.err.splitlines() if line.startswith("default/42/bm25")]
    assert said[0] == "default/42/bm25: started"
    assert said[-1] == "default/42/bm25: done"
    assert len(said) == 5
    assert max(map(len, said)) <= 80


def test_cells_that_hold_another_run_for_the_same_reason_share_one_message(
    write: Write, invoke: Invoke
) -> None:
    assert invoke("matrix", write("systems: [bm25, hybrid]")).code == 0
    path = write("systems: [bm25, hybrid]")
    path.write_text(path.read_text().replace("run:\n", "run:\n  sample: 1\n"))

    shown = invoke("matrix", path)

    assert shown.code == 2
    [line] = [line for line in shown.err.splitlines() if "holds a run with other" in line]
    assert "runs/default/42/bm25 and 1 more cell: each holds a run with other" in line
