"""Chats in the shapes of BEAM's files, written for tests."""

import json
from pathlib import Path
from typing import Any

MESSAGES: list[list[dict[str, Any]]] = [
    [
        {
            "role": "user",
            "id": 0,
            "content": "The kiln reaches cone six by noon. ->-> 1,1",
            "time_anchor": "March-15-2024",
        },
        {"role": "assistant", "id": 1, "content": "Noted: cone six."},
    ],
    [
        {"role": "user", "id": 2, "content": "Please always answer in metric units.  ->-> 1,2"},
        {"role": "assistant", "id": 3, "content": "I will."},
    ],
]
LATER: list[list[dict[str, Any]]] = [
    [
        {"role": "user", "id": 4, "content": "The kiln now reaches cone ten. ->-> 2,1"},
        {"role": "assistant", "id": 5, "content": "Cone ten, then."},
    ]
]
BATCHES: list[Any] = [
    {"batch_number": 1, "time_anchor": "March-15-2024", "turns": MESSAGES},
    {"batch_number": 2, "time_anchor": "April-01-2024", "turns": LATER},
]
QUESTIONS: dict[str, list[dict[str, Any]]] = {
    "abstention": [
        {
            "question": "Which glaze does the user like best?",
            "ideal_response": "The chat does not say which glaze the user likes.",
            "difficulty": "easy",
            "rubric": ["LLM response should state: there is no information about a glaze"],
        }
    ],
    "knowledge_update": [
        {
            "question": "Which cone does the kiln reach?",
            "answer": "Cone ten",
            "difficulty": "easy",
            "source_chat_ids": {"original_info": [0], "updated_info": [4]},
            "rubric": ["LLM response should state: cone ten"],
        }
    ],
    "instruction_following": [
        {
            "question": "How wide is a shelf?",
            "expected_compliance": "Response should use metric units",
            "source_chat_ids": [2],
            "rubric": ["LLM response should contain: centimetres", "metric units alone"],
        }
    ],
}


def write_chat(
    folder: Path, chat: object = BATCHES, questions: object = QUESTIONS, name: str = "1"
) -> Path:
    """Write the folder of one chat below a folder of chats, and return the latter."""
    held = folder / name
    (held / "probing_questions").mkdir(parents=True)
    (held / "chat.json").write_text(json.dumps(chat), encoding="utf-8")
    (held / "probing_questions" / "probing_questions.json").write_text(
        json.dumps(questions), encoding="utf-8"
    )
    return folder
