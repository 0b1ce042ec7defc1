"""A system put through a whole small story once: fed, asked, read for if need be, and judged."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from recall_bench.core.budget import Budget
from recall_bench.core.diagnosis import DoctorFinding, SystemHealth
from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import Answer, Clock, Memory, MemorySystem, Reader, SystemCard
from recall_bench.core.scenario import Episode, Item, Scenario
from recall_bench.core.verdict import Exhibit, Judge, Verdict
from recall_bench.judging.judge_call import JudgeCall
from recall_bench.systems.memory_call import ask_memory, call_system
from recall_bench.systems.reply import read_passages
from recall_bench.testing.check_context import CheckResult, ContractReport, Outcome

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
            await self.call("close", memory.close)

    async def open(self, system: MemorySystem) -> Memory:
        """A memory that has lived nothing yet."""
        return await self.call("open", partial(system.open, self.scenario.id))

    async def feed(self, memory: Memory, days: Sequence[Episode]) -> None:
        """Hand over the days, and wait until they can be asked about."""
        for episode in days:
            await self.call(f"taking in day {episode.day}", partial(memory.ingest, episode))
        await self.call("settling", memory.settle)

    async def call(self, stage: str, call: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a call, as in a run; SystemTimeout if it is late."""
        return await call_system(stage, call, timeout_s=self.timeout_s)

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
        budget = Budget(1)
        reply = await ask_memory(memory, question, timeout_s=self.timeout_s, calls=budget.calls)
        content = reply.content
        if isinstance(content, SystemFault):
            sat.faults.append(f"{type(content).__name__}: {content}")
            sat.replies.append(None)
            sat.verdicts.append(None)
            return
        sat.seconds.append(reply.seconds)
        if isinstance(content, Answer):
            answer = content
        else:
            answer = await read_passages(
                self.reader,
                question,
                content.passages[:TOP_K],
                timeout_s=self.timeout_s,
                budget=budget,
            )
        sat.replies.append(answer.text)
        exhibit = Exhibit(
            scenario=self.scenario.id, item=item, answer=answer, asked_at=at, days=last
        )
        verdict, _ = await JudgeCall.make(self.judge, self.timeout_s, budget).judge_exhibit(exhibit)
        sat.verdicts.append(verdict)


_HARMLESS = {"order", "finalize", "asking", "unicode", "large-day"}
"""Clauses whose breach bends some numbers; a breach of any other makes all of them wrong."""

INVENTS = 0.2
"""The share of made-up answers from an empty memory that is more than a slip."""

SLOWER = 2.0
SLOWER_BY_S = 0.02
"""A late answer takes so many times an early one's time, and so much longer, before it is growth
of the system rather than noise of the machine. Whoever looks at everything stored grows too, but
over a few weeks only by microseconds; a millisecond a day is a second over a thousand."""

HEAVIER = 3.0
HEAVIER_BY = 1_000_000
"""The last third of the days adds so many times what the third before it added, and so much."""


def check_contract_report(report: ContractReport) -> Iterator[DoctorFinding]:
    """Every clause of the contract that is broken."""
    for check in report.checks:
        if check.outcome is Outcome.FAILED:
            yield _make_finding(check)


def _make_finding(check: CheckResult) -> DoctorFinding:
    health = SystemHealth.SUSPECT if check.name in _HARMLESS else SystemHealth.INVALID
    return DoctorFinding(check=check.name, health=health, message=check.message)


def check_empty_memory(empty: ProbeResult, none: ProbeResult) -> Iterator[DoctorFinding]:
    """Knowing, or inventing, what it was never told."""
    asked = len(empty.replies)
    if empty.known > none.known + max(1, asked // 20):
        yield DoctorFinding(
            check="empty-control",
            health=SystemHealth.INVALID,
            message=(
                f"it knew {empty.known} of {asked} answers before it was told anything, where "
                f"silence gets {none.known} right; see what an earlier memory left behind"
            ),
        )
    if empty.invented > INVENTS * asked:
        yield DoctorFinding(
            check="empty-control",
            health=SystemHealth.SUSPECT,
            message=(
                f"it made up {empty.invented} of {asked} answers about a story it was never told; "
                "its hallucination rate will say more about its words than about its memory"
            ),
        )


def check_controls(
    fed: ProbeResult, controls: Mapping[str, ProbeResult]
) -> Iterator[DoctorFinding]:
    """A score below what chance and silence reach, or above what can be known."""
    floor = max(("none", "random"), key=lambda name: controls[name].mean)
    if fed.mean <= controls[floor].mean:
        yield DoctorFinding(
            check="random-control",
            health=SystemHealth.SUSPECT,
            message=(
                f"it scores {fed.mean:.2f} of 6 where the control {floor!r} scores "
                f"{controls[floor].mean:.2f}: what it was told does not help it"
            ),
        )
    if fed.mean > controls["oracle"].mean:
        yield DoctorFinding(
            check="oracle-control",
            health=SystemHealth.INVALID,
            message=(
                f"it scores {fed.mean:.2f} of 6 where one who is told where the answers are "
                f"scores {controls['oracle'].mean:.2f}; it must know the references"
            ),
        )
    if fed.faults:
        yield DoctorFinding(
            check="answers",
            health=SystemHealth.INVALID,
            message=f"it failed at {len(fed.faults)} questions of the story, first with "
            f"{fed.faults[0]}",
        )


def measure_changes(fed: ProbeResult, shuffled: ProbeResult) -> float:
    """The part of the answers that another order of dates changes."""
    pairs = list(zip(fed.replies, shuffled.replies, strict=True))
    return sum(before != after for before, after in pairs) / max(1, len(pairs))


def check_date_use(card: SystemCard, share: float) -> Iterator[DoctorFinding]:
    """Dates that it is told and that make no difference, although it says they do."""
    if card.clock is Clock.NATIVE and share == 0:
        yield DoctorFinding(
            check="shuffled-time",
            health=SystemHealth.SUSPECT,
            message=(
                "it declares that it knows dates natively, but every answer stays the same when "
                "each day gets the date of another; see that the date is passed on"
            ),
        )


def check_latency(seconds: Sequence[float | None]) -> Iterator[DoctorFinding]:
    """Answers that take longer and longer as the story grows, few days as it has."""
    early, late = seconds[0], seconds[-1]
    if early is None or late is None:
        return
    if late > SLOWER * early and late - early > SLOWER_BY_S:
        yield DoctorFinding(
            check="latency",
            health=SystemHealth.SUSPECT,
            message=(
                f"an answer took {1000 * early:.0f} ms after the first quarter of the days and "
                f"{1000 * late:.0f} ms after the last; over a thousand days it may not answer in "
                "time"
            ),
        )


def check_growth(sizes: Sequence[int]) -> Iterator[DoctorFinding]:
    """An index that grows faster than the story."""
    before, last = sizes[-2] - sizes[-3], sizes[-1] - sizes[-2]
    if last > HEAVIER * max(before, 1) and last > HEAVIER_BY:
        yield DoctorFinding(
            check="index-growth",
            health=SystemHealth.SUSPECT,
            message=(
                f"its files grew by {last / 1e6:.1f} MB in the last quarter of the days and by "
                f"{before / 1e6:.1f} MB in the one before"
            ),
        )


def derive_health(complaints: Sequence[DoctorFinding]) -> SystemHealth:
    """The worst of them."""
    found = {complaint.health for complaint in complaints}
    if SystemHealth.INVALID in found:
        return SystemHealth.INVALID
    return SystemHealth.SUSPECT if found else SystemHealth.VALID
