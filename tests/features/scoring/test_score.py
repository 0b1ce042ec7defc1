"""Files of answers and rankings, scored as a run of a system."""

import json
from pathlib import Path
from typing import Any

import pytest

from recall_bench import load_story
from recall_bench.core.scenario import Item
from tests.commands import Invoke

STORY = ("-p", "harbour-office", "--no-heatmap-png", "--no-page", "-o", "run")


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return load_story("harbour-office").items


Rows = list[dict[str, object]]


def write_rows(rows: Rows, name: str = "answers.jsonl") -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def read_questions() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("run/questions.jsonl").read_text().splitlines()]


def test_references_by_id_and_by_words_get_full_marks(
    invoke: Invoke, items: tuple[Item, ...]
) -> None:
    keys = ("id", "id", "question")
    file = write_rows(
        [
            {key: item.id if key == "id" else item.text, "answer": item.truth.reference}
            for key, item in zip(keys * len(items), items, strict=False)
        ]
    )

    shown = invoke("score", "--answers", file, *STORY)

    assert shown.code == 0, shown.err
    assert "100 of 100" in shown.out
    assert "[1/1] harbour-office   full" in shown.err


def test_a_missing_answer_is_owed_and_named(invoke: Invoke, items: tuple[Item, ...]) -> None:
    asked = [item for item in items if not item.is_open(30) or item.session is None]
    file = write_rows([{"id": item.id, "answer": item.truth.reference} for item in asked[1:]])

    shown = invoke("score", "--answers", file, *STORY, "--error-budget", "0.5")

    assert shown.code == 0, shown.err
    assert f"{asked[0].id}@full#0: not answered" in shown.err
    assert "has no row for this question at day 30" in shown.err


def test_a_row_for_a_checkpoint_comes_before_one_for_all(
    invoke: Invoke, items: tuple[Item, ...]
) -> None:
    rows: Rows = [{"id": item.id, "answer": "No idea."} for item in items]
    rows += [{"id": item.id, "answer": item.truth.reference, "day": 30} for item in items]

    shown = invoke("score", "--answers", write_rows(rows), *STORY, "-r", "10d", "-r", "30d")

    assert shown.code == 0, shown.err
    right = [row["checkpoint"] for row in read_questions() if row["score"]["correctness"] == 3]
    assert set(right) == {"30d"}


def test_a_trec_run_is_read_by_the_reader(invoke: Invoke, items: tuple[Item, ...]) -> None:
    lines = [
        f"{item.id} Q0 day-{evidence.day:04d} {rank} {9 - rank} mine\n"
        for item in items
        for rank, evidence in enumerate(item.truth.evidence, start=1)
    ]
    Path("mine.trec").write_text("".join(lines))

    shown = invoke("score", "--rankings", "mine.trec", *STORY, "--error-budget", "1")

    assert shown.code == 0, shown.err
    (one, *_) = (row["retrieval"] for row in read_questions() if row["retrieval"])
    assert one[0]["score"] == 8.0
    assert all(row["systemAnswer"] for row in read_questions())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"answer": "blue"}', "line 2: a row needs the id of its question"),
        ('{"id": "q1", "answer": ', "line 2: "),
        ('{"id": "q0", "answer": "red"}', "answers the question of line 1; keep one"),
        ('{"id": "q1", "passages": [{}]}', "a passage needs an id, a day or a text"),
    ],
)
def test_a_bad_line_is_named(invoke: Invoke, line: str, problem: str) -> None:
    Path("answers.jsonl").write_text('{"id": "q0", "answer": "blue"}\n' + line + "\n")

    shown = invoke("score", "--answers", "answers.jsonl", *STORY)

    assert shown.code == 3
    assert "answers.jsonl, line 2" in shown.err
    assert problem in shown.err
    assert not Path("run").exists()


def test_a_line_of_a_trec_run_needs_six_columns(invoke: Invoke) -> None:
    Path("mine.trec").write_text("q1 Q0 day-0001 1 9.5 mine\nq2 day-0001 1\n")

    shown = invoke("score", "--rankings", "mine.trec", *STORY)

    assert shown.code == 3
    assert "mine.trec, line 2: is no line of a TREC run" in shown.err


def test_one_file_is_needed(invoke: Invoke) -> None:
    assert invoke("score", *STORY).code == 2
