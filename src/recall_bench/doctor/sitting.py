"""A system put through a whole small story once: fed, asked, read for if need be, and judged."""

import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import anyio

from recall_bench.core.history import Episode
from recall_bench.core.memory import Answer, Memory, MemorySystem
from recall_bench.core.question import Item, Scenario
from recall_bench.core.reader import Reader
from recall_bench.core.verdict import Exhibit, Judge, Verdict
from recall_bench.errors import SystemFault, SystemTimeout

T = TypeVar("T")

TOP_K = 10


@dataclass(slots=True)
class ProbeResult:
    """What came of it, question by question."""

    replies: list[str | None] = field(default_factory=list)
    """The answers; None where the system failed."""
    verdicts: list[Verdict | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Points of six; a question the system failed at is worth none."""
        return sum(each.composite for each in self.verdicts if each) / max(1, len(self.verdicts))

    @property
    def known(self) -> int:
        """How many answers are right in substance."""
        return sum(each is not None and each.marks["correctness"] >= 2 for each in self.verdicts)

    @property
    def invented(self) -> int:
        """How many answers tell what nobody had told."""
        return sum(each is not None and each.marks["grounded"] == 0 for each in self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryProbe:
    """The story, the questions, and who reads and judges: the same for everybody."""

    scenario: Scenario
    items: tuple[Item, ...]
    reader: Reader
    judge: Judge
    timeout_s: float
    """What any one call of the system may take."""

    async def run(self, system: MemorySystem, days: Sequence[Episode]) -> ProbeResult:
        """Open a memory, feed it these days, and ask it everything; SystemFault if it cannot."""
        memory = await self.open(system)
        try:
            await self.feed(memory, days)
            return await self.ask(memory, days)
        finally:
            await self.limit_time("close", memory.close())

    async def open(self, system: MemorySystem) -> Memory:
        """A memory that has lived nothing yet."""
        return await self.limit_time("open", system.open(self.scenario.id))

    async def feed(self, memory: Memory, days: Sequence[Episode]) -> None:
        """Hand over the days, and wait until they can be asked about."""
        for episode in days:
            await self.limit_time(f"taking in day {episode.day}", memory.ingest(episode))
        await self.limit_time("settling", memory.settle())

    async def limit_time(self, what: str, call: Awaitable[T]) -> T:
        """What the call returns, or SystemTimeout."""
        with anyio.move_on_after(self.timeout_s):
            return await call
        raise SystemTimeout(f"{what} took longer than {self.timeout_s:g} s")

    async def ask(
        self, memory: Memory, days: Sequence[Episode], items: Sequence[Item] | None = None
    ) -> ProbeResult:
        """Ask a memory that has lived these days."""
        sat = ProbeResult()
        last = days[-1].day if days else 0
        for item in self.items if items is None else items:
            await self._ask_item(memory, item, last, sat)
        return sat

    async def _ask_item(self, memory: Memory, item: Item, last: int, sat: ProbeResult) -> None:
        at = self.scenario.compute_date(max(last, 1))
        question = item.ask(self.scenario.id, at, TOP_K)
        started = time.perf_counter()
        try:
            reply = await self.limit_time("an answer", memory.answer(question))
        except SystemFault as fault:
            sat.faults.append(f"{type(fault).__name__}: {fault}")
            sat.replies.append(None)
            sat.verdicts.append(None)
            return
        sat.seconds.append(time.perf_counter() - started)
        if isinstance(reply, Answer):
            answer = reply
        else:
            answer = await self.reader.read(question, reply.passages[:TOP_K])
        sat.replies.append(answer.text)
        exhibit = Exhibit(
            scenario=self.scenario.id, item=item, answer=answer, asked_at=at, days=last
        )
        sat.verdicts.append(await self.judge.judge(exhibit))
