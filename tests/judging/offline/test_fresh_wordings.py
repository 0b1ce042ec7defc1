"""Answers by somebody who had not seen the rules, and the author's own of the same kinds.

`fresh_wordings.jsonl` has questions of the six written editions, drawn by kind, each with two right
and two wrong answers. Version 7 passed 137 of the 156 right ones and 16 of the 156 wrong ones when
it first judged them. `roles_and_orders.jsonl` has more answers of the kinds that it failed: orders
in sentences, the earlier for the later, roles exchanged, the right one as the former one, and
another in the place of the one who did it.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.judging.offline.test_edition_wordings import grade
from tests.loops import loop_over_rows

PASS = 2


@cache
def load_questions(name: str) -> tuple[dict[str, Any], ...]:
    lines = Path(__file__).with_name(f"{name}.jsonl").read_text("utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


def list_passes(name: str, label: str) -> list[bool]:
    return [
        grade(asked, answer) >= PASS for asked in load_questions(name) for answer in asked[label]
    ]


@pytest.mark.parametrize(
    ("name", "least_right", "most_wrong"),
    [("fresh_wordings", 0.94, 0.015), ("roles_and_orders", 0.96, 0.025)],
)
def test_right_answers_pass_and_wrong_ones_fail(
    name: str, least_right: float, most_wrong: float
) -> None:
    right, wrong = list_passes(name, "right"), list_passes(name, "wrong")

    assert sum(right) / len(right) >= least_right
    assert sum(wrong) / len(wrong) <= most_wrong


_OWNER = {
    "question": "Who owns the catering budget now?",
    "category": "decision-tracking",
    "expects": "answer",
    "reference": "Nadia owns it.",
    "atoms": ["Nadia"],
}
_LEADERS = {
    "question": "Who led the refit at first, and who after that?",
    "category": "decision-tracking",
    "expects": "answer",
    "reference": "First Anna, then Ben.",
    "atoms": ["Anna", "Ben"],
}


@loop_over_rows(
    ("asked", "answer"),
    [
        (_OWNER, "Nadia does; she reports it to Dmitri, who signs off."),
        (_OWNER, "Nadia owns it, and Dmitri helps her now."),
        (_OWNER, "Nadia does. Dmitri knows that now."),
        (_LEADERS, "The new refit was led at the start by Anna, with Ben replacing her."),
        (_LEADERS, "Now that I look, originally Anna led it; Ben succeeded her."),
        (_LEADERS, "The last refit was first Anna's job, Ben took it on."),
    ],
)
def test_another_name_or_cue_nearby_does_not_fail_a_right_answer(
    asked: dict[str, Any], answer: str
) -> None:
    """A reviewer's sentences, which the first form of these rules failed."""
    assert grade(asked, answer) >= PASS


@loop_over_rows(
    ("asked", "answer"),
    [
        (_OWNER, "Nadia handed it over to Dmitri, who owns it now."),
        (_OWNER, "It was Nadia's, but Dmitri has it now."),
        (_LEADERS, "First Ben, then Anna."),
        (_LEADERS, "Ben at first and Anna afterwards."),
    ],
)
def test_a_successor_or_the_other_order_fails(asked: dict[str, Any], answer: str) -> None:
    assert grade(asked, answer) < PASS
