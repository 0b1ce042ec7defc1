"""Targets that read what agents reply: chats, A2A tasks, streams of either, and agent cards."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import msgspec

from recall_bench.core.errors import SystemFault, SystemGone, UsageError
from recall_bench.core.memory import SystemCard
from recall_bench.features.agents.a2a_agent import (
    V1_0,
    PeerCard,
    PeerChannel,
    parse_peer_card,
)
from recall_bench.features.agents.agent_client import EVENT_STREAM, AgentClient, AgentResponse
from recall_bench.features.agents.agent_system import AgentChannel, AgentSystem
from recall_bench.features.agents.openai_agent import OpenaiChannel
from recall_bench.features.agents.talk_settings import ChatSettings, PeerSettings, TalkSettings
from tests.fuzz.mutator import Format
from tests.fuzz.reply_targets import ask_for_reading, run_async
from tests.fuzz.target import ContentReader, FuzzTarget, Reading, Seed

_STREAM_MARK = b"data:"
_CALL = {"id": "1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
_CHAT = {
    "choices": [{"message": {"content": "14 degrees", "tool_calls": [_CALL]}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "cost": 0.01},
}
_CHAT_EVENTS = (
    {"choices": [{"delta": {"content": [{"type": "text", "text": "14 "}]}}]},
    {
        "choices": [
            {"delta": {"content": "degrees", "tool_calls": [_CALL]}, "finish_reason": "stop"}
        ]
    },
    {"choices": [], "usage": {"prompt_tokens": 7}},
)
_PARTS = [{"text": "14 degrees"}]
_TASK = {
    "id": "t",
    "contextId": "c",
    "status": {"state": "TASK_STATE_COMPLETED", "message": {"parts": _PARTS}},
    "artifacts": [{"artifactId": "a", "parts": _PARTS}],
    "metadata": {"usage": {"input_tokens": 7, "output_tokens": 3, "cost_usd": 0.1}},
}
_UPDATES = (
    {"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}},
    {"artifactUpdate": {"taskId": "t", "append": True, "artifact": {"parts": _PARTS}}},
    {"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_COMPLETED"}}},
)


class _CannedClient(AgentClient):
    """Replies to the first request with this body."""

    def __init__(self, content: bytes) -> None:
        super().__init__("http://127.0.0.1:9", None, {})
        self._content = content
        self._is_used = False

    @asynccontextmanager
    async def post(
        self, url: str, body: Mapping[str, object], headers: Mapping[str, str]
    ) -> AsyncIterator[AgentResponse]:
        del url, body, headers
        if self._is_used:
            # A task that changed into one that is under way would be looked at for ever.
            raise SystemFault("there is no second response")
        self._is_used = True
        kind = EVENT_STREAM if self._content.startswith(_STREAM_MARK) else "application/json"
        yield AgentResponse(
            httpx.Response(200, headers={"Content-Type": kind}, content=self._content)
        )


def _build_reader(
    open_channel: Callable[[AgentClient], AgentChannel], seeds: Sequence[Seed]
) -> ContentReader:
    async def ask(content: bytes) -> Reading:
        channel = open_channel(_CannedClient(content))
        card = SystemCard(name="agent", version="1")
        system = AgentSystem(channel, TalkSettings(), card, copies=False, max_shards=1)
        return await ask_for_reading(await system.open("s"))

    return ContentReader(list(seeds), lambda content: run_async(ask(content)))


def _write_events(events: Sequence[object]) -> Seed:
    lines = (b"data: " + msgspec.json.encode(event) + b"\n\n" for event in events)
    return Seed(b"".join(lines), Format.LINES)


def _open_chat(_: Path) -> ContentReader:
    seeds = (Seed(msgspec.json.encode(_CHAT)), _write_events(_CHAT_EVENTS))
    return _build_reader(lambda client: OpenaiChannel(client, ChatSettings(), "m"), seeds)


def _open_peer(_: Path) -> ContentReader:
    card = PeerCard(
        "peer", "1", "http://127.0.0.1:9", V1_0, streams=True, place="http://127.0.0.1:9"
    )

    def wrap(result: object) -> dict[str, object]:
        return {"jsonrpc": "2.0", "id": "1", "result": result}

    seeds = (
        Seed(msgspec.json.encode(wrap({"task": _TASK}))),
        Seed(msgspec.json.encode(wrap({"kind": "message", "parts": _PARTS}))),
        _write_events([wrap(update) for update in _UPDATES]),
    )
    return _build_reader(lambda client: PeerChannel(client, PeerSettings(max_steps=3), card), seeds)


def _open_card(_: Path) -> ContentReader:
    interface = {"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    facts = {"name": "peer", "version": "1", "capabilities": {"streaming": True}}
    former = facts | {"url": "http://a/rpc", "preferredTransport": "JSONRPC"}

    def parse(content: bytes) -> Reading:
        card = parse_peer_card(content, "http://a/card.json")
        return Reading(card, card)

    cards = (facts | {"supportedInterfaces": [interface]}, former)
    return ContentReader([Seed(msgspec.json.encode(card)) for card in cards], parse)


def list_agent_targets() -> Sequence[FuzzTarget]:
    """One target for each protocol, and one for cards."""
    return [
        FuzzTarget(
            name="reply of a chat agent", open=_open_chat, refusals=(SystemFault, SystemGone)
        ),
        FuzzTarget(name="reply of an A2A agent", open=_open_peer, refusals=(SystemFault,)),
        FuzzTarget(name="card of an A2A agent", open=_open_card, refusals=(UsageError,)),
    ]
