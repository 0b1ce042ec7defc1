"""Small files in the shapes of MemoryAgentBench, PersonaMem-v2 and PerLTQA, for tests."""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FACTS = {
    "context": "Here is a list of facts:\n0. Ada lives in Ghent.\n1. Ada lives in Bruges.\n",
    "questions": ["Where does Ada live?", "Who lives in Bruges?"],
    "answers": [["Bruges", "Brugge", "Bruges"], ["Ada"]],
    "metadata": {
        "source": "factconsolidation_sh_6k",
        "qa_pair_ids": ["a", "b"],
        "question_ids": None,
        "keypoints": None,
    },
}
EXAMPLES = {
    "context": "what is my balance\nlabel: 15\nlost my card\nlabel: 5\n",
    "questions": ["my card is gone"],
    "answers": [["5"]],
    "metadata": {"source": "icl_banking77_5900shot_balance"},
}
SUMMARY = {
    "context": "Odile opened a kiln. " * 4,
    "questions": ["Summarise the book."],
    "answers": [["Odile opens a kiln."]],
    "metadata": {"source": "infbench_sum_eng_shots2", "keypoints": ["a kiln is opened"]},
}
MOVIES = {
    "context": "A: any film? B: Heat.",
    "questions": ["A film, please."],
    "answers": [["17"]],
    "metadata": {"source": "recsys_redial_full"},
}

HISTORY: dict[str, Any] = {
    "metadata": {"persona_id": 7},
    "chat_history": [
        {"role": "system", "content": "The user is a rower."},
        {"role": "user", "content": "Fix this letter: I row at dawn before work."},
        {"role": "assistant", "content": "Here it is."},
        {"role": "user", "content": "Do not remember that I sold my boat."},
        {"role": "assistant", "content": "Understood."},
    ],
}
LINK = "data/chat_history_32k/chat_history_persona7.json"
ROWS = [
    {
        "persona_id": "7",
        "chat_history_32k_link": LINK,
        "chat_history_128k_link": LINK,
        "user_query": json.dumps({"role": "user", "content": "Plan my morning."}),
        "correct_answer": "Row first, then breakfast.",
        "incorrect_answers": json.dumps(["Sleep in.", "Go for a swim.", "Read the news."]),
        "pref_type": "neutral_preferences",
        "related_conversation_snippet": str([HISTORY["chat_history"][1]]),
        "preference": "Rows at dawn",
    },
    {
        "persona_id": "7",
        "chat_history_32k_link": LINK,
        "chat_history_128k_link": LINK,
        "user_query": str({"role": "user", "content": "What should I buy?"}),
        "correct_answer": "What do you need?",
        "incorrect_answers": str(["A new boat.", "An oar's cover.", "A boat shed."]),
        "pref_type": "ask_to_forget",
        "related_conversation_snippet": "",
        "preference": "Do not remember the boat",
    },
]

MEMORIES: dict[str, Any] = {
    "Odile Roux": {
        "profile": {"Occupation": "potter", "Hobby": "rowing"},
        "profile_description": "Odile is a potter.",
        "social_relationship": str(
            {
                "1_0": {
                    "Supporting Characters": "Per Lund",
                    "Relationship": "teacher",
                    "Description": "Per taught Odile to row.",
                }
            }
        ),
        "events": {
            "4_0_0": {"content": "Odile burnt a vase.", "Creation Time": "2023-03-01 10:00"}
        },
        "dialogues": {
            "4_0_0#0": {
                "events": "4_0_0",
                "contents": {"2023-03-02 18:00": ["Per Lund: What broke?", "Odile Roux: A vase."]},
            }
        },
    }
}
ASKED: list[dict[str, Any]] = [
    {
        "Odile Roux": {
            "profile": [
                {
                    "Question": "What does Odile do?",
                    "Answer": "She is a potter.",
                    "Reference Memory": "Occupation",
                }
            ],
            "social_relationship": [
                {
                    "1_0": [
                        {
                            "Question": "Who taught Odile to row?",
                            "Answer": "Per Lund",
                            "Reference Memory": "['1_0']",
                        }
                    ]
                }
            ],
            "events": [],
            "dialogues": [
                {
                    "4_0_0#0": [
                        {
                            "Question": "What did Odile tell Per?",
                            "Answer": "That a vase broke.",
                            "Reference Memory": "['4_0_0#0', '9_9_9#9']",
                        }
                    ]
                }
            ],
        }
    },
    {"Nobody": {"profile": []}},
]


def spell_rows(rows: list[dict[str, str]]) -> str:
    """Spell rows as CSV."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def list_personamem_files() -> dict[str, str]:
    """The files of a release of PersonaMem-v2, by path."""
    return {"benchmark/text/benchmark.csv": spell_rows(ROWS), LINK: json.dumps(HISTORY)}


def list_perltqa_files() -> dict[str, str]:
    """Both files of PerLTQA, by path."""
    return {
        "perltmem_en_v2.json": json.dumps(MEMORIES),
        "perltqa_en_v2.json": json.dumps(ASKED),
    }


def write_all(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder, and return it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder
