"""Answers in everyday words to questions like those of the written editions.

`everyday_wordings.jsonl` has one question a line, with right and wrong answers of the kinds that
are hardest for rules: far paraphrases, stances, directions, yes and no, hedges, speakers. Rules
were made with the part `development` in view; the part `reported` was only counted, and says how
far they carry.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.judging.offline.test_wordings import grade
from tests.loops import loop_over_rows

QUESTIONS = [
    json.loads(line)
    for line in Path(__file__).with_name("everyday_wordings.jsonl").read_text("utf-8").splitlines()
]
PASS = 2


def count_passes(part: str, label: str) -> float:
    """The share of a part's answers with a label that pass."""
    graded = [
        grade(asked, answer) >= PASS
        for asked in QUESTIONS
        if asked["part"] == part
        for answer in asked[label]
    ]
    return sum(graded) / len(graded)


@pytest.mark.parametrize(
    ("part", "least_right", "most_wrong"), [("development", 0.89, 0.04), ("reported", 0.7, 0.17)]
)
def test_right_answers_pass_and_wrong_ones_fail(
    part: str, least_right: float, most_wrong: float
) -> None:
    assert count_passes(part, "right") >= least_right
    assert count_passes(part, "wrong") <= most_wrong


def find_question(start: str) -> dict[str, Any]:
    return next(asked for asked in QUESTIONS if asked["question"].startswith(start))


@loop_over_rows(
    ("start", "answer", "passes"),
    [
        ("Who proposed to lower", "Anahit Sargsyan put that forward.", True),
        ("Who proposed to lower", "Freya Lindholt proposed it to Anahit Sargsyan.", False),
        ("Is the new room larger", "Not as large as the old one.", True),
        ("Is the new room larger", "The old one was smaller.", False),
        ("How many banks had", "Between 6 and 8 banks.", False),
        ("Did more people come", "They did not.", False),
    ],
)
def test_the_kinds_one_by_one(start: str, answer: str, passes: bool) -> None:
    assert (grade(find_question(start), answer) >= PASS) is passes
