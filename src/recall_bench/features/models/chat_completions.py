"""`/v1/chat/completions`: forwarded to a compatible server, or translated into one prompt.

Refusals have the shape that OpenAI's clients understand.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from recall_bench.core.errors import ModelBusy, ModelFault, ModelGone
from recall_bench.core.untrusted_json import decode_plain_json
from recall_bench.core.usage import Usage
from recall_bench.core.user_code import require_libraries
from recall_bench.features.models.compatible_server import CompatibleServer, resolve_server
from recall_bench.features.models.faults import truncate_line
from recall_bench.features.models.model_spec import ModelSpec
from recall_bench.features.models.provider_model import open_model
from recall_bench.systems.models.model import Finish, Model, Prompt, Reply

if TYPE_CHECKING:
    import httpx

NO_RETRY = {"x-should-retry": "false"}
"""OpenAI's clients retry server errors unless this header is set."""


class EndpointRefusal(Exception):
    """An error reply of the endpoint."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
        self.headers = dict(headers or {})


def translate_fault(fault: ModelFault) -> EndpointRefusal:
    """Return the error reply for a model's failure."""
    if isinstance(fault, ModelBusy):
        if fault.retry_after_s > 0:
            headers = {"retry-after": f"{fault.retry_after_s:g}"}
            return EndpointRefusal(429, str(fault), kind="rate_limit_error", headers=headers)
        return EndpointRefusal(503, str(fault), kind="server_error")
    final = NO_RETRY if isinstance(fault, ModelGone) else None
    return EndpointRefusal(502, str(fault), kind="server_error", headers=final)


_FINISHES = {
    Finish.STOP: "stop",
    Finish.LENGTH: "length",
    Finish.FILTERED: "content_filter",
}
_NEEDS_TOOLS = ("tools", "functions")
_INSTRUCTING = ("system", "developer")


def build_prompt(request: dict[str, Any], model: str) -> Prompt:
    """Return the conversation as one prompt; EndpointRefusal for what needs a compatible server.

    Several turns become a transcript that the model continues.
    """
    for name in _NEEDS_TOOLS:
        if request.get(name):
            raise _refuse_feature(model, name, "no tools")
    if request.get("n") not in (None, 1):
        raise _refuse_feature(model, "n", "one reply at a time")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise EndpointRefusal(400, "messages: send at least one", param="messages")
    pairs = [_read_message(message, model) for message in messages]
    turns = [(role, text) for role, text in pairs if role not in _INSTRUCTING]
    system = [text for role, text in pairs if role in _INSTRUCTING]
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
    """Return the response format in words, for every model, and as a schema, for some."""
    match wanted:
        case None | {"type": "text"}:
            return [], None
        case {"type": "json_object"}:
            return ["Reply with one JSON object and nothing else."], None
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            text = json.dumps(schema, ensure_ascii=False)
            return [f"Reply with JSON by this schema and nothing else: {text}"], schema
    raise EndpointRefusal(
        400, "response_format: use text, json_object or json_schema", param="response_format"
    )


def build_completion(reply: Reply, model: str) -> dict[str, Any]:
    """Return a model's reply as a completion."""
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
    """Return the whole completion as server-sent events, sent at once."""
    choices = []
    for choice in completion["choices"]:
        delta = dict(choice.get("message") or {})
        if calls := delta.get("tool_calls"):
            delta["tool_calls"] = [{"index": place, **call} for place, call in enumerate(calls)]
        index, finish = choice.get("index", 0), choice.get("finish_reason")
        choices.append({"index": index, "delta": delta, "finish_reason": finish})
    head: dict[str, Any] = {"object": "chat.completion.chunk"}
    head |= {name: completion[name] for name in ("id", "created", "model") if name in completion}
    chunks: list[dict[str, Any]] = [{**head, "choices": choices}]
    if isinstance(options, dict) and options.get("include_usage") is True:
        chunks.append({**head, "choices": [], "usage": completion.get("usage")})
    events = [json.dumps(chunk, ensure_ascii=False) for chunk in chunks] + ["[DONE]"]
    return "".join(f"data: {event}\n\n" for event in events).encode()


CHAT_TIMEOUT_S = 300.0
"""Timeout of one reply."""

_OURS = ("stream", "stream_options")
"""Parameters about the reply to the client; they are not forwarded."""

_LIMITS = ("max_tokens", "max_completion_tokens")


def open_chat(
    spec: ModelSpec,
    environ: Mapping[str, str] | None = None,
    *,
    timeout_s: float = CHAT_TIMEOUT_S,
) -> Chat:
    """Return the model of the spec; UsageError if a package, a program or a key is missing."""
    server = resolve_server(spec, environ)
    if server is None:
        return PromptChat(open_model(spec, environ), spec, timeout_s)
    require_libraries(f"{spec.name}:", "http", "httpx")
    return ChatProxy(server, timeout_s)


class ChatProxy:
    """Forwards each request, with the model's own name, to a compatible server."""

    def __init__(self, server: CompatibleServer, timeout_s: float) -> None:
        self.name = server.spec.name
        self.model = server.spec.model or server.spec.provider
        """The server's name of the model."""
        self._server = server
        self._timeout_s = timeout_s
        self._client: httpx.AsyncClient | None = None

    async def complete(self, request: dict[str, Any]) -> tuple[dict[str, Any], Usage]:
        """Return the server's completion, including tools; its failures keep their status."""
        reply = await self._send(self._build_request(request))
        text = self._server.redact_reply.redact_secrets(reply.text)
        body = _decode_json(text)
        if not reply.is_success:
            raise self._make_refusal(reply, body)
        if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
            raise EndpointRefusal(
                502,
                f"{self.name}: replied with something that is no completion",
                kind="server_error",
            )
        return body, self._server.price_reply(body.get("usage"), body.get("model"))

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _build_request(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the request for this model; settings of the spec override the client's."""
        spec = self._server.spec
        meant = {name: value for name, value in request.items() if name not in _OURS}
        meant["model"] = spec.model
        if spec.temperature is not None:
            meant["temperature"] = spec.temperature
        if spec.max_tokens is not None:
            limit = next((name for name in _LIMITS if name in meant), _LIMITS[-1])
            meant = {name: value for name, value in meant.items() if name not in _LIMITS}
            meant[limit] = spec.max_tokens
        return meant

    async def _send(self, request: dict[str, Any]) -> httpx.Response:
        import httpx

        if self._client is None:
            # Opened by the first request: it belongs to the event loop that uses it.
            self._client = httpx.AsyncClient(
                headers=dict(self._server.headers), timeout=self._timeout_s
            )
        try:
            return await self._client.post(self._server.build_url("chat/completions"), json=request)
        except httpx.TimeoutException:
            refusal = EndpointRefusal(
                504, f"{self.name}: no reply within {self._timeout_s:g} s", kind="timeout_error"
            )
        except httpx.HTTPError as error:
            message = truncate_line(self._server.redact(str(error))) or "no reason given"
            refusal = EndpointRefusal(
                502, f"{self.name}: the connection failed: {message}", kind="server_error"
            )
        # Raised here, where no error of the library is being handled, it drags no headers along.
        raise refusal

    def _make_refusal(self, reply: httpx.Response, body: object) -> EndpointRefusal:
        error = body.get("error") if isinstance(body, dict) else None
        details = error if isinstance(error, dict) else {}
        message = details.get("message") or error or reply.text or "no reason given"
        headers = {
            name: reply.headers[name]
            for name in ("retry-after", "retry-after-ms")
            if name in reply.headers
        }
        if reply.status_code in {401, 403}:
            headers |= NO_RETRY
        return EndpointRefusal(
            reply.status_code if reply.status_code >= 400 else 502,
            f"{self.name}: {truncate_line(self._server.redact(str(message)))}",
            kind=self._redact_word(details.get("type")) or "server_error",
            code=self._redact_word(details.get("code")),
            param=self._redact_word(details.get("param")),
            headers=headers,
        )

    def _redact_word(self, found: object) -> str | None:
        return truncate_line(self._server.redact(found)) if isinstance(found, str) else None


class PromptChat:
    """Translates each conversation for a model that takes one prompt and no tools."""

    def __init__(self, model: Model, spec: ModelSpec, timeout_s: float) -> None:
        self.name = spec.name
        self.model = spec.model or spec.provider
        """The provider's name of the model."""
        self._model = model
        self._timeout_s = timeout_s

    async def complete(self, request: dict[str, Any]) -> tuple[dict[str, Any], Usage]:
        """Return the model's reply as a completion; EndpointRefusal for what no prompt can express.

        The spec sets temperature and length of the reply, not the client.
        """
        import anyio

        prompt = build_prompt(request, self.name)
        try:
            with anyio.fail_after(self._timeout_s):
                reply = await self._model.complete(prompt)
        except TimeoutError:
            raise EndpointRefusal(
                504, f"{self.name}: no reply within {self._timeout_s:g} s", kind="timeout_error"
            ) from None
        except ModelFault as fault:
            raise translate_fault(fault) from None
        return build_completion(reply, self.model), reply.usage

    async def close(self) -> None:
        """Release the model's connections."""
        await self._model.close()


Chat = ChatProxy | PromptChat
"""A language model that completes conversations."""


def _decode_json(text: str) -> object:
    import msgspec

    try:
        return decode_plain_json(text)
    except msgspec.DecodeError:
        return None
