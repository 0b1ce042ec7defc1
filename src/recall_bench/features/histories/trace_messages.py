"""Messages in the inputs and outputs of model calls, in the shapes that tracing tools record.

Most calls repeat all messages before them. So a message has an identity: its conversation, role,
text and how many equal ones are before it in the same call. Equal identities are one message, at
the time of the first call that has it. In a conversation whose calls hold the new messages alone
the request is part of the identity: there an equal text is said again.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.untrusted_json import decode_plain_json
from recall_bench.features.histories.history_message import (
    ASSISTANT_ROOM,
    HistoryMessage,
    ReadingLog,
    assume_utc,
    get_dict,
    get_list,
    get_text,
)

_ROLES = {
    "human": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "systemmessage": "system",
    "developer": "system",
    "toolmessage": "tool",
    "function": "tool",
}
_USUAL_KEYS = ("messages", "input", "inputs", "question", "query", "prompt", "text", "user_input")
_REPLY_KEYS = ("messages", "output", "outputs", "answer", "response", "result", "text", "content")


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A role and what it said."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCall:
    """One call of a model, or one request of a user to an application."""

    at: datetime
    ended: datetime | None
    conversation: str
    request: str
    """The trace or run: calls within one may repeat each other. Empty if it is not known."""
    title: str
    asked: tuple[ChatTurn, ...]
    replied: tuple[ChatTurn, ...]


def build_messages(
    list_calls: Callable[[], Iterable[TracedCall]], missing: str, log: ReadingLog
) -> Iterator[HistoryMessage]:
    """The messages of all calls by the user and the model; UsageError if there is no call.

    The calls are read twice.
    """
    repeating = {call.conversation for call in list_calls() if _repeats(call)}
    has_messages = False
    for call in list_calls():
        has_messages = True
        is_repeating = call.conversation in repeating
        request = "" if is_repeating else call.request or call.at.isoformat()
        yield from _build_call_messages(call, request, log)
    if not has_messages:
        raise UsageError(missing)


def _repeats(call: TracedCall) -> bool:
    """Whether a call holds what was said before it."""
    roles = [turn.role for turn in call.replied]
    has_answer = any(turn.role in ("assistant", "tool") for turn in call.asked)
    return has_answer or ("assistant" in roles and "user" in roles[roles.index("assistant") :])


def _build_call_messages(
    call: TracedCall, request: str, log: ReadingLog
) -> Iterator[HistoryMessage]:
    # An output that holds messages of the user is the whole state after the call.
    is_state = any(turn.role == "user" for turn in call.replied)
    parts = [(call.asked, call.at), (call.replied, call.ended or call.at)]
    before: Counter[ChatTurn] = Counter()
    for turns, at in parts:
        if is_state:
            before.clear()
        for turn in turns:
            before[turn] += 1
            speaker = log.add_chat_speaker(turn.role)
            if speaker is None or not turn.text:
                log.skip("by tools", turn.role == "tool")
                continue
            content = json.dumps([call.conversation, turn.role, turn.text, before[turn], request])
            yield HistoryMessage(
                at=assume_utc(at),
                speaker=speaker,
                text=turn.text,
                room=ASSISTANT_ROOM,
                conversation=call.conversation,
                title=call.title,
                identity=sha256(content.encode()).hexdigest(),
            )


def read_asked(value: object) -> tuple[ChatTurn, ...]:
    """The messages of an input."""
    return tuple(_read_turns(value, "user", _USUAL_KEYS))


def read_replied(value: object) -> tuple[ChatTurn, ...]:
    """The messages of an output."""
    return tuple(_read_turns(value, "assistant", _REPLY_KEYS))


def decode_nested(value: object) -> object:
    """The value of a text that is JSON; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return decode_plain_json(value)
        except (msgspec.DecodeError, ValueError):
            return value
    return value


def _read_turns(
    value: object, role: str, keys: tuple[str, ...], depth: int = 0
) -> Iterator[ChatTurn]:
    value = decode_nested(value)
    if depth > 6 or value is None:
        return
    if isinstance(value, str):
        if value.strip():
            yield ChatTurn(role, value.strip())
    elif isinstance(value, list):
        for part in value:
            yield from _read_turns(part, role, keys, depth + 1)
    elif isinstance(value, dict):
        if (turn := _read_message(value, role)) is not None:
            yield turn
            return
        yield from _read_container(value, role, keys, depth)


def _read_container(
    value: dict[str, object], role: str, keys: tuple[str, ...], depth: int
) -> Iterator[ChatTurn]:
    """The messages of what holds them: choices, generations, or a member with a usual name."""
    for choice in get_list(value, "choices")[:1]:
        yield from _read_turns(get_dict(choice, "message"), role, keys, depth + 1)
        return
    for generation in _flatten(get_list(value, "generations"))[:1]:
        message = generation.get("message") if isinstance(generation, dict) else None
        yield from _read_turns(message or get_text(generation, "text"), role, keys, depth + 1)
        return
    for key in keys:
        if value.get(key):
            yield from _read_turns(value[key], role, keys, depth + 1)
            return


def _flatten(values: list[object]) -> list[object]:
    return [inner for value in values for inner in (value if isinstance(value, list) else [value])]


def _read_message(value: dict[str, object], role: str) -> ChatTurn | None:
    """A message of OpenAI, LangChain, or the conventions of OpenTelemetry; None if it is none."""
    kwargs = get_dict(value, "kwargs") or get_dict(value, "data")
    path = get_list(value, "id")
    kind = str(path[-1]) if path else ""
    named = get_text(value, "role") or kind or get_text(kwargs, "type") or get_text(value, "type")
    body = kwargs or value
    if not named or not ({"content", "parts"} & body.keys()):
        return None
    usual = _ROLES.get(named.lower(), named.lower())
    content = read_content(body.get("content", body.get("parts")))
    return ChatTurn(usual if usual in ("user", "assistant", "system", "tool") else role, content)


def read_content(content: object) -> str:
    """The text of a message's content: a text, or the text parts of a list."""
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, dict):
        return get_text(content, "content", "text").strip()
    if not isinstance(content, list):
        return ""
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif get_text(part, "type") in ("text", "input_text", "output_text", ""):
            parts.append(get_text(part, "content", "text"))
    return "\n\n".join(part.strip() for part in parts if part.strip())
