"""The settings of an agent, from `--config`."""

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.redaction import REDACTED
from recall_bench.core.scenario import PRINCIPAL, Episode, Question, Turn

WORDING_VERSION = 1

USER = "user"
"""The speaker of a dialogue whose turns begin a message."""


class Telling(StrEnum):
    """How a dialogue is sent. The log of a day is always one message."""

    TURNS = "turns"
    """Each turn of the user is a message, with what others said after it."""
    USER_TURNS = "user-turns"
    """Each turn of the user is a message, and what others said is left out."""
    DAY = "day"
    """The whole day is one message."""


def tell_episode(episode: Episode, telling: Telling = Telling.TURNS) -> tuple[str, ...]:
    """The messages that tell an episode, in order."""
    at = episode.at
    session = episode.session
    where = "" if session is None else f' This is from the session "{session}".'
    opening = (
        f"Today is {_format_date(at)}.{where} Please remember what follows, I will come back to "
        "it another day. A short reply is enough."
    )
    parts: tuple[str, ...] = ()
    if telling is not Telling.DAY and any(turn.speaker == USER for turn in episode.turns):
        parts = tuple(_join_turns(episode.turns, with_others=telling is Telling.TURNS))
    first, *rest = parts or (episode.text,)
    return (f"{opening}\n\n{first}", *rest)


def ask_question(question: Question) -> str:
    """The message that asks a question."""
    words = [f"Today is {_format_date(question.asked_at)}."]
    if question.session != PRINCIPAL:
        words.append(f'I ask from the session "{question.session}".')
    words.append(question.text)
    if question.choices:
        words.append("\n".join(("\n\nAnswer with one of these:", *question.choices)))
    return " ".join(words)


def _join_turns(turns: tuple[Turn, ...], *, with_others: bool) -> Iterator[str]:
    """Each turn of the user, and perhaps the turns of others up to the next, as one text."""
    lines: list[str] = []
    has_user = False
    for turn in turns:
        if turn.speaker == USER:
            if has_user:
                yield "\n\n".join(lines)
                lines = []
            has_user = True
            lines.append(turn.text)
        elif with_others:
            lines.append(f"{turn.speaker}: {turn.text}")
    yield "\n\n".join(lines)


def _format_date(at: datetime) -> str:
    return f"{at:%A}, {at:%Y-%m-%d}"


SERVER_PLACES = ("memory", "session")
"""What can be filled into a request: the ids of the memory and of the conversation."""


class Talk(StrEnum):
    """What a conversation holds."""

    NEW = "new"
    """One day, or one question: what is remembered between them, the agent keeps itself."""
    ONE = "one"
    """Every day and, in a branch or at its end, the question."""


class TalkSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of every agent."""

    conversation: Talk = Talk.NEW
    tell: Telling = Telling.TURNS
    settle_s: float = 0.0
    """How long to wait after the last day of a checkpoint."""
    version: str | None = None
    """The version of the agent, which only its user knows."""
    name: str | None = None
    max_concurrency: int = 1
    max_steps: int = 100
    """How many steps without an answer, such as calls of tools, one reply may take."""
    max_shards: int | None = None

    def __post_init__(self) -> None:
        for key in ("max_concurrency", "max_steps", "max_shards"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise ValueError(f"{key} is {value}; write a number from 1")
        if not 0 <= self.settle_s < float("inf"):
            raise ValueError(f"settle_s is {self.settle_s}; write seconds, 0 or more")


class ServerSettings(TalkSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an agent behind an address."""

    stream: bool = False
    key_env: str | None = None
    """The environment variable with the bearer token."""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    """Headers of every message, with `{memory}` and `{session}` filled in."""

    def __post_init__(self) -> None:
        TalkSettings.__post_init__(self)
        # The body is left alone: what stands there may be a template of the agent's.
        for key in ("headers", "metadata", "user"):
            refuse_unknown_places(f"--config {key}", getattr(self, key, None), SERVER_PLACES)


class ChatSettings(ServerSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an OpenAI-compatible endpoint."""

    model: str | None = None
    history: bool = True
    """Whether the messages of a conversation are sent again with the next one."""
    user: str | None = "{memory}"
    """The field `user` of every request; empty to send none."""
    body: dict[str, object] = msgspec.field(default_factory=dict)
    """Further fields of every request."""


class PeerSettings(ServerSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an agent that speaks A2A."""

    metadata: dict[str, object] = msgspec.field(default_factory=lambda: {"user": "{memory}"})
    """The metadata of every message, with `{memory}` and `{session}` filled in."""


class ReplyFormat(StrEnum):
    """What a program prints."""

    TEXT = "text"
    JSON = "json"


class ProgramSettings(TalkSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an agent on the command line."""

    first: str = ""
    """The words for `{conversation}` in the first message of a conversation."""
    next: str = ""
    """The words for `{conversation}` in later messages."""
    home: str | None = None
    """A folder that each memory's home starts as a copy of."""
    project: str | None = None
    """The same for the project folder, in which the program runs."""
    output: ReplyFormat = ReplyFormat.TEXT
    answer: str = "result"
    """The path of the reply in the JSON that the program prints."""
    error: str = "is_error"
    """The path of an error in it: anything there but false, null or nothing is one."""
    questions: str = "copies"
    """`copies` to ask each question of a copy of the folders, `in-place` to ask the folders."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.questions not in {"copies", "in-place"}:
            raise ValueError(f"questions is {self.questions!r}; write copies or in-place")
        if self.questions == "in-place" and self.max_concurrency > 1:
            raise ValueError("max_concurrency needs questions=copies; leave one of them out")


S = TypeVar("S", bound=TalkSettings)


def read_talk_settings(config: Mapping[str, object], kind: type[S]) -> S:
    """The settings of this kind; UsageError names what is unknown or of another type."""
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for name in config:
        if name not in types:
            there_are = f"it has {', '.join(sorted(types))}"
            hint = suggest_or_list(name, types, there_are)
            raise UsageError(f"--config: an agent has no setting {name}; {hint}")
    values = {name: _read_value(name, value, types[name]) for name, value in config.items()}
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"--config: {str(error).removesuffix(' - at `$`')}") from error


def _read_value(name: str, value: object, wanted: Any) -> object:  # noqa: ANN401 - a type expression
    """The value of one setting, as text if that is wanted: `version=2` comes as a number.

    A number with a point is refused there, because 1.10 comes as 1.1.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and wanted in (str, str | None):
        if isinstance(value, int):
            return str(value)
        raise UsageError(
            f"--config {name}: {value} comes as a number, and 1.10 would come as 1.1; put it in "
            f"quotes, as in --config '{name}=\"{value}\"'"
        )
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        # A mapping may hold credentials, and so may what was written in its place.
        is_plain = isinstance(value, str | int | float) and get_origin(wanted) is not dict
        suffix = f", not {value}" if is_plain else ""
        raise UsageError(f"--config {name}: write {_describe_type(wanted)}{suffix}") from error
    return value


def _describe_type(wanted: Any) -> str:  # noqa: ANN401 - a type expression
    kind = next(arg for arg in (*get_args(wanted), wanted) if arg is not type(None))
    if get_origin(wanted) is dict:
        if get_args(wanted)[1] is str:
            return "a mapping whose values are texts, such as {name: text}"
        return "a mapping, such as {name: value}"
    if issubclass(kind, StrEnum):
        return " or ".join(kind)
    return {bool: "true or false", int: "a whole number", float: "a number"}.get(kind, "a text")


def list_changed(settings: TalkSettings) -> dict[str, object]:
    """The settings that can change an answer and are not the default, for the card."""
    plain = msgspec.to_builtins(settings)
    usual = msgspec.to_builtins(type(settings)())
    unlisted = {"name", "version", "max_shards", "max_concurrency", "key_env"}
    changed = {key: plain[key] for key in plain if key not in unlisted and plain[key] != usual[key]}
    if isinstance(settings, ServerSettings) and settings.headers:
        changed["headers"] = {
            name: REDACTED if is_private(value) else value
            for name, value in settings.headers.items()
        }
    return changed


def is_private(header: str) -> bool:
    """Whether the value of a header may be a credential: it is none of the ids that we make.

    >>> is_private("sid=1234567890"), is_private("user-{memory}")
    (True, False)
    """
    return not any(place in header for place in ("{memory}", "{session}"))


_PLACE = re.compile(r"(?<!\$)\{([a-z_]+)\}")
"""A place in braces, and no variable of a shell such as ${name}."""


def refuse_unknown_places(where: str, value: object, known: Collection[str]) -> None:
    """UsageError if a text in the value has a place in braces that nothing is filled in for."""
    if isinstance(value, str):
        for name in _PLACE.findall(value):
            if name not in known:
                there_are = f"there are {', '.join(f'{{{each}}}' for each in known)}"
                hint = suggest_or_list(name, known, there_are)
                raise UsageError(f"{where}: nothing is filled in for {{{name}}}; {hint}")
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            refuse_unknown_places(where, part, known)


def fill_places(value: object, places: Mapping[str, str]) -> object:
    """The value with `{memory}` and `{session}` filled into every text in it."""
    if isinstance(value, str):
        for name, text in places.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, dict):
        return {key: fill_places(part, places) for key, part in value.items()}
    return [fill_places(inner, places) for inner in value] if isinstance(value, list) else value
