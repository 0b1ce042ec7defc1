"""Tables of runs: CSV, Parquet, a dataset folder and LaTeX, read back by what reads them."""

import csv
import re
import shutil
import sys
from pathlib import Path

import pytest

import recall_bench
from recall_bench.core.errors import UsageError
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.archive.exports.export_formats import ExportFormat
from recall_bench.features.archive.exports.hub_folder import render_card
from recall_bench.features.archive.exports.latex_table import escape_latex
from recall_bench.features.archive.exports.run_tables import TABLES, ExportedRun
from recall_bench.reporting.trial_scores import read_scored_trials
from tests.commands import Invoke
from tests.features.archive.exports.exported_runs import run_locomo

ROOT = Path(__file__).parents[4]


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_has_every_trial_of_every_run(runs: tuple[Path, Path], tmp_path: Path) -> None:
    written = recall_bench.export(*runs, to="csv", into=tmp_path)

    assert [path.name for path in written] == ["trials.csv", "cells.csv", "costs.csv"]
    trials = read_csv(written[0])
    assert list(trials[0]) == list(TABLES["trials"])
    for run in runs:
        points = read_scored_trials(RunFolder.open(run)).points
        own = [row for row in trials if row["run"] == run.name]
        assert sorted(float(row["score"]) for row in own) == pytest.approx(
            sorted(value / 6 for value in points.values())
        )
    assert {row["score_name"] for row in trials} == {"locomo/official"}


def test_cells_hold_the_figures_of_the_report(runs: tuple[Path, Path], tmp_path: Path) -> None:
    written = recall_bench.export(runs[1], to="csv", into=tmp_path)
    report = recall_bench.report(runs[1], into=tmp_path / "report").report

    overall = next(row for row in read_csv(written[1]) if not row["category"])

    assert report.header.overall is not None
    assert float(overall["mean"]) == pytest.approx(report.header.overall.value * 100 / 6)
    assert overall["figure"] == "locomo/official"


def test_a_chosen_figure_is_the_score(runs: tuple[Path, Path], tmp_path: Path) -> None:
    written = recall_bench.export(runs[1], to="csv", into=tmp_path, score="turn recall@10")

    assert {row["score_name"] for row in read_csv(written[0])} == {"turn recall@10"}


def test_parquet_has_the_rows_of_csv(runs: tuple[Path, Path], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    texts = recall_bench.export(*runs, to="csv", into=tmp_path / "csv")

    for path in recall_bench.export(*runs, to="parquet", into=tmp_path / "parquet"):
        rows = parquet.read_table(path).to_pylist()
        expected = read_csv(texts[0].with_name(f"{path.stem}.csv"))
        assert len(rows) == len(expected)
        for row, text in zip(rows, expected, strict=True):
            assert {
                name: "" if value is None else str(value) for name, value in row.items()
            } == text


def test_a_dataset_folder_is_loaded_by_its_library(runs: tuple[Path, Path], tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets of Hugging Face is not installed")
    recall_bench.export(*runs, to="huggingface", into=tmp_path / "hub")

    trials = datasets.load_dataset(str(tmp_path / "hub"), cache_dir=str(tmp_path / "cache"))
    cells = datasets.load_dataset(str(tmp_path / "hub"), "cells", cache_dir=str(tmp_path / "cache"))

    assert trials["train"].num_rows == 14
    assert {*cells["train"].column_names} == {*TABLES["cells"]}


def test_a_bar_in_a_name_ends_no_cell_of_the_card(runs: tuple[Path, Path], tmp_path: Path) -> None:
    odd = shutil.copytree(runs[1], tmp_path / "a|b")

    card = "\n".join(render_card([ExportedRun.read(RunFolder.open(odd))]))

    head, _, row = (line for line in card.splitlines() if line.startswith("|"))
    assert row.startswith("| a\\|b |")
    assert row.replace("\\|", "").count("|") == head.count("|")


def test_a_table_for_a_paper_ranks_runs(runs: tuple[Path, Path], tmp_path: Path) -> None:
    [path] = recall_bench.export(*runs, to="latex", into=tmp_path)
    text = path.read_text(encoding="utf-8")

    rows = re.findall(r"^(.*) \\\\$", text, flags=re.MULTILINE)
    assert rows[0].startswith("System & Rank & Score & ")
    assert len({row.count("&") for row in rows}) == 1
    # Seven questions, two of which differ, show nothing.
    assert [row.split(" & ")[1] for row in rows[1:]] == ["1", "1"]
    scores = [float(row.split(" & ")[2].split()[0]) for row in rows[1:]]
    assert scores == sorted(scores, reverse=True)
    assert r"{\scriptsize [" in rows[1]
    assert "token F1 of 100 on locomo by locomo/official (7 questions" in text


def test_latex_gets_no_commands_of_others() -> None:
    assert escape_latex("50% & $x_1$ \\input{~}\n") == (
        r"50\% \& \$x\_1\$ \textbackslash{}input\{\textasciitilde{}\}"
    )


def test_runs_that_are_not_alike_make_no_table(runs: tuple[Path, Path], tmp_path: Path) -> None:
    other = run_locomo(tmp_path, "strict", is_good=True, protocol="strict")

    with pytest.raises(UsageError, match="cannot be compared: they are measured by"):
        recall_bench.export(runs[0], other, to="latex", into=tmp_path / "out")


@pytest.mark.parametrize(
    ("shape", "module"),
    [("parquet", "pyarrow"), ("mlflow", "mlflow"), ("wandb", "wandb"), ("langfuse", "langfuse")],
)
def test_a_missing_library_is_named_with_its_install_command(
    runs: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shape: str,
    module: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(UsageError, match=rf"--to {shape} needs libraries .*\[{shape}\]"):
        recall_bench.export(runs[0], to=shape, into=tmp_path)


def test_words_of_the_command(runs: tuple[Path, Path], invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("export", runs[0], "--to", "csv").out.splitlines() == [
        str(runs[0] / "export" / f"{name}.csv") for name in TABLES
    ]
    for words, said in (
        (("--to", "parqet"), "--to: no format is called 'parqet'; did you mean 'parquet'?"),
        (("--to", "csv", "--url", "http://127.0.0.1:1"), "--url: csv is written to files"),
        ((runs[1], "--into", "x"), "--to files writes one run"),
    ):
        shown = invoke("export", runs[0], *words)
        assert (shown.code, said in shown.err) == (2, True), shown.err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("")
    assert (
        "holds files that were not written here"
        in invoke("export", runs[0], "--to", "csv", "--into", "mine").err
    )


def test_a_folder_after_to_still_gets_the_result_files(
    runs: tuple[Path, Path], invoke: Invoke, tmp_path: Path
) -> None:
    shown = invoke("export", runs[0], "--to", "again")

    assert shown.code == 0, shown.err
    assert (tmp_path / "again" / "result.json").is_file()


def test_the_help_names_every_format(invoke: Invoke) -> None:
    shown = " ".join(invoke("export", "--help").out.split())

    assert all(each.value in shown for each in ExportFormat)


def test_the_queries_of_the_how_to_run(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow, which writes the tables, is not installed")
    page = (ROOT / "docs" / "how-to" / "query-with-duckdb.md").read_text(encoding="utf-8")
    queries = re.findall(r"```sql\n(.*?)```", page, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    recall_bench.export(*runs, to="parquet", into="export")

    found = [duckdb.sql(query).fetchall() for query in queries]

    assert len(found) == 5
    best, cells, wrong, changed, costs = found
    assert [row[4] for row in best] == [14]
    assert len(cells) == 10
    assert {row[3] for row in wrong} == {2}
    assert changed == []
    assert [row[0] for row in costs] == ["good", "poor"]
