"""Runs of one suite are compared figure by figure, where their stories are the same."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall_bench import compare_suites, run_suite
from recall_bench.cli.main import cli
from recall_bench.core.errors import UsageError
from recall_bench.core.settings import Settings
from recall_bench.reporting.suites.suite_comparison import (
    FigureContrast,
    SuiteComparison,
    render_suite_comparison,
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Tenants by two built-ins, and once more with another seed, suite or number of stories."""
    root = tmp_path_factory.mktemp("suites")
    for name, adapter in (("good", "bm25"), ("silent", "none")):
        run_suite("tenants", adapter=adapter, only=("case", "plain"), stories=1, into=root / name)
    run_suite("tenants", adapter="none", only=("case",), stories=1, into=root / "fewer")
    run_suite("tenants", adapter="none", only=("case",), stories=1, into=root / "seven", seed=7)
    run_suite("poisoning", adapter="none", only=("flood",), stories=1, into=root / "other")
    yield root
    shutil.rmtree(root)


def find(report: SuiteComparison, name: str) -> FigureContrast:
    [contrast] = report.contrasts
    return next(each for each in contrast.figures if each.first.name == name)


def test_a_share_is_paired_by_fact_with_an_interval_and_a_test(runs: Path) -> None:
    recall = find(compare_suites(runs / "good", runs / "silent"), "recall")

    assert recall.comparison is not None
    assert recall.difference is not None
    assert recall.difference < -0.5
    assert recall.comparison.difference.value == pytest.approx(recall.difference)
    assert recall.first.estimate is not None
    assert recall.comparison.difference.trials == recall.first.estimate.trials
    assert recall.is_clear
    assert recall.is_better is False


def test_two_runs_that_came_to_the_same_do_not_differ(runs: Path) -> None:
    report = compare_suites(runs / "good", runs / "good")
    leak = find(report, "leak")

    assert leak.difference == 0
    assert leak.comparison is not None
    # Two stories, however many questions they have.
    assert leak.comparison.difference.high == pytest.approx(0.8419, abs=1e-4)
    assert "No figure of B differs significantly from A." in render_suite_comparison(report)


def test_what_only_one_run_has_a_value_for_has_no_difference(runs: Path) -> None:
    passages = find(compare_suites(runs / "good", runs / "silent"), "leak/passages")

    assert passages.first.estimate is not None
    assert passages.second.estimate is None
    assert (passages.difference, passages.comparison) == (None, None)


def test_stories_of_one_run_alone_are_in_no_difference(runs: Path) -> None:
    report = compare_suites(runs / "good", runs / "fewer")

    [contrast] = report.contrasts
    recall = find(report, "recall")
    assert contrast.stories == 1
    assert "1 of 2 stories are in both runs" in contrast.notes
    assert recall.comparison is not None
    assert recall.second.estimate is not None
    assert recall.comparison.difference.trials == recall.second.estimate.trials


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ("seven", "has seed 42 and .* 7: their stories are not the same"),
        ("other", "is a run of tenants .* of poisoning"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(runs: Path, other: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        compare_suites(runs / "good", runs / other)


def test_a_run_of_a_suite_is_not_compared_with_one_over_personas(
    runs: Path, tmp_path: Path
) -> None:
    from recall_bench import compare, run

    run(Settings(adapter="none", into=tmp_path / "recall", ranges=("1d",), heatmap_png=False))

    for pair in ((runs / "good", tmp_path / "recall"), (tmp_path / "recall", runs / "good")):
        with pytest.raises(UsageError, match="scorecard"):
            compare_suites(*pair)
        with pytest.raises(UsageError, match="scorecard"):
            compare(*pair)


def test_an_unfinished_run_is_compared_by_wish_only(runs: Path, tmp_path: Path) -> None:
    cut = shutil.copytree(runs / "silent", tmp_path / "cut")
    lines = (cut / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (cut / "journal.jsonl").write_bytes(b"".join(lines[:-1]))

    with pytest.raises(UsageError, match="not finished"):
        compare_suites(runs / "good", cut)
    assert compare_suites(runs / "good", cut, intersect=True).contrasts[0].stories == 2


def test_the_command_prints_the_figures_and_the_conclusion(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli(["compare", str(runs / "good"), str(runs / "silent")], standalone_mode=False)

    shown = capsys.readouterr().out
    assert "comparison of tenants" in shown
    assert "one's own facts known" in shown
    assert "B is significantly worse in recall" in shown
