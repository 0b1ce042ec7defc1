"""Run a system through a small story as a run would, and check what came out.

Asking, reading and judging use the code of the engine: the same timeouts, retries and faults.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from recall_bench.core.diagnosis import DoctorFinding, SystemHealth
from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import Answer, Clock, Memory, MemorySystem, Reader, SystemCard
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.retry import Budget
from recall_bench.core.scenario import Episode, Item, Scenario
from recall_bench.core.verdict import FULL_MARKS, Exhibit, Judge, Verdict
from recall_bench.features.doctor.check_context import ContractReport
from recall_bench.judging.judge_call import JudgeCall
from recall_bench.systems.memory_call import ask_memory, call_system
from recall_bench.systems.reply import read_passages

TOP_K = 10


@dataclass(slots=True)
class ProbeResult:
    """The answers of one memory, by question."""

    replies: list[str | None] = field(default_factory=list)
    """The answers; None where the system failed."""
    verdicts: list[Verdict | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def join(self, other: "ProbeResult") -> "ProbeResult":
        """Join the answers of two memories."""
        return ProbeResult(
            replies=self.replies + other.replies,
            verdicts=self.verdicts + other.verdicts,
            seconds=self.seconds + other.seconds,
            faults=self.faults + other.faults,
        )

    @property
    def mean(self) -> float:
        """Points of six; a question the system failed at has none."""
        points = sum(verdict.composite for verdict in self.verdicts if verdict)
        return points / max(1, len(self.verdicts))

    @property
    def known(self) -> int:
        """The number of answers that are right in substance."""
        return sum(verdict.marks["correctness"] >= 2 for verdict in self.verdicts if verdict)

    @property
    def invented(self) -> int:
        """The number of ungrounded answers."""
        return sum(verdict.marks["grounded"] == 0 for verdict in self.verdicts if verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryProbe:
    """The story, the questions, the reader and the judge, the same for every system."""

    scenario: Scenario
    items: tuple[Item, ...]
    reader: Reader
    judge: Judge
    timeout_s: float
    """The time limit of one call to the system."""
    budget: Budget = field(default_factory=partial(Budget, 1))

    async def run(self, system: MemorySystem, days: Sequence[Episode]) -> ProbeResult:
        """Open a memory, feed it these days, and ask everything; SystemFault if it cannot."""
        memory = await self.open(system)
        try:
            await self.feed(memory, days)
            return await self.ask(memory, days)
        finally:
            await self.close(memory)

    async def open(self, system: MemorySystem) -> Memory:
        """Open an empty memory."""
        call = partial(system.open, self.scenario.id)
        return await call_system("open", call, timeout_s=self.timeout_s)

    async def feed(self, memory: Memory, days: Sequence[Episode]) -> None:
        """Feed the days and settle."""
        for episode in days:
            stage = f"taking in day {episode.day}"
            await call_system(stage, partial(memory.ingest, episode), timeout_s=self.timeout_s)
        await call_system("settling", memory.settle, timeout_s=self.timeout_s)

    async def close(self, memory: Memory) -> None:
        """Close a memory."""
        await call_system("close", memory.close, timeout_s=self.timeout_s)

    async def ask(
        self, memory: Memory, days: Sequence[Episode], items: Sequence[Item] | None = None
    ) -> ProbeResult:
        """Ask a memory that was fed these days."""
        result = ProbeResult()
        last = days[-1].day if days else 0
        for item in self.items if items is None else items:
            await self._ask_item(memory, item, last, result)
        return result

    async def _ask_item(self, memory: Memory, item: Item, last: int, result: ProbeResult) -> None:
        at = self.scenario.compute_date(max(last, 1))
        question = item.ask(self.scenario.id, at, TOP_K)
        reply = await ask_memory(
            memory, question, timeout_s=self.timeout_s, calls=self.budget.calls
        )
        content = reply.content
        if isinstance(content, SystemFault):
            result.faults.append(f"{type(content).__name__}: {content}")
            result.replies.append(None)
            result.verdicts.append(None)
            return
        result.seconds.append(reply.seconds)
        if not isinstance(content, Answer):
            content = await read_passages(
                self.reader,
                question,
                content.passages[:TOP_K],
                timeout_s=self.timeout_s,
                budget=self.budget,
            )
        result.replies.append(content.text)
        exhibit = Exhibit(
            scenario=self.scenario.id, item=item, answer=content, asked_at=at, days=last
        )
        judge = JudgeCall.make(self.judge, self.timeout_s, self.budget)
        verdict, _ = await judge.judge_exhibit(exhibit)
        result.verdicts.append(verdict)


_HARMLESS = {"order", "finalize", "asking", "unicode", "large-day"}
"""Checks whose failure affects some numbers; any other failure makes all of them wrong."""

INVENTS = 0.2
"""The share of invented answers from an empty memory that is more than a slip."""

SLOWER = 2.0
SLOWER_BY_S = 0.02
"""A late answer must take this many times as long as an early one, and this much longer, to count
as growth rather than noise. A linear scan grows too, but only by microseconds in a few weeks; a
millisecond a day is a second in a thousand days."""

HEAVIER = 3.0
HEAVIER_BY = 1_000_000
"""The last quarter must add this many times the bytes of the one before, and this many bytes."""


def make_finding(check: str, message: str, *, is_invalid: bool = False) -> DoctorFinding:
    """Make a finding that puts the numbers of a system in doubt, or makes them invalid."""
    health = SystemHealth.INVALID if is_invalid else SystemHealth.SUSPECT
    return DoctorFinding(check=check, health=health, message=message)


def check_contract_report(report: ContractReport) -> Iterator[DoctorFinding]:
    """Find the failed checks of the contract."""
    for check in report.failures:
        is_invalid = check.name not in _HARMLESS
        yield make_finding(check.name, check.message, is_invalid=is_invalid)


def check_empty_memory(empty: ProbeResult, none: ProbeResult) -> Iterator[DoctorFinding]:
    """Find answers that an empty memory knows or invents."""
    count = len(empty.replies)
    if empty.known > none.known + max(1, count // 20):
        yield make_finding(
            "empty-control",
            f"it knew {empty.known} of {count} answers before it was fed anything, where the "
            f"control 'none' gets {none.known} right; see what an earlier memory left behind",
            is_invalid=True,
        )
    if empty.invented > INVENTS * count:
        yield make_finding(
            "empty-control",
            f"it invented {empty.invented} of {count} answers about a story it was not fed; "
            "its invention rate will say more about its words than about its memory",
        )


def _format_score(marks: float) -> str:
    """Mean marks in points of 100."""
    return f"{100 * marks / FULL_MARKS:.0f}"


def find_floor(controls: Mapping[str, ProbeResult]) -> str:
    """Find the better of the controls that know nothing."""
    return max(("none", "random"), key=lambda name: controls[name].mean)


def is_at_floor(fed: ProbeResult, controls: Mapping[str, ProbeResult]) -> bool:
    """Whether a score is no higher than that of a control that knows nothing."""
    return fed.mean <= controls[find_floor(controls)].mean


def check_floor(
    fed: ProbeResult, controls: Mapping[str, ProbeResult], stories: str
) -> Iterator[DoctorFinding]:
    """Find a score that is no higher than that of the random and empty controls."""
    if is_at_floor(fed, controls):
        floor = find_floor(controls)
        yield make_finding(
            "random-control",
            f"it scores {_format_score(fed.mean)} of 100 on {stories} where the control {floor!r} "
            f"scores {_format_score(controls[floor].mean)}: what it was fed does not help it",
        )


def check_controls(
    fed: ProbeResult, controls: Mapping[str, ProbeResult]
) -> Iterator[DoctorFinding]:
    """Find a score above the oracle."""
    if fed.mean > controls["oracle"].mean:
        yield make_finding(
            "oracle-control",
            f"it scores {_format_score(fed.mean)} of 100 where the oracle, which has the evidence, "
            f"scores {_format_score(controls['oracle'].mean)}; it must know the references",
            is_invalid=True,
        )


def check_faults(fed: ProbeResult, stories: str) -> Iterator[DoctorFinding]:
    """Find questions that the system failed at."""
    if fed.faults:
        yield make_finding(
            "answers",
            f"it failed at {format_quantity(len(fed.faults), 'question')} of {stories}, first with "
            f"{fed.faults[0]}",
            is_invalid=True,
        )


def measure_changes(fed: ProbeResult, shuffled: ProbeResult) -> float:
    """Measure the share of the answers that shuffled dates change."""
    pairs = list(zip(fed.replies, shuffled.replies, strict=True))
    return sum(before != after for before, after in pairs) / max(1, len(pairs))


def check_date_use(card: SystemCard, share: float) -> Iterator[DoctorFinding]:
    """Find dates that make no difference, although the card claims to use them."""
    if card.clock is Clock.NATIVE and share == 0:
        yield make_finding(
            "shuffled-time",
            "it declares that it knows dates natively, but every answer stays the same when "
            "each day gets the date of another; see that the date is passed on",
        )


def check_latency(seconds: Sequence[float | None]) -> Iterator[DoctorFinding]:
    """Find answers that get slower as the story grows."""
    early, late = seconds[0], seconds[-1]
    if early is None or late is None:
        return
    if late > SLOWER * early and late - early > SLOWER_BY_S:
        yield make_finding(
            "latency",
            f"an answer took {1000 * early:.0f} ms after the first quarter of the days and "
            f"{1000 * late:.0f} ms after the last; over a thousand days it may not answer in "
            "time",
        )


def check_growth(sizes: Sequence[int]) -> Iterator[DoctorFinding]:
    """Find files that grow faster than the story."""
    before, last = sizes[-2] - sizes[-3], sizes[-1] - sizes[-2]
    if last > HEAVIER * max(before, 1) and last > HEAVIER_BY:
        yield make_finding(
            "index-growth",
            f"its files grew by {last / 1e6:.1f} MB in the last quarter of the days and by "
            f"{before / 1e6:.1f} MB in the one before",
        )


def derive_health(findings: Sequence[DoctorFinding]) -> SystemHealth:
    """Return the worst health of the findings."""
    healths = [finding.health for finding in findings]
    if SystemHealth.INVALID in healths:
        return SystemHealth.INVALID
    return SystemHealth.SUSPECT if healths else SystemHealth.VALID
