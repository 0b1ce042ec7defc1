"""The published answers: every row is whole, and the test part shares nothing with the others."""

import json
import lzma
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from recall_bench.features.judges.marked_answers import read_marked_answers

ANSWERS = Path(__file__).parents[3] / "answers"
CARD = (ANSWERS / "README.md").read_text(encoding="utf-8")
FILES = sorted(path.name for path in ANSWERS.glob("*.jsonl.xz"))
TEST_STORIES = {("litigation-attorney", "written-180"), ("financial-advisor", "1000")}


@cache
def load(name: str) -> list[dict[str, Any]]:
    with lzma.open(ANSWERS / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@cache
def load_all() -> list[dict[str, Any]]:
    return [row for name in FILES for row in load(name)]


@pytest.mark.parametrize("name", FILES)
def test_a_judge_can_be_run_on_every_row(name: str) -> None:
    rows = read_marked_answers(ANSWERS / name)

    assert [row.answer for row in rows] == [row["answer"] for row in load(name)]
    assert f"| `{name}` | {len(rows):,} |" in CARD


def test_the_test_part_shares_no_question_no_writer_and_no_story() -> None:
    parts: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for row in load_all():
        if row["split"] != "left out":
            parts[row["split"] == "test"].append(row)
    questions, writers, stories = (
        {is_test: {take(row) for row in rows} for is_test, rows in parts.items()}
        for take in (
            lambda row: (row["persona"], row["edition"], row["question_id"]),
            lambda row: row["writer"],
            lambda row: (row["persona"], row["edition"]),
        )
    )

    assert not questions[True] & questions[False]
    assert not writers[True] & writers[False]
    assert stories[True] - stories[False] >= TEST_STORIES


def test_a_mark_that_counts_is_that_of_two_readers() -> None:
    for row in load_all():
        marks, gold = row["marks"], list(row["gold"].values())
        if "second" not in marks or marks["writer"] == marks["second"]:
            assert gold == marks["writer"]
        else:
            assert gold == marks["third"]


def test_the_card_counts_what_is_there() -> None:
    rows = load_all()
    invented = [row for row in rows if not row["gold"]["grounded"]]
    right = sum(row["gold"]["correctness"] >= 2 for row in invented)
    groups = sum(row["kind"].startswith("group") for row in rows)
    questions = {(row["persona"], row["edition"], row["question_id"]) for row in rows}
    persons = Counter(row["persona"] for row in rows)

    assert f"{len(rows):,} answers to {len(questions):,} questions" in CARD
    assert f"under {len({row['writer'] for row in rows})} briefs" in CARD
    assert f"| {len(invented):,}, of which {right:,} are otherwise right |" in CARD
    assert f"differ in meaning | {groups:,} |" in CARD
    assert len(rows) >= 10_000
    assert 3 * len(invented) >= len(rows)
    assert 2 * right >= len(invented)
    assert all(persons[f"bakery-{code}"] >= 150 for code in ("ar", "de", "es", "ja"))
    assert min(persons["locomo"], persons["longmemeval"]) >= 500


def test_the_card_states_the_agreement_of_the_readers() -> None:
    pairs = [
        (row["marks"]["writer"], row["marks"]["second"])
        for row in load_all()
        if "second" in row["marks"]
    ]
    kappas = [compute_kappa([(first[n], second[n]) for first, second in pairs]) for n in range(3)]

    stated = re.search(r"correctness \.(\d\d), completeness \.(\d\d), grounded \.(\d\d)", CARD)
    assert stated is not None
    assert [f"{kappa:.2f}"[2:] for kappa in kappas] == list(stated.groups())


def compute_kappa(pairs: list[tuple[int, int]]) -> float:
    total = len(pairs)
    first, second = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    chance = sum(first[mark] * second[mark] for mark in first) / total**2
    return (sum(one == other for one, other in pairs) / total - chance) / (1 - chance)
