"""A conversation with a provider's model, which is offered tools by the provider's interface."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recall_bench.core.tool_call import MemoryTool
from recall_bench.core.usage import estimate_tokens
from recall_bench.features.models.provider_model import ProviderModel
from recall_bench.systems.models.conversation import (
    CallReturn,
    ModelTurn,
    RequestedCall,
    TextConversation,
    ToolConversation,
)
from recall_bench.systems.models.model import Model

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ToolCallPart


class ProviderConversation:
    """Keeps the provider's own messages: some hold what must be sent back unchanged."""

    def __init__(self, model: ProviderModel, *, system: str, user: str) -> None:
        self._model = model
        self._system = system
        self._user = user
        self._said: tuple[ModelMessage, ...] = ()
        self._tools: Sequence[MemoryTool] = ()

    async def advance(
        self, returns: Sequence[CallReturn], note: str = "", *, tools: Sequence[MemoryTool]
    ) -> ModelTurn:
        """Send one request with everything so far."""
        from pydantic_ai.messages import ModelRequest

        sent = (*self._said, ModelRequest(parts=self._build_parts(returns, note)))
        # Some providers refuse a conversation with calls of tools that are not offered any more.
        self._tools = self._tools or tools
        response, usage = await self._model.request(sent, self._tools)
        self._said = (*sent, response)
        calls = tuple(map(_read_call, response.tool_calls))
        text = self._model.redact_reply(response.text or "").strip()
        return ModelTurn(
            calls=calls,
            text=text,
            unreadable=None if calls or text else "the reply is empty",
            usage=usage,
            tokens=usage.tokens or _estimate_size(sent, response),
        )

    def _build_parts(self, returns: Sequence[CallReturn], note: str) -> "list[ModelRequestPart]":
        from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart

        parts: list[ModelRequestPart] = []
        if not self._said:
            parts += [SystemPromptPart(self._system), UserPromptPart(self._user)]
        parts += [
            ToolReturnPart(
                tool_return.call.tool, tool_return.text, tool_call_id=tool_return.call.id
            )
            for tool_return in returns
        ]
        return parts + ([UserPromptPart(note)] if note else [])


def _read_call(part: "ToolCallPart") -> RequestedCall:
    try:
        arguments = part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return RequestedCall(tool=part.tool_name, arguments=None, id=part.tool_call_id)
    return RequestedCall(tool=part.tool_name, arguments=arguments, id=part.tool_call_id)


def _estimate_size(sent: "Sequence[ModelMessage]", response: "ModelResponse") -> int:
    return estimate_tokens("".join(str(message.parts) for message in (*sent, response)))


def open_conversation(model: Model, *, system: str, user: str, about: str = "") -> ToolConversation:
    """Open a conversation with any model."""
    if isinstance(model, ProviderModel):
        return ProviderConversation(model, system=system, user=user)
    return TextConversation(model, system, user, about)
