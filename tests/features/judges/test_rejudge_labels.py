"""Labels of people win over the judge: `rejudge --labels`, and `judge-lab agreement` of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.event import TrialResult
from recall_bench.core.verdict import Finding
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.engine.runs.trials import read_trials
from recall_bench.features.explorer.explorer_views import ExplorerViews
from recall_bench.features.explorer.run_catalogue import RunCatalogue
from recall_bench.judging.human_labels import LABELS, HumanLabel, append_label, make_label
from tests.commands import Invoke, Shown
from tests.features.judges.test_rejudge import LENIENT, Run, events, judge, plan


@pytest.fixture
def old(invoke: Invoke, data: Path) -> Path:
    """A run of the gardener against `bm25`, in which every answer gets full marks."""
    words = ("--data", data, "--ranges", "5d,10d", "--into", "old", "--no-heatmap-png")
    shown = invoke("run", *words, "--adapter", "bm25", "--judge", judge(LENIENT))
    assert shown.code == 0, shown.err
    return Path("old")


@pytest.fixture
def again(invoke: Invoke, data: Path) -> Run:
    def rejudge(*flags: object) -> Shown:
        words = ("--data", data, "--into", "new", "--no-heatmap-png", "--judge", "judge.py")
        return invoke("rejudge", "old", *words, *flags)

    return rejudge


def list_results(folder: Path) -> list[TrialResult]:
    opened = RunFolder.open(folder)
    return [each for name in opened.scenarios for each in opened.results(name) if each.answered]


def give(folder: Path, result: TrialResult, label: str, by: str = "ann") -> None:
    assert result.answered is not None
    line = make_label(
        result.trial,
        result.item,
        result.answered.answer.text,
        HumanLabel(label),
        by=by,
        days=5,
        comment="",
    )
    append_label(folder, line)


def find_judged(folder: str) -> dict[str, dict[str, Any]]:
    return {json.dumps(each["trial"]): each for each in events(folder, "judged")}


def test_people_win_where_they_labelled_and_the_judge_decides_the_rest(
    old: Path, again: Run
) -> None:
    first, second, *_ = list_results(old)
    give(old, first, "wrong")
    give(old, second, "invented")
    give(old, second, "invented", by="ben")

    shown = again("--labels")

    assert shown.code == 0, shown.err
    judged = find_judged("new")
    by_people = [each for each in judged.values() if each.get("judge") == "people"]
    assert [each["verdict"]["marks"]["grounded"] for each in by_people] == [1, 0]
    assert all(each["verdict"]["marks"]["correctness"] == 0 for each in by_people)
    rest = [each for each in judged.values() if "judge" not in each]
    assert len(rest) == 13
    assert all(each["verdict"]["marks"]["correctness"] == 3 for each in rest)
    assert "2 answers judged by people (ann and ben)" in " ".join(shown.out.split())
    assert plan("new")["labels"]["answers"] == 2
    result = json.loads(Path("new/result.json").read_text())
    assert result["metadata"]["labels"]["people"] == ["ann", "ben"]
    folder = RunFolder.open(Path("new"))
    assert summarise(folder).overall.owed == 15
    findings = {row.trial: row.findings for row in read_trials(folder).rows}
    assert findings[second.trial] == (Finding.FABRICATION,)
    assert findings[first.trial] is None
    views = ExplorerViews(RunCatalogue(Path()))
    row = next(each for each in views.catalogue.list_rows(wait=True) if each.name == "new")
    assert row.judge.endswith(", 2 by people")
    texts = b"".join(views.open_run(row.id).text_blocks.values())
    assert texts.count(b'"judge":"people"') == 2


def test_a_bad_question_is_left_out_at_every_checkpoint_and_named(old: Path, again: Run) -> None:
    results = list_results(old)
    bad = results[0].trial.item
    give(old, results[0], "bad-question")
    asked = sum(each.trial.item == bad for each in results)

    shown = again("--labels")

    assert shown.code == 0, shown.err
    found = list_results(Path("new"))
    assert len(found) == 15 - asked
    assert bad not in {each.trial.item for each in found}
    assert f"1 bad question left out: {results[0].trial.scenario}/{bad}" in " ".join(
        shown.out.split()
    )
    summary = summarise(RunFolder.open(Path("new")))
    assert summary.overall.owed == len(found)
    assert summary.validity.status.value == "valid"


def test_the_same_command_goes_on_and_other_labels_need_another_folder(
    old: Path, again: Run
) -> None:
    first, second, *_ = list_results(old)
    give(old, first, "wrong")
    again("--labels")
    before = Path("new/journal.jsonl").read_bytes()

    same = again("--labels")
    give(old, second, "wrong")
    other = again("--labels")

    assert same.code == 0, same.err
    assert Path("new/journal.jsonl").read_bytes() == before
    assert other.code == 2
    assert "labels" in other.err


def test_without_the_option_labels_change_nothing(old: Path, again: Run) -> None:
    give(old, list_results(old)[0], "wrong")

    shown = again()

    assert shown.code == 0, shown.err
    assert "labels" not in plan("new")
    assert all("judge" not in each for each in find_judged("new").values())
    assert "people" not in shown.out


def test_verdicts_of_people_are_not_reviewed(old: Path, again: Run) -> None:
    first, second, *_ = list_results(old)
    give(old, first, "wrong")
    give(old, second, "right")

    shown = again("--labels", "--appellate-judge", "stub")

    assert shown.code == 0, shown.err
    by_people = [each for each in find_judged("new").values() if each.get("judge") == "people"]
    assert len(by_people) == 2
    assert all("primary" not in each for each in by_people)


def break_nothing(_: Path) -> None: ...


def change_answers(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row | {"answer": "else"}) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("labels", "change", "message"),
    [
        ("nowhere.jsonl", break_nothing, "there is no nowhere.jsonl"),
        ("old/labels.jsonl", change_answers, "has no label of an answer in old"),
        ("old/labels.jsonl", lambda path: path.write_text("{}\n"), "labels.jsonl, line 1: "),
    ],
)
def test_labels_that_cannot_be_used_are_refused_before_anything_is_written(
    old: Path, again: Run, labels: str, change: Callable[[Path], object], message: str
) -> None:
    give(old, list_results(old)[0], "wrong")
    change(old / LABELS)

    shown = again("--labels", labels)

    assert shown.code in (2, 3)
    assert message in shown.err
    assert not Path("new").exists()


def test_labels_of_other_answers_are_counted(old: Path, again: Run) -> None:
    first, second, *_ = list_results(old)
    give(old, first, "wrong")
    change_answers(old / LABELS)
    give(old, second, "wrong")

    shown = again("--labels")

    assert "1 labels are about other answers" in shown.err
    assert plan("new")["labels"]["answers"] == 1


def test_a_run_with_verdicts_of_people_is_not_corrected(
    old: Path, again: Run, invoke: Invoke
) -> None:
    give(old, list_results(old)[0], "wrong")
    again("--labels")

    shown = invoke("judge-lab", "correct", "new", "--audit", "none.json")

    assert shown.code == 2
    assert "people gave some of its verdicts" in shown.err


def test_agreement_tells_where_judge_and_people_split(old: Path, invoke: Invoke) -> None:
    results = list_results(old)
    for number, result in enumerate(results[:6]):
        give(old, result, "wrong" if number == 2 else "right")
        give(old, result, "wrong" if number in (2, 3) else "right", by="ben")

    words = ("judge-lab", "agreement", "--judged", "old", "--judge", "judge.py", "--keep-repeats")
    shown, found = invoke(*words), json.loads(invoke(*words, "--json").out)

    assert "Correctness passes by label alone or by judge alone: 3 answers;" in shown.out
    assert str(results[2].trial) in shown.out
    assert "ann and ben: the same label for 5 of 6 answers; kappa of right or not 0.57" in shown.out
    assert f"{results[3].trial}: right, wrong" in shown.out
    assert [each["trial"] for each in found["splits"]] == [
        str(results[number].trial) for number in (2, 2, 3)
    ]
    (pair,) = found["people"]
    assert pair["kappa"] == pytest.approx(4 / 7)
