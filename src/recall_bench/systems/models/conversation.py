"""A conversation in which a model calls tools, with any model.

A provider's model is offered the tools by the provider's own interface. Every other model (a
program, Python, a folder of files) gets the tools and all that was said so far as one text, and
replies with JSON: `{"calls": [{"tool": …, "arguments": {…}}]}` or `{"answer": …}`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from recall_bench.core.tool_call import MemoryTool
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.core.usage import Usage, estimate_tokens
from recall_bench.systems.models.model import Model, Prompt, fence_blocks

CONVERSATION_VERSION = "1"
"""Increase it when the text that a model without an interface for tools is sent changes."""

TEXT_RULES = (
    "You work with tools. Reply with one JSON object and nothing else. To call tools: "
    '{"calls": [{"tool": "<name>", "arguments": {…}}]}. When you are done: '
    '{"answer": "<your answer>"}. Results of your calls, and what you said before, stand below as '
    "one JSON object a line."
)
"""Added to the system's text for a model without an interface for tools."""

NO_TOOLS = 'No tool can be called any more. Reply with {"answer": "<your answer>"} now.'

REPLY_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["tool", "arguments"],
            },
        },
        "answer": {"type": "string"},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    """A call that a model asks for."""

    tool: str
    arguments: Mapping[str, object] | None
    """None if they are no JSON object."""
    id: str = ""
    """The provider's own name of the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReturn:
    """What the model receives about a call."""

    call: RequestedCall
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """One reply of the model: calls, or an answer, or neither."""

    calls: tuple[RequestedCall, ...] = ()
    text: str = ""
    unreadable: str | None = None
    """Why the reply cannot be used; the model should learn it."""
    usage: Usage = field(default_factory=Usage)
    tokens: int = 0
    """The tokens of the request and the reply; estimated if the model reports none."""


class ToolConversation(Protocol):
    """One conversation. A call that fails does not change it, so it can be repeated."""

    async def advance(
        self, returns: Sequence[CallReturn], note: str = "", *, tools: Sequence[MemoryTool]
    ) -> ModelTurn:
        """Send what came of the last calls, and a note if there is one; return the next turn.

        ModelBusy, ModelGone or another ModelFault as `Model.complete` raises them.
        """


@dataclass(slots=True)
class TextConversation:
    """A conversation with a model that takes one text and returns one."""

    model: Model
    system: str
    user: str
    about: str = ""
    _said: tuple[str, ...] = ()

    async def advance(
        self, returns: Sequence[CallReturn], note: str = "", *, tools: Sequence[MemoryTool]
    ) -> ModelTurn:
        """Send everything so far as one text."""
        added = [
            _encode({"result of": call_return.call.tool, "is": call_return.text})
            for call_return in returns
        ] + ([_encode({"note": note})] if note else [])
        lines = (*self._said, *added)
        offered = "\n".join(
            _encode({"tool": tool.name, "does": tool.description, "arguments": tool.schema})
            for tool in tools
        )
        rules = f"{TEXT_RULES}\n\nTools, one a line:\n{offered}" if tools else TEXT_RULES
        parts = [self.user]
        if lines:
            parts.append(fence_blocks({"so far": "\n".join(lines)}).text)
        if not tools:
            parts.append(NO_TOOLS)
        prompt = Prompt(
            system=f"{self.system}\n\n{rules}",
            user="\n\n".join(parts),
            schema=REPLY_SCHEMA,
            about=self.about,
        )
        reply = await self.model.complete(prompt)
        turn = parse_turn(reply.text)
        tokens = reply.usage.tokens or estimate_tokens(prompt.system + prompt.user + reply.text)
        self._said = (*lines, _encode({"you": reply.text}))
        return ModelTurn(
            calls=turn.calls,
            text=turn.text,
            unreadable=turn.unreadable,
            usage=reply.usage,
            tokens=tokens,
        )


def parse_turn(reply: str) -> ModelTurn:
    """Read a reply as calls or an answer.

    Text around the JSON object is ignored, and a reply without any `{` is an answer.

    >>> parse_turn('{"calls": [{"tool": "search", "arguments": {"query": "leeks"}}]}').calls[0].tool
    'search'
    >>> parse_turn("Bed 7.").text
    'Bed 7.'
    >>> parse_turn('{"calls": 3}').unreadable
    'calls is no list of objects with tool and arguments'
    """
    start, end = reply.find("{"), reply.rfind("}")
    if start < 0:
        text = reply.strip()
        return ModelTurn(text=text, unreadable=None if text else "the reply is empty")
    try:
        content = decode_untrusted_json(reply[start : end + 1], object)
    except msgspec.DecodeError as error:
        return ModelTurn(unreadable=f"the reply is no JSON object ({error})")
    if not isinstance(content, dict):
        return ModelTurn(unreadable="the reply is no JSON object")
    return _read_object(content)


def _read_object(found: Mapping[str, object]) -> ModelTurn:
    calls_field, answer = found.get("calls"), found.get("answer")
    if calls_field:
        calls = _read_calls(calls_field)
        if calls is None:
            return ModelTurn(unreadable="calls is no list of objects with tool and arguments")
        return ModelTurn(calls=calls)
    if isinstance(answer, str) and answer.strip():
        return ModelTurn(text=answer.strip())
    return ModelTurn(unreadable="the reply has neither calls nor an answer")


def _read_calls(wanted: object) -> tuple[RequestedCall, ...] | None:
    if not isinstance(wanted, list):
        return None
    calls = []
    for item in wanted:
        if not isinstance(item, dict) or not isinstance(item.get("tool"), str):
            return None
        arguments = item.get("arguments", {})
        calls.append(
            RequestedCall(
                tool=item["tool"], arguments=arguments if isinstance(arguments, dict) else None
            )
        )
    return tuple(calls)


def _encode(content: Mapping[str, object]) -> str:
    return json.dumps(content, ensure_ascii=False)
