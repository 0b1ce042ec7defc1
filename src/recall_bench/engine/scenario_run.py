"""What every step of asking one scenario needs, and the queue of answers to be judged."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio

from recall_bench.core.budget import Budget
from recall_bench.core.errors import ReaderPending
from recall_bench.core.event import Answered, Event, Exchanged, Metered
from recall_bench.core.memory import MemorySystem, TranscribingSystem
from recall_bench.core.plan import Plan
from recall_bench.core.scenario import Scenario
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.core.usage import Usage
from recall_bench.systems.reply import ReplyFinisher

if TYPE_CHECKING:
    from recall_bench.text.passage_tracer import PassageTracer

_DEEP = 64


def make_tracer(scenario: Scenario) -> "PassageTracer":
    """Make the tracer of what is found of a scenario."""
    from recall_bench.text.passage_tracer import PassageTracer

    return PassageTracer(scenario.fed_episodes, is_verbatim=scenario.retold is None)


class AnswerQueue:
    """Answers waiting for the judge: it never blocks the asker and never grows without bound.

    What does not fit is in the journal, where the grader finds it once the queue is empty.
    """

    def __init__(self, capacity: int = 4096) -> None:
        self._capacity = capacity
        self._waiting: deque[Answered] = deque()
        self._changed = anyio.Event()
        self._closed = False
        self.overflowed = False

    @property
    def is_deep(self) -> bool:
        """Whether the asker should yield to the grader."""
        return len(self._waiting) >= _DEEP

    def submit(self, answered: Answered) -> None:
        """Add one recorded answer."""
        if len(self._waiting) < self._capacity:
            self._waiting.append(answered)
        else:
            self.overflowed = True
        self._changed.set()

    def close(self) -> None:
        """Accept no more answers."""
        self._closed = True
        self._changed.set()

    async def pop(self) -> Answered | None:
        """Wait for the oldest answer; None once the queue is closed and empty."""
        while not self._waiting:
            if self._closed:
                return None
            if self._changed.is_set():
                self._changed = anyio.Event()
            await self._changed.wait()
        return self._waiting.popleft()

    async def take(self, limit: int, linger_s: float = 0.0) -> tuple[Answered, ...]:
        """Wait for up to `limit` answers; none once the queue is closed and empty.

        Waits `linger_s` for more answers, unless there are enough or no more will come.
        """
        first = await self.pop()
        if first is None:
            return ()
        if linger_s and len(self._waiting) + 1 < limit and not self._closed:
            await anyio.sleep(linger_s)
        more = min(limit - 1, len(self._waiting))
        return (first, *(self._waiting.popleft() for _ in range(more)))


Recorder = Callable[[Event], None]

Meter = Callable[[], Usage]
"""Returns what the system spent on language models since the last call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """One scenario asked of one system."""

    plan: Plan
    scenario: Scenario
    trials: ScenarioStates
    system: MemorySystem
    record: Recorder
    queue: AnswerQueue
    budget: Budget
    finisher: ReplyFinisher
    meter: Meter | None = None
    parallelism: int = 1
    skip_catchup: bool = False
    """Trust a system that attests which days it still holds, instead of feeding it again."""
    pending: list[ReaderPending] = field(default_factory=list)
    """Answers that the reader gives later; their trials stay open."""
    inspected: set[str] = field(default_factory=set)
    """Labels of the checkpoints at which no memory is inspected any more."""

    def read_meter(self, point: CheckpointPlan, stage: str) -> None:
        """Record what the system spent on language models at this stage, if anything."""
        record_spending(
            self.record, self.meter, self.scenario.id, point.checkpoint.label, stage=stage
        )

    def record_exchanges(self, point: CheckpointPlan, stage: str) -> None:
        """Record what an agent was sent since the last call, what it replied, and the cost."""
        name, label = self.scenario.id, point.checkpoint.label
        if record_exchanges(self.record, self.system, name, label, opened_as=name):
            # At once: a run that is killed has paid for these messages.
            self.read_meter(point, stage)


def record_spending(
    record: Recorder, meter: Meter | None, scenario: str, checkpoint: str, *, stage: str
) -> None:
    """Record what the system spent on language models since the last call, if anything."""
    usage = Usage() if meter is None else meter()
    if usage != Usage():
        record(
            Metered(
                at=datetime.now(UTC),
                scenario=scenario,
                checkpoint=checkpoint,
                stage=stage,
                usage=usage,
            )
        )


def record_exchanges(
    record: Recorder, system: MemorySystem, scenario: str, checkpoint: str, *, opened_as: str
) -> bool:
    """Record what an agent was sent since the last call, and what it replied; False if nothing.

    `opened_as` is the name under which the agent's memory was opened.
    """
    # Called for every question: the one attribute is looked up faster than the protocol.
    if not (hasattr(system, "drain_exchanges") and isinstance(system, TranscribingSystem)):
        return False
    exchanges = system.drain_exchanges(opened_as)
    for each in exchanges:
        named = each.replace(scenario=scenario)
        record(Exchanged(at=datetime.now(UTC), checkpoint=checkpoint, exchange=named))
    return bool(exchanges)
