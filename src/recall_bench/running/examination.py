"""One scenario put to one system: what every step of asking needs to know."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from recall_bench.core.event import Event, Metered
from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Plan
from recall_bench.core.question import Scenario
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.core.standing import ScenarioStates
from recall_bench.core.usage import Usage
from recall_bench.running.court import Budget
from recall_bench.running.desk import ReplyFinisher
from recall_bench.running.docket import AnswerQueue

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
