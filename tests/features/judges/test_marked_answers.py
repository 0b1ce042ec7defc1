"""A judge is measured on marked answers with the rows alone; one answer is judged likewise."""

import json
import lzma
from pathlib import Path

import pytest

import recall_bench
from recall_bench.core.errors import Malformed, UsageError
from recall_bench.features.judges.marked_answers import read_marked_answers
from recall_bench.judging.answer_rows import read_answer_rows
from tests.commands import Invoke

ROW = {
    "question": "What do we pay for power?",
    "reference": "We pay £101 a megawatt hour.",
    "expects": "answer",
    "stale": ["£97"],
    "evidence": ["Torben signed the power contract, at £101 a megawatt hour."],
    "category": "contradiction-resolution",
    "persona": "somebody",
}
RIGHT = {"correctness": 3, "completeness": 2, "grounded": 1}
WRONG = {"correctness": 0, "completeness": 0, "grounded": 0}
ANSWERS = [
    ("It's £101 a megawatt hour.", RIGHT, "right", "terse"),
    ("We pay £101 a megawatt hour.", RIGHT, "right", "support"),
    ("We pay £440 a megawatt hour.", WRONG, "fabricated", "terse"),
    ("", {**WRONG, "grounded": 1}, "nonanswer", "support"),
]


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    rows = [
        ROW | {"answer": answer, "gold": gold, "kind": kind, "writer": writer}
        for answer, gold, kind, writer in ANSWERS
    ]
    path = tmp_path / "marked.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_answers_counts_what_the_judge_gets_right(marked: Path, invoke: Invoke) -> None:
    shown = invoke("judge-lab", "answers", marked, "--json")

    report = json.loads(shown.out)
    figures = report["overall"]
    assert (figures["right_passed"]["count"], figures["right_passed"]["of"]) == (2, 2)
    assert (figures["wrong_passed"]["count"], figures["wrong_passed"]["of"]) == (0, 2)
    assert (figures["inventions_found"]["count"], figures["inventions_found"]["of"]) == (1, 1)
    assert (figures["false_alarms"]["count"], figures["false_alarms"]["of"]) == (0, 3)
    assert figures["auc_correct"] == figures["auc_grounded"] == 1.0
    assert set(report["groups"]) == {"writer", "category", "kind"}
    assert report["groups"]["writer"]["terse"]["n"] == 2
    assert report["groups"]["kind"]["fabricated"]["right_passed"] is None


def test_answers_prints_a_table_by_writer_category_and_kind(marked: Path, invoke: Invoke) -> None:
    shown = invoke("judge-lab", "answers", marked, "--judge", "stub")

    assert "stub 1 on marked answers" in shown.out
    assert "0/2" in shown.out
    assert all(word in shown.out for word in ("terse", "nonanswer", "contradiction-resolution"))


def test_compressed_files_are_read_and_broken_ones_are_named(marked: Path, tmp_path: Path) -> None:
    packed = tmp_path / "marked.jsonl.xz"
    parts = marked.read_bytes().splitlines(keepends=True)
    packed.write_bytes(b"".join(map(lzma.compress, parts)))
    assert read_marked_answers(packed) == read_marked_answers(marked)

    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(Malformed, match=r"marked\.jsonl\.xz: is not a whole xz file"):
        read_answer_rows(packed)
    packed.write_text("no xz")
    with pytest.raises(Malformed, match="not a whole xz file"):
        read_answer_rows(packed)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[]", "Expected `object`"),
        ("{", "truncated"),
        ('{"question": " ", "reference": "a", "answer": ""}', "question"),
        ('{"question": "a", "reference": "a", "answer": "", "evidence": "b"}', "evidence"),
        (
            json.dumps(ROW | {"answer": "", "gold": RIGHT | {"correctness": 4}}),
            "gold.correctness",
        ),
    ],
)
def test_a_bad_row_is_one_sentence_with_file_and_line(
    tmp_path: Path, invoke: Invoke, line: str, problem: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(f"{json.dumps(ROW | {'answer': 'a'})}\n{line}\n", encoding="utf-8")

    for words in (("judge-lab", "answers"), ("judge",)):
        shown = invoke(*words, path)
        assert shown.code == 3
        assert f"{path}, line 2: " in shown.err
        assert problem in shown.err
        assert shown.err.count("\n") == 1


def test_answers_without_marks_are_no_marked_answers(tmp_path: Path) -> None:
    path = tmp_path / "bare.jsonl"
    path.write_text(json.dumps(ROW | {"answer": "a"}), encoding="utf-8")

    with pytest.raises(Malformed, match="row 1: has no gold marks"):
        read_marked_answers(path)


def test_judge_prints_a_verdict_a_line(marked: Path, invoke: Invoke) -> None:
    shown = invoke("judge", marked)

    verdicts = [json.loads(line) for line in shown.out.splitlines()]
    assert shown.code == 0
    assert [verdict["marks"]["correctness"] for verdict in verdicts] == [3, 3, 0, 0]


def test_an_answer_that_could_not_be_judged_has_a_line_of_its_own(
    marked: Path, tmp_path: Path, invoke: Invoke
) -> None:
    judge = tmp_path / "mumbling.py"
    judge.write_text("def judge(exhibit):\n    raise ValueError('what?')\n")

    shown = invoke("judge", marked, "--judge", judge)

    assert shown.code == 6
    assert [*map(dict.keys, map(json.loads, shown.out.splitlines()))] == [{"error"}] * 4


def test_the_library_judges_one_answer_as_the_command_does(marked: Path, invoke: Invoke) -> None:
    verdict = recall_bench.judge(
        str(ROW["question"]), str(ROW["reference"]), ANSWERS[0][0], ROW["evidence"], ROW["stale"]
    )

    first = json.loads(invoke("judge", marked).out.splitlines()[0])
    assert verdict.marks == first["marks"]
    assert verdict.reason == first["reason"]


def test_a_refusal_is_right_where_one_is_expected() -> None:
    asked = ("What is Ann's salary?", "That is confidential.", "I can't share that.")

    assert recall_bench.judge(*asked, expects="withhold").marks["correctness"] == 3


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(UsageError, match="lists of texts"):
        recall_bench.judge("a?", "b", "c", "evidence")
    with pytest.raises(UsageError, match="expects"):
        recall_bench.judge("a?", "b", "c", expects="praise")
