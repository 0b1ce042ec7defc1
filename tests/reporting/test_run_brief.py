"""What `run` prints by default: one screen, the page, and what to do next."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recall_bench.cli import run as run_module
from recall_bench.core.diagnosis import (
    Diagnosis,
    DoctorFinding,
    SystemHealth,
    identify_system,
    save_diagnosis,
)
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.reporting.run_brief import find_weakest
from recall_bench.stories.shipped import find_longest_story
from tests.commands import Invoke


@pytest.fixture(autouse=True)
def write_pages(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `run` write pages as it does for users."""
    monkeypatch.setattr(run_module, "MAX_PAGE_TRIALS", 3000)


def test_a_run_prints_one_screen_with_page_and_next_commands(invoke: Invoke, data: Path) -> None:
    shown = invoke("run", "-a", "bm25", "-d", data, "-o", "my run")
    lines = shown.out.splitlines()

    assert shown.code == 0, shown.err
    assert len(lines) < 40
    assert lines[1].startswith("Result ")
    assert "silence" in lines[1]
    assert "OVERALL" in shown.out
    assert "checkpoint   fed to" not in shown.out
    assert "Page         my run/report/report.html" in lines
    assert Path("my run/report/report.html").exists()
    assert lines[-2].startswith("Next         recall-bench run --adapter my_adapter.py")
    assert lines[-1].strip().startswith("recall-bench compare 'my run' OTHER_RUN")


def test_a_score_without_silence_says_why(invoke: Invoke, data: Path, tmp_path: Path) -> None:
    judge = tmp_path / "my_judge.py"
    judge.write_text(
        "def judge(exhibit):\n    return {'correctness': 3, 'completeness': 2, 'grounded': 1}\n"
    )
    words = ("run", "-a", "bm25", "-d", data, "-r", "3d", "--no-page", "--no-heatmap-png")

    by_own = " ".join(invoke(*words, "-j", judge, "-o", "own").out.split())
    reviewed = " ".join(invoke(*words, "--appellate-judge", "offline", "-o", "twice").out.split())
    stub = invoke(*words, "-j", "stub", "-o", "stub").out

    assert "Silence not computed, because it takes further verdicts of " in by_own
    assert "Silence not computed, because it takes further reviews by the appellate" in reviewed
    assert "run --adapter none and --adapter gold-passages with the same judge" in by_own
    assert "Silence" not in stub


def test_the_command_for_a_longer_story_is_reported(invoke: Invoke, data: Path) -> None:
    words = ("run", "-j", "stub", "-r", "7d", "--no-page", "--no-heatmap-png")
    half = invoke(*words, "-p", "executive-assistant", "-a", "bm25", "-o", "half")
    own = invoke(*words, "-r", "3d", "-d", data, "-o", "own")
    sample = invoke(*words, "-r", "3d", "-p", "harbour-office", "-o", "sample")
    longer = half.out.splitlines()[-1].strip()

    assert longer == (
        "recall-bench run --adapter bm25 --personas executive-assistant --arcs arcs-1000d.yaml"
        "  # 1,000 days instead of 180"
    )
    assert "arcs" not in own.out + sample.out


def test_the_longest_story_is_one_that_all_personas_have() -> None:
    assert find_longest_story(["executive-assistant", "er-physician"]) == ("arcs-1000d.yaml", 1000)
    assert find_longest_story(["executive-assistant", "harbour-office"]) is None
    assert find_longest_story([]) is None


def test_verbose_prints_the_tables(invoke: Invoke, data: Path) -> None:
    shown = invoke("run", "-a", "bm25", "-d", data, "-v", "-o", "r")

    assert "checkpoint   fed to" in shown.out
    assert "Digests" in shown.out


def test_the_weakest_cells_are_those_with_the_lowest_scores(invoke: Invoke, data: Path) -> None:
    shown = invoke("run", "-a", "bm25", "-d", data, "-r", "every:2", "-o", "r")
    heatmap = RunEstimates.get(RunFolder.open(Path("r"))).build_heatmap()
    means = [mean for row in heatmap.categories for mean in row.cells if mean is not None]
    pool = [mean for mean in means if mean.questions >= FEW_QUESTIONS] or means

    weakest = find_weakest(heatmap)

    assert [cell.mean.value for cell in weakest] == sorted(mean.value for mean in pool)[:3]
    for cell in weakest:
        assert f"{cell.category} at {cell.checkpoint}: " in shown.out
    assert shown.out.count(" of 100, ") == 3


def test_a_system_of_ones_own_is_diagnosed_next(
    invoke: Invoke, data: Path, adapter: Callable[..., Path]
) -> None:
    place = adapter()
    shown = invoke("run", "-a", place, "-d", data, "-o", "r")

    assert f"recall-bench doctor {place}" in shown.out


@pytest.mark.parametrize("method", ["ingest_day", "query"])
def test_a_run_that_failed_names_no_command_that_would_refuse_it(
    invoke: Invoke, data: Path, adapter: Callable[..., Path], method: str
) -> None:
    place = adapter(**{method: "raise ValueError"})
    shown = invoke("run", "-a", place, "-d", data, "-o", "r", "--keep-going").out

    assert "INVALID" in shown
    assert "recall-bench compare" not in shown
    assert f"recall-bench doctor {place}" in shown
    for command in ("compare", "report"):
        named = re.findall(rf"recall-bench ({command} \S+)", shown)
        assert all(invoke(*words.split()).code == 0 for words in named)


@pytest.mark.parametrize("health", SystemHealth)
def test_a_diagnosis_that_is_known_is_shown_unless_it_is_valid(
    invoke: Invoke,
    data: Path,
    adapter: Callable[..., Path],
    health: SystemHealth,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RECALL_BENCH_CACHE", "cache")
    place = adapter()
    words = ("run", "-a", place, "-d", data, "--no-page", "-o")
    invoke(*words, "before")
    complaint = DoctorFinding(check="round-trip", health=health, message="lost")
    save_diagnosis(
        Diagnosis(
            health=health,
            system=identify_system(RunFolder.open(Path("before")).plan.system),
            at=datetime(2026, 5, 24, tzinfo=UTC),
            code="1",
            complaints=() if health is SystemHealth.VALID else (complaint,),
        )
    )

    shown = invoke(*words, "after").out

    assert (f"Doctor       {health.value}, diagnosed 2026-05-24: round-trip" in shown) == (
        health is not SystemHealth.VALID
    )
    assert "recall-bench doctor " not in shown.partition("Next ")[2]
    assert "Next         recall-bench compare after OTHER_RUN" in shown


def test_a_page_that_takes_long_is_written_only_if_wanted(
    invoke: Invoke, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "MAX_PAGE_TRIALS", 1)
    words = ("run", "-a", "bm25", "-d", data)
    default, wanted = invoke(*words, "-o", "a"), invoke(*words, "-o", "b", "--page")

    assert not Path("a/report").exists()
    assert "Page         recall-bench report a  # writes the page" in default.out
    assert Path("b/report/report.html").exists()
    assert wanted.code == 0


def test_no_page_writes_none_and_json_stays_json(invoke: Invoke, data: Path) -> None:
    refused = invoke("run", "-a", "bm25", "-d", data, "-o", "a", "--no-page", "--json")
    written = invoke("run", "-a", "bm25", "-d", data, "-o", "b", "--json")

    assert not Path("a/report").exists()
    assert json.loads(refused.out)["adapterName"] == "bm25"
    assert json.loads(written.out)["adapterName"] == "bm25"
    assert "b/report/report.html" in written.err


def test_failures_are_in_the_brief(
    invoke: Invoke, data: Path, adapter: Callable[..., Path]
) -> None:
    shown = invoke("run", "-a", adapter(query="raise KeyError('index')"), "-d", data, "-o", "r")

    assert shown.code == 5
    assert "INVALID" in shown.out
    assert "KeyError" in shown.out
