"""Messages on disk, put in order there: a history may be larger than memory."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from recall_bench.core.errors import JournalLost
from recall_bench.datasets.history.history_message import HistoryMessage, ReadingLog, Room

_SEPARATOR = "\x1f"
_BATCH = 2_000
_BATCH_CHARACTERS = 4_000_000
"""A batch is stored once it has this many messages or characters: a message can be long."""

_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16384;
CREATE TABLE messages (
  number INTEGER PRIMARY KEY, identity TEXT UNIQUE, day INTEGER, at TEXT, room TEXT,
  conversation TEXT, title TEXT, speaker TEXT, recipients TEXT, text TEXT
);
"""
_INSERT = """
INSERT INTO messages (identity, day, at, room, conversation, title, speaker, recipients, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (identity) DO UPDATE SET at = excluded.at, day = excluded.day
WHERE excluded.at < messages.at
"""


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

    def __init__(self, path: Path, log: ReadingLog) -> None:
        self._log = log
        self._rooms: dict[str, Room] = {}
        self._base = sqlite3.connect(path, isolation_level=None)
        self._base.executescript(_SCHEMA)
        self._base.execute("BEGIN")
        self._rows: list[tuple[object, ...]] = []
        self._characters = 0
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
        text = _make_storable(message.text)
        self._characters += len(text)
        self._rows.append(
            (
                message.identity,
                day.toordinal(),
                at.replace(tzinfo=None).isoformat(timespec="milliseconds"),
                message.room.key,
                message.conversation,
                message.title,
                message.speaker,
                _SEPARATOR.join(message.recipients),
                text,
            )
        )
        if len(self._rows) >= _BATCH or self._characters >= _BATCH_CHARACTERS:
            self._store()

    def finish(self) -> None:
        """Store what is left, and prepare for reading by day."""
        self._store()
        self._base.execute("COMMIT")
        self._base.execute("CREATE INDEX by_day ON messages (day)")

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def _store(self) -> None:
        try:
            self._base.executemany(_INSERT, self._rows)
        except sqlite3.OperationalError as error:
            if "full" in str(error):
                raise JournalLost(f"the messages: {JournalLost.FULL_DISK}") from error
            raise
        self._rows.clear()
        self._characters = 0

    def get_room(self, key: str) -> Room:
        """The room with this key."""
        return self._rooms[key]

    def count(self) -> int:
        """The number of different messages."""
        [[found]] = self._base.execute("SELECT COUNT(*) FROM messages")
        return int(found)

    def list_days(self) -> list[date]:
        """The days with a message, in order."""
        rows = self._base.execute("SELECT DISTINCT day FROM messages ORDER BY day")
        return [date.fromordinal(day) for (day,) in rows]

    def read_day(self, day: date) -> Iterator[SpooledMessage]:
        """The messages of a day, by time."""
        rows = self._base.execute(
            "SELECT at, room, conversation, title, speaker, recipients, text FROM messages "
            "WHERE day = ? ORDER BY at, number",
            (day.toordinal(),),
        )
        for at, room, conversation, title, speaker, recipients, text in rows:
            keys = tuple(recipients.split(_SEPARATOR)) if recipients else ()
            yield SpooledMessage(
                datetime.fromisoformat(at), room, conversation, title, speaker, keys, text
            )

    def list_rooms(self) -> list[RoomUse]:
        """The rooms that were used, the one with the first message first."""
        spans = self._base.execute(
            "SELECT room, MIN(day), MAX(day), COUNT(*) FROM messages "
            "GROUP BY room ORDER BY MIN(at), room"
        ).fetchall()
        return [
            RoomUse(
                self._rooms[room],
                date.fromordinal(first),
                date.fromordinal(last),
                count,
                self._list_speakers(room),
            )
            for room, first, last, count in spans
        ]

    def count_messages_by_speaker(self) -> dict[str, int]:
        """How many messages each participant wrote, the most active first."""
        rows = self._base.execute(
            "SELECT speaker, COUNT(*) FROM messages GROUP BY speaker "
            "ORDER BY COUNT(*) DESC, speaker"
        )
        return dict(rows)

    def _list_speakers(self, room: str) -> tuple[str, ...]:
        rows = self._base.execute(
            "SELECT speaker FROM messages WHERE room = ? GROUP BY speaker "
            "ORDER BY COUNT(*) DESC, speaker",
            (room,),
        )
        return tuple(speaker for (speaker,) in rows)


def _make_storable(text: str) -> str:
    """The text without halves of surrogate pairs and NUL, which no file of text can hold."""
    return text.encode("utf-8", "replace").decode().replace("\0", "").replace("\r\n", "\n")
