"""The two formats of batches: how a request is written as a line, and how a result is read.

OpenAI's, which others read too, has `/v1/chat/completions`; Anthropic's has `/v1/messages`. Both
say what the same model would be sent if it were called at once.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from recall_bench.core.usage import read_token_count
from recall_bench.features.models.faults import truncate_line
from recall_bench.systems.models.model import Finish, Prompt

CHAT_URL = "/v1/chat/completions"

EXPIRED = "batch_expired"
CANCELLED = "batch_cancelled"
NO_RESULT = "no_result"
"""Our own code for a request that a finished batch says nothing of."""

_FINISHES = {
    "length": Finish.LENGTH,
    "content_filter": Finish.FILTERED,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.FILTERED,
}


class BatchReply(NamedTuple):
    """A reply as the service returned it."""

    text: str
    finish: Finish
    input_tokens: int
    output_tokens: int
    model: str | None
    """What the service calls the model."""


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """OpenAI's format."""

    limit_name: str = "max_completion_tokens"
    """OpenAI's models that reason refuse the old name, which compatible servers know."""
    what: str = "chat completion"

    def build_line(
        self,
        key: str,
        model: str | None,
        prompt: Prompt,
        settings: Mapping[str, object],
        schema: Mapping[str, object] | None,
    ) -> dict[str, object]:
        """The line of a request."""
        body: dict[str, object] = {
            "model": model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
        }
        if (temperature := settings.get("temperature")) is not None:
            body["temperature"] = temperature
        if (max_tokens := settings.get("max_tokens")) is not None:
            body[self.limit_name] = max_tokens
        if schema is not None:
            named = {"name": "reply", "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return {"custom_id": key, "method": "POST", "url": CHAT_URL, "body": body}

    def read_reply(self, body: Mapping[str, Any]) -> BatchReply | None:
        """The first choice of a chat completion; None if it is none."""
        match body:
            case {"choices": [{"message": {"content": str() | None as content}, **choice}, *_]}:
                finish, counts = choice.get("finish_reason"), ("prompt_tokens", "completion_tokens")
                return _make_reply(body, content or "", finish, counts)
        return None


@dataclass(frozen=True, slots=True)
class MessageFormat:
    """Anthropic's format."""

    what: str = "message"

    def build_line(
        self,
        key: str,
        model: str | None,
        prompt: Prompt,
        settings: Mapping[str, object],
        schema: Mapping[str, object] | None,
    ) -> dict[str, object]:
        """The line of a request."""
        params: dict[str, object] = {
            "model": model,
            "max_tokens": settings.get("max_tokens"),
            "system": prompt.system,
            "messages": [{"role": "user", "content": [{"text": prompt.user, "type": "text"}]}],
        }
        if (temperature := settings.get("temperature")) is not None:
            params["temperature"] = temperature
        if schema is not None:
            params["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return {"custom_id": key, "params": params}

    def read_reply(self, body: Mapping[str, Any]) -> BatchReply | None:
        """The texts of a message; None if it is none."""
        content = body.get("content")
        if not isinstance(content, list):
            return None
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        text = "".join(text for text in texts if isinstance(text, str))
        return _make_reply(body, text, body.get("stop_reason"), ("input_tokens", "output_tokens"))


BatchFormat = ChatFormat | MessageFormat


def _make_reply(
    body: Mapping[str, Any], text: str, finish: object, counts: tuple[str, str]
) -> BatchReply:
    usage, model = body.get("usage"), body.get("model")
    input_tokens, output_tokens = (
        read_token_count(usage.get(name) if isinstance(usage, dict) else None) for name in counts
    )
    return BatchReply(
        text=text,
        finish=_FINISHES.get(str(finish), Finish.STOP),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        model=model if isinstance(model, str) else None,
    )


@dataclass(frozen=True, slots=True)
class BatchFailure:
    """Why the service has no reply to a request."""

    code: str
    message: str
    status: int | None = None
    """Of the HTTP response, if there was one."""

    def __str__(self) -> str:
        where = self.code if self.status is None else f"status {self.status}"
        return truncate_line(f"the batch service failed ({where}): {self.message}")


def parse_line(text: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None if it is none."""
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def read_result(line: Mapping[str, Any]) -> dict[str, Any] | BatchFailure | None:
    """The body of a reply, or why there is none; None if the line is no result."""
    match line:
        case {"response": {"status_code": 200, "body": dict(body)}} | {
            "result": {"type": "succeeded", "message": dict(body)}
        }:
            return body
        case {"response": {"status_code": int(status), **response}}:
            return BatchFailure(*find_error(response.get("body")), status)
        case {"error": dict(error)}:
            return BatchFailure(*find_error(error))
        case {"result": {"type": "errored", **result}}:
            code, message = find_error(result)
            return BatchFailure(code, message, 400 if code == "invalid_request_error" else None)
        case {"result": {"type": "expired" | "canceled" as how}}:
            return BatchFailure(EXPIRED if how == "expired" else CANCELLED, f"it was {how}")
    return None


def find_error(body: object) -> tuple[str, str]:
    """The code and the message of an error, which may be wrapped."""
    match body:
        case {"error": dict(inner)}:
            return find_error(inner)
        case dict():
            code = body.get("code") or body.get("type") or "error"
            return str(code), str(body.get("message") or "no reason given")
    return "error", "no reason given"
