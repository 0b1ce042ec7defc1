"""The explorer lists runs of behaviour suites, opens their stories, and compares their figures."""

import re
from pathlib import Path

import msgspec
import pytest

from recall_bench import run_suite
from recall_bench.features.explorer.explorer_files import export_explorer
from recall_bench.features.explorer.explorer_views import ExplorerViews
from recall_bench.features.explorer.run_catalogue import RunCatalogue, RunRow
from tests.features.explorer.sample_runs import write_second


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of a suite beside one over a history."""
    folder = tmp_path_factory.mktemp("suites")
    for name in ("bm25", "none"):
        run_suite("tenants", adapter=name, only=("case",), stories=1, into=folder / name)
    write_second(folder / "recall")
    return folder


@pytest.fixture
def views(root: Path) -> ExplorerViews:
    return ExplorerViews(RunCatalogue(root))


@pytest.fixture
def rows(views: ExplorerViews) -> dict[str, RunRow]:
    return {row.name: row for row in views.catalogue.list_rows(wait=True)}


def test_a_run_of_a_suite_has_its_main_figures_in_place_of_a_score(
    rows: dict[str, RunRow],
) -> None:
    row = rows["bm25"]

    assert (row.suite, rows["recall"].suite) == ("tenants", None)
    assert row.dataset == "suite tenants, 1 story"
    assert row.figures is not None
    assert row.figures.score is None
    # A planted value in an answer may be what was asked for.
    assert row.figures.cells == ()
    assert ("another's value in an answer", "0.0 %") in row.figures.headlines
    assert "checkpoints" not in row.settings


def test_its_report_shows_figures_and_every_event(
    views: ExplorerViews, rows: dict[str, RunRow], tmp_path: Path
) -> None:
    views.write_report(rows["bm25"].id, tmp_path / "report.html")

    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "one&#x27;s own facts known" in page
    assert "case-1" in page
    asked = len(re.findall("<td>ask</td>", page))
    assert rows["bm25"].figures is not None
    assert asked == rows["bm25"].figures.trials
    assert "right value" in page
    assert "../../index.html#runs" in page


def test_two_runs_of_a_suite_are_compared_by_figure(
    views: ExplorerViews, rows: dict[str, RunRow]
) -> None:
    found = msgspec.json.decode(views.build(f"compare/{rows['bm25'].id}.{rows['none'].id}"))

    [contrast] = found["contrasts"]
    by_name = {each["name"]: each for each in contrast["overall"]}
    assert contrast["measure"] == "figure"
    assert by_name["recall"]["value"] < -50
    assert by_name["recall"]["is_clear"]


def test_a_run_of_a_suite_and_one_over_a_history_are_not_compared(
    views: ExplorerViews, rows: dict[str, RunRow]
) -> None:
    found = msgspec.json.decode(views.build(f"compare/{rows['bm25'].id}.{rows['recall'].id}"))

    assert "recall is not a run of a behaviour suite" in found["problem"]


def test_they_are_among_the_written_files(root: Path, tmp_path: Path) -> None:
    done = export_explorer(ExplorerViews(RunCatalogue(root)), "suites", tmp_path / "out")

    assert done.notes == ()
    assert len(done.files) == 4
