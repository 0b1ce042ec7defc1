"""HaluMem: what a memory extracts, updates and answers, session by session.

Seven facts about the upstream files shape this one:

* A line is a user with sessions. Each session has a dialogue, the memory points it should leave
  behind, and questions, if any.
* Questions are asked after their session and before the next, and on that day alone.
* A memory point is asked about in another way: whether it is among what the memory lists as stored
  (`kind` is `stored`). That needs a system that lists it.
* `is_update` is the text `True` or `False`. An update names the memories it replaces.
* A point whose `memory_source` is `interference` is a false one, which must not be stored.
* Evidence of a question is the text of memory points. It becomes the sessions of these points.
* Sessions that only make the history longer (`is_generated_qa_session`) have no points.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from recall_bench.core.errors import Malformed
from recall_bench.core.scenario import (
    Episode,
    Evidence,
    Expects,
    Item,
    Scenario,
    StoryTime,
    Truth,
    Turn,
    hash_question_id,
)
from recall_bench.features.datasets.loading import (
    JsonElements,
    LazyScenarios,
    NonBlank,
    build_dialogue,
    locate_file,
    open_rows,
    refuse_corrections,
)
from recall_bench.text.value_patterns import MONTHS

STORED = "stored"
"""The kind of items that ask what the memory lists, and not the memory itself."""
EXTRACTION = "extraction"
UPDATE = "update"
INTERFERENCE = "interference"
"""The categories of memory points."""
LOOK_UP = "What is stored about the user?"
"""The question of every memory point, which does not tell the point."""
BOUNDARY = "Memory Boundary"
"""The type of questions about what was never mentioned."""

_SIZES = {"medium": "Medium", "long": "Long"}
_TIME = re.compile(r"([A-Z][a-z]{2}) (\d\d?), (\d{4}), (\d\d):(\d\d):(\d\d)", re.ASCII)


class _HaluTurn(msgspec.Struct):
    role: Literal["user", "assistant"]
    content: str


class _HaluPoint(msgspec.Struct):
    memory_content: NonBlank
    memory_source: str
    memory_type: str = ""
    is_update: Literal["True", "False"] = "False"
    original_memories: list[str] = []


class _HaluEvidence(msgspec.Struct):
    memory_content: str


class _HaluQuestion(msgspec.Struct):
    question: NonBlank
    answer: NonBlank
    question_type: NonBlank
    evidence: list[_HaluEvidence] = []
    difficulty: str | None = None


class _HaluSession(msgspec.Struct):
    start_time: str
    dialogue: list[_HaluTurn]
    memory_points: list[_HaluPoint] = []
    questions: list[_HaluQuestion] = []


class _HaluUser(msgspec.Struct):
    uuid: NonBlank
    sessions: Annotated[list[_HaluSession], msgspec.Meta(min_length=1)]


def load(data: Path, layers: Mapping[str, Path], *, size: str) -> Sequence[Scenario]:
    """Read the file of a size, or the folder of it: a scenario for each user, built on demand."""
    refuse_corrections("halumem", layers)
    users = open_rows(locate_file(data, f"HaluMem-{_SIZES[size]}.jsonl"), "user")
    return LazyScenarios(len(users), lambda number: _decode_scenario(users, number))


def _decode_scenario(users: JsonElements, number: int) -> Scenario:
    user = users.decode(number, _HaluUser)
    try:
        return _build_scenario(user)
    except ValueError as error:
        problem = f"is not as HaluMem has it: {error}"
        raise Malformed(users.describe(number), problem) from error


def _build_scenario(user: _HaluUser) -> Scenario:
    episodes: list[Episode] = []
    items: list[Item] = []
    first_days: dict[str, int] = {}
    for number, session in enumerate(user.sessions, start=1):
        turns = [
            Turn(speaker=turn.role, text=turn.content)
            for turn in session.dialogue
            if turn.content.strip()
        ]
        if not turns:
            raise ValueError(f"nothing is said in session {number}")
        at = _parse_time(session.start_time)
        at = max(at, episodes[-1].at) if episodes else at
        episodes.append(build_dialogue(f"session-{number:03}", day=number, at=at, turns=turns))
        for point in session.memory_points:
            first_days.setdefault(point.memory_content, number)
        items += _build_points(session, number)
        items += _build_questions(session, number, first_days)
    return Scenario(
        id=f"halumem-{hash_question_id(user.uuid, 'user')}",
        epoch=episodes[0].at.date(),
        episodes=tuple(episodes),
        items=tuple(items),
    )


def _build_points(session: _HaluSession, day: int) -> Iterator[Item]:
    for number, point in enumerate(session.memory_points, start=1):
        is_update = point.is_update == "True" and bool(point.original_memories)
        category = UPDATE if is_update else EXTRACTION
        if point.memory_source == INTERFERENCE:
            category = INTERFERENCE
        yield Item(
            id=f"m{day:03}-{number:03}",
            text=LOOK_UP,
            truth=Truth(
                reference=point.memory_content,
                category=category,
                evidence=(Evidence(day=day),),
                source=f"{day}/{number}",
            ),
            known_from=day,
            known_until=day,
            kind=STORED,
        )


def _build_questions(
    session: _HaluSession, day: int, first_days: Mapping[str, int]
) -> Iterator[Item]:
    for number, raw_question in enumerate(session.questions, start=1):
        days = (first_days.get(memory.memory_content) for memory in raw_question.evidence)
        cited = dict.fromkeys(day for day in days if day is not None)
        is_boundary = raw_question.question_type == BOUNDARY
        yield Item(
            id=f"q{day:03}-{number:03}",
            text=raw_question.question,
            truth=Truth(
                reference=raw_question.answer,
                category=raw_question.question_type,
                difficulty=raw_question.difficulty,
                expects=Expects.ABSTAIN if is_boundary else Expects.ANSWER,
                evidence=tuple(Evidence(day=day) for day in cited),
                source=f"{day}/{number}",
            ),
            known_from=day,
            known_until=day,
        )


def _parse_time(written: str) -> StoryTime:
    """Parse `Sep 04, 2025, 19:42:11`; `strptime` depends on the locale."""
    match = _TIME.match(written.strip())
    short = [name[:3] for name in MONTHS]
    if match is None or match[1] not in short:
        raise ValueError(f"{written!r:.60} is not a time like Sep 04, 2025, 19:42:11")
    day, year, hour, minute, second = map(int, match.groups()[1:])
    month = short.index(match[1]) + 1
    try:
        return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001
    except ValueError as error:
        raise ValueError(f"{written!r:.60} is not a time ({error})") from error
