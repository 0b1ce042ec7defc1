"""LongMemEval: five hundred questions, each with its own haystack of chats with an assistant.

Seven facts about the upstream files shape this one:

* Ids reveal the gold: only gold sessions are named `answer_…`, and ids of unanswerable questions
  end in `_abs`. A scenario is named by a digest, an episode by its position.
* Only turns of gold sessions have the key `has_answer`. It becomes evidence.
* Gold sessions and gold turns disagree: of 948 gold sessions 94 have no gold turn. Those are cited
  as a whole.
* Two of five haystacks of S are not in chronological order. They are sorted.
* A session may occur twice in a haystack, on two dates. Its position identifies it, not its id.
* Some sessions, gold ones too, are later than the question. They stay.
* Each size has its own dates, so sizes must not be mixed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import Episode, Evidence, Expects, Item, Scenario, Truth, Turn
from recall_bench.features.datasets.loading import (
    JsonArray,
    LazyScenarios,
    NonBlank,
    build_dialogue,
    locate_file,
)

ORACLE = "longmemeval_oracle.json"
S = "longmemeval_s_cleaned.json"
M = "longmemeval_m_cleaned.json"

_DATE = re.compile(r"(\d{4})/(\d\d)/(\d\d) \([A-Z][a-z]{2}\) (\d\d):(\d\d)", re.ASCII)
_UNANSWERABLE = "_abs"

_Type = Literal[
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
]


class _LongMemEvalMessage(msgspec.Struct):
    role: Literal["user", "assistant"]
    content: str
    has_answer: bool = False


class _LongMemEvalId(msgspec.Struct):
    question_id: NonBlank


class _LongMemEvalQuestion(_LongMemEvalId):
    question_type: _Type
    question: NonBlank
    answer: NonBlank | int
    question_date: str
    haystack_dates: list[str]
    haystack_session_ids: list[str]
    haystack_sessions: list[list[_LongMemEvalMessage]]
    answer_session_ids: list[str]


@dataclass(frozen=True, slots=True)
class _LongMemEvalSession:
    """One session of a haystack, without its blank turns."""

    at: datetime
    messages: tuple[_LongMemEvalMessage, ...]
    is_gold: bool


def load(
    data: Path, layers: Mapping[str, Path], *, names: tuple[str, ...] = (ORACLE, S, M)
) -> LazyScenarios:
    """Read a file of LongMemEval, or the one of these names in a folder: a scenario per question.

    Scenarios are built on demand, and Malformed is raised then too.
    """
    if layers:
        raise UsageError(f"LongMemEval has no corrections; leave out {', '.join(layers)}")
    elements = JsonArray(locate_file(data, *names), "question")
    ids = Counter(
        elements.decode(number, _LongMemEvalId).question_id for number in range(len(elements))
    )
    if repeated := [name for name, count in ids.items() if count > 1]:
        raise Malformed(str(data), f"{repeated[0]} is the id of {ids[repeated[0]]} questions")
    return LazyScenarios(len(elements), partial(_decode_scenario, elements))


def _decode_scenario(elements: JsonArray, number: int) -> Scenario:
    raw_question = elements.decode(number, _LongMemEvalQuestion)
    try:
        return _build_scenario(raw_question)
    except ValueError as error:
        problem = f"is not as LongMemEval has it: {error}"
        raise Malformed(elements.describe(number), problem) from error


def _build_scenario(asked: _LongMemEvalQuestion) -> Scenario:
    sessions = sorted(_read_sessions(asked), key=lambda session: session.at)
    if not sessions:
        raise ValueError("its haystack is empty")
    episodes = tuple(_build_episode(day, session) for day, session in enumerate(sessions, 1))
    unanswerable = asked.question_id.endswith(_UNANSWERABLE)
    item = Item(
        id="q",
        text=asked.question,
        truth=Truth(
            reference=str(asked.answer),
            category=asked.question_type,
            expects=Expects.ABSTAIN if unanswerable else Expects.ANSWER,
            evidence=tuple(_find_evidence(sessions)),
            source=asked.question_id,
        ),
        known_from=len(episodes),
        asked_at=_parse_time(asked.question_date),
    )
    return Scenario(
        id=f"lme-{sha256(asked.question_id.encode()).hexdigest()[:12]}",
        epoch=episodes[0].at.date(),
        episodes=episodes,
        items=(item,),
    )


def _read_sessions(asked: _LongMemEvalQuestion) -> Iterator[_LongMemEvalSession]:
    """Yield the sessions with content, in the order of the file."""
    dates, ids, sessions = asked.haystack_dates, asked.haystack_session_ids, asked.haystack_sessions
    if not len(dates) == len(ids) == len(sessions):
        counts = f"{len(sessions)} sessions, {len(ids)} ids of sessions and {len(dates)} dates"
        raise ValueError(f"it has {counts}")
    gold = frozenset(asked.answer_session_ids)
    if lost := gold.difference(ids):
        raise ValueError(f"its gold session {min(lost)} is not in its haystack")
    for place, messages in enumerate(sessions):
        is_gold = ids[place] in gold
        nonblank = tuple(message for message in messages if message.content.strip())
        if is_gold and not nonblank:
            raise ValueError(f"its gold session {place + 1} is blank")
        for message in messages:
            if message.has_answer and not (is_gold and message in nonblank):
                where = "a blank turn" if is_gold else "a turn of a session that is not gold"
                raise ValueError(f"its session {place + 1} marks {where} as answering")
        if nonblank:
            yield _LongMemEvalSession(_parse_time(dates[place]), nonblank, is_gold)


def _build_episode(day: int, session: _LongMemEvalSession) -> Episode:
    turns = tuple(Turn(speaker=message.role, text=message.content) for message in session.messages)
    return build_dialogue(f"session-{day:03}", day=day, at=session.at, turns=turns)


def _find_evidence(sessions: list[_LongMemEvalSession]) -> Iterator[Evidence]:
    for day, session in enumerate(sessions, 1):
        if not session.is_gold:
            continue
        answering = [
            Evidence(day=day, turn=turn, speaker=message.role)
            for turn, message in enumerate(session.messages)
            if message.has_answer
        ]
        yield from answering or [Evidence(day=day)]


def _parse_time(written: str) -> datetime:
    """Parse date and time by a pattern: `strptime` depends on the locale."""
    match = _DATE.fullmatch(written)
    if match is None:
        raise ValueError(f"{written!r} is not a date like 2023/05/30 (Tue) 23:40")
    year, month, day, hour, minute = map(int, match.groups())
    try:
        return datetime(year, month, day, hour, minute)  # noqa: DTZ001
    except ValueError as error:
        raise ValueError(f"{written!r} is not a date ({error})") from error
