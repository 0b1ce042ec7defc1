"""The messages of all sources, put in order."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime

from recall_bench.core.grouping import group_by
from recall_bench.datasets.history.history_message import HistoryMessage, ReadingLog, Room


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
            kept = self._messages[place]
            self._messages[place] = replace(kept, at=min(kept.at, at))
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
                text=_make_storable(message.text),
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


def _make_storable(text: str) -> str:
    """The text without halves of surrogate pairs and NUL, which no file of text can hold."""
    return text.encode("utf-8", "replace").decode().replace("\0", "").replace("\r\n", "\n")
