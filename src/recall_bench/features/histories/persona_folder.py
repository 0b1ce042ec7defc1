"""Writes a history as a persona: `persona.yaml`, `arcs-history.yaml` and a file for each day."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path

from recall_bench.core.record import group_by
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.histories.history_message import (
    HistoryMessage,
    Participant,
    ReadingLog,
    Room,
)
from recall_bench.stories.persona_files import name_day_file, name_story_folder


@dataclass(frozen=True, slots=True)
class SpooledMessage:
    """One message of a day, at the user's local time."""

    at: datetime
    room: str
    conversation: str
    title: str
    speaker: str
    recipients: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class RoomUse:
    """When a room was used, and by whom."""

    room: Room
    first: date
    last: date
    messages: int
    speakers: tuple[str, ...]
    """The keys of the authors, the most active first."""


class MessageSpool:
    """Collects messages, then yields them by day."""

    def __init__(self, log: ReadingLog) -> None:
        self._log = log
        self._rooms: dict[str, Room] = {}
        self._messages: list[SpooledMessage] = []
        self._places: dict[str, int] = {}
        """Where the message with an identity is."""
        self.received = 0

    def add(self, message: HistoryMessage, first: date | None, last: date | None) -> None:
        """Keep a message, unless its day is outside of the two."""
        zone = self._log.options.zone
        at = message.at.astimezone(zone) if message.at.tzinfo else message.at
        day = at.date()
        if (first and day < first) or (last and day > last):
            self._log.skip("outside of --since and --until")
            return
        self.received += 1
        self._rooms.setdefault(message.room.key, message.room)
        at = at.replace(tzinfo=None, microsecond=at.microsecond // 1000 * 1000)
        place = self._places.get(message.identity) if message.identity is not None else None
        if place is not None:
            # Found twice: the earlier time counts.
            first_copy = self._messages[place]
            self._messages[place] = replace(first_copy, at=min(first_copy.at, at))
            return
        if message.identity is not None:
            self._places[message.identity] = len(self._messages)
        self._messages.append(
            SpooledMessage(
                at=at,
                room=message.room.key,
                conversation=message.conversation,
                title=message.title,
                speaker=message.speaker,
                recipients=tuple(message.recipients),
                text=(
                    message.text.encode("utf-8", "replace")
                    .decode()
                    .replace("\x00", "")
                    .replace("\r\n", "\n")
                ),
            )
        )

    def finish(self) -> None:
        """Put the messages in order; those of one time stay as they came."""
        self._messages.sort(key=lambda message: message.at)
        self._days = group_by(self._messages, lambda message: message.at.date())

    def get_room(self, key: str) -> Room:
        """The room with this key."""
        return self._rooms[key]

    def count(self) -> int:
        """The number of different messages."""
        return len(self._messages)

    def list_days(self) -> list[date]:
        """The days with a message, in order."""
        return list(self._days)

    def read_day(self, day: date) -> Iterator[SpooledMessage]:
        """The messages of a day, by time."""
        yield from self._days[day]

    def list_rooms(self) -> list[RoomUse]:
        """The rooms that were used, the one with the first message first."""
        rooms = group_by(self._messages, lambda message: message.room)
        first = sorted(rooms, key=lambda room: (rooms[room][0].at, room))
        return [
            RoomUse(
                self._rooms[room],
                rooms[room][0].at.date(),
                rooms[room][-1].at.date(),
                len(rooms[room]),
                tuple(_count_speakers(rooms[room])),
            )
            for room in first
        ]

    def count_messages_by_speaker(self) -> dict[str, int]:
        """How many messages each participant wrote, the most active first."""
        return _count_speakers(self._messages)


def _count_speakers(messages: list[SpooledMessage]) -> dict[str, int]:
    counts = Counter(message.speaker for message in messages)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


ARCS = "arcs-history.yaml"
_CAST = 60
_PARTICIPANTS = 30
_RECIPIENTS = 5
_SESSION_LINE = re.compile(r"^([ \t]*)(#{1,6}[ \t]*session:)", re.MULTILINE | re.IGNORECASE)
_HEADING_LINE = re.compile(r"^(?=#)", re.MULTILINE)
_TITLE_LENGTH = 160


@dataclass(slots=True, kw_only=True)
class HistoryWriter:
    """Writes the files of one persona."""

    folder: Path
    name: str
    """The id of the persona."""
    spool: MessageSpool
    people: Mapping[str, Participant]
    user: str | None
    """The name of the user, if it is known."""
    replace: Callable[[str], str]
    """What becomes of a text."""
    replace_label: Callable[[str], str]
    """What becomes of the name of a room."""
    rename: Callable[[Participant], str]
    """What becomes of a participant's name."""
    sessions: dict[str, str] = field(default_factory=dict)
    """The session of each room."""
    _labels: dict[str, str] = field(default_factory=dict)

    def write_all(self) -> tuple[list[date], list[str]]:
        """Write everything; the days and the sessions."""
        days = self.spool.list_days()
        rooms = self.spool.list_rooms()
        self._name_sessions(rooms)
        memories = self.folder / name_story_folder(ARCS, "memories")
        memories.mkdir()
        for day in days:
            number = (day - days[0]).days + 1
            text = self._render_day(day, self.spool.read_day(day))
            (memories / name_day_file(number)).write_text(text, encoding="utf-8", newline="\n")
        self._write_yaml("persona.yaml", self._describe_persona(rooms, days))
        self._write_yaml(ARCS, self._describe_story(rooms, days))
        return days, list(dict.fromkeys(self.sessions.values()))

    def _write_yaml(self, name: str, content: object) -> None:
        (self.folder / name).write_text(dump_yaml(content), encoding="utf-8", newline="\n")

    def _name_sessions(self, rooms: Iterable[RoomUse]) -> None:
        taken: set[str] = set()
        for use in rooms:
            key = use.room.key
            name = key if key == PRINCIPAL else self._make_session_id(use)
            while name in taken:
                stem, _, number = name.rpartition("-")
                name = f"{stem}-{int(number) + 1}" if number.isdigit() and stem else f"{name}-2"
            taken.add(name)
            self.sessions[key] = name

    def _make_session_id(self, use: RoomUse) -> str:
        kind = use.room.key.partition(":")[0]
        plain = unicodedata.normalize("NFKD", self.replace_label(use.room.label).casefold())
        words = re.findall(r"[a-z0-9]+", "".join(c for c in plain if not unicodedata.combining(c)))
        slug = "-".join(words)[:60].strip("-")
        return kind if slug in ("", kind) else f"{kind}-{slug}"

    def label(self, key: str) -> str:
        """The name to show for a participant."""
        if key not in self._labels:
            person = self.people.get(key) or Participant(key, key)
            if person.is_user and self.user is not None:
                person = Participant(key, self.user)
            self._labels[key] = " ".join(self.rename(person).split()) or "someone"
        return self._labels[key]

    def _render_day(self, day: date, messages: Iterable[SpooledMessage]) -> str:
        rooms: dict[str, dict[str, list[SpooledMessage]]] = {}
        for message in messages:
            talks = rooms.setdefault(message.room, {})
            talks.setdefault(message.conversation, []).append(message)
        parts = [f"---\ntype: daily\ndate: {day.isoformat()}\n---\n"]
        at = f"{day:%A} {day.day} {day:%B} {day.year}"
        # The user's own session first, as in the other personas.
        for room in sorted(rooms, key=lambda key: key != PRINCIPAL):
            parts.append(f"# session: {self.sessions[room]}\n")
            for talk in rooms[room].values():
                label = self.spool.get_room(room).label
                title = self._clean_title(talk[0].title, label) or self.sessions[room]
                lines = [f"### {title}, {at}", *map(self._render_message, talk)]
                parts.append("\n\n".join(lines) + "\n")
        return "\n".join(parts)

    def _clean_title(self, title: str, label: str) -> str:
        """A title; the name of the room that it begins with is a name, the rest is text."""
        named = label if title.startswith(label) else ""
        cleaned = self.replace_label(named) + self.replace(title.removeprefix(named))
        return " ".join(cleaned.split())[:_TITLE_LENGTH].strip()

    def _render_message(self, message: SpooledMessage) -> str:
        to = ""
        if message.recipients:
            others = [self.label(key) for key in message.recipients]
            more = f" and {len(others) - _RECIPIENTS} more" if len(others) > _RECIPIENTS else ""
            to = f" to {', '.join(others[:_RECIPIENTS])}{more}"
        head = f"**{self.label(message.speaker)}**{to} ({message.at:%H:%M}):"
        return _guard_structure(f"{head} {self.replace(message.text.strip())}")

    def _describe_persona(self, rooms: list[RoomUse], days: list[date]) -> dict[str, object]:
        user = self._find_user()
        active = self.spool.count_messages_by_speaker()
        cast = [key for key in active if self.label(key) != user]
        names = dict.fromkeys(self.label(key) for key in cast)
        return {
            "id": self.name,
            "name": "Assistant",
            "role": "assistant who knows this history",
            "domain": "personal history",
            "team_size": max(1, len(names)),
            "epoch": days[0].isoformat(),
            "profile": (
                f"Has read {sum(active.values()):,} messages from {days[0]} to {days[-1]}: "
                f"{', '.join(dict.fromkeys(self.sessions.values()))}."
            )[:2000],
            "communication_style": "Short and exact.",
            "principal": {"name": user, "role": "the person whose history this is"},
            "cast": [
                {
                    "name": self.label(key),
                    "role": "assistant" if self._is_agent(key) else "correspondent",
                    "kind": "agent" if self._is_agent(key) else "human",
                }
                for key in _list_distinct(cast, self.label)[:_CAST]
            ]
            or None,
            "sessions": [self._describe_session(use, user) for use in rooms],
        }

    def _is_agent(self, key: str) -> bool:
        person = self.people.get(key)
        return person is not None and person.is_agent

    def _find_user(self) -> str:
        for key, person in self.people.items():
            if person.is_user:
                return self.label(key)
        return "User"

    def _describe_session(self, use: RoomUse, user: str) -> dict[str, object]:
        speakers = [self.label(key) for key in use.speakers]
        is_group = len(speakers) > 2 if use.room.is_group is None else use.room.is_group
        people = dict.fromkeys([user, *speakers])
        return {
            "id": self.sessions[use.room.key],
            "kind": "group" if is_group else "1to1",
            "participants": list(people)[:_PARTICIPANTS],
        }

    def _describe_story(self, rooms: list[RoomUse], days: list[date]) -> dict[str, object]:
        first = days[0]
        return {
            "epoch": first.isoformat(),
            "gaps": True,
            "arcs": [
                {
                    "id": self.sessions[use.room.key],
                    "type": "relationship",
                    "title": self._clean_title(use.room.label, use.room.label)
                    or self.sessions[use.room.key],
                    "description": f"{use.messages:,} messages.",
                    "startDay": (use.first - first).days + 1,
                    "endDay": (use.last - first).days + 1,
                    "primarySession": self.sessions[use.room.key],
                }
                for use in rooms
            ],
        }


def _list_distinct(keys: Iterable[str], label: Callable[[str], str]) -> list[str]:
    """The first key of each label."""
    distinct: dict[str, str] = {}
    for key in keys:
        distinct.setdefault(label(key), key)
    return list(distinct.values())


def _guard_structure(text: str) -> str:
    """The text without lines that would be headings or sessions of the day."""
    # Most messages have no such line, and to look for the start of each takes longer than all else.
    if "#" not in text:
        return text
    text = _SESSION_LINE.sub(r"\1\\\2", text)
    return _HEADING_LINE.sub(" ", text)
