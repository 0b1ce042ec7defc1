"""RealMem: projects that a person pursues with an assistant over two hundred sessions.

Six facts about the upstream files shape this one:

* A file is a person: `dialogues` are the sessions, in the order in which upstream replays them.
* A query is a turn of the user with `is_query`. The assistant's turn after it is the gold: its text
  is the reference, and its `memory_session_uuids` are the sessions it draws on.
* Upstream asks a query before its own session is stored. It is asked after the session before, and
  on that day alone; queries of the first session have no history and are left out.
* Evidence is earlier sessions. A reference to the query's own session is dropped.
* A date may go back, because sessions of several projects were merged. The session then gets the
  date of the one before it.
* `extracted_memory` is upstream's own summary. It is not fed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import (
    Episode,
    Evidence,
    Item,
    Scenario,
    StoryTime,
    Truth,
    Turn,
    hash_question_id,
)
from recall_bench.features.datasets.loading import (
    LazyScenarios,
    NonBlank,
    build_dialogue,
    read_object,
    refuse_corrections,
)

_FILES = "*_dialogues_*.json"
_FOLDERS = ("dataset/datasets", "dataset", "datasets")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)


class _RealMemTurn(msgspec.Struct):
    speaker: NonBlank
    content: str
    is_query: bool | None = None
    query_id: str | int | None = None
    category_name: str | None = None
    memory_used: list[dict[str, Any]] | None = None
    memory_session_uuids: list[str] | None = None


class _RealMemSession(msgspec.Struct):
    session_uuid: NonBlank
    current_time: str
    dialogue_turns: list[_RealMemTurn]


class _RealMemPerson(msgspec.Struct):
    dialogues: Annotated[list[_RealMemSession], msgspec.Meta(min_length=1)]


def load(data: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    """Read the file of a person, or the folder of them: a scenario for each, built on demand."""
    refuse_corrections("realmem", layers)
    files = _list_files(data)
    return LazyScenarios(len(files), lambda number: _read_scenario(files[number]))


def _list_files(data: Path) -> list[Path]:
    if data.is_file():
        return [data]
    folders = [data / name for name in _FOLDERS if (data / name).is_dir()]
    for folder in (*folders, data):
        if files := sorted(folder.glob(_FILES)):
            return files
    raise UsageError(f"{data} holds no {_FILES}; name RealMem's folder of dialogues, or a file")


def _read_scenario(path: Path) -> Scenario:
    person = read_object(path, _RealMemPerson)
    try:
        return _build_scenario(path.name, person.dialogues)
    except ValueError as error:
        raise Malformed(str(path), f"is not as RealMem has it ({error})") from error


def _build_scenario(name: str, sessions: list[_RealMemSession]) -> Scenario:
    episodes: list[Episode] = []
    items: list[Item] = []
    days: dict[str, int] = {}
    for session in sessions:
        at = _parse_date(session.current_time)
        at = max(at, episodes[-1].at) if episodes else at
        items += _build_items(session, len(items), len(episodes), at, days)
        spoken = [turn for turn in session.dialogue_turns if turn.content.strip()]
        if not spoken:
            continue
        if session.session_uuid in days:
            raise ValueError(f"two sessions are called {session.session_uuid}")
        day = days[session.session_uuid] = len(episodes) + 1
        turns = [Turn(speaker=turn.speaker.lower(), text=turn.content) for turn in spoken]
        episodes.append(build_dialogue(f"session-{day:03}", day=day, at=at, turns=turns))
    if not episodes:
        raise ValueError("nothing is said in it")
    return Scenario(
        id=f"realmem-{hash_question_id(name, 'person')}",
        epoch=episodes[0].at.date(),
        episodes=tuple(episodes),
        items=tuple(items),
    )


def _build_items(
    session: _RealMemSession, before: int, day: int, at: StoryTime, days: Mapping[str, int]
) -> Iterator[Item]:
    """Yield the queries of a session, asked after story day `day`; none of the first session."""
    if day == 0:
        return
    pairs = _pair_queries(session.dialogue_turns)
    for number, (query, reply) in enumerate(pairs, start=before):
        cited = dict.fromkeys(reply.memory_session_uuids or query.memory_session_uuids or ())
        memories = reply.memory_used or query.memory_used or ()
        yield Item(
            id=f"q{number:04}",
            text=query.content,
            truth=Truth(
                reference=reply.content,
                category=query.category_name or reply.category_name or "query",
                evidence=tuple(Evidence(day=days[name]) for name in cited if name in days),
                cited=tuple(cited),
                facts=tuple((text,) for text in map(_read_memory, memories) if text),
                source=str(query.query_id) if query.query_id is not None else None,
            ),
            known_from=day,
            known_until=day,
            asked_at=at,
        )


def _pair_queries(turns: list[_RealMemTurn]) -> Iterator[tuple[_RealMemTurn, _RealMemTurn]]:
    """Yield each query with the reply to it; a query without words or reply is left out."""
    for query, reply in pairwise(turns):
        is_reply = reply.speaker.lower() != query.speaker.lower() and bool(reply.content.strip())
        if query.is_query and query.content.strip() and is_reply:
            yield query, reply


def _read_memory(used: Mapping[str, Any]) -> str:
    content = used.get("content")
    return content.strip() if isinstance(content, str) else ""


def _parse_date(written: str) -> StoryTime:
    match = _DATE.match(written.strip())
    if match is None:
        raise ValueError(f"{written!r:.60} is not a date like 2025-12-15 (Monday)")
    year, month, day = map(int, match.groups())
    try:
        return datetime(year, month, day)  # noqa: DTZ001
    except ValueError as error:
        raise ValueError(f"{written!r:.60} is not a date ({error})") from error
