"""A memory under the agent that is busy, or that reports what its searches cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from recall_bench.core.errors import SystemBusy
from recall_bench.core.memory import Passage, RetrievalReply
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.tool_call import CallProblem, MemoryTool, ToolResult
from recall_bench.core.usage import Usage, UsageMeter
from recall_bench.features.agents.loop.loop_agent import AgentLimits, LoopAgent
from recall_bench.features.agents.loop.loop_system import LoopMemory
from recall_bench.systems.models.model import Prompt
from tests.features.agents.loop.scripted import (
    NoteMemory,
    ScriptedModel,
    answer,
    calls,
    has_begun,
    is_day,
)

pytestmark = pytest.mark.anyio

QUESTION = Question(id="q", text="Which bed?", asked_at=datetime(2025, 3, 9), scenario="s")
DAY = Episode(id="day-0001", day=1, at=datetime(2025, 3, 1), text="Leeks in bed 7.")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bench.core.retry.RETRY_PAUSES_S", (0.0, 0.0, 0.0))


def follow_script(prompt: Prompt) -> str:
    """One call for each day and each question."""
    if has_begun(prompt):
        return answer("Bed 7.")
    wanted = ("save", {"text": "bed 7"}) if is_day(prompt) else ("search", {"query": "bed"})
    return calls(wanted)


def put_under_agent(inner: object) -> tuple[LoopMemory, UsageMeter]:
    meter = UsageMeter()
    agent = LoopAgent(model=ScriptedModel(follow_script), limits=AgentLimits(max_steps=4))
    return LoopMemory(inner, agent, "s", "m", meter), meter  # type: ignore[arg-type]


@dataclass
class BusyMemory:
    """Refuses each kind of call so many times, and then serves it."""

    refusals: int
    usage: Usage | None = None
    came: dict[str, int] = field(default_factory=dict)

    def note(self, what: str) -> None:
        self.came[what] = self.came.get(what, 0) + 1
        if self.came[what] <= self.refusals:
            raise SystemBusy("429")

    async def ingest(self, episode: Episode) -> None:
        self.note("ingest")

    async def settle(self) -> None:
        self.note("settle")

    async def answer(self, question: Question) -> RetrievalReply:
        self.note("answer")
        return RetrievalReply(passages=(Passage(text="bed 7"),), usage=self.usage)

    async def close(self) -> None:
        """Nothing to release."""


class BusyNotes(NoteMemory):
    """A memory with tools of its own whose first call is refused."""

    is_refused = False

    async def call_tool(self, tool: MemoryTool, arguments: Mapping[str, object]) -> ToolResult:
        if not self.is_refused:
            self.is_refused = True
            raise SystemBusy("429")
        return await super().call_tool(tool, arguments)


async def test_a_busy_memory_is_asked_again() -> None:
    inner = BusyMemory(refusals=2)
    memory, _ = put_under_agent(inner)

    await memory.ingest(DAY)
    await memory.answer(QUESTION)

    sessions = (*memory.take_sessions(DAY.id), *memory.take_sessions(QUESTION.id))
    assert [call.problem for session in sessions for call in session.calls] == [None, None]
    assert inner.came == {"ingest": 3, "settle": 3, "answer": 3}


async def test_a_busy_server_is_asked_again() -> None:
    inner = BusyNotes()
    memory, _ = put_under_agent(inner)

    await memory.ingest(DAY)

    (session,) = memory.take_sessions(DAY.id)
    assert [call.problem for call in session.calls] == [None]
    assert inner.notes == [("n1", "bed 7")]


async def test_a_memory_that_stays_busy_has_failed_the_call() -> None:
    inner = BusyMemory(refusals=99)
    memory, _ = put_under_agent(inner)

    await memory.ingest(DAY)

    (session,) = memory.take_sessions(DAY.id)
    assert [call.problem for call in session.calls] == [CallProblem.FAILED]
    assert inner.came == {"ingest": 4}


async def test_what_a_search_costs_is_metered() -> None:
    spent = Usage(calls=1, input_tokens=1000, cost_usd=0.5)
    memory, meter = put_under_agent(BusyMemory(refusals=0, usage=spent))

    reply = await memory.answer(QUESTION)

    assert meter.drain() == spent
    # The answer reports what the agent spent itself, so that nothing is counted twice.
    assert reply.usage == Usage(calls=2, unpriced=2)
