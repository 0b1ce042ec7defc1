"""BEAM: chats of 100 thousand to 10 million tokens, and twenty questions about each.

Seven facts about the upstream files shape this one:

* A chat is a folder with `chat.json` and `probing_questions/probing_questions.json`. A chat of the
  three smaller sizes is a list of batches, one of 10M a list of plans of batches. In the repository
  a batch has `turns`, which are lists of messages; what upstream's download script writes has the
  messages alone. Both are read, a plan and a chat at a time.
* A batch is an episode. Its date is its `time_anchor`, or the first one in its messages. A batch
  without a date, or with an earlier one than the batch before it, gets the date of that batch.
* Three in four messages of the user end with a mark of the generator, such as `->-> 1,1`.
* `source_chat_ids` names messages by numbers, in a list or in lists by name. In 10M numbers repeat;
  a number that several messages have names none of them.
* The key of the gold answer depends on the ability (`_ANSWER_KEYS`).
* `rubric` is what upstream grades by: sentences about the answer, each worth the same.
* An abstention question has no source, and its gold says that the chat does not tell.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import (
    Episode,
    Evidence,
    Expects,
    Item,
    Scenario,
    StoryTime,
    Truth,
    Turn,
    compute_story_date,
)
from recall_bench.core.untrusted_json import is_too_deep
from recall_bench.features.datasets.loading import (
    JsonArray,
    LazyScenarios,
    NonBlank,
    build_dialogue,
    read_object,
    refuse_corrections,
)
from recall_bench.text.value_patterns import MONTHS

EPOCH = date(2024, 1, 1)
"""The day of the first batch of a chat whose first batch has no date."""

ABILITIES = (
    "abstention",
    "contradiction_resolution",
    "event_ordering",
    "information_extraction",
    "instruction_following",
    "knowledge_update",
    "multi_session_reasoning",
    "preference_following",
    "summarization",
    "temporal_reasoning",
)

CHAT = "chat.json"
QUESTIONS = "probing_questions/probing_questions.json"

_SIZES = {"100k": "100K", "500k": "500K", "1m": "1M", "10m": "10M"}
"""Our name of a size, and the one of upstream's folders."""
_ANSWER_KEYS = (
    "answer",
    "ideal_answer",
    "ideal_response",
    "ideal_summary",
    "expected_compliance",
)
_MARK = re.compile(r"\s*->->[^\n]*\Z")
_PLAN = re.compile(r"plan-(\d+)\Z")
_ANCHOR = re.compile(r"([A-Za-z]+)-(\d{1,2})-(\d{4})\Z|(\d{4})-(\d\d)-(\d\d)\Z", re.ASCII)
_NUMBER = re.compile(r"(\d+)")


class _BeamAnchor(msgspec.Struct, kw_only=True):
    time_anchor: str | None = None


class _BeamMessage(_BeamAnchor):
    role: Literal["user", "assistant"]
    content: str
    id: int | str | None = None


class _BeamBatch(msgspec.Struct):
    """The messages of one batch, and its date as written."""

    messages: list[_BeamMessage]
    anchor: str | None


class _BeamQuestion(msgspec.Struct):
    question: NonBlank
    rubric: Annotated[list[NonBlank], msgspec.Meta(min_length=1)]
    source_chat_ids: Any = None
    difficulty: str | None = None


def load(data: Path, layers: Mapping[str, Path], *, size: str) -> Sequence[Scenario]:
    """Read a folder of chats, or the folder of one: a scenario for each chat, built on demand."""
    refuse_corrections("beam", layers)
    chats = _list_chats(data, size)
    return LazyScenarios(len(chats), lambda number: _build_scenario(chats[number], size))


def _list_chats(data: Path, size: str) -> list[Path]:
    """List the folders of chats, by the numbers in their names."""
    if (data / CHAT).is_file():
        return [data]
    if not data.is_dir():
        raise UsageError(f"{data} is not a folder; name the folder of BEAM's {_SIZES[size]} chats")
    inner = (data / "chats" / _SIZES[size], data / _SIZES[size], data)
    folder = next(path for path in inner if path.is_dir())
    chats = [path.parent for path in folder.glob(f"*/{CHAT}")]
    if not chats:
        raise UsageError(f"{folder} holds no chat of BEAM, a folder with {CHAT} and {QUESTIONS}")
    return sorted(chats, key=lambda path: [int(n) for n in _NUMBER.findall(path.name)])


def _build_scenario(folder: Path, size: str) -> Scenario:
    chat = JsonArray(folder / CHAT, "part")
    batches = [batch for number in range(len(chat)) for batch in _read_part(chat, number)]
    episodes, places = _build_episodes(batches)
    if not episodes:
        raise Malformed(str(chat.path), "holds no message")
    return Scenario(
        id=f"beam-{size}-{folder.name}",
        epoch=episodes[0].at.date(),
        episodes=episodes,
        items=tuple(_build_items(folder, episodes[-1].day, places)),
    )


def _read_part(chat: JsonArray, number: int) -> list[_BeamBatch]:
    try:
        part = chat.decode(number, object)
        _refuse_deep(part)
        return list(_iterate_batches(part))
    except (ValueError, TypeError) as error:
        problem = f"is not as BEAM has it ({error})"
        raise Malformed(chat.describe(number), problem) from error


def _refuse_deep(value: object) -> None:
    """Raise ValueError for what is nested too deeply to recurse over."""
    if is_too_deep(value):
        raise ValueError("it is nested too deeply")


def _iterate_batches(part: object) -> Iterator[_BeamBatch]:
    """Yield the batches of a part: a plan, a batch, or the messages of a batch."""
    match part:
        case {"turns": list(turns), **rest}:
            stated = msgspec.convert(rest, _BeamAnchor).time_anchor
            yield _BeamBatch(list(_iterate_messages(turns)), stated)
        case dict() if plans := [key for key in part if _PLAN.match(str(key))]:
            for key in sorted(plans, key=lambda each: int(each.rpartition("-")[2])):
                for inner in part[key] or ():
                    yield from _iterate_batches(inner)
        case list():
            yield _BeamBatch(list(_iterate_messages(part)), None)
        case _:
            raise ValueError("it is neither a batch with `turns`, nor a plan, nor a list")


def _iterate_messages(turns: list[Any]) -> Iterator[_BeamMessage]:
    for turn in turns:
        for message in turn if isinstance(turn, list) else [turn]:
            yield msgspec.convert(message, _BeamMessage)


def _build_episodes(
    batches: list[_BeamBatch],
) -> tuple[tuple[Episode, ...], dict[str, Evidence]]:
    """Build an episode for each batch with content, and the places of the numbered messages."""
    episodes: list[Episode] = []
    places: dict[str, Evidence] = {}
    numbers: Counter[str] = Counter()
    at = compute_story_date(EPOCH, 1)
    for batch in batches:
        spoken = [message for message in batch.messages if message.content.strip()]
        if not spoken:
            continue
        day = len(episodes) + 1
        stated = _find_date(batch)
        at = stated if stated is not None and (day == 1 or stated > at) else at
        turns = [
            Turn(speaker=message.role, text=_MARK.sub("", message.content) or message.content)
            for message in spoken
        ]
        episodes.append(build_dialogue(f"batch-{day:03}", day=day, at=at, turns=turns))
        for turn, message in enumerate(spoken):
            if message.id is not None:
                numbers[str(message.id)] += 1
                places[str(message.id)] = Evidence(day=day, turn=turn, speaker=message.role)
    single = {number: place for number, place in places.items() if numbers[number] == 1}
    return tuple(episodes), single


def _find_date(batch: _BeamBatch) -> StoryTime | None:
    anchors = (batch.anchor, *(message.time_anchor for message in batch.messages))
    return next(
        (
            date_of_anchor
            for anchor in anchors
            if anchor and (date_of_anchor := _parse_anchor(anchor))
        ),
        None,
    )


def _parse_anchor(written: str) -> StoryTime | None:
    """Parse `March-15-2024` or `2024-03-15`; None for anything else."""
    match = _ANCHOR.match(written.strip())
    if match is None:
        return None
    month, day, year, *plain = match.groups()
    names = [name.lower() for name in MONTHS]
    try:
        if month is None:
            return datetime(*map(int, plain))  # type: ignore[arg-type]  # noqa: DTZ001
        return datetime(int(year), names.index(month.lower()) + 1, int(day))  # noqa: DTZ001
    except ValueError:
        return None


def _build_items(folder: Path, last_day: int, places: Mapping[str, Evidence]) -> Iterator[Item]:
    path = folder / QUESTIONS
    asked = read_object(path, dict[str, list[dict[str, Any]]])
    for ability, questions in asked.items():
        if ability not in ABILITIES:
            raise Malformed(str(path), f"{ability!r} is not one of BEAM's ten abilities")
        for number, raw in enumerate(questions, start=1):
            try:
                yield _build_item(ability, number, raw, last_day, places)
            except (ValueError, TypeError) as error:
                where = f"{path}, {ability} {number}"
                raise Malformed(where, f"is not as BEAM has it ({error})") from error


def _build_item(
    ability: str, number: int, raw: dict[str, Any], last_day: int, places: Mapping[str, Evidence]
) -> Item:
    raw_question = msgspec.convert(raw, _BeamQuestion)
    _refuse_deep(raw_question.source_chat_ids)
    named = dict.fromkeys(_list_numbers(raw_question.source_chat_ids))
    return Item(
        id=f"{ability}-{number}",
        text=raw_question.question,
        truth=Truth(
            reference=_read_answer(raw) or "\n".join(raw_question.rubric),
            category=ability,
            difficulty=raw_question.difficulty,
            expects=Expects.ABSTAIN if ability == "abstention" else Expects.ANSWER,
            evidence=tuple(places[name] for name in named if name in places),
            facts=tuple((nugget,) for nugget in raw_question.rubric),
            cited=tuple(named),
            source=f"{ability}/{number}",
        ),
        known_from=last_day,
    )


def _read_answer(raw: dict[str, Any]) -> str | None:
    for key in _ANSWER_KEYS:
        value = raw.get(key)
        match value:
            case str() if value.strip():
                return value
            case int() | float() if not isinstance(value, bool):
                return str(value)
            case list() if value:
                return "; ".join(map(str, value))
    return None


def _list_numbers(cited: object) -> Iterator[str]:
    """Yield the numbers of messages in a list, or in lists by name."""
    match cited:
        case None:
            return
        case bool():
            raise ValueError(f"source_chat_ids: {cited} is not the number of a message")
        case int() | str():
            yield str(cited)
        case list():
            for cited_id in cited:
                yield from _list_numbers(cited_id)
        case dict():
            for cited_id in cited.values():
                yield from _list_numbers(cited_id)
        case _:
            raise ValueError(f"source_chat_ids: {cited!r:.60} is not the number of a message")
