"""The settings of an agent, from `--config`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.redaction import REDACTED
from recall_bench.systems.agents.agent_wording import Telling


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
    known = {field.name for field in msgspec.structs.fields(kind)}
    if unknown := sorted(set(config) - known):
        raise UsageError(
            f"--config: an agent has no setting {', '.join(unknown)}; "
            f"it has {', '.join(sorted(known))}"
        )
    try:
        return msgspec.convert(dict(config), kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"--config: {error}") from error


def list_changed(settings: TalkSettings) -> dict[str, object]:
    """The settings that can change an answer and are not the default, for the card."""
    plain = msgspec.to_builtins(settings)
    usual = msgspec.to_builtins(type(settings)())
    kept = {"name", "version", "max_shards", "max_concurrency", "key_env"}
    changed = {key: plain[key] for key in plain if key not in kept and plain[key] != usual[key]}
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


def fill_places(value: object, places: Mapping[str, str]) -> object:
    """The value with `{memory}` and `{session}` filled into every text in it."""
    if isinstance(value, str):
        for name, text in places.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, dict):
        return {key: fill_places(each, places) for key, each in value.items()}
    return [fill_places(each, places) for each in value] if isinstance(value, list) else value
