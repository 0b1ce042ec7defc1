"""Questions, trajectories and haystacks in the shapes of LongMemEval-V2's files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "0a1",
        "domain": "web",
        "environment": "pottery-shop",
        "question_type": "static-environment",
        "question": "Which button closes an order?",
        "image": None,
        "answer": "Seal order",
        "eval_function": "norm_phrase_set_match|lower=true|separators=,;",
    },
    {
        "id": "0a2",
        "domain": "web",
        "environment": "pottery-shop",
        "question_type": "procedure-abs",
        "question": "How do I print an order from the glaze page?",
        "image": None,
        "answer": "There is no glaze page.",
        "eval_function": "llm_abstention_checker|require_non_empty=true",
    },
    {
        "id": "0a3",
        "domain": "web",
        "question_type": "errors-gotchas",
        "question": "What goes wrong here?",
        "image": "question_screenshots/0a3.png",
        "answer": "It needs two clicks.",
        "eval_function": "llm_gotchas_checker",
    },
]
TRAJECTORIES: list[dict[str, Any]] = [
    {
        "id": "t1",
        "domain": "web",
        "goal": "Close the order of Ada.",
        "start_url": "http://shop.example/orders",
        "outcome": "success",
        "states": [
            {
                "state_index": 0,
                "url": "http://shop.example/orders",
                "action": "click [12]",
                "thought": "The order is listed.",
                "accessibility_tree": "[12] button 'Seal order'",
                "screenshot": "screenshots/t1/0.png",
            }
        ],
    },
    {
        "id": "t2",
        "domain": "web",
        "goal": ["Look up", "a glaze."],
        "states": [{"url": "http://shop.example/help", "thoughts": "No glazes.", "text": "help"}],
    },
]
HAYSTACKS = {"0a1": ["t1", "t2"], "0a2": ["t1", "t2"], "0a3": ["t2"]}


def write_release(
    folder: Path,
    questions: Sequence[object] = QUESTIONS,
    trajectories: Sequence[object] = TRAJECTORIES,
    haystacks: object = HAYSTACKS,
) -> Path:
    """Write the files of the small tier into a folder, and return it."""
    (folder / "haystacks").mkdir(parents=True)
    for name, rows in (("questions", questions), ("trajectories", trajectories)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "haystacks" / "lme_v2_small.json").write_text(json.dumps(haystacks))
    return folder
