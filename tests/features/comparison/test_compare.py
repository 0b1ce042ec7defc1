"""`compare` tells which run is better, or that it cannot be told, and refuses unlike ones."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from tests.commands import Invoke, Shown

Run = Callable[..., Shown]


@pytest.fixture
def run(invoke: Invoke, data: Path) -> Run:
    def carry_out(folder: str, *flags: object) -> Shown:
        words = ("--data", data, "--ranges", "5d", "10d", "--into", folder)
        return invoke("run", *words, *flags)

    return carry_out


FORGETFUL = """\
    if "kale" in question:
        raise KeyError("kale")
    return "There is no record of that." if "leeks" in question else self.lines[0]
"""


def test_a_better_run_is_found_and_everything_is_in_the_json(run: Run, invoke: Invoke) -> None:
    run("first", "--adapter", "recency", "--config", "days=1")
    run("second", "--adapter", "bm25")

    shown, table = (
        invoke("compare", "first", "second"),
        invoke("compare", "first", "second", "--json"),
    )

    assert (shown.code, table.code) == (0, 0), shown.err + table.err
    report = json.loads(table.out)
    (contrast,) = report["contrasts"]
    difference = contrast["overall"]["comparison"]["difference"]
    assert difference["trials"] == 15
    assert re.match(r"B \(bm25 \S+ is better than A \(recency \S+ \+", report["conclusions"][0])
    assert report["conclusions"][0] in " ".join(shown.out.split())
    assert [view["name"] for view in contrast["checkpoints"]] == ["5d", "10d"]
    assert [part["name"] for part in contrast["categories"]] == ["factual-recall"]
    assert contrast["hallucination"]["name"] == "hallucination"
    assert contrast["leaks"] is None, "no question was about a boundary"
    assert max(map(len, shown.out.splitlines())) <= 100


def test_the_mean_of_the_table_is_the_one_the_report_prints(
    run: Run, adapter: Callable[..., Path]
) -> None:
    """On a real run, with failures: they count as no points in both."""
    shown = run("run", "--adapter", adapter(query=FORGETFUL), "--error-budget", "0.5")

    printed = re.search(r"Result +[^\d]*(\d+) of 100", shown.out)
    assert printed is not None, shown.out + shown.err
    points = read_trials(RunFolder.open(Path("run"))).points
    assert len(points) == 15
    assert f"{100 * sum(points.values()) / len(points) / 6:.0f}" == printed[1]


def test_a_run_compared_with_itself_is_identical(run: Run, invoke: Invoke) -> None:
    run("same", "--adapter", "bm25")

    shown = invoke("compare", "same", "same")

    assert shown.code == 0
    assert "are identical: each of the 15 trials" in shown.out


def test_other_questions_are_refused_and_intersected_without_them(
    run: Run, invoke: Invoke, data: Path
) -> None:
    run("before", "--adapter", "bm25")
    questions = data / "gardener" / "qa-10d" / "questions.yaml"
    questions.write_text(questions.read_text().replace("Bed 14.", "Bed 15."))
    run("after", "--adapter", "bm25")

    refused = invoke("compare", "before", "after")
    shown = invoke("compare", "before", "after", "--intersect")

    assert refused.code == 2
    assert refused.out == ""
    assert "before and after differ in questions of gardener" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert shown.code == 0
    assert "2 of A and 2 of B: trials about a question that differs" in shown.out
    assert "13 trials of 9 questions" in shown.out


def test_a_folder_without_a_run_is_refused(run: Run, invoke: Invoke) -> None:
    run("there", "--adapter", "bm25")

    shown = invoke("compare", "there", "nowhere")

    assert shown.code == 2
    assert "nowhere: is not a run folder; did you mean 'there'?" in shown.err


def test_one_run_alone_is_no_comparison(invoke: Invoke) -> None:
    for shown in (invoke("compare", "alone"), invoke("compare")):
        assert shown.code == 2
        assert "name two runs or more: recall-bench compare BASELINE OTHER" in shown.err
