"""Real files and verdicts of published runs read as they were published."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.features.archive.import_run import ImportResult, import_run
from recall_bench.reporting.heatmap.heatmap_files import load_heatmap
from tests.conftest import shared_data
from tests.engine.runs.importing.public_files import Row, part, reconstructed, result, save
from tests.fixtures.runs_importing import faults

MEMPALACE = "mempalace/ea-180d-mempalace-baseline"
OPENCLAW = "openclaw/ea-180d-openclaw"


def verdicts(run: str) -> list[Row]:
    with shared_data("judged/dev.jsonl").open(encoding="utf-8") as file:
        return [found for line in file if (found := json.loads(line))["run"] == run]


def evaluation(found: Row) -> Row:
    qa = {
        "id": found["question_id"],
        "question": found["question"],
        "answer": found["reference"],
        "category": found["category"],
        "difficulty": found["difficulty"],
        "relevantDays": found["relevant_days"],
    }
    marks = ("correctness", "completeness", "hallucination", "reasoning")
    line = {
        "qa": qa,
        "systemAnswer": found["answer"],
        "score": {name: found[name] for name in marks},
        "compositeScore": found["composite"],
        "latencyMs": found["latency_ms"],
    }
    return line if found["primary"] is None else line | {"primaryScore": found["primary"]}


def published(run: str, folder: Path, *, as_graded: bool = False) -> ImportResult:
    """Import what is known of a published run, written as its result.json was."""
    by_days: dict[int, list[Row]] = defaultdict(list)
    rows = verdicts(run)
    for found in rows:
        by_days[found["checkpoint_days"]].append(evaluation(found))
    document = result(
        {"executive-assistant": [part(days, own) for days, own in by_days.items()]},
        appellateJudgeModel="azure:gpt-5.4",
        sample=50,
    )
    if rows[0]["reconstructed_run"]:
        document = reconstructed(document)
    path = save(folder / "result.json", document)
    return import_run([path], folder / "run", as_graded=as_graded)


@pytest.mark.parametrize(
    "run",
    [
        MEMPALACE,
        OPENCLAW,
        "recall/ea-180d-recall-baseline",
        "recall/ea-60d-recall-baseline",
        "recall/ea-60d-recall-supersession-on",
        "recall/ea-60d-recall-rerank-on",
        "recall/ea-60d-recall-rerank-off",
    ],
)
def test_each_published_run_has_the_mean_of_its_verdicts(run: str, tmp_path: Path) -> None:
    rows = verdicts(run)

    found = published(run, tmp_path, as_graded=True)

    folder = RunFolder.open(tmp_path / "run")
    assert found.disagreeing == ()
    assert found.mean == pytest.approx(sum(each["composite"] for each in rows) / len(rows))
    assert found.card.reconstructed is rows[0]["reconstructed_run"]
    assert found.evaluations == len(rows)
    if not found.card.reconstructed:
        assert folder.count_reviews().total.done == sum(
            each["primary"] is not None for each in rows
        )


def test_the_one_timeout_on_record_is_an_answer_no_more(tmp_path: Path) -> None:
    found = published(OPENCLAW, tmp_path)

    assert faults(found) == {"sentinels": 1}
    assert found.graded_mean is not None
    assert found.mean is not None
    assert found.graded_mean - found.mean == pytest.approx(1 / found.evaluations)
    assert RunFolder.open(tmp_path / "run").count_faults() == {"SystemFault": 1}


def test_a_real_progress_file_has_the_published_numbers() -> None:
    """4.962 points of 6 over 1,639 evaluations, 13.0 % made up, 21.3 % at the worst checkpoint."""
    data = load_heatmap(shared_data("conformance/original-progress.jsonl"))

    scores, rates = (
        [cell for cell in row.cells if cell is not None]
        for row in (data.table.total, data.table.rows[-1])
    )
    asked = sum(cell.trials for cell in scores)
    assert (asked, len(data.table.columns)) == (1639, 30)
    points = sum(cell.value * cell.trials for cell in scores)
    assert points / asked == pytest.approx(4.962, abs=5e-4)
    made_up = sum(cell.value * cell.trials for cell in rates)
    assert 100 * made_up / asked == pytest.approx(13.0, abs=0.05)
    assert 100 * max(cell.value for cell in rates) == pytest.approx(21.3, abs=0.05)


def test_real_verdicts_are_placed_in_a_real_progress_file_by_time(tmp_path: Path) -> None:
    """Half of the evaluations are known; none of them lands at another checkpoint."""
    progress = shared_data("conformance/original-progress.jsonl")
    ends = {
        line["range"]["label"]: line["timestamp"]
        for line in map(json.loads, progress.read_text(encoding="utf-8").splitlines())
        if line["type"] == "checkpoint"
    }
    rows = verdicts(MEMPALACE)
    lines = []
    for found in rows:
        each = evaluation(found)
        qa = {**each.pop("qa")}
        qa["referenceAnswer"] = qa.pop("answer")
        each["composite"] = each.pop("compositeScore")
        stamp = ends[found["checkpoint"]]
        lines.append({"timestamp": stamp, "personaId": found["persona"], "qa": qa, **each})
    log = save(tmp_path / "questions.jsonl", lines)

    imported = import_run([log, progress], tmp_path / "run")

    assert imported.stored_mean == pytest.approx(4.962, abs=5e-4)
    assert imported.mean == pytest.approx(sum(each["composite"] for each in rows) / len(rows))
    assert faults(imported)["unlabeled"] == len(rows)
    assert faults(imported)["short"] == 1639 - len(rows)
    trials = {
        each.trial for each in RunFolder.open(tmp_path / "run").results("executive-assistant")
    }
    assert {(t.item, t.checkpoint) for t in trials} == {
        (each["question_id"], each["checkpoint"]) for each in rows
    }
    assert summarise(RunFolder.open(tmp_path / "run")).overall.owed == len(rows)
