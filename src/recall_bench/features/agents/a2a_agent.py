"""Agents that speak the Agent2Agent protocol, versions 1.0 and 0.3, over JSON-RPC: `a2a:URL`.

The two versions name methods, roles and states differently, and 0.3 marks what an object is by its
`kind`, where 1.0 has a member of that name. Everything else here is the same for both.
"""

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

import anyio

from recall_bench.core.errors import NotAnAnswer, SystemFault, UsageError
from recall_bench.core.memory import UNDECLARED, MemorySystem, SystemCard
from recall_bench.core.runtime import run_to_end
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from recall_bench.features.agents.agent_client import (
    AgentClient,
    AgentResponse,
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
    PeerSettings,
    Talk,
    fill_places,
    list_changed,
    read_talk_settings,
)

CARD_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""The paths of an agent card: since version 0.3, and before."""

_LONGEST_POLL_S = 1.0
_UNDER_WAY = frozenset({"submitted", "working", "unspecified", "unknown"})
_FAILED = frozenset({"failed", "rejected", "canceled", "auth-required"})
INPUT_REQUIRED = "input-required"


@dataclass(frozen=True, slots=True)
class PeerDialect:
    """What the versions of the protocol name differently."""

    version: str
    send: str
    stream: str
    get_task: str
    role: str
    headers: dict[str, str]
    versions: tuple[str, ...]
    """Prefixes of the versions that it is used for; the first is its own."""

    def build_message(self, text: str) -> dict[str, object]:
        """A message of the user."""
        message: dict[str, object] = {"messageId": str(uuid4()), "role": self.role}
        if self is V0_3:
            return message | {"kind": "message", "parts": [{"kind": "text", "text": text}]}
        return message | {"parts": [{"text": text}]}


V1_0 = PeerDialect(
    version="1.0",
    send="SendMessage",
    stream="SendStreamingMessage",
    get_task="GetTask",
    role="ROLE_USER",
    headers={"A2A-Version": "1.0"},
    versions=("1.",),
)
V0_3 = PeerDialect(
    version="0.3",
    send="message/send",
    stream="message/stream",
    get_task="tasks/get",
    role="user",
    headers={},
    # 0.2 has the same methods and messages; before it they had other names.
    versions=("0.3", "0.2"),
)
_JSON_RPC = "JSONRPC"


@dataclass(frozen=True, slots=True)
class PeerCard:
    """The agent card, as far as it is used."""

    name: str
    version: str
    url: str
    """Where messages are sent."""
    dialect: PeerDialect
    streams: bool
    place: str
    """Where the card was found."""
    stated_version: str | None = None
    """The version of the protocol in the card; None if there is none."""
    bad_addresses: tuple[str, ...] = ()
    """Interfaces of the card whose URL cannot be used, each with the reason."""


async def connect_a2a_agent(
    target: str, config: Mapping[str, object], *, is_alone: bool = False
) -> AgentSystem:
    """Connect the agent at `a2a:URL` by its card.

    `is_alone` says that the agent has only the memory it is started for.
    """
    settings = read_talk_settings(config, PeerSettings)
    key = read_key(settings.key_env, os.environ)
    client = AgentClient(target.partition(":")[2], key, settings.headers)
    try:
        peer = await _fetch_card(client)
    finally:
        await client.close()
    if settings.stream and not peer.streams:
        raise UsageError(f"{peer.name} does not stream; leave --config stream=true out")
    card = SystemCard(
        name=settings.name or peer.name,
        version=settings.version or peer.version,
        config={
            "agent": "a2a",
            "url": client.address.url,
            "protocol": peer.dialect.version,
            **list_changed(settings),
        },
        caveats=tuple(_list_caveats(settings, peer, is_alone=is_alone)),
    )
    client.origins[peer.url] = f"the agent's card at {peer.place}"
    channel = PeerChannel(client, settings, peer)
    return AgentSystem(channel, settings, card, copies=False, max_shards=1)


def _list_caveats(settings: PeerSettings, card: PeerCard, *, is_alone: bool) -> Iterator[str]:
    stated = card.stated_version
    if stated is None:
        yield f"its card has no protocolVersion; messages are sent as in {card.dialect.version}"
    elif not stated.startswith(card.dialect.versions[0]):
        yield f"its card says A2A {stated}; messages are sent as in {card.dialect.version}"
    for problem in card.bad_addresses:
        yield f"its card is faulty: {problem}; messages are sent to {card.url}"
    if not is_alone:
        yield "memories are separated by contexts and metadata only, if the agent heeds them"
    if settings.conversation is Talk.ONE:
        yield "questions are asked in the conversation of the days, and the agent may remember them"
    else:
        yield "questions of one memory are asked one after another, and the agent may remember them"


async def _fetch_card(client: AgentClient) -> PeerCard:
    base = client.address.url
    places = [base] if base.endswith(".json") else [f"{base}{path}" for path in CARD_PATHS]
    refusal = ""
    for place in places:
        status, body = await client.get(place)
        if status < 300:
            return parse_peer_card(body, place)
        refusal = refusal or f"{place} answers {status}: {read_error(body)}"
    raise UsageError(f"{refusal}; give the address under which the agent has its card")


def parse_peer_card(body: bytes, place: str) -> PeerCard:
    """The card of an agent, of either version; UsageError if it cannot be used."""
    try:
        card = parse_object(body)
    except NotAnAnswer as error:
        raise UsageError(f"{place} is not an agent card: {error}") from error
    chosen, bad_addresses = _choose_interface(card, place)
    capabilities = card.get("capabilities")
    return PeerCard(
        name=str(card.get("name") or place)[:100],
        version=str(card.get("version") or UNDECLARED)[:100],
        url=urljoin(place, chosen.url),
        dialect=chosen.dialect,
        streams=isinstance(capabilities, dict) and capabilities.get("streaming") is True,
        place=place,
        stated_version=chosen.stated_version,
        bad_addresses=bad_addresses,
    )


@dataclass(frozen=True, slots=True)
class _PeerInterface:
    """An address for JSON-RPC that a card names."""

    url: str
    dialect: PeerDialect
    stated_version: str | None


class _InterfaceProblem(Exception):
    """Why an interface of a card cannot be used."""


class _BadAddress(_InterfaceProblem):
    """The URL of an interface is none."""


def _choose_interface(card: dict[str, Any], place: str) -> tuple[_PeerInterface, tuple[str, ...]]:
    """The address for JSON-RPC of the newest version that is supported, and the bad addresses."""
    offers = [
        (f"supportedInterfaces[{number}]", interface, interface.get("protocolVersion"), False)
        for number, interface in enumerate(list_objects(card.get("supportedInterfaces")))
    ]
    # Before 1.0 a card has one version, and its first address is a field of the card itself.
    version = card.get("protocolVersion")
    if "url" in card:
        first = {"url": card["url"], "transport": card.get("preferredTransport", _JSON_RPC)}
        offers.append(("url", first, version, True))
    offers += [
        (f"additionalInterfaces[{number}]", interface, version, True)
        for number, interface in enumerate(list_objects(card.get("additionalInterfaces")))
    ]
    usable: list[_PeerInterface] = []
    problems: list[str] = []
    bad_addresses: list[str] = []
    for where, interface, stated, is_old in offers:
        try:
            usable.append(_read_interface(interface, stated, place, is_old=is_old))
        except _InterfaceProblem as problem:
            problems.append(f"{where} {problem}")
            if isinstance(problem, _BadAddress):
                bad_addresses.append(problems[-1])
    if not usable:
        why = "; ".join(problems) or "it has neither supportedInterfaces nor url"
        raise UsageError(
            f"{place} offers no JSON-RPC of A2A 1.0 or 0.3: {why}; let the agent serve that too, "
            "or correct the card"
        )
    return max(usable, key=lambda interface: interface.dialect.version), tuple(bad_addresses)


def _read_interface(
    interface: dict[str, Any], version: object, place: str, *, is_old: bool
) -> _PeerInterface:
    """An interface of a card; without a version it is one of 0.3 in an old card, else of 1.0."""
    key = "transport" if is_old else "protocolBinding"
    if key not in interface:
        raise _InterfaceProblem(f"has no {key}")
    if interface[key] != _JSON_RPC:
        raise _InterfaceProblem(f"is {str(interface[key])[:50]}")
    url = interface.get("url")
    if not isinstance(url, str) or not url:
        raise _BadAddress("has no url")
    try:
        is_web = urlsplit(urljoin(place, url)).scheme in ("http", "https")
    except ValueError:
        is_web = False
    if not is_web:
        raise _BadAddress(f"has the url {url[:200]!r}, which is not a web address")
    # Protocol Buffers leave an empty text out: both mean the same.
    if not version:
        return _PeerInterface(url, V0_3 if is_old else V1_0, None)
    stated = str(version)[:20]
    dialect = next(
        (candidate for candidate in (V1_0, V0_3) if stated.startswith(candidate.versions)), None
    )
    if dialect is None:
        raise _InterfaceProblem(f"is A2A {stated}")
    if is_old and dialect is V1_0:
        raise _InterfaceProblem(f"is A2A {stated}, which has supportedInterfaces instead")
    return _PeerInterface(url, dialect, stated)


class PeerChannel(AgentChannel):
    """JSON-RPC requests to an agent, which cannot be copied."""

    def __init__(self, client: AgentClient, settings: PeerSettings, card: PeerCard) -> None:
        self._client = client
        self._settings = settings
        self._card = card

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def send(self, conversation: Conversation, text: str) -> AgentReply:
        """Send the message in the context of its conversation, and wait for the whole reply."""
        message = self._card.dialect.build_message(text)
        if conversation.context is not None:
            message["contextId"] = conversation.context
        if conversation.task is not None:
            message["taskId"] = conversation.task
        places = {"memory": conversation.place.id, "session": conversation.id}
        if self._settings.metadata:
            message["metadata"] = fill_places(dict(self._settings.metadata), places)
        dialect = self._card.dialect
        # The reply is wanted complete, which is the default in 1.0.
        waits = {"blocking": True} if dialect is V0_3 else {}
        configuration = {"acceptedOutputModes": ["text/plain"], **waits}
        params = {"message": message, "configuration": configuration}
        method = dialect.stream if self._settings.stream else dialect.send
        outcome = PeerOutcome(max_steps=self._settings.max_steps)
        async with self._call(method, params, places) as response:
            if response.is_stream:
                async for event in response.list_events():
                    outcome.add(read_result(event))
            else:
                outcome.add(read_result(await response.read_json()))
        await self._wait_for_task(outcome, places)
        conversation.context = outcome.context or conversation.context
        conversation.task = outcome.task if outcome.state == INPUT_REQUIRED else None
        return outcome.make_reply()

    @asynccontextmanager
    async def _call(
        self, method: str, params: Mapping[str, object], places: Mapping[str, str]
    ) -> AsyncIterator[AgentResponse]:
        body = {"jsonrpc": "2.0", "id": str(uuid4()), "method": method, "params": params}
        own = cast("dict[str, str]", fill_places(dict(self._settings.headers), places))
        headers = {**self._card.dialect.headers, **own}
        async with self._client.post(self._card.url, body, headers) as response:
            yield response

    async def _wait_for_task(self, outcome: "PeerOutcome", places: Mapping[str, str]) -> None:
        """Poll a task until it ends; the caller limits the time."""
        pause_s = 0.05
        while outcome.state in _UNDER_WAY and outcome.task is not None:
            await anyio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_POLL_S)
            params = {"id": outcome.task}
            async with self._call(self._card.dialect.get_task, params, places) as response:
                # A poll is no step of the agent; the caller limits the time.
                outcome.steps = 0
                outcome.add({"task": read_result(await response.read_json())})


def read_result(document: dict[str, Any]) -> dict[str, Any]:
    """The result of a JSON-RPC response; SystemFault if it is an error."""
    if document.get("error") is not None:
        error = document["error"]
        message = error.get("message") if isinstance(error, dict) else error
        raise SystemFault(f"the agent replies with an error: {str(message)[:500]}")
    result = document.get("result")
    if not isinstance(result, dict):
        raise NotAnAnswer("the agent's response has neither a result nor an error")
    return result


@dataclass(slots=True)
class PeerOutcome:
    """The results of a message so far: a message, or a task that is under way or has ended."""

    max_steps: int = 100
    context: str | None = None
    task: str | None = None
    state: str = "completed"
    is_begun: bool = False
    """Whether there is any result."""
    said: str = ""
    """The text of a message, or of the status."""
    artifacts: dict[str, str] = field(default_factory=dict)
    """The text of each artifact, by its id."""
    usage: Usage = field(default_factory=lambda: read_usage(None))
    steps: int = 0
    """Updates by which the task is still under way."""

    def add(self, result: dict[str, Any]) -> None:
        """Add one result, of either version of the protocol."""
        kind, content = _classify_result(result)
        self.is_begun = True
        self.context = _read_text(content.get("contextId")) or self.context
        if isinstance(metadata := content.get("metadata"), dict) and metadata.get("usage"):
            self.usage = read_usage(metadata["usage"])
        match kind:
            case "message":
                self.said = _join_parts(content.get("parts"))
            case "task":
                self.task = _read_text(content.get("id"))
                self._note_status(content.get("status"))
                for artifact in list_objects(content.get("artifacts")):
                    self._note_artifact(artifact, is_more=False)
                if not self.said and not self.artifacts:
                    self.said = _find_last_message(content.get("history"))
            case "statusUpdate":
                self.task = _read_text(content.get("taskId")) or self.task
                self._note_status(content.get("status"))
            case "artifactUpdate":
                self.task = _read_text(content.get("taskId")) or self.task
                if isinstance(piece := content.get("artifact"), dict):
                    self._note_artifact(piece, is_more=content.get("append") is True)

    def make_reply(self) -> AgentReply:
        """The reply; SystemFault if the task failed."""
        if not self.is_begun:
            raise NotAnAnswer("the agent's stream ended before anything came")
        text = "\n\n".join(filter(None, self.artifacts.values())) or self.said
        if self.state in _FAILED:
            raise SystemFault(
                f"the agent's task ended as {self.state}: {text[:500] or 'no reason'}"
            )
        if self.state in _UNDER_WAY:
            raise NotAnAnswer(f"the agent's task is {self.state} and has no id to ask for")
        return AgentReply(text=text, usage=self.usage)

    def _note_status(self, status: object) -> None:
        if not isinstance(status, dict):
            return
        state = str(status.get("state", ""))
        self.state = state.removeprefix("TASK_STATE_").lower().replace("_", "-")
        message = status.get("message")
        if self.state in _UNDER_WAY:
            # A message of a task that is under way is no reply.
            self.steps += 1
            if self.steps > self.max_steps:
                raise NotAnAnswer(
                    f"it took {self.steps} steps and did not answer; its limit is max_steps"
                )
        elif isinstance(message, dict):
            self.said = _join_parts(message.get("parts"))

    def _note_artifact(self, artifact: dict[str, Any], *, is_more: bool) -> None:
        name = str(artifact.get("artifactId", ""))
        before = self.artifacts.get(name, "") if is_more else ""
        self.artifacts[name] = before + _join_parts(artifact.get("parts"))


_KINDS_0_3 = {
    "message": "message",
    "task": "task",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}


def _classify_result(result: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What a result is, and its content."""
    if (kind := _KINDS_0_3.get(str(result.get("kind")))) is not None:
        return kind, result
    for kind in _KINDS_0_3.values():
        content = result.get(kind)
        if isinstance(content, dict):
            if "kind" in content:
                return _classify_result(content)
            return kind, content
    raise NotAnAnswer("the agent's result is neither a message nor a task nor an update of one")


def _find_last_message(history: object) -> str:
    """The last message of the agent, unless it was before ours."""
    for message in reversed(list_objects(history)):
        role = str(message.get("role", "")).lower().removeprefix("role_")
        if role == "user":
            break
        if role == "agent":
            return _join_parts(message.get("parts"))
    return ""


def _join_parts(parts: object) -> str:
    return "".join(_read_text(part.get("text")) or "" for part in list_objects(parts))


def _read_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def open_a2a_agent(settings: Settings) -> MemorySystem:
    """The agent behind `a2a:URL`."""
    return run_to_end(connect_a2a_agent, settings.adapter, settings.config)
