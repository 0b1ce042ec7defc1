"""LongMemEval-V2: what an agent learns of an environment from its earlier work in it.

Six facts about the upstream files shape this one:

* Questions and trajectories are lines of two files. A third maps each question to its haystack, an
  ordered list of trajectories. Trajectories are shared; questions with the same haystack are one
  scenario, so that it is fed once.
* A trajectory is an episode: its goal, then for each state the address, the action, the thought and
  the accessibility tree, then the outcome. Screenshots are not read.
* A haystack of the medium tier has up to 500 trajectories and 115 million tokens. Trajectories are
  found by offset and decoded one at a time, and an episode has text and no turns, which would hold
  all of it a second time.
* A question may come with a screenshot (`image`), which it cannot be answered without. It is left
  out.
* `eval_function` names the rule by which a question is graded, with its options.
* There are no dates and no evidence.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import (
    Episode,
    Expects,
    Item,
    Scenario,
    Truth,
    compute_story_date,
    hash_question_id,
)
from recall_bench.features.datasets.loading import (
    JsonLines,
    LazyScenarios,
    NonBlank,
    locate_file,
    read_object,
    refuse_corrections,
)

EPOCH = date(2024, 1, 1)
"""The day of every first trajectory: LongMemEval-V2 has no dates."""

QUESTIONS = "questions.jsonl"
TRAJECTORIES = "trajectories.jsonl"

_FALSE_PREMISE = "-abs"


class _WebQuestion(msgspec.Struct):
    id: NonBlank
    question_type: NonBlank
    question: NonBlank
    answer: NonBlank | int | float | list[str]
    eval_function: NonBlank
    domain: str | None = None
    image: str | None = None


class _WebId(msgspec.Struct):
    id: NonBlank


class _WebState(msgspec.Struct):
    url: str
    action: str | None = None
    thought: str | None = None
    thoughts: str | None = None
    accessibility_tree: str | None = None
    text: str | None = None


class _WebTrajectory(_WebId):
    goal: str | list[str]
    states: Annotated[list[_WebState], msgspec.Meta(min_length=1)]
    start_url: str | None = None
    outcome: str | None = None


def load(data: Path, layers: Mapping[str, Path], *, tier: str) -> Sequence[Scenario]:
    """Read the folder of the release: a scenario for each haystack, built on demand."""
    refuse_corrections("longmemeval-v2", layers)
    if not data.is_dir():
        raise UsageError(
            f"{data} is not a folder; name the one with {QUESTIONS} and {TRAJECTORIES}"
        )
    questions = _read_questions(JsonLines(locate_file(data, QUESTIONS), "question"))
    haystacks = _read_haystacks(data, tier)
    trajectories = _Trajectories(JsonLines(locate_file(data, TRAJECTORIES), "trajectory"))
    groups: dict[tuple[str, ...], list[_WebQuestion]] = {}
    for question in questions:
        if question.id not in haystacks:
            raise Malformed(str(data), f"question {question.id} has no haystack in tier {tier}")
        groups.setdefault(tuple(haystacks[question.id]), []).append(question)
    held = list(groups.items())
    return LazyScenarios(
        len(held), lambda number: _build_scenario(*held[number], trajectories=trajectories)
    )


def _read_questions(lines: JsonLines) -> list[_WebQuestion]:
    """Read the questions in words; those with a picture are left out."""
    questions = [lines.decode(number, _WebQuestion) for number in range(len(lines))]
    if len({question.id for question in questions}) < len(questions):
        raise Malformed(str(lines.path), "holds two questions with one id")
    return [question for question in questions if question.image is None]


def _read_haystacks(data: Path, tier: str) -> dict[str, list[str]]:
    name = f"lme_v2_{tier}.json"
    inner = data / "haystacks"
    path = locate_file(inner if inner.is_dir() else data, name)
    haystacks = read_object(path, dict[str, list[str]])
    for question, haystack in haystacks.items():
        if not haystack or len(set(haystack)) < len(haystack):
            raise Malformed(str(path), f"the haystack of {question} is empty, or repeats itself")
    return haystacks


class _Trajectories:
    """The trajectories by id; none is cached."""

    def __init__(self, lines: JsonLines) -> None:
        self.lines = lines
        self._numbers: dict[str, int] = {}
        for number in range(len(lines)):
            name = lines.decode(number, _WebId).id
            if name in self._numbers:
                raise Malformed(lines.describe(number), f"a second trajectory {name!r}")
            self._numbers[name] = number

    def read(self, name: str) -> _WebTrajectory:
        """Decode one trajectory."""
        if name not in self._numbers:
            raise Malformed(str(self.lines.path), f"lacks the trajectory {name!r} of a haystack")
        return self.lines.decode(self._numbers[name], _WebTrajectory)


def _build_scenario(
    haystack: tuple[str, ...], asked: list[_WebQuestion], *, trajectories: _Trajectories
) -> Scenario:
    episodes = tuple(
        _build_episode(day, trajectories.read(name)) for day, name in enumerate(haystack, start=1)
    )
    return Scenario(
        id=f"lme2-{hash_question_id(' '.join(haystack), 'haystack')}",
        epoch=EPOCH,
        episodes=episodes,
        items=tuple(
            _build_item(number, question, len(haystack)) for number, question in enumerate(asked)
        ),
    )


def _build_episode(day: int, trajectory: _WebTrajectory) -> Episode:
    return Episode(
        id=f"trajectory-{day:03}",
        day=day,
        at=compute_story_date(EPOCH, day),
        text="\n\n".join(_list_paragraphs(trajectory)),
    )


def _list_paragraphs(trajectory: _WebTrajectory) -> Iterator[str]:
    goal = trajectory.goal if isinstance(trajectory.goal, str) else " ".join(trajectory.goal)
    yield f"goal: {goal.strip() or 'not stated'}"
    if trajectory.start_url:
        yield f"starts at: {trajectory.start_url}"
    for number, state in enumerate(trajectory.states):
        lines = [f"state {number}: {state.url}"]
        fields = {
            "action": state.action,
            "thought": state.thought or state.thoughts,
            "page": state.accessibility_tree or state.text,
        }
        lines += [f"{name}: {text.strip()}" for name, text in fields.items() if text]
        yield "\n".join(lines)
    if trajectory.outcome:
        yield f"outcome: {trajectory.outcome}"


def _build_item(number: int, asked: _WebQuestion, last_day: int) -> Item:
    answer = asked.answer
    return Item(
        id=f"q{number:03}",
        text=asked.question,
        truth=Truth(
            reference=", ".join(answer) if isinstance(answer, list) else str(answer),
            category=asked.question_type,
            expects=Expects.ABSTAIN
            if asked.question_type.endswith(_FALSE_PREMISE)
            else Expects.ANSWER,
            grading=asked.eval_function,
            source=asked.id,
        ),
        known_from=last_day,
    )
