"""`loop:MEMORY`: a memory under the loop agent.

Its memories offer no optional parts of the contract, and do not count their days: what is in them
is the agent's choice.
"""

import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.memory import (
    Answer,
    Asker,
    EvidenceControl,
    Memory,
    MemorySystem,
    MeteringSystem,
    Offer,
    Passage,
    PassageControl,
    PortableSnapshots,
    Snapshots,
    SystemCard,
    get_worker_limit,
    list_offers,
)
from recall_bench.core.record import Record
from recall_bench.core.retry import retry
from recall_bench.core.scenario import PRINCIPAL, Episode, Question, StoryTime
from recall_bench.core.settings import Settings
from recall_bench.core.tool_call import (
    LOOP_PREFIX,
    AgentCall,
    AgentSession,
    FoundNote,
    MemoryTool,
    MemoryWithTools,
    ToolResult,
)
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.core.usage import Usage, UsageMeter
from recall_bench.features.agents.loop.loop_agent import (
    PROMPT_VERSION,
    AgentLimits,
    LoopAgent,
    SessionLog,
    digest_prompts,
)
from recall_bench.features.agents.loop.reference_tools import NoteBook, ReferenceTools
from recall_bench.systems.models.target import resolve_model
from recall_bench.systems.resolver import resolve_memory


@dataclass(slots=True, eq=False)
class LoopMemory:
    """One memory and the agent that works with it.

    While a question is answered, only tools that change nothing are offered, so neither this memory
    nor a copy of it holds anything that was said in an answer.
    """

    inner: Memory
    agent: LoopAgent
    scenario: str
    name: str
    """The name of the memory that was fed; copies share it."""
    meter: UsageMeter
    """What the agent spent on days, and on questions that it did not answer; and what the memory
    reports to have spent on its searches."""
    can_delete: bool = False
    """Whether the reference tools can delete a note."""
    can_list: bool = False
    """Whether the reference tools can open a note."""
    book: NoteBook = field(default_factory=NoteBook)
    _reference: ReferenceTools | None = None
    _sessions: dict[str, list[AgentSession]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        if not isinstance(self.inner, MemoryWithTools):
            self._reference = ReferenceTools(
                self.inner,
                self.scenario,
                self.can_delete,
                can_list=self.can_list,
                book=self.book,
                meter=self.meter,
            )

    @property
    def notes(self) -> NoteBook:
        """The notes of the reference tools, for a copy of this memory."""
        return self.book if self._reference is None else self._reference.book

    async def ingest(self, episode: Episode) -> None:
        """Let the agent read the day and write what it wants to."""
        log = SessionLog()
        call = partial(self.call_tool, at=episode.at)
        try:
            await self.agent.read_day(episode, await self._list_tools(), call, log)
        finally:
            self._keep(episode.id, log)
            self.meter.add(log.usage)

    async def settle(self) -> None:
        """Return once everything written can be found."""
        if self._reference is not None:
            await self._reference.settle()
        else:
            await self.inner.settle()

    async def answer(self, question: Question) -> Answer:
        """Let the agent answer; NotAnAnswer if it does not."""
        log = SessionLog()
        is_answered = False
        call = partial(
            self.call_tool, at=question.asked_at, session=question.session, top_k=question.top_k
        )
        try:
            text = await self.agent.answer(question, await self._list_tools(), call, log)
            is_answered = True
        finally:
            self._keep(question.id, log)
            if not is_answered:
                self.meter.add(log.usage)
        return Answer(
            text=text,
            passages=tuple(_list_passages(log.calls)),
            tool_calls=tuple(
                {"tool": agent_call.tool, "arguments": agent_call.arguments}
                for agent_call in log.calls
            ),
            usage=log.usage,
        )

    async def close(self) -> None:
        """Close the memory."""
        await self.inner.close()

    def take_sessions(self, about: str) -> tuple[AgentSession, ...]:
        """Return, once, the sessions about the day or question with this id, in order."""
        return tuple(self._sessions.pop(about, ()))

    def _keep(self, about: str, log: SessionLog) -> None:
        self._sessions[about].append(
            AgentSession(
                memory=self.name,
                calls=tuple(log.calls),
                steps=log.steps,
                unreadable=log.unreadable,
                end=log.end,
                usage=log.usage,
            )
        )

    async def _list_tools(self) -> Sequence[MemoryTool]:
        if self._reference is not None:
            return self._reference.list_tools()
        assert isinstance(self.inner, MemoryWithTools)  # noqa: S101 - else there are reference tools
        return await self.inner.list_tools()

    async def call_tool(
        self,
        tool: MemoryTool,
        arguments: Mapping[str, object],
        *,
        at: StoryTime,
        session: str = PRINCIPAL,
        top_k: int | None = None,
    ) -> ToolResult:
        """Call a tool of the memory, or a reference tool over it, at a time of the story."""
        if self._reference is not None:
            return await self._reference.call_tool(
                tool, arguments, at=at, session=session, top_k=top_k
            )
        assert isinstance(self.inner, MemoryWithTools)  # noqa: S101 - else there are reference tools
        return await retry(partial(self.inner.call_tool, tool, arguments))


def _list_passages(calls: Sequence[AgentCall]) -> list[Passage]:
    """What the searches returned, each text once."""
    notes: dict[str, FoundNote] = {}
    for call in calls:
        for found_note in call.found:
            notes.setdefault(found_note.text, found_note)
    return [Passage(text=text, source=one.note) for text, one in notes.items() if text]


LOOP_VERSION = "2"
"""Increase it when the agent acts differently with the same prompts."""


class LoopSystem:
    """Opens memories that an agent works with."""

    def __init__(self, inner: MemorySystem, agent: LoopAgent) -> None:
        self._inner = inner
        self._agent = agent
        self._meter = UsageMeter()
        self._offers = list_offers(inner)
        saved = inner.snapshots
        self.snapshots: Snapshots | None = None
        if isinstance(saved, PortableSnapshots):
            self.snapshots = PortableLoopSnapshots(self, saved, saved)
        elif saved is not None:
            self.snapshots = LoopSnapshots(self, saved)

    def prepare_tasks(self) -> "LoopSystem":
        """The same memory under the same agent, which does tasks instead of answering."""
        return LoopSystem(self._inner, replace(self._agent, for_tasks=True))

    @property
    def card(self) -> SystemCard:
        """The memory's card and everything about the agent that can change an answer."""
        inner, agent = self._inner.card, self._agent
        return SystemCard(
            name=f"{LOOP_PREFIX}{inner.name}",
            version=inner.version,
            config={
                "memory": inner.config,
                "agent": LOOP_VERSION,
                "agent_model": agent.model.name,
                "prompt_version": PROMPT_VERSION,
                "prompt": digest_prompts(for_tasks=agent.for_tasks),
                "max_steps": agent.limits.max_steps,
                "agent_tokens": agent.limits.max_tokens,
            },
            max_concurrency=inner.max_concurrency,
            clock=inner.clock,
            asker=Asker.TOLD,
            isolation=inner.isolation,
        )

    @property
    def max_shards(self) -> int | None:
        """As the memory says."""
        return get_worker_limit(self._inner)

    async def open(self, scenario: str) -> LoopMemory:
        """An empty memory."""
        return self.wrap(await self._inner.open(scenario), scenario, secrets.token_hex(4))

    def wrap(
        self, inner: Memory, scenario: str, name: str, book: NoteBook | None = None
    ) -> LoopMemory:
        """The agent with an open memory, which may hold notes."""
        return LoopMemory(
            inner,
            self._agent,
            scenario,
            name,
            self._meter,
            can_delete=Offer.DELETE in self._offers,
            can_list=Offer.STORED in self._offers,
            book=book or NoteBook(),
        )

    async def close(self) -> None:
        """Close the memory's system and the model."""
        try:
            await self._inner.close()
        finally:
            await self._agent.model.close()

    def drain(self) -> Usage:
        """Return what agent and memory spent since the last call, and no answer reports."""
        inner = self._inner
        return self._meter.drain() + (
            inner.drain() if isinstance(inner, MeteringSystem) else Usage()
        )


class SavedLoop(Record, frozen=True, kw_only=True):
    """What belongs to a saved memory and is not in it."""

    token: str
    """The token of the memory's own snapshot."""
    scenario: str
    name: str
    book: NoteBook


_LOOP_FILE = "loop.json"
_MEMORY_FOLDER = "memory"


class LoopSnapshots:
    """Snapshots of the memory, with the ids of the notes in it."""

    def __init__(self, system: LoopSystem, inner: Snapshots) -> None:
        self._system = system
        self._inner = inner
        self._saved: dict[str, SavedLoop] = {}

    async def save(self, memory: Memory) -> str:
        """Save the memory."""
        if not isinstance(memory, LoopMemory):
            raise UsageError(f"a {type(memory).__name__} is not a memory of this system")
        token = await self._inner.save(memory.inner)
        self._saved[token] = SavedLoop(
            token=token, scenario=memory.scenario, name=memory.name, book=memory.notes
        )
        return token

    async def open(self, token: str) -> Memory:
        """A new memory in the saved state."""
        saved = self._saved[token]
        inner = await self._inner.open(token)
        return self._system.wrap(inner, saved.scenario, saved.name, saved.book)

    async def drop(self, token: str) -> None:
        """Forget a saved state."""
        del self._saved[token]
        await self._inner.drop(token)


class PortableLoopSnapshots(LoopSnapshots):
    """The same for a memory whose snapshots can be opened in another process."""

    def __init__(self, system: LoopSystem, inner: Snapshots, portable: PortableSnapshots) -> None:
        super().__init__(system, inner)
        self._portable = portable

    async def pack(self, token: str, place: Path) -> None:
        """Write the memory's state to a folder of its own, and the ids of the notes beside it."""
        folder = place / _MEMORY_FOLDER
        folder.mkdir(mode=0o700)
        await self._portable.pack(token, folder)
        (place / _LOOP_FILE).write_bytes(msgspec.json.encode(self._saved[token]))

    async def unpack(self, place: Path) -> str:
        """Return a token for a packed state."""
        try:
            saved = decode_untrusted_json((place / _LOOP_FILE).read_bytes(), SavedLoop)
        except (OSError, msgspec.DecodeError) as error:
            raise DataError(
                f"{place / _LOOP_FILE} holds no packed memory ({error}); pack the state again"
            ) from error
        token = await self._portable.unpack(place / _MEMORY_FOLDER)
        self._saved[token] = saved.replace(token=token)
        return token

    async def discard(self, place: Path) -> None:
        """Delete what was packed."""
        await self._portable.discard(place / _MEMORY_FOLDER)


def build_named_loop(settings: Settings) -> MemorySystem:
    """A memory under the loop agent, whose model calls are not those of the memory's endpoint.

    UsageError if there is no `--agent-model`, or it cannot be opened; no model is called.
    """
    name = settings.adapter.removeprefix(LOOP_PREFIX)
    if not name or name.startswith(LOOP_PREFIX):
        raise UsageError(f"--adapter: {settings.adapter!r} names no memory; write loop:bm25")
    target = settings.agent_model
    if target is None:
        raise UsageError(
            "--adapter loop: needs a model for its agent; name one with --agent-model, as "
            "provider:model, file.py or folder:DIR"
        )
    model = resolve_model(target, "--agent-model", settings, own_code=True)
    if model is None:
        # The target is not repeated: it may be a key in the wrong place.
        raise UsageError(
            "--agent-model: no model of this name; write provider:model, file.py[:name], "
            "command:PROGRAM or folder:DIR"
        )
    inner = resolve_memory(replace(settings, adapter=name, agent_model=None))
    if isinstance(inner, EvidenceControl | PassageControl):
        raise UsageError(
            f"--adapter: {inner.card.name} is a control that is given the evidence, so an agent "
            "has nothing to keep in it; name a memory, such as loop:bm25"
        )
    limits = AgentLimits(max_steps=settings.max_steps, max_tokens=settings.agent_tokens)
    return LoopSystem(inner, LoopAgent(model=model, limits=limits))
