"""Answers on their way from the system to the judge."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio

from recall_bench.core.budget import Budget
from recall_bench.core.event import Answered, Event, Metered
from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Plan
from recall_bench.core.scenario import Scenario
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.core.usage import Usage
from recall_bench.systems.reply import ReplyFinisher

_DEEP = 64


class AnswerQueue:
    """A queue that never holds up the asker and never grows without bound.

    What does not fit is not lost: it is in the journal, where the grader finds it once the
    queue has run dry.
    """

    def __init__(self, capacity: int = 4096) -> None:
        self._capacity = capacity
        self._waiting: deque[Answered] = deque()
        self._news = anyio.Event()
        self._closed = False
        self.overflowed = False

    @property
    def is_deep(self) -> bool:
        """Whether the asker should let the grader have a turn."""
        return len(self._waiting) >= _DEEP

    def submit(self, answered: Answered) -> None:
        """Hand over one recorded answer."""
        if len(self._waiting) < self._capacity:
            self._waiting.append(answered)
        else:
            self.overflowed = True
        self._news.set()

    def close(self) -> None:
        """No more answers will come."""
        self._closed = True
        self._news.set()

    async def pop(self) -> Answered | None:
        """The oldest waiting answer; None once the docket is closed and empty."""
        while not self._waiting:
            if self._closed:
                return None
            if self._news.is_set():
                self._news = anyio.Event()
            await self._news.wait()
        return self._waiting.popleft()

    async def take(self, limit: int, linger_s: float = 0.0) -> tuple[Answered, ...]:
        """The oldest waiting answers, at most so many, at least one; none once it is over.

        Lingers for more, unless there are enough or no more will come.
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
"""What the system spent on language models since the last call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """The question paper, the candidate and where to write down what happens."""

    plan: Plan
    scenario: Scenario
    standing: ScenarioStates
    system: MemorySystem
    record: Recorder
    docket: AnswerQueue
    court: Budget
    """Says when nothing new is to be begun."""
    desk: ReplyFinisher
    meter: Meter | None = None
    parallelism: int = 1
    skip_catchup: bool = False
    """Trust a system that attests what it has lived, instead of feeding it again."""
    inspected: set[str] = field(default_factory=set)
    """The checkpoints at which no memory is looked into any more, by label."""

    def read_meter(self, sheet: CheckpointPlan, stage: str) -> None:
        """Put on record what the system spent on language models at this stage, if anything."""
        usage = Usage() if self.meter is None else self.meter()
        if usage != Usage():
            self.record(
                Metered(
                    at=datetime.now(UTC),
                    scenario=self.scenario.id,
                    checkpoint=sheet.checkpoint.label,
                    stage=stage,
                    usage=usage,
                )
            )
