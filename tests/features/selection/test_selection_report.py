"""A run of a suite tells what the selector said, what it cost and how far it is to be trusted."""

from collections.abc import Sequence
from pathlib import Path

from recall_bench.core.errors import BudgetSpent, SystemFault
from recall_bench.core.memory import SystemCard
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.result_file import write_results
from recall_bench.features.selection.selection_report import render_text
from recall_bench.features.selection.selection_run import (
    SelectionRequest,
    SelectionRun,
    assemble_selection,
    run_selection,
)
from recall_bench.features.selection.selectors.selector import MemorySelection
from recall_bench.features.selection.suite import open_suite
from tests.features.selection.suites import TESTS, write_suite

KILN, GLAZE, MARKET, SISTER = (
    f"memory/{name}.md" for name in ("kiln", "glaze", "market", "sister")
)
CENT = Usage(calls=1, cost_usd=0.01)


class Picks:
    """Gives what it was told to give for each test, and fails at the others."""

    card = SystemCard(name="picks", version="1")

    def __init__(self, **selections: MemorySelection) -> None:
        self.asked: list[str] = []
        self._names = {prompt: name for name, (_, prompt) in TESTS.items()}
        self._selections = selections

    async def open(self, memories: Sequence[MemoryFile]) -> "Picks":
        return self

    async def select(self, prompt: str) -> MemorySelection:
        name = self._names[prompt]
        self.asked.append(name)
        if name not in self._selections:
            raise SystemFault("lost its list")
        return self._selections[name]

    async def close(self) -> None:
        """Nothing is held."""


def run(folder: Path, picks: Picks, max_cost_usd: float | None = None) -> SelectionRun:
    """The small suite with a selector, one test at a time."""
    write_suite(folder)
    told = Settings(into=folder / "run", error_budget=0.0, max_cost_usd=max_cost_usd)
    request = SelectionRequest(
        selector="picks", memories=folder / "memory", tests=folder / "tests", settings=told
    )
    suite = open_suite(request.memories, request.tests)
    return run_selection(assemble_selection(request, suite, picks))


def test_what_a_selector_says_beside_its_names_is_kept(tmp_path: Path) -> None:
    noted = MemorySelection(names=(KILN,), presearched=(KILN, MARKET), notes=("a pass failed",))

    report = run(tmp_path, Picks(one=noted, two=noted, quiet=MemorySelection(names=()))).report

    first, quiet, _ = report.tests
    assert (first.test, first.notes, first.presearched) == (
        "one",
        ("a pass failed",),
        (KILN, MARKET),
    )
    assert (quiet.test, quiet.notes, quiet.presearched) == ("quiet", (), None)
    (path,) = write_results(report, tmp_path, "told")
    assert f"Presearch (2/4):\n  {KILN}\n  {MARKET}\n" in path.read_text()


def test_near_misses_and_names_that_are_not_there_are_reported(tmp_path: Path) -> None:
    loud = MemorySelection(names=(KILN, MARKET, SISTER, "memory/ghost.md"))

    text = render_text(run(tmp_path, Picks(one=loud, two=loud, quiet=loud)).report)

    assert f"Over-recalled together:\n    3 × memory/ghost.md + {MARKET}\n" in text
    assert f"Expected and not recalled, most often:\n    1 × {GLAZE}\n" in text
    assert "Named and not on disk:\n    3 × memory/ghost.md" in text


def test_figures_that_lack_a_test_are_not_reported_as_if_they_were_whole(tmp_path: Path) -> None:
    selected = run(
        tmp_path, Picks(one=MemorySelection(names=(KILN,)), quiet=MemorySelection(names=()))
    )

    lines = render_text(selected.report).splitlines()
    assert selected.exit_code == 5
    assert lines[1].startswith("These figures are invalid: ")
    assert lines[-1] == "  1 × SystemFault: two: lost its list"


def test_what_was_paid_before_counts_when_a_run_goes_on(tmp_path: Path) -> None:
    """Else a limit is a limit for each attempt, and a suite put in ten costs ten times as much."""
    paid = MemorySelection(names=(), usage=CENT)
    first, second = (Picks(one=paid, two=paid, quiet=paid) for _ in range(2))

    before = run(tmp_path, first, max_cost_usd=0.02)
    after = run(tmp_path, second, max_cost_usd=0.02)

    assert (len(first.asked), second.asked) == (2, [])
    assert isinstance(before.finished.stopped_by, BudgetSpent)
    assert isinstance(after.finished.stopped_by, BudgetSpent)
    assert after.report.summary.usage == CENT + CENT
