"""The floor and the ceiling of a run are what running `none` would have scored."""

from pathlib import Path

import pytest

from recall_bench.core.event import Judged
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.library import run as run_bench

CHECKPOINTS = ("10d", "30d")


def run(folder: Path, adapter: str, judge: str = "offline") -> RunFolder:
    """Run a built-in on the sample persona."""
    return run_bench(
        into=folder,
        ranges=CHECKPOINTS,
        heatmap_png=False,
        groups_enabled=True,
        adapter=adapter,
        judge=judge,
    ).folder


@pytest.fixture(scope="module")
def bm25(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return run(tmp_path_factory.mktemp("bm25") / "run", "bm25")


def list_marks(folder: RunFolder, scenario: str) -> dict[tuple[str, str], tuple[int, ...]]:
    """The marks of every judged trial, by question and checkpoint."""
    return {
        (result.item.id, result.trial.checkpoint): tuple(result.outcome.verdict.marks.values())
        for result in folder.results(scenario)
        if isinstance(result.outcome, Judged)
    }


def test_the_floor_is_what_none_scores_at_every_checkpoint(bm25: RunFolder, tmp_path: Path) -> None:
    silent = run(tmp_path / "run", "none")
    (scenario,) = bm25.scenarios
    bounds = bm25.states.scenarios[scenario].bounds
    assert bounds is not None
    marks = list_marks(silent, scenario)
    assert {item for item, _ in marks} == set(bounds.floor)
    assert {trial: bounds.floor[trial[0]] for trial in marks} == marks
    assert len(set(bounds.floor.values())) > 1


def test_bounds_are_recorded_once(bm25: RunFolder) -> None:
    again = run(bm25.path, "bm25")
    assert (again.path / "journal.jsonl").read_bytes().count(b'"type":"bounds"') == 1


def test_a_judge_that_judges_nothing_gives_no_bounds(tmp_path: Path) -> None:
    folder = run(tmp_path / "run", "none", judge="stub")
    (scenario,) = folder.scenarios
    assert folder.states.scenarios[scenario].bounds is None
