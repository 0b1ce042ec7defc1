"""A small story, a model that follows a script, and a checker that only looks for one word."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from recall_bench.core.usage import Usage
from recall_bench.features.personas.checks.check_result import (
    ProblemKind,
    QuestionCheck,
    QuestionProblem,
)
from recall_bench.features.personas.pass_request import QuestionsRequest
from recall_bench.features.personas.pass_run import PassResult
from recall_bench.features.personas.questions.question_pass import generate_questions
from recall_bench.stories.persona_files import Layout
from recall_bench.systems.models.model import Finish, Prompt, Reply

DAYS = 14
_BLOCK = re.compile(r"<<day (\d+), [^>]*>>\n(.*?)\n<<end of", re.DOTALL)
STRANGE = """\
# Written by hand; mind the comma.
- id: mill-q007   # not in order
  question: 'Who runs the mill?'
  answer: "Ann Miller"
  category: factual-recall
  difficulty: easy
  relevant_days: [ 1,2 ]
  irrelevant_after: 90
  reviewed_by: {name: Tom, on: 2025-03-04}

- {id: mill-q003, question: Why?, answer: No reason., category: synthesis, difficulty: hard,
   relevant_days: [3]}   # no newline at the end"""


_PERSONA = """\
id: mill
name: Reed
role: assistant
domain: milling
team_size: 3
profile: Keeps the log.
communication_style: Short.
principal: {name: Ann Miller, role: Owner}
sessions:
  - {id: principal, kind: 1to1, participants: [Ann Miller]}
  - {id: yard, kind: group, participants: [Ann Miller, Tom Carter]}
  - {id: bank, kind: group, participants: [Ann Miller, Lea Banks], isolated: true}
"""
_ARCS = """\
epoch: "2025-03-03"
arcs:
  - {id: wheel, type: project, title: The new wheel, description: Long., startDay: 1, endDay: 14,
     primarySession: yard, directives: [{day: 2, event: Ordered}]}
  - {id: loan, type: decision, title: The loan of autumn, description: Later., startDay: 9,
     endDay: 14, primarySession: bank}
"""


def write_story(folder: Path, days: int = DAYS) -> Path:
    """A persona with one open group, one closed one, and a log for every day."""
    memories = folder / "memories-14d"
    memories.mkdir(parents=True)
    (folder / "persona.yaml").write_text(_PERSONA, encoding="utf-8")
    (folder / "arcs-14d.yaml").write_text(_ARCS, encoding="utf-8")
    for day in range(1, days + 1):
        write_day(folder, day)
    return folder


def write_day(folder: Path, day: int) -> None:
    text = "---\ntype: daily\n---\n\n# session: principal\n"
    text += f"\nThe mill ground {day + 40} sacks today.\n"
    text += f"\n# session: yard\n\nTom Carter wants plank number {day} replaced.\n"
    if day % 2:
        text += f"\n# session: bank\n\nLea Banks offered a loan of £{day},500 at noon.\n"
    (folder / "memories-14d" / f"day-{day:04}.md").write_text(text, encoding="utf-8")


def blocks(prompt: Prompt) -> dict[int, str]:
    """The days a prompt shows."""
    return {int(day): text for day, text in _BLOCK.findall(prompt.user)}


def candidate(day: int, **fields: object) -> dict[str, object]:
    return {
        "question": f"How many sacks were ground on {day + 2} March 2025?",
        "answer": f"{day + 40} sacks.",
        "category": "factual-recall",
        "difficulty": "easy",
        "relevant_days": [day],
        "requires_synthesis": False,
        "evidence": [
            {"day": day, "session": "principal", "quote": f"ground {day + 40} sacks today"}
        ],
        "aliases": [],
        "atoms": [f"{day + 40}"],
        "twin": None,
    } | fields


def usual(prompt: Prompt) -> str:
    """A question on each of the last seven days shown, one of which the checker dislikes."""
    return json.dumps({"questions": _written(prompt)})


def repeating(prompt: Prompt) -> str:
    """The same, and one that every window repeats."""
    return json.dumps({"questions": [*_written(prompt), candidate(2)]})


def _written(prompt: Prompt) -> list[dict[str, object]]:
    days = sorted(blocks(prompt))[-7:]
    found = [candidate(day) for day in days]
    found[0]["question"] = f"DISLIKED: {found[0]['question']}"
    return found


class Scripted:
    """Replies as the script says, and remembers what it was asked."""

    name = "scripted"
    is_priced = True

    def __init__(self, script: Callable[[Prompt], str | Reply] = usual) -> None:
        self.asked: list[Prompt] = []
        self._script = script

    async def complete(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        # Later windows are answered first.
        await anyio.sleep(0.01 / len(self.asked))
        said = self._script(prompt)
        if isinstance(said, Reply):
            return said
        return Reply(text=said, usage=Usage(calls=1), finish=Finish.STOP)

    async def close(self) -> None:
        pass


class OneWord:
    """Finds everything sound but what holds the word DISLIKED or was asked before."""

    def __init__(self, known: Iterable[Mapping[str, object]] = ()) -> None:
        self.kept = list(known)

    def check(self, entry: Mapping[str, object]) -> QuestionCheck:
        text = str(entry["question"])
        if "DISLIKED" in text:
            return QuestionCheck(
                problems=(QuestionProblem(kind=ProblemKind.VAGUENESS, message="disliked"),)
            )
        for each in self.kept:
            if (each["question"], each.get("query_session")) == (text, entry.get("query_session")):
                said = f"{each['id']} asks the same"
                return QuestionCheck(
                    problems=(QuestionProblem(kind=ProblemKind.DUPLICATE, message=said),)
                )
        return QuestionCheck(problems=())

    def keep(self, entry: Mapping[str, object]) -> None:
        self.kept.append(entry)


def one_word(_: Layout, known: Sequence[Mapping[str, object]]) -> OneWord:
    """As `open_checker` is called."""
    return OneWord(known)


def asked(folder: Path, model: Scripted | None = None, **fields: Any) -> PassResult:
    request = QuestionsRequest(persona=folder, model="scripted", **fields)
    return generate_questions(request, model=model or Scripted(), make_checker=one_word)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "qa-14d").iterdir())}
