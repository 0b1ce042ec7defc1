"""Right answers in many wordings, and wrong ones that come close: each rule from several sides.

`wordings.jsonl` has one question a line, with its truth and the answers.
"""

import json
from pathlib import Path
from typing import Any

from tests.judging.harbour import item, marks
from tests.loops import loop_over_rows

QUESTIONS = [
    json.loads(line)
    for line in Path(__file__).with_name("wordings.jsonl").read_text("utf-8").splitlines()
]


def grade(asked: dict[str, Any], answer: str) -> int:
    question = item(
        asked["question"],
        asked["reference"],
        atoms=tuple(asked["atoms"]),
        stale=tuple(asked.get("stale", ())),
    )
    return marks(question, answer, days=20)[0]


@loop_over_rows(
    ("asked", "answer"), [(asked, answer) for asked in QUESTIONS for answer in asked["right"]]
)
def test_a_right_answer_passes_in_other_words(asked: dict[str, Any], answer: str) -> None:
    assert grade(asked, answer) >= 2


@loop_over_rows(
    ("asked", "answer"), [(asked, answer) for asked in QUESTIONS for answer in asked["wrong"]]
)
def test_a_wrong_answer_fails_however_close_it_comes(asked: dict[str, Any], answer: str) -> None:
    assert grade(asked, answer) < 2
