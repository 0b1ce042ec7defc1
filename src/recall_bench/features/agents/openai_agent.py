"""Agents behind an OpenAI-compatible chat endpoint: `openai:URL`."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from recall_bench.core.errors import NotAnAnswer, SystemFault, SystemGone, UsageError
from recall_bench.core.memory import UNDECLARED, MemorySystem, SystemCard
from recall_bench.core.runtime import run_to_end
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from recall_bench.features.agents.agent_client import (
    AgentClient,
    list_objects,
    parse_object,
    read_error,
    read_key,
    read_usage,
)
from recall_bench.features.agents.agent_system import (
    AgentChannel,
    AgentReply,
    AgentSystem,
    Conversation,
)
from recall_bench.features.agents.talk_settings import (
    ChatSettings,
    Talk,
    fill_places,
    list_changed,
    read_talk_settings,
)

CHAT_PATH = "/chat/completions"
DEFAULT_MODEL = "default"


async def connect_openai_agent(
    target: str, config: Mapping[str, object], *, is_alone: bool = False
) -> AgentSystem:
    """The agent at `openai:URL`, once it answers; the path of chats is added if it is missing.

    One that is alone has no other memory than the one it is started for.
    """
    settings = read_talk_settings(config, ChatSettings)
    url = target.partition(":")[2]
    key = read_key(settings.key_env, os.environ)
    client = AgentClient(url.removesuffix(CHAT_PATH), key, settings.headers)
    try:
        model = settings.model or await _find_model(client)
    finally:
        await client.close()
    channel = OpenaiChannel(client, settings, model)
    place = client.address.url
    card = SystemCard(
        name=settings.name or f"agent at {place.partition('://')[2]}",
        version=settings.version or UNDECLARED,
        config={"agent": "openai", "url": place, "model": model, **list_changed(settings)},
        caveats=tuple(_list_caveats(settings, is_alone=is_alone)),
    )
    is_ours = settings.conversation is Talk.ONE and settings.history
    return AgentSystem(channel, settings, card, copies=is_ours, max_shards=1)


async def _find_model(client: AgentClient) -> str:
    """The only model that the endpoint lists; a stand-in if it lists none."""
    status, body = await client.get(f"{client.address.url}/models")
    if status in (401, 403):
        raise UsageError(
            f"{client.address.url} answers {status}: {read_error(body)}; name the variable with "
            "the key, as --config key_env=NAME"
        )
    if status >= 300:
        return DEFAULT_MODEL
    try:
        listed = parse_object(body).get("data")
    except NotAnAnswer:
        return DEFAULT_MODEL
    names = [model["id"] for model in list_objects(listed) if isinstance(model.get("id"), str)]
    if len(names) > 1:
        raise UsageError(
            f"{client.address.url} has several models; name one, as --config model={names[0]}"
        )
    return names[0] if names else DEFAULT_MODEL


def _list_caveats(settings: ChatSettings, *, is_alone: bool) -> Iterator[str]:
    if settings.conversation is Talk.ONE and settings.history:
        yield "its memory is the conversation, which is sent with every question"
        return
    if not is_alone:
        yield "memories are separated by a user id only, if the agent heeds it"
    if settings.conversation is Talk.ONE:
        yield "questions are asked in the conversation of the days, and the agent may remember them"
    else:
        yield "questions of one memory are asked one after another, and the agent may remember them"


class OpenaiChannel(AgentChannel):
    """Requests to a chat endpoint; what is copied of a memory is its conversation."""

    def __init__(self, client: AgentClient, settings: ChatSettings, model: str) -> None:
        self._client = client
        self._settings = settings
        self._model = model

    @property
    def sends_history(self) -> bool:
        """Unless the server keeps it."""
        return self._settings.history

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def send(self, conversation: Conversation, text: str) -> AgentReply:
        """Send the message, and the conversation before it unless the server keeps that."""
        places = {"memory": conversation.place.id, "session": conversation.id}
        history = conversation.said if self._settings.history else []
        body: dict[str, object] = {
            "model": self._model,
            "messages": [
                *({"role": role, "content": content} for role, content in history),
                {"role": "user", "content": text},
            ],
        }
        if self._settings.user:
            body["user"] = fill_places(self._settings.user, places)
        if self._settings.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        body |= cast("dict[str, object]", fill_places(dict(self._settings.body), places))
        headers = cast("dict[str, str]", fill_places(dict(self._settings.headers), places))
        url = f"{self._client.address.url}{CHAT_PATH}"
        async with self._client.post(url, body, headers) as response:
            if response.is_stream:
                max_steps = self._settings.max_steps
                parts = _StreamParts()
                async for event in response.list_events():
                    parts.add(event, max_steps)
                if not parts.is_finished and not response.is_done:
                    # Where the end of the connection ends the reply, a crash looks the same.
                    raise SystemGone(
                        "the stream broke off: neither a finish_reason nor [DONE] came; see that "
                        "the agent runs and ends its streams, then run the same command again"
                    )
                if not parts.is_choice_seen:
                    raise NotAnAnswer("the stream ended without a reply")
                return AgentReply(
                    text="".join(parts.texts), usage=parts.usage, tool_calls=tuple(parts.calls)
                )
            document = await response.read_json()
            message = _find_choice(document).get("message")
            if not isinstance(message, dict):
                raise NotAnAnswer("its reply has no choices[0].message")
            return AgentReply(
                text=_read_content(message.get("content")),
                usage=read_usage(document.get("usage")),
                tool_calls=tuple(
                    _read_call(call) for call in list_objects(message.get("tool_calls"))
                ),
            )


@dataclass(slots=True)
class _StreamParts:
    """What came of a reply so far."""

    texts: list[str] = field(default_factory=list)
    calls: list[dict[str, object]] = field(default_factory=list)
    usage: Usage = field(default_factory=lambda: read_usage(None))
    is_choice_seen: bool = False
    is_finished: bool = False

    def add(self, event: dict[str, Any], max_steps: int) -> None:
        """Take one event in; SystemFault if it is an error, or one call of a tool too many."""
        if event.get("error"):
            raise SystemFault(f"the stream ends with an error: {event['error']}")
        if event.get("usage"):
            self.usage = read_usage(event["usage"])
        choice = _find_choice(event, is_required=False)
        self.is_choice_seen |= bool(choice)
        self.is_finished |= bool(choice.get("finish_reason"))
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        self.texts.append(_read_content(delta.get("content")))
        for call in list_objects(delta.get("tool_calls")):
            # Pieces of arguments follow without an id.
            if call.get("id"):
                self.calls.append(_read_call(call))
        if len(self.calls) > max_steps:
            raise NotAnAnswer(
                f"it called {len(self.calls)} tools and did not answer; its limit is max_steps"
            )


def _find_choice(document: dict[str, Any], *, is_required: bool = True) -> dict[str, Any]:
    choices = list_objects(document.get("choices"))
    if not choices and is_required:
        raise NotAnAnswer(f"its reply has no choices: {read_error(repr(document).encode())}")
    return choices[0] if choices else {}


def _read_content(content: object) -> str:
    """The text of a message, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in list_objects(content))
    return "".join(part for part in parts if isinstance(part, str))


def _read_call(call: dict[str, Any]) -> dict[str, object]:
    function = call.get("function")
    fields = function if isinstance(function, dict) else call
    return {"name": str(fields.get("name", "")), "arguments": fields.get("arguments")}


def open_openai_agent(settings: Settings) -> MemorySystem:
    """The agent behind `openai:URL`."""
    return run_to_end(connect_openai_agent, settings.adapter, settings.config)
