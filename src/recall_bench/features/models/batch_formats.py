"""The two formats of batches: how a request is written as a line, and how a reply is read.

OpenAI's, which others read too, has `/v1/chat/completions`; Anthropic's has `/v1/messages`. Both
say what the same model would be sent if it were called at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from recall_bench.core.usage import read_token_count
from recall_bench.systems.models.model import Finish, Prompt

CHAT_URL = "/v1/chat/completions"

_CHAT_FINISHES = {"length": Finish.LENGTH, "content_filter": Finish.FILTERED}
_MESSAGE_FINISHES = {
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.FILTERED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSettings:
    """What a request has beside its texts."""

    model: str | None
    temperature: float | None
    max_tokens: int | None
    schema: Mapping[str, object] | None
    """As the provider takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReply:
    """A reply as the service returned it."""

    text: str
    finish: Finish
    input_tokens: int
    output_tokens: int
    model: str | None
    """What the service calls the model."""


class BatchFormat(Protocol):
    """How one kind of service writes requests and replies."""

    @property
    def what(self) -> str:
        """What a reply is called."""

    def build_line(self, key: str, prompt: Prompt, settings: RequestSettings) -> dict[str, object]:
        """The line of a request."""

    def read_reply(self, body: Mapping[str, Any]) -> BatchReply | None:
        """The reply in the body of a result; None if it is none."""


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """OpenAI's format."""

    limit_name: str = "max_completion_tokens"
    """OpenAI's models that reason refuse the old name, which compatible servers know."""
    what: str = "chat completion"

    def build_line(self, key: str, prompt: Prompt, settings: RequestSettings) -> dict[str, object]:
        """The line of a request."""
        body: dict[str, object] = {
            "model": settings.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
        }
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if settings.max_tokens is not None:
            body[self.limit_name] = settings.max_tokens
        if settings.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": settings.schema, "strict": True},
            }
        return {"custom_id": key, "method": "POST", "url": CHAT_URL, "body": body}

    def read_reply(self, body: Mapping[str, Any]) -> BatchReply | None:
        """The first choice of a chat completion."""
        match body:
            case {"choices": [{"message": {"content": str() | None as content}, **choice}, *_]}:
                usage = _read_object(body.get("usage"))
                return BatchReply(
                    text=content or "",
                    finish=_CHAT_FINISHES.get(str(choice.get("finish_reason")), Finish.STOP),
                    input_tokens=read_token_count(usage.get("prompt_tokens")),
                    output_tokens=read_token_count(usage.get("completion_tokens")),
                    model=_read_text(body.get("model")),
                )
        return None


@dataclass(frozen=True, slots=True)
class MessageFormat:
    """Anthropic's format."""

    what: str = "message"

    def build_line(self, key: str, prompt: Prompt, settings: RequestSettings) -> dict[str, object]:
        """The line of a request."""
        params: dict[str, object] = {
            "model": settings.model,
            "max_tokens": settings.max_tokens,
            "system": prompt.system,
            "messages": [{"role": "user", "content": [{"text": prompt.user, "type": "text"}]}],
        }
        if settings.temperature is not None:
            params["temperature"] = settings.temperature
        if settings.schema is not None:
            schema = {"type": "json_schema", "schema": settings.schema}
            params["output_config"] = {"format": schema}
        return {"custom_id": key, "params": params}

    def read_reply(self, body: Mapping[str, Any]) -> BatchReply | None:
        """The texts of a message."""
        content = body.get("content")
        if not isinstance(content, list):
            return None
        usage = _read_object(body.get("usage"))
        texts = [
            part["text"]
            for part in content
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        ]
        return BatchReply(
            text="".join(texts),
            finish=_MESSAGE_FINISHES.get(str(body.get("stop_reason")), Finish.STOP),
            input_tokens=read_token_count(usage.get("input_tokens")),
            output_tokens=read_token_count(usage.get("output_tokens")),
            model=_read_text(body.get("model")),
        )


def _read_object(found: object) -> Mapping[str, object]:
    return found if isinstance(found, dict) else {}


def _read_text(found: object) -> str | None:
    return found if isinstance(found, str) else None
