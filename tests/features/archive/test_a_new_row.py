"""A row that a package of somebody else registers shows in every output, by one function."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall_bench.engine.runs import heatmap_rows
from recall_bench.engine.runs.heatmap_rows import Row, RowTrials
from recall_bench.engine.runs.result_files import export_files
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.engine.runs.trials import read_trials
from recall_bench.features.archive.exports.run_tables import ExportedRun, write_csv
from recall_bench.features.archive.exports.trackers import list_metrics
from recall_bench.features.explorer.run_catalogue import RunCatalogue
from recall_bench.metrics.scale import SECONDS, SHARE
from recall_bench.reporting.heatmap.heatmap_data import build_run_heatmap
from recall_bench.reporting.heatmap.heatmap_files import load_heatmap
from recall_bench.reporting.heatmap.heatmap_picture import build_heatmap_spec
from recall_bench.reporting.heatmap.heatmap_table import render_heatmap_table
from recall_bench.reporting.publication import PAGE_FILE, publish_report
from recall_bench.reporting.run_brief import render_brief
from recall_bench.reporting.run_report import build_report
from recall_bench.reporting.run_text import render_run
from tests.written_runs import ada_story, trial


def build_silent(trials: RowTrials) -> Iterator[Row]:
    """Build the share of empty answers."""
    cells, total = trials.estimate_values(lambda row: float(row.is_silent), limits=(0.0, 1.0))
    yield Row(
        name="silent",
        key="silentRate",
        scale=SHARE,
        cells=cells,
        total=total,
        eligible=trials.eligible,
        note="silent: the answer has no words",
    )


def build_waits(trials: RowTrials) -> Iterator[Row]:
    """Build the time that an answer takes."""
    cells, total = trials.estimate_values(lambda row: row.seconds)
    yield Row(name="answer time", key="answerTime", scale=SECONDS, cells=cells, total=total)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    rows = [*heatmap_rows._ROWS, build_silent, build_waits]
    monkeypatch.setattr(heatmap_rows, "_ROWS", rows)
    story = ada_story(tmp_path / "run")
    for label in ("2d", "4d"):
        for name in ("cat", "dog"):
            story.both(trial(name, label))
    story.both(trial("house", "4d"))
    story.end()
    return story.open()


def test_it_stands_in_every_output(folder: RunFolder, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    export_files(folder, result=result)
    summary, export = summarise(folder), ExportedRun.read(folder)
    write_csv([export], tmp_path)
    publish_report(folder, into=tmp_path / "report")
    report = build_report(folder, read_trials(folder))
    with (tmp_path / "cells.csv").open(encoding="utf-8") as file:
        figures = {line["figure"] for line in csv.DictReader(file)}
    outputs = {
        "brief": render_brief(folder, summary),
        "text": render_run(folder, summary),
        "picture": str(build_heatmap_spec(build_run_heatmap(folder, summary))),
        "picture of result.json": str(build_heatmap_spec(load_heatmap(result))),
        "notebook": render_heatmap_table(build_run_heatmap(folder, summary)),
        "result.json": result.read_text(encoding="utf-8"),
        "figures": str(report),
        "page": (tmp_path / "report" / PAGE_FILE).read_text(encoding="utf-8"),
    }

    for name, text in outputs.items():
        assert "silent" in text.lower(), name
        assert "answer time" in text.lower(), name
    assert {"silent", "answer time"} <= figures
    tracked = {metric.name for metric in list_metrics(export)}
    assert {"silent", "answer_time", "silent_at", "answer_time_at"} <= tracked
    catalogue = RunCatalogue(folder.path)
    (run,) = catalogue.list_rows(wait=True)
    catalogue.close()
    assert run.figures is not None
    assert {"silent", "answer time"} <= {cell.name for cell in run.figures.cells}


def test_a_result_file_says_what_its_rows_are(folder: RunFolder, tmp_path: Path) -> None:
    """So one who has not installed the package can draw them."""
    result = tmp_path / "result.json"
    export_files(folder, result=result)
    whole, read = build_run_heatmap(folder).table, load_heatmap(result).table

    for name in ("silent", "answer time"):
        one, other = whole.get(name), read.get(name)
        assert one is not None
        assert other is not None
        assert (one.scale, one.note) == (other.scale, other.note)
        assert [cell and cell.value for cell in one.cells] == [
            cell and pytest.approx(cell.value) for cell in other.cells
        ]
