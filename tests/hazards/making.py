"""Small datasets and systems with a hazard in them, and runs of the real engine over them."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recall_bench.core.errors import SystemFault
from recall_bench.core.event import Answered, NotAnswered, Outcome, TrialResult
from recall_bench.core.memory import Answer, MemorySystem
from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Episode, Question, Scenario
from recall_bench.core.settings import Settings
from recall_bench.core.verdict import Exhibit
from recall_bench.features.datasets.eval_assembly import assemble_evaluation
from recall_bench.features.datasets.eval_report import EvalReport
from recall_bench.features.datasets.evaluation import EvalResult, evaluate
from recall_bench.features.datasets.locomo import load
from recall_bench.features.datasets.question_scores import QuestionScorer, ScoredQuestion
from recall_bench.judging.eval_dataset import EvalRequest, open_dataset
from recall_bench.judging.methodologies import find_methodology
from tests.faulty.fakes import ScriptedSystem
from tests.written_runs import question

NOW = datetime(2026, 5, 24, 12, tzinfo=UTC)
DENIAL = "That was not mentioned in the conversation."
KITE = {"question": "What did Ada buy?", "answer": "a kite", "category": 4, "evidence": ["D1:1"]}
TRAP = {
    "question": "Which boat did Ada sell?",
    "adversarial_answer": "the sloop",
    "category": 5,
    "evidence": ["D2:1"],
}
SAID = {10: ("Good night.",), 2: ("Rain again.",), 1: ("I bought a kite.", "How nice!")}


def chat(
    said: dict[int, tuple[str, ...]] = SAID, qa: Sequence[object] = (KITE, TRAP), name: str = "ada"
) -> object:
    """A conversation in LoCoMo's schema, a session a day; a date after the last has none."""
    told: dict[str, object] = {"session_31_date_time": "9:00 am on 31 May, 2023"}
    for day, texts in said.items():
        told[f"session_{day}_date_time"] = f"9:00 am on {day} May, 2023"
        told[f"session_{day}"] = [
            {"speaker": "Ada", "dia_id": f"D{day}:{place}", "text": text}
            for place, text in enumerate(texts, 1)
        ]
    return {"sample_id": name, "conversation": told, "qa": list(qa)}


def haystack(name: str, answer: object = "seven pears") -> object:
    """A question in LongMemEval's schema, with everything in it that gives gold away."""
    return {
        "question_id": name,
        "question_type": "multi-session",
        "question": "How many pears?",
        "answer": answer,
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["answer_77"],
        "haystack_sessions": [[{"role": "user", "content": "A tree!", "has_answer": True}]],
        "answer_session_ids": ["answer_77"],
    }


def asked_of_alice(
    category: str = "multi-hop",
    answer: object = "At Acme since June",
    aliases: Sequence[str] = ("Acme", "June"),
    source: str = "s1,s2",
) -> object:
    asked = {"id": category, "category": category, "question": "What of Alice?"}
    return asked | {"answer": answer, "answer_aliases": aliases, "source_session": source}


HEARD = ("I joined Acme, out in Juneau.", "I began in June.", "My sister has a Border Collie.")
ALICE = {
    "persona_id": "alice",
    "sessions": [
        {
            "session_id": f"s{day}",
            "date": f"2024-01-0{day}",
            "messages": [{"role": "user", "content": text}],
        }
        for day, text in enumerate(HEARD, 1)
    ],
    "questions": [
        asked_of_alice(),
        asked_of_alice("adversarial", "She has no dog", ("Border Collie", "no dog"), "s3"),
    ],
}
"""Three documents, a question of two facts, and one whose alias is the bait."""


def evaluated(
    folder: Path, content: object, system: MemorySystem | None = None, **wanted: Any
) -> EvalResult:
    """The engine, end to end, on a file of this content; `settings` are those of any run."""
    data, into = folder / "data.json", folder / f"run-{len(list(folder.iterdir()))}"
    data.write_text(json.dumps(content))
    given: dict[str, Any] = {"data": data, "into": into, "heatmap_png": False}
    settings = Settings(**given | wanted.pop("settings", {}))
    usual: dict[str, Any] = {"dataset": "locomo", "reports": folder / "reports", "floors": False}
    request = EvalRequest(settings=settings, **usual | wanted)
    return evaluate(assemble_evaluation(request, open_dataset(request), system))


def reported(
    folder: Path, content: object, system: MemorySystem | None = None, **wanted: Any
) -> EvalReport:
    report = evaluated(folder, content, system, **wanted).report
    assert report is not None
    return report


def says(text: str) -> ScriptedSystem:
    return ScriptedSystem(lambda lived, question: text)


def fails(lived: Sequence[Episode], question: Question) -> str:
    raise SystemFault("no connection")


Loader = Callable[[Path, dict[str, Path]], Sequence[Scenario]]


def loaded(folder: Path, content: object, reader: Loader = load) -> Scenario:
    (folder / "file.json").write_text(json.dumps(content))
    return reader(folder / "file.json", {})[0]


SOME = Trial(scenario="ada", item="q000", checkpoint="end")
FAULT = NotAnswered(at=NOW, trial=SOME, fault="SystemFault", message="down", seconds=1.0)


def scored(
    scenario: Scenario, place: int, reply: Answer | None, protocol: str, **ended: Outcome
) -> ScoredQuestion:
    """What one question gets by a protocol; no reply is a system that failed at it."""
    item, (family, name) = scenario.items[place], protocol.split("/")
    answered = Answered(at=NOW, trial=SOME, answer=reply, seconds=1.0) if reply else None
    outcome = ended.get("outcome") if reply else FAULT
    scorer = QuestionScorer(find_methodology(family, name), scenario, depth=10, with_answers=True)
    return scorer.score(TrialResult(trial=SOME, item=item, answered=answered, outcome=outcome))


def exhibit(answer: Answer) -> Exhibit:
    asked_at = datetime(2024, 1, 1)
    return Exhibit(scenario="s", item=question("pear"), answer=answer, asked_at=asked_at, days=1)
