"""Targets that read data: public datasets, personas, transcripts and suites of memories.

What a run records of its data are the cards of its scenarios, which hold digests of the history and
of the questions, beside the digests of the files. A change must show in the cards; only the time of
day of a session, which no system is told, shows in the digests of the files alone.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, time
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.core.plan import Ingest, build_scenario_card
from recall_bench.core.scenario import Scenario
from recall_bench.features.selection.suite import open_suite
from recall_bench.stories.catalogue import find_dataset
from recall_bench.stories.persona import inspect_persona, load_persona
from tests.features.datasets import beam_files, longmemeval_v2_files, newer_files, session_files
from tests.features.selection.suites import write_suite
from tests.fuzz.target import FuzzTarget, Reading, make_file_target, write_files
from tests.gardener import write_persona

CHAT = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat called Fig."},
            {
                "speaker": "Bo",
                "dia_id": "D1:2",
                "text": "Lovely!",
                "blip_caption": "a grey cat",
                "img_url": ["x"],
            },
        ],
        "session_2_date_time": "9:10 am on 3 June, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "Fig is now called Plum."}],
    },
    "qa": [
        {"question": "Who is the cat?", "answer": "Fig", "evidence": ["D1:1"], "category": 4},
        {"question": "How many?", "answer": 1, "evidence": ["D1:1", "D2:1"], "category": 1},
        {
            "question": "What is Bo's dog called?",
            "adversarial_answer": "Fig",
            "evidence": ["D1:2"],
            "category": 5,
        },
    ],
}
_AUDIT = {
    "question_id": "locomo_0_qa0",
    "error_type": "HALLUCINATION",
    "question": "Who is the cat?",
    "golden_answer": "Fig",
    "cited_evidence": ["D1:1"],
    "correct_answer": "Plum",
    "correct_evidence": ["D2:1"],
}
_HAYSTACK = {
    "question_id": "q_7",
    "question_type": "knowledge-update",
    "question": "What is my cat called?",
    "answer": "Plum",
    "question_date": "2023/06/10 (Sat) 23:40",
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
    "haystack_session_ids": ["answer_1", "other_2"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "My cat is called Plum.", "has_answer": True},
            {"role": "assistant", "content": "Noted."},
        ],
        [{"role": "user", "content": "How do I boil an egg?"}],
    ],
    "answer_session_ids": ["answer_1"],
}
_EVIDENCE = {
    "question": "What is the queen called?",
    "answer": "Mabel",
    "message_evidences": [{"speaker": "User", "text": "The queen is called Mabel."}],
    "conversations": [
        {
            "id": "bees",
            "containsEvidence": True,
            "messages": [
                {"speaker": "User", "text": "The queen is called Mabel."},
                {"speaker": "Assistant", "text": "Noted."},
            ],
        },
        {"id": "eggs", "messages": [{"speaker": "User", "text": "How do I boil an egg?"}]},
    ],
    "category": "Home Life",
}
_ASKED = {
    "qid": 0,
    "question": "Which ferry does my aunt steer?",
    "answer": "the Heron",
    "target_step_id": [0],
    "choices": {"B": "the Heron", "A": "the Otter", "D": "the Swift", "C": "the Wren"},
    "ground_truth": "B",
    "time": "'2024-10-12 09:00' Saturday",
}
_MONDAY = "'2024-10-07 08:05' Monday"
_FIRST = {
    "tid": 7,
    "message_list": [
        [
            {"user_message": "She steers the Heron.", "assistant_message": "Ah.", "time": _MONDAY},
            {"user_message": "Her cat is Anchor.", "assistant_message": "Ah.", "time": _MONDAY},
        ]
    ],
    "QA": _ASKED,
}
_THIRD = {
    "tid": 7,
    "message_list": [
        {"mid": 0, "message": "My aunt steers the Heron.", "time": _MONDAY},
        {"mid": 1, "message": "Her cat is Anchor.", "time": _MONDAY},
    ],
    "QA": _ASKED,
}
_CHAIN = {
    "id": 3,
    "base_person": {
        "name": "Odile",
        "query": "I am Odile. I want to see Ghent.",
        "daily_plans": [{"days": 1, "current_city": "Ghent", "lunch": "-", "dinner": None}],
    },
    "questions": ["I am Per. I join Odile for lunch.", "I am Ada. I join Per."],
    "answers": [[{"days": 1, "current_city": "Ghent"}], "the same"],
    "backgrounds": ["It rains.", "It is dry."],
}
_ROWS = """\
question_id,question_type,user_question_or_message,correct_answer,all_options,shared_context_id,\
end_index_in_shared_context
u-1,recall_user_shared_facts,Rowing?,(b),"[""(a) You love it."", ""(b) You gave it up.""]",ctx-1,4
u-2,recall_user_shared_facts,"And now, well?",(a),"['(a) It''s off.', '(b) On.']",ctx-1,2
"""
_CONTEXT = {
    "ctx-1": [
        {"role": "system", "content": "Current user persona: Ines."},
        {"role": "user", "content": "User: I took up rowing."},
        {"role": "assistant", "content": "Assistant: On the river?"},
        {"role": "user", "content": "User: I gave it up."},
    ]
}
_PERSONA = {
    "persona_id": "marta",
    "description": "Marta keeps bees.",
    "sessions": [
        {
            "session_id": "bees",
            "date": "2023-04-02",
            "messages": [
                {"role": "user", "content": "I set up two hives."},
                {"role": "assistant", "content": "Which bees?"},
            ],
        },
        {
            "session_id": "cello",
            "date": "2023-06-18",
            "messages": [{"role": "user", "content": "My teacher is called Oskar."}],
        },
    ],
    "questions": [
        {
            "id": "sale",
            "category": "multi-hop",
            "question": "Who teaches Marta, and how many hives has she?",
            "answer": "Oskar teaches her; two hives",
            "answer_aliases": ["Oskar", "two hives"],
            "source_session": "cello, bees",
        },
        {
            "id": "goat",
            "category": "adversarial",
            "question": "What is Marta's goat called?",
            "answer": "Marta does not keep a goat",
            "answer_aliases": ["Oskar", "no goat"],
            "source_session": "none",
            "note": "Oskar is the teacher.",
        },
    ],
}


def _spell(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1)


def _spell_lines(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _make_dataset_target(
    name: str, files: Mapping[str, str], *, layers: Mapping[str, str] | None = None
) -> FuzzTarget:
    def look(folder: Path) -> Reading:
        data = folder if len(files) > 1 and not layers else folder / next(iter(files))
        overlaid = {key: folder / path for key, path in (layers or {}).items()}
        return describe_scenarios(find_dataset(name).load(data, overlaid))

    return make_file_target(
        f"dataset {name}" + (", corrected" if layers else ""), write_files(files), look
    )


def describe_scenarios(scenarios: Iterable[Scenario]) -> Reading:
    """The scenarios, whose fields have their types, and the cards by which a run knows them."""
    held = tuple(scenarios)
    for each in held:
        msgspec.convert(msgspec.to_builtins(each), Scenario)
    return Reading(tuple(map(_drop_times, held)), tuple(map(build_scenario_card, held)))


def _drop_times(scenario: Scenario) -> Scenario:
    midnight = (
        each.replace(at=datetime.combine(each.at.date(), time())) for each in scenario.episodes
    )
    return scenario.replace(episodes=tuple(midnight))


def _write_persona(folder: Path) -> None:
    made = write_persona(folder, days=3)
    (made / "arcs-10d.yaml").write_text(
        'epoch: "2025-04-01"\narcs:\n  - id: planting\n    type: project\n    title: Planting\n'
        "    description: A bed a day.\n    startDay: 1\n    endDay: 3\n"
        "    primarySession: principal\n    directives:\n      - day: 2\n        event: Rain.\n"
    )
    (made / "tools-10d").mkdir()
    (made / "conversations-10d").mkdir()
    for day in range(1, 4):
        (made / "tools-10d" / f"day-{day:04}.yaml").write_text(
            f'day: {day}\ndate: "2025-04-0{day}"\ncalls:\n'
            '  - session: principal\n    tool: note\n    content: "Bed 7."\n'
        )
        (made / "conversations-10d" / f"conv-{day:04}.json").write_text(
            '[{"role": "user", "content": "Leeks?"}, {"role": "assistant", "content": "Bed 7."}]'
        )


def _look_at_persona(ingest: Ingest) -> Callable[[Path], Reading]:
    def look(folder: Path) -> Reading:
        inspected = inspect_persona(folder / "gardener", arcs="arcs-10d.yaml", ingest=ingest)
        scenario = load_persona(folder / "gardener", arcs="arcs-10d.yaml", ingest=ingest)
        if inspected.card != (made := build_scenario_card(scenario)):
            raise AssertionError(f"inspected as {inspected.card}, loaded as {made}")
        return Reading(scenario, (made, tuple(inspected.warnings)))

    return look


def _write_suite(folder: Path) -> None:
    write_suite(folder)
    (folder / "memory" / "parts.md").write_text(
        "---\ndescription: When firing.\ntags: [kiln, glaze]\n---\n# Parts\n"
        '<memory-metadata>\n{"title": "Parts", "n": 3}\n</memory-metadata>\n'
        "<conditional>When it is hot.</conditional>\n<memory>\nThe kiln is hot.\n</memory>\n"
    )
    (folder / "tests" / "older.bench").write_text(
        "# Generated: 2026-02-11T19:02:44+01:00\n# Strength: loosely\n# Memory count: 1\n\n"
        "[expected]\nmemory/kiln.md\n\n[prompt-data]\nstrength=1\n\n[prompt]\nHow hot?\n"
    )


def _look_at_suite(folder: Path) -> Reading:
    suite = open_suite(folder / "memory", folder / "tests")
    scenario = suite.build_scenario()
    return Reading((suite.memories, suite.tests), (suite.files, suite.corpus_digest, scenario))


def list_dataset_targets() -> Sequence[FuzzTarget]:
    """Every loader of a public dataset, and of our own formats."""
    rows: dict[str, Any] = {
        "bundled_shopping": _CHAIN,
        "progressive_search": _CHAIN,
        "group_travel_planner": _CHAIN,
        "formal_reasoning_math": _CHAIN,
        "formal_reasoning_phys": _CHAIN,
    }
    return (
        _make_dataset_target("locomo", {"locomo10.json": _spell([CHAT])}),
        _make_dataset_target(
            "locomo",
            {"locomo10.json": _spell([CHAT]), "audit.json": _spell([_AUDIT])},
            layers={"audit": "audit.json"},
        ),
        _make_dataset_target("longmemeval-s", {"longmemeval_s_cleaned.json": _spell([_HAYSTACK])}),
        _make_dataset_target(
            "convomem",
            {
                "user_evidence/1_evidence/one.json": _spell({"evidence_items": [_EVIDENCE]}),
                "abstention_evidence/2_evidence/two.json": _spell({"evidence_items": [_EVIDENCE]}),
            },
        ),
        _make_dataset_target("membench-first", {"FirstAgent/a.json": _spell({"roles": [_FIRST]})}),
        _make_dataset_target("membench-third", {"ThirdAgent/a.json": _spell({"roles": [_THIRD]})}),
        _make_dataset_target(
            "memoryarena", {f"{name}/data.jsonl": json.dumps(row) for name, row in rows.items()}
        ),
        _make_dataset_target(
            "personamem-32k",
            {
                "questions_32k.csv": _ROWS.replace("\n", "\r\n"),
                "shared_contexts_32k.jsonl": json.dumps(_CONTEXT) + "\n",
            },
        ),
        _make_dataset_target(
            "beam-100k",
            {
                "1/chat.json": _spell(beam_files.BATCHES),
                "1/probing_questions/probing_questions.json": _spell(beam_files.QUESTIONS),
            },
        ),
        _make_dataset_target(
            "longmemeval-v2-small",
            {
                "questions.jsonl": _spell_lines(longmemeval_v2_files.QUESTIONS),
                "trajectories.jsonl": _spell_lines(longmemeval_v2_files.TRAJECTORIES),
                "haystacks/lme_v2_small.json": _spell(longmemeval_v2_files.HAYSTACKS),
            },
        ),
        _make_dataset_target(
            "memoryagentbench",
            {"rows.jsonl": _spell_lines([newer_files.FACTS, newer_files.SUMMARY])},
        ),
        _make_dataset_target("personamem-v2-32k", newer_files.list_personamem_files()),
        _make_dataset_target("perltqa", newer_files.list_perltqa_files()),
        _make_dataset_target(
            "halumem-medium", {"HaluMem-Medium.jsonl": _spell_lines([session_files.USER])}
        ),
        _make_dataset_target(
            "realmem", {"Odile_dialogues_256k.json": _spell(session_files.PERSON)}
        ),
        _make_dataset_target("persona-json", {"marta.json": _spell(_PERSONA)}),
        make_file_target("persona", _write_persona, _look_at_persona(Ingest.DAYS)),
        *(
            make_file_target(
                f"persona {ingest.value}", _write_persona, _look_at_persona(ingest), files=(files,)
            )
            for ingest, files in (
                (Ingest.CONVERSATIONS, "conv-*.json"),
                (Ingest.TOOL_CALLS, "tools-10d/*.yaml"),
            )
        ),
        make_file_target("suite of memories", _write_suite, _look_at_suite),
    )
