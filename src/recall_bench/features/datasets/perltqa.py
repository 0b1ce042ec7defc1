"""PerLTQA: profile, relationships, events and dialogues of invented people, and questions.

Six facts about the upstream files shape this one:

* One file holds the memories of every person by kind, another the questions by person and kind. A
  person is a scenario.
* A record is an episode: a field of the profile, a relationship and an event of one turn each, a
  dialogue with a turn for each line. So sessions are records, and a dialogue is found by any line.
* Times of events and dialogues come in many forms. They are part of the text, and episodes are a
  day apart, in the order of the file: profile, relationships, events, dialogues.
* `Reference Memory` names a field of the profile, or lists ids of memories as Python would print
  them. It becomes evidence.
* Some relationships are the print of a Python mapping instead of a mapping.
* One person of the questions has no memories, and a few questions name memories that are not there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.scenario import (
    Episode,
    Evidence,
    Item,
    Scenario,
    Truth,
    Turn,
    compute_story_date,
    hash_question_id,
)
from recall_bench.core.untrusted_json import decode_untrusted_json, is_too_deep
from recall_bench.features.datasets.loading import (
    LazyScenarios,
    build_dialogue,
    locate_file,
    parse_literal,
    read_object,
    refuse_corrections,
)

EPOCH = date(2024, 1, 1)
"""The first day of every person."""

MEMORIES = "perltmem_en_v2.json"
ASKED = "perltqa_en_v2.json"
KINDS = ("profile", "social_relationship", "events", "dialogues")

_LONGEST_NAME = 40
"""A line of a dialogue begins with its speaker if a colon follows within this many characters."""


@dataclass(slots=True)
class _LtHistory:
    """The episodes of one person, and the places of their memories by kind and id."""

    episodes: list[Episode] = field(default_factory=list)
    places: dict[tuple[str, str], list[Evidence]] = field(default_factory=dict)

    def add(self, kind: str, turns: Sequence[tuple[str, Turn]]) -> None:
        """Add an episode; each turn comes with the id of the memory it tells."""
        spoken = [(name, turn) for name, turn in turns if turn.text.strip()]
        if not spoken:
            return
        day = len(self.episodes) + 1
        at = compute_story_date(EPOCH, day)
        held = [turn for _, turn in spoken]
        self.episodes.append(build_dialogue(f"{kind}-{day:04}", day=day, at=at, turns=held))
        for number, (name, turn) in enumerate(spoken):
            place = Evidence(day=day, turn=number, speaker=turn.speaker)
            self.places.setdefault((kind, name), []).append(place)


def load(data: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    """Read the folder of both files: a scenario for each person with memories and questions."""
    refuse_corrections("perltqa", layers)
    if not data.is_dir():
        raise UsageError(f"{data} is not a folder; name the one with {MEMORIES} and {ASKED}")
    inner = data / "Dataset" / "en_v2"
    folder = inner if inner.is_dir() else data
    memories_path, asked_path = locate_file(folder, MEMORIES), locate_file(folder, ASKED)
    memories = read_object(memories_path, dict[str, dict[str, msgspec.Raw]])
    blocks = read_object(asked_path, list[dict[str, dict[str, Any]]])
    people = [
        (name, questions)
        for block in blocks
        for name, questions in block.items()
        if name in memories
    ]

    def build(number: int) -> Scenario:
        name, questions = people[number]
        try:
            return _build_scenario(name, memories[name], questions)
        except (ValueError, AttributeError, TypeError) as error:
            where = f"{memories_path.parent}, {name}"
            raise Malformed(where, f"is not as PerLTQA has it ({error})") from error

    return LazyScenarios(len(people), build)


def _build_scenario(
    name: str, memories: Mapping[str, msgspec.Raw], questions: Mapping[str, Any]
) -> Scenario:
    history = _LtHistory()
    sections = {kind: _read_section(memories.get(kind)) for kind in KINDS}
    _add_profile(history, sections["profile"])
    _add_relationships(history, sections["social_relationship"])
    for number, event in sections["events"].items():
        when = event.get("Creation Time")
        text = f"{event.get('content') or event.get('summary') or ''}".strip()
        stated = f"{text} ({when})" if when and text else text
        history.add("events", [(number, Turn(speaker="event", text=stated))])
    for number, dialogue in sections["dialogues"].items():
        _add_dialogue(history, number, dialogue)
    if not history.episodes:
        raise ValueError("there are no memories")
    return Scenario(
        id=f"perlt-{hash_question_id(name, 'person')}",
        epoch=EPOCH,
        episodes=tuple(history.episodes),
        items=tuple(_build_items(name, questions, history)),
    )


def _read_section(raw: msgspec.Raw | None) -> dict[str, Any]:
    """Read a mapping, or one that Python printed; empty if there is none."""
    parsed: object = {} if raw is None else decode_untrusted_json(raw, object)
    if isinstance(parsed, str):
        parsed = parse_literal(parsed)
    if is_too_deep(parsed):
        raise ValueError("it is nested too deeply")
    if not isinstance(parsed, dict):
        raise ValueError("a section is not a mapping of memories")  # noqa: TRY004
    return {str(key): value for key, value in parsed.items()}


def _add_profile(history: _LtHistory, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if value:
            stated = Turn(speaker="profile", text=f"{name}: {value}")
            history.add("profile", [(name, stated)])


def _add_relationships(history: _LtHistory, relations: Mapping[str, Any]) -> None:
    for name, relation in relations.items():
        others = relation.get("Supporting Characters") or ""
        stated = (
            f"{others} ({relation.get('Relationship') or 'related'}): {relation.get('Description')}"
        )
        turn = Turn(speaker="relationship", text=stated)
        history.add("social_relationship", [(name, turn)])


def _add_dialogue(history: _LtHistory, number: str, dialogue: Mapping[str, Any]) -> None:
    turns = [
        (number, _read_line(f"{line}", f"{when}"))
        for when, lines in (dialogue.get("contents") or {}).items()
        for line in lines or ()
    ]
    history.add("dialogues", turns)


def _read_line(line: str, when: str) -> Turn:
    speaker, colon, text = line.partition(":")
    if colon and text.strip() and len(speaker) <= _LONGEST_NAME:
        return Turn(speaker=speaker.strip() or "dialogue", text=f"{text.strip()} ({when})")
    return Turn(speaker="dialogue", text=f"{line.strip()} ({when})" if line.strip() else "")


def _build_items(name: str, questions: Mapping[str, Any], history: _LtHistory) -> Iterator[Item]:
    for kind in KINDS:
        for number, raw_question in enumerate(_list_questions(questions.get(kind)), start=1):
            text, answer = raw_question.get("Question"), raw_question.get("Answer")
            if not isinstance(text, str) or not isinstance(answer, str | int | float):
                raise ValueError(f"{kind} {number} has no question and answer")  # noqa: TRY004
            if not text.strip() or not str(answer).strip():
                continue
            named = tuple(_list_references(raw_question.get("Reference Memory")))
            cited = (
                place for reference in named for place in history.places.get((kind, reference), ())
            )
            yield Item(
                id=f"{kind}-{number:04}",
                text=text,
                truth=Truth(
                    reference=str(answer),
                    category=kind,
                    evidence=tuple(dict.fromkeys(cited)),
                    cited=named,
                    source=f"{name}/{kind}/{number}",
                ),
                known_from=history.episodes[-1].day,
            )


def _list_questions(section: object) -> Iterator[Mapping[str, Any]]:
    """Yield the questions of a list, or of lists by the id of a memory."""
    for entry in section if isinstance(section, list) else ():
        if "Question" in entry:
            yield entry
            continue
        for several in entry.values():
            yield from several


def _list_references(named: object) -> Iterator[str]:
    text = f"{named or ''}".strip()
    parsed = parse_literal(text) if text.startswith("[") else None
    if isinstance(parsed, list):
        yield from map(str, parsed)
    elif text:
        yield text
