"""Datasets small enough to hold in the head, in the schemas they are published in.

Ada buys a kayak, paints it green and sells it; Cleo, in a conversation of her own, grows lemons.
Both conversations have a session 10, and each of them tells something else there.
"""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from recall_bench.core.memory import MemorySystem, Passage, RetrievalReply
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.settings import Settings
from recall_bench.features.datasets.eval_assembly import AssembledEval, assemble_evaluation
from recall_bench.features.datasets.eval_groups import ALL, EvalEstimate
from recall_bench.features.datasets.eval_report import EvalReport
from recall_bench.features.datasets.evaluation import EvalResult, evaluate
from recall_bench.features.datasets.question_scores import ScoredQuestion
from recall_bench.judging.eval_dataset import EvalRequest, open_dataset
from tests.engine.finders import Finder

BOUGHT = "I bought a kayak in Lisbon last spring."
PAINTED = "The kayak is green now, I painted it."
SOLD = "I sold the kayak to Tomas for ninety euros."
CHESS = "My sister Mira teaches chess at the library."
RED = "Lovely, was it red when you found it?"
FRIDAY = "The chess club has moved to Friday evenings."
LEMONS = "My lemon tree bore forty lemons this year."
FROST = "Frost took the leaves of my lemon tree."

WHERE, WHAT, WHEN, RIVER, BAIT = (
    "Where did Ada buy her kayak?",
    "What did Ada buy, and to whom did she sell it?",
    "When did Ada sell the kayak?",
    "Would Ada enjoy a day on the river?",
    "Where did Bo buy his kayak?",
)
HARVEST, CLEOS = "How many lemons did the tree of Cleo bear?", "Who bought the kayak of Cleo?"


def _conversation(name: str, sessions: Mapping[int, Sequence[tuple[str, str]]]) -> dict[str, Any]:
    chat: dict[str, Any] = {"speaker_a": "Ada", "speaker_b": "Bo"}
    for number, said in sessions.items():
        chat[f"session_{number}_date_time"] = f"1:56 pm on {number} May, 2023"
        chat[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{place}", "text": text}
            for place, (speaker, text) in enumerate(said, start=1)
        ]
    return {"sample_id": name, "conversation": chat, "qa": []}


def _asked(category: int, question: str, answer: str, *evidence: str) -> dict[str, Any]:
    key = "adversarial_answer" if category == 5 else "answer"
    return {"question": question, key: answer, "category": category, "evidence": list(evidence)}


def locomo_conversations() -> list[dict[str, Any]]:
    """Two conversations and seven questions, of which one cites nothing and two are traps."""
    ada = _conversation(
        "conv-1",
        {
            1: [("Ada", BOUGHT), ("Bo", RED)],
            2: [("Ada", PAINTED), ("Bo", CHESS), ("Ada", "Chess is not for me.")],
            10: [("Ada", SOLD), ("Bo", FRIDAY)],
        },
    )
    ada["qa"] = [
        _asked(4, WHERE, "Lisbon", "D1:1"),
        _asked(1, WHAT, "a kayak, Tomas", "D1:1", "D10:1"),
        _asked(2, WHEN, "10 May 2023", "D10:1"),
        _asked(3, RIVER, "Likely yes"),
        _asked(5, BAIT, "Lisbon", "D1:1"),
    ]
    cleo = _conversation("conv-2", {1: [("Cleo", LEMONS)], 10: [("Cleo", FROST)]})
    cleo["qa"] = [_asked(4, HARVEST, "forty", "D1:1"), _asked(5, CLEOS, "Tomas", "D10:1")]
    return [ada, cleo]


def write_locomo(path: Path) -> Path:
    """The two conversations in a file."""
    path.write_text(json.dumps(locomo_conversations()), encoding="utf-8")
    return path


def lme_question(
    name: str, kind: str, *sessions: Sequence[tuple[str, str, bool]], gold: Sequence[int] = (0,)
) -> dict[str, Any]:
    """One question of LongMemEval: its sessions as (role, text, whether it answers)."""
    ids = [f"answer_{name}_{n}" if n in gold else f"{n:08x}" for n in range(len(sessions))]
    return {
        "question_id": name,
        "question_type": kind,
        "question": f"What about {name}?",
        "answer": f"the {name} one",
        "question_date": "2023/06/30 (Fri) 12:00",
        "haystack_dates": [f"2023/05/{n + 1:02} (Mon) 10:00" for n in range(len(sessions))],
        "haystack_session_ids": ids,
        "haystack_sessions": [
            [
                {"role": role, "content": text, **({"has_answer": holds} if n in gold else {})}
                for role, text, holds in session
            ]
            for n, session in enumerate(sessions)
        ],
        "answer_session_ids": [ids[n] for n in gold],
    }


def longmemeval_questions() -> list[dict[str, Any]]:
    """Four questions: of two types, one answered by the assistant alone, one with no answer."""

    def told(text: str) -> list[tuple[str, str, bool]]:
        return [("user", text, True), ("assistant", f"Noted: {text[:9]}", False)]

    def idle(text: str) -> list[tuple[str, str, bool]]:
        return [("user", text, False), ("assistant", "I see.", False)]

    longer = [*idle(CHESS), ("user", "Chess is not for me.", False)]
    said_by_assistant = [("user", "Suggest a tea.", False), ("assistant", "Take oolong.", True)]
    return [
        lme_question("boat", "multi-session", told(BOUGHT), longer, told(SOLD), gold=(0, 2)),
        lme_question("paint", "single-session-user", told(PAINTED), idle(FRIDAY)),
        lme_question("tea", "single-session-assistant", said_by_assistant, idle(LEMONS)),
        lme_question("yacht_abs", "single-session-user", idle(BOUGHT), idle(FROST)),
    ]


def write_longmemeval(path: Path) -> Path:
    """The four questions in a file."""
    path.write_text(json.dumps(longmemeval_questions()), encoding="utf-8")
    return path


PERSONA: dict[str, Any] = {
    "persona_id": "ada",
    "sessions": [
        {
            "session_id": name,
            "date": f"2023-05-{day:02}",
            "messages": [{"role": "user", "content": one}, {"role": "assistant", "content": other}],
        }
        for day, (name, one, other) in enumerate(
            [
                ("buying", BOUGHT, "Which river will you paddle?"),
                ("painting", PAINTED, CHESS),
                ("selling", SOLD, "A fair price."),
            ],
            start=1,
        )
    ],
    "questions": [
        {
            "id": "where",
            "category": "single-hop",
            "question": WHERE,
            "answer": "Lisbon",
            "source_session": "buying",
        },
        {
            "id": "both",
            "category": "multi-hop",
            "question": "Where was it bought, and who has it now?",
            "answer": "Lisbon, and Tomas has it now",
            "answer_aliases": [["Lisbon"], ["Tomas"]],
            "source_session": "buying, selling",
        },
        {
            "id": "bait",
            "category": "adversarial",
            "question": "Which canoe did Ada buy?",
            "answer": "Ada never bought a canoe",
            "answer_aliases": ["kayak"],
            "source_session": "none",
        },
    ],
}


def write_persona(path: Path) -> Path:
    """Ada's story as simple JSON."""
    path.write_text(json.dumps(PERSONA), encoding="utf-8")
    return path


def write_personamem(folder: Path) -> Path:
    """Two questions with two options each, of which the longer is right."""
    folder.mkdir()
    rows = [
        ("(b)", "(a) You row daily.", "(b) You gave it up last winter."),
        ("(a)", "(a) You hurt your back rowing.", "(b) Your knee."),
    ]
    with (folder / "questions_32k.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                *("question_id", "question_type", "user_question_or_message", "correct_answer"),
                *("all_options", "shared_context_id", "end_index_in_shared_context"),
            ]
        )
        for number, (right, *options) in enumerate(rows):
            asked = f"Rowing, {number}?"
            row = [f"u-{number}", "recall_user_shared_facts", asked, right, json.dumps(options)]
            writer.writerow([*row, "ctx-1", "3"])
    chat = [("system", "Current user persona: Ines."), ("user", "User: I gave up rowing.")]
    chat.append(("assistant", "Assistant: Your back?"))
    messages = [{"role": role, "content": text} for role, text in chat]
    line = json.dumps({"ctx-1": messages})
    (folder / "shared_contexts_32k.jsonl").write_text(line + "\n", encoding="utf-8")
    return folder


Replies = Mapping[str, Sequence[str]]
"""By question, the texts that are returned to it, best first."""


def finding(replies: Replies, *, otherwise: Sequence[str] = ()) -> Finder:
    """A system that only finds, and finds what it is told to."""

    def reply(_: Sequence[Episode], question: Question) -> RetrievalReply:
        texts = replies.get(question.text, otherwise)
        return RetrievalReply(passages=tuple(Passage(text=text) for text in texts))

    return Finder(reply)


def request_for(dataset: str, data: Path, home: Path, **given: Any) -> EvalRequest:
    """A request with everything below `home`; fields of `Request` and of `Settings` by name."""
    named = {name: given.pop(name) for name in list(given) if name in EvalRequest.__slots__}
    given = {"into": home / "run", "heatmap_png": False, **given}
    named = {"reports": home / "reports", **named}
    return EvalRequest(dataset=dataset, settings=Settings(data=data, **given), **named)


def assembled(request: EvalRequest, system: MemorySystem | None = None) -> AssembledEval:
    """The request with its dataset opened, ready to run."""
    return assemble_evaluation(request, open_dataset(request), system)


def run_request(
    request: EvalRequest,
    system: MemorySystem | None = None,
    on_control: Callable[[str], None] = lambda name: None,
) -> EvalResult:
    """The whole of it: asked, measured and reported."""
    return evaluate(assembled(request, system), on_control=on_control)


def report_on(request: EvalRequest, system: MemorySystem | None = None) -> EvalReport:
    """The report of an evaluation that came to its end."""
    found = run_request(request, system).report
    assert found is not None
    return found


def figures(report: EvalReport, group: str = ALL) -> dict[str, EvalEstimate]:
    """The figures of one group."""
    return next(each.figures for each in report.groups if each.name == group)


def means(report: EvalReport, group: str = ALL) -> dict[str, float]:
    """The same without their counts."""
    return {name: each.mean for name, each in figures(report, group).items()}


def question(report: EvalReport, item: str, scenario: str = "conv-1") -> ScoredQuestion:
    """One question as the report has it."""
    (found,) = (e for e in report.questions if (e.scenario, e.item) == (scenario, item))
    return found
