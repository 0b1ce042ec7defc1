"""Agents behind an address that we start ourselves: a server, a home and a folder for each memory.

So two memories cannot mix, whatever the agent makes of user ids.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from recall_bench.core.errors import SystemGone
from recall_bench.core.memory import (
    Answer,
    Exchange,
    Isolation,
    IsolationCard,
    MemorySystem,
    Snapshots,
)
from recall_bench.core.runtime import run_to_end
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.usage import Usage
from recall_bench.core.yaml12 import read_document
from recall_bench.features.agents.a2a_agent import connect_a2a_agent
from recall_bench.features.agents.agent_system import (
    AgentMemory,
    AgentSystem,
    Conversation,
    MemoryPlace,
    Transcript,
)
from recall_bench.features.agents.openai_agent import connect_openai_agent
from recall_bench.systems.transports.ephemeral_server import EphemeralServer
from recall_bench.systems.transports.http_system import (
    HttpServerSpec,
    complete_server_spec,
    wait_for_exit,
)
from recall_bench.systems.transports.server_yaml import YamlSection, parse_section, shorten_digest

_CONNECT = {"openai": connect_openai_agent, "a2a": connect_a2a_agent}


class _AgentServerSpec(HttpServerSpec, frozen=True, kw_only=True):
    health: str | None = None
    """As for memory servers; None because an agent may serve nothing but its messages."""


class _AgentServerFile(YamlSection, frozen=True, kw_only=True):
    transport: str
    """`openai` or `a2a`."""
    server: _AgentServerSpec
    path: str = ""
    """What follows the port in the agent's address, such as `/v1`."""
    agent: dict[str, object] = msgspec.field(default_factory=dict)
    """The settings of the agent."""


async def start_agent_system(path: Path, env: Sequence[str] = ()) -> "StartedAgentSystem":
    """The agent that this YAML file describes, which is given the named variables.

    It is started once to read its card, and again for every memory.
    """
    document = read_document(path)
    file = parse_section(document, _AgentServerFile, {"server": _AgentServerSpec}, place="{port}")
    spec = complete_server_spec(document, file.server, path)
    file = msgspec.structs.replace(file, server=spec)
    server, agent = await _start_agent(file, env)
    await _stop_agent(server, agent)
    return StartedAgentSystem(path, file, env, agent)


async def _start_agent(
    file: _AgentServerFile, env: Sequence[str]
) -> tuple[EphemeralServer, AgentSystem]:
    spec = file.server
    server = EphemeralServer(
        spec.command,
        env=spec.env,
        passed=env,
        files=spec.config,
        health=spec.health,
        ready_timeout_s=spec.ready_timeout_s,
    )
    await server.__aenter__()
    try:
        target = f"{file.transport}:{server.base_url}{file.path}"
        return server, await _CONNECT[file.transport](target, file.agent, is_alone=True)
    except BaseException:
        await server.__aexit__(None, None, None)
        raise


async def _stop_agent(server: EphemeralServer, agent: AgentSystem) -> None:
    try:
        await agent.close()
    finally:
        await server.__aexit__(None, None, None)


class StartedAgentSystem:
    """An agent that is started for each memory."""

    snapshots: Snapshots | None = None

    def __init__(
        self, path: Path, file: _AgentServerFile, env: Sequence[str], agent: AgentSystem
    ) -> None:
        self._file = file
        self._env = tuple(env)
        self._transcript = Transcript()
        self.max_shards = agent.settings.max_shards
        """None: each memory has a server of its own."""
        config = {name: value for name, value in agent.card.config.items() if name != "url"}
        is_named = "name" in file.agent or file.transport == "a2a"
        self.card = agent.card.replace(
            name=agent.card.name if is_named else path.stem,
            config={**config, "server": shorten_digest(path)},
            isolation=IsolationCard(kind=Isolation.PROCESS, env=self._env),
        )

    async def open(self, scenario: str) -> "StartedAgentMemory":
        """Start the agent for one memory."""
        server, agent = await _start_agent(self._file, self._env)
        agent.transcript = self._transcript
        return StartedAgentMemory(server, agent, scenario, await agent.channel.open_place())

    async def close(self) -> None:
        """Nothing is left: each server ends with its memory."""

    def drain(self) -> Usage:
        """What the agents report to have spent since the last call."""
        return self._transcript.meter.drain()

    def drain_exchanges(self, scenario: str) -> tuple[Exchange, ...]:
        """What was said about this scenario since the last call."""
        return self._transcript.drain_exchanges(scenario)


class StartedAgentMemory(AgentMemory):
    """A memory with a server that has no other."""

    def __init__(
        self, server: EphemeralServer, agent: AgentSystem, scenario: str, place: MemoryPlace
    ) -> None:
        super().__init__(agent, scenario, Conversation(place))
        self._server = server
        self._agent = agent

    @property
    def state_folder(self) -> Path:
        """The server's folder, which is its home too."""
        return self._server.folder

    async def ingest(self, episode: Episode) -> None:
        """Tell the agent an episode."""
        async with self._explain_end():
            await super().ingest(episode)

    async def answer(self, question: Question) -> Answer:
        """Ask the agent."""
        async with self._explain_end():
            return await super().answer(question)

    async def close(self) -> None:
        """End the server with everything it started."""
        await _stop_agent(self._server, self._agent)

    @asynccontextmanager
    async def _explain_end(self) -> AsyncIterator[None]:
        try:
            yield
        except SystemGone as gone:
            if not await wait_for_exit(self._server):
                raise
            raise SystemGone(
                f"the agent died during the run: {self._server.describe_end()}"
            ) from gone


def start_agents(path: Path, env: Sequence[str]) -> MemorySystem:
    """The agents that a YAML file describes."""
    return run_to_end(start_agent_system, path, env)
