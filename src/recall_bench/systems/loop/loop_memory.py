"""A memory that an agent keeps: the agent reads each day, and answers, through its tools."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from recall_bench.core.memory import Answer, Memory, Passage
from recall_bench.core.retry import retry
from recall_bench.core.scenario import PRINCIPAL, Episode, Question, StoryTime
from recall_bench.core.tool_call import (
    AgentCall,
    AgentSession,
    FoundNote,
    MemoryTool,
    MemoryWithTools,
    ToolResult,
)
from recall_bench.core.usage import UsageMeter
from recall_bench.systems.loop.loop_agent import LoopAgent, SessionLog
from recall_bench.systems.loop.reference_tools import NoteBook, ReferenceTools


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
        try:
            await self.agent.read_day(
                episode, await self._list_tools(), self._make_caller(episode.at), log
            )
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
        call = self._make_caller(question.asked_at, question.session, question.top_k)
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
                {"tool": each.tool, "arguments": each.arguments} for each in log.calls
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

    def _make_caller(
        self, at: StoryTime, session: str = PRINCIPAL, top_k: int | None = None
    ) -> "_ToolCaller":
        return _ToolCaller(self, at, session, top_k)

    async def call_tool(
        self,
        tool: MemoryTool,
        arguments: Mapping[str, object],
        *,
        at: StoryTime,
        session: str,
        top_k: int | None,
    ) -> ToolResult:
        """Call a tool of the memory, or a reference tool over it."""
        if self._reference is not None:
            return await self._reference.call_tool(
                tool, arguments, at=at, session=session, top_k=top_k
            )
        assert isinstance(self.inner, MemoryWithTools)  # noqa: S101 - else there are reference tools
        return await retry(partial(self.inner.call_tool, tool, arguments))


@dataclass(frozen=True, slots=True)
class _ToolCaller:
    """Calls tools at a time of the story."""

    memory: LoopMemory
    at: StoryTime
    session: str
    top_k: int | None

    async def __call__(self, tool: MemoryTool, arguments: Mapping[str, object]) -> ToolResult:
        return await self.memory.call_tool(
            tool, arguments, at=self.at, session=self.session, top_k=self.top_k
        )


def _list_passages(calls: Sequence[AgentCall]) -> list[Passage]:
    """What the searches returned, each text once."""
    found: dict[str, FoundNote] = {}
    for call in calls:
        for each in call.found:
            found.setdefault(each.text, each)
    return [Passage(text=text, source=each.note) for text, each in found.items() if text]
