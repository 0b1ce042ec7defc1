"""What every reader of a history yields, and what it notes beside the messages."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.core.untrusted_json import decode_plain_json
from recall_bench.features.histories.history_source import HistoryFile, HistorySource

USER = "user"
ASSISTANT = "assistant"
"""The keys of the two participants of a chat with a model."""


@dataclass(frozen=True, slots=True)
class Room:
    """A place where people write: it becomes a session of the persona."""

    key: str
    label: str
    """Its name for people: `#general`."""
    is_group: bool | None = True
    """None if the number of people who write there decides."""


ASSISTANT_ROOM = Room(PRINCIPAL, "Assistant", is_group=False)
"""Chats of the user with a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryMessage:
    """One message."""

    at: datetime
    """With its time zone; without one where the source has none, as WhatsApp."""
    speaker: str
    """The key of a participant."""
    text: str
    room: Room
    conversation: str
    """The key of the chat, thread or channel that it belongs to, within its source."""
    title: str = ""
    recipients: tuple[str, ...] = ()
    """The keys of participants; for mail."""
    identity: str | None = None
    """Equal for the same message found twice, as in traces; None if it is found once."""


@dataclass(slots=True)
class Participant:
    """A person or an agent in the history."""

    key: str
    name: str = ""
    addresses: set[str] = field(default_factory=set)
    handles: set[str] = field(default_factory=set)
    phones: set[str] = field(default_factory=set)
    is_agent: bool = False
    is_user: bool = False

    @property
    def label(self) -> str:
        """The name to show."""
        aliases = (*sorted(self.handles), *sorted(self.addresses), *sorted(self.phones))
        return self.name or (aliases[0] if aliases else self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a history is read."""

    users: tuple[str, ...] = ()
    """Names, addresses and handles of the user; the first is the name to show."""
    zone: tzinfo = UTC
    date_order: str | None = None
    """`dmy`, `mdy` or `ymd` for dates that a source writes in figures alone."""

    def is_user(self, person: Participant) -> bool:
        """Whether the participant is the user."""
        named = {user.casefold() for user in self.users}
        aliases = {person.name, *person.addresses, *person.handles, *person.phones}
        return any(alias.casefold() in named for alias in aliases if alias)


@dataclass(slots=True)
class ReadingLog:
    """The participants of a history, and what was left out."""

    options: ReadOptions
    people: dict[str, Participant] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    """How many messages were left out, by the reason."""

    def add_person(self, key: str, name: str = "", *, is_agent: bool = False) -> Participant:
        """The participant with this key, made if it is new; a name is kept once it is known."""
        person = self.people.setdefault(key, Participant(key))
        person.name = person.name or " ".join(name.split())
        person.is_agent = person.is_agent or is_agent
        person.is_user = person.is_user or key == USER or self.options.is_user(person)
        return person

    def skip(self, reason: str, count: int = 1) -> None:
        """Count messages that are left out."""
        if count:
            self.skipped[reason] += count

    def add_chat_speaker(self, role: str, agent: str = "Assistant") -> str | None:
        """The key of the speaker with this role in a chat with a model; None to leave it out."""
        if role in ("user", "human"):
            self.add_person(USER, self.options.users[0] if self.options.users else "User")
            return USER
        if role in ("assistant", "ai", "model", "bot"):
            self.add_person(f"{ASSISTANT}:{agent}", agent, is_agent=True)
            return f"{ASSISTANT}:{agent}"
        return None


Reader = Callable[[HistorySource, ReadingLog], Iterator[HistoryMessage]]
"""Reads one source; UsageError, a sentence, if it is not in the format."""


def decode_element(raw: bytes, where: str) -> Any:  # noqa: ANN401 - any JSON
    """Any JSON value within the usual limits; UsageError, which says where it is, otherwise."""
    try:
        return decode_plain_json(raw)
    except (msgspec.DecodeError, ValueError) as error:
        raise UsageError(f"{where} cannot be read as JSON ({error}); export it again") from error


def read_json_file(file: HistoryFile) -> Any:  # noqa: ANN401 - any JSON
    """The value of a small file."""
    return decode_element(file.read(), file.shown)


def get_text(value: object, *keys: str) -> str:
    """The first of these keys that holds a text; empty if there is none."""
    if isinstance(value, dict):
        for key in keys:
            if isinstance(text := value.get(key), str) and text:
                return text
    return ""


def get_list(value: object, key: str) -> list[Any]:
    """The list under a key; empty if there is none."""
    content = value.get(key) if isinstance(value, dict) else None
    return content if isinstance(content, list) else []


def get_dict(value: object, key: str) -> dict[str, Any]:
    """The object under a key; empty if there is none."""
    content = value.get(key) if isinstance(value, dict) else None
    return content if isinstance(content, dict) else {}


_FRACTION = re.compile(r"\.(\d{6})\d+")
_FIRST_YEAR, _LAST_YEAR = 1980, 2200
_MILLISECONDS, _MICROSECONDS, _NANOSECONDS = 10**11, 10**14, 10**17
"""A number of seconds is below all of them until the year 5138."""


def parse_time(value: object) -> datetime | None:
    """A time as seconds, milliseconds or nanoseconds since 1970, or as ISO 8601; None otherwise."""
    try:
        if isinstance(value, str) and not re.fullmatch(r"\d+(\.\d+)?", value.strip()):
            text = _FRACTION.sub(r".\1", value.strip()).removesuffix(" UTC")
            moment = datetime.fromisoformat(text)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(_scale_seconds(float(value)), UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return moment if _FIRST_YEAR <= moment.year <= _LAST_YEAR else None


def assume_utc(at: datetime) -> datetime:
    """The time, in UTC if it has no zone."""
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _scale_seconds(number: float) -> float:
    for limit, scale in ((_NANOSECONDS, 1e9), (_MICROSECONDS, 1e6), (_MILLISECONDS, 1e3)):
        if abs(number) >= limit:
            return number / scale
    return number


def find_time(value: object, keys: Sequence[str]) -> datetime | None:
    """The time under the first of these keys that holds one."""
    if not isinstance(value, dict):
        return None
    return next((at for key in keys if (at := parse_time(value.get(key)))), None)
