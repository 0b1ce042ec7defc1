"""Users and people in the shapes of HaluMem's and RealMem's files, for tests."""

import json
from pathlib import Path
from typing import Any

USER: dict[str, Any] = {
    "uuid": "u-1",
    "persona_info": "Odile, a potter",
    "sessions": [
        {
            "start_time": "Sep 04, 2025, 19:42:11",
            "end_time": "Sep 04, 2025, 19:58:00",
            "memory_points": [
                {
                    "index": 1,
                    "memory_content": "Odile lives in Ghent",
                    "memory_type": "Persona Memory",
                    "memory_source": "secondary",
                    "is_update": "False",
                    "original_memories": [],
                    "importance": 0.9,
                    "timestamp": "Sep 04, 2025, 19:42:11",
                },
                {
                    "index": 2,
                    "memory_content": "Odile owns a bakery",
                    "memory_type": "Event Memory",
                    "memory_source": "interference",
                    "is_update": "False",
                    "original_memories": [],
                    "importance": 0.2,
                },
            ],
            "dialogue": [
                {
                    "role": "user",
                    "content": "I am Odile. Odile lives in Ghent.",
                    "timestamp": "Sep 04, 2025, 19:42:11",
                    "dialogue_turn": 0,
                },
                {"role": "assistant", "content": "Do you still have that bakery?"},
            ],
            "questions": [
                {
                    "question": "Where does Odile live?",
                    "answer": "Ghent",
                    "evidence": [
                        {"memory_content": "Odile lives in Ghent", "memory_type": "Persona Memory"}
                    ],
                    "difficulty": "easy",
                    "question_type": "Basic Fact Recall",
                }
            ],
        },
        {
            "start_time": "Sep 09, 2025, 08:00:00",
            "end_time": "Sep 09, 2025, 08:20:00",
            "memory_points": [
                {
                    "index": 1,
                    "memory_content": "Odile lives in Bruges",
                    "memory_type": "Persona Memory",
                    "memory_source": "primary",
                    "is_update": "True",
                    "original_memories": ["Odile lives in Ghent"],
                    "importance": 0.9,
                }
            ],
            "dialogue": [
                {"role": "user", "content": "I moved. Odile lives in Bruges now."},
                {"role": "assistant", "content": "A lovely town."},
            ],
            "questions": [
                {
                    "question": "Where does Odile live now?",
                    "answer": "Bruges",
                    "evidence": [
                        {"memory_content": "Odile lives in Bruges", "memory_type": "Persona"}
                    ],
                    "difficulty": "easy",
                    "question_type": "Dynamic Update",
                },
                {
                    "question": "What is Odile's cat called?",
                    "answer": "This is unknown.",
                    "evidence": [],
                    "difficulty": "medium",
                    "question_type": "Memory Boundary",
                },
            ],
        },
        {
            "start_time": "Sep 08, 2025, 08:00:00",
            "is_generated_qa_session": True,
            "dialogue": [{"role": "user", "content": "What is 7 times 6?"}],
            "questions": [],
        },
    ],
}

PERSON: dict[str, Any] = {
    "_metadata": {"person_name": "Odile", "total_sessions": 3},
    "dialogues": [
        {
            "session_identifier": "Garden_1:S1_01",
            "session_uuid": "s-1",
            "current_time": "2025-12-15 (Monday)",
            "extracted_memory": [],
            "dialogue_turns": [
                {"speaker": "User", "is_query": True, "content": "Plan a bed?", "query_id": "Q0"},
                {"speaker": "Assistant", "is_query": False, "content": "Leeks in bed seven."},
            ],
        },
        {
            "session_identifier": "Enhanced:1",
            "session_uuid": "s-2",
            "current_time": "2025-12-14 (Sunday)",
            "dialogue_turns": [{"speaker": "User", "content": "How do I boil an egg?"}],
        },
        {
            "session_identifier": "Garden_1:S1_02",
            "session_uuid": "s-3",
            "current_time": "2025-12-20 (Saturday)",
            "dialogue_turns": [
                {
                    "speaker": "User",
                    "is_query": True,
                    "content": "What grows in bed seven?",
                    "query_id": "Q1",
                    "category_name": "Dynamic Incremental",
                },
                {
                    "speaker": "Assistant",
                    "is_query": False,
                    "content": "Leeks, as we planned.",
                    "memory_used": [{"session_uuid": "s-1", "content": "Leeks in bed seven"}],
                    "memory_session_uuids": ["s-1", "s-3", "s-1"],
                },
            ],
        },
    ],
}


def write_users(folder: Path, *users: object) -> Path:
    """Write HaluMem-Medium, and return the file."""
    path = folder / "HaluMem-Medium.jsonl"
    path.write_text("".join(json.dumps(user) + "\n" for user in users or (USER,)))
    return path


def write_person(folder: Path, person: object = PERSON) -> Path:
    """Write the file of a person of RealMem, and return it."""
    path = folder / "Odile_Roux_dialogues_256k.json"
    path.write_text(json.dumps(person))
    return path
