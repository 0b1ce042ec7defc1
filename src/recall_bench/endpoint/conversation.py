"""A conversation as one prompt, a reply as a completion, and a completion as a stream."""

import json
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from recall_bench.endpoint.refusal import EndpointRefusal
from recall_bench.models.model import Finish, Prompt, Reply

_FINISHES = {
    Finish.STOP: "stop",
    Finish.LENGTH: "length",
    Finish.FILTERED: "content_filter",
}
_NEEDS_TOOLS = ("tools", "functions")
_INSTRUCTING = ("system", "developer")


def build_prompt(request: dict[str, Any], model: str) -> Prompt:
    """The conversation as one prompt; Refusal for what only a compatible server can do.

    Several turns become a transcript that ends where the model is to go on.
    """
    for name in _NEEDS_TOOLS:
        if request.get(name):
            raise _refuse_feature(model, name, "no tools")
    if request.get("n") not in (None, 1):
        raise _refuse_feature(model, "n", "one reply at a time")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise EndpointRefusal(400, "messages: say at least one", param="messages")
    said = [_read_message(message, model) for message in messages]
    turns = [(role, text) for role, text in said if role not in _INSTRUCTING]
    system = [text for role, text in said if role in _INSTRUCTING]
    form, schema = _read_form(request.get("response_format"))
    return Prompt(
        system="\n\n".join([*system, *form]),
        user=turns[0][1]
        if len(turns) == 1
        else "\n\n".join(f"{who}: {text}" for who, text in turns),
        schema=schema,
    )


def _refuse_feature(model: str, param: str, limit: str) -> EndpointRefusal:
    return EndpointRefusal(
        400,
        f"{param}: {model} takes {limit} from here; with --system-model openai:MODEL;URL requests "
        "go to a compatible server as they are",
        param=param,
        code="unsupported",
    )


def _read_message(message: object, model: str) -> tuple[str, str]:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise EndpointRefusal(400, "messages: each needs a role and a content", param="messages")
    if message["role"] in {"tool", "function"} or message.get("tool_calls"):
        raise _refuse_feature(model, "messages", "no tools")
    content = message.get("content")
    if isinstance(content, str):
        return message["role"], content
    if not isinstance(content, list):
        raise EndpointRefusal(
            400, "messages: a content is a text or a list of texts", param="messages"
        )
    texts = [part.get("text") if isinstance(part, dict) else None for part in content]
    if not all(isinstance(text, str) for text in texts):
        raise _refuse_feature(model, "messages", "text alone")
    return message["role"], "\n".join(str(text) for text in texts)


def _read_form(wanted: object) -> tuple[list[str], dict[str, Any] | None]:
    """The wanted form in words, which every model reads, and as a schema, which binds some."""
    match wanted:
        case None | {"type": "text"}:
            return [], None
        case {"type": "json_object"}:
            return ["Reply with one JSON object and nothing else."], None
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            told = json.dumps(schema, ensure_ascii=False)
            return [f"Reply with JSON by this schema and nothing else: {told}"], schema
    raise EndpointRefusal(
        400, "response_format: say text, json_object or json_schema", param="response_format"
    )


def build_completion(reply: Reply, model: str) -> dict[str, Any]:
    """A model's reply in the shape of a completion."""
    usage = reply.usage
    return {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text, "refusal": None},
                "logprobs": None,
                "finish_reason": _FINISHES[reply.finish],
            }
        ],
        "usage": {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
        },
    }


def format_stream(completion: dict[str, Any], options: object) -> bytes:
    """The whole completion as server-sent events, in a single piece: nothing arrives earlier."""
    with_usage = isinstance(options, dict) and options.get("include_usage") is True
    return b"".join(_format_events(completion, with_usage=with_usage))


def _format_events(completion: dict[str, Any], *, with_usage: bool) -> Iterator[bytes]:
    head = {name: completion[name] for name in ("id", "created", "model") if name in completion} | {
        "object": "chat.completion.chunk"
    }
    yield _format_event(
        {**head, "choices": [_build_delta(choice) for choice in completion["choices"]]}
    )
    if with_usage:
        yield _format_event({**head, "choices": [], "usage": completion.get("usage")})
    yield b"data: [DONE]\n\n"


def _build_delta(choice: dict[str, Any]) -> dict[str, Any]:
    delta = dict(choice.get("message") or {})
    if calls := delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": place, **call} for place, call in enumerate(calls)]
    return {
        "index": choice.get("index", 0),
        "delta": delta,
        "finish_reason": choice.get("finish_reason"),
    }


def _format_event(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()
