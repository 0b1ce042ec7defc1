"""What every step of asking one scenario needs: in this process, or in a worker."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
from anyio.abc import ObjectSendStream
from anyio.lowlevel import checkpoint as yield_turn

from recall_bench.core.errors import ReaderPending
from recall_bench.core.event import Answered, Exchanged, Metered
from recall_bench.core.memory import MemorySystem, TranscribingSystem
from recall_bench.core.plan import Plan
from recall_bench.core.retry import Budget
from recall_bench.core.scenario import Scenario
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.core.usage import Usage
from recall_bench.engine.components import Components, Meter, Recorder, RunContext
from recall_bench.engine.grader import Grader
from recall_bench.judging.exhibits import ExhibitFactory
from recall_bench.systems.reply import ReplyFinisher

if TYPE_CHECKING:
    from recall_bench.text.passage_tracer import PassageTracer

MAX_WAITING = 4096
"""Answers that wait for the judge; the asker waits with the next one."""


def make_tracer(scenario: Scenario) -> "PassageTracer":
    """Make the tracer of what is found of a scenario."""
    from recall_bench.text.passage_tracer import PassageTracer

    return PassageTracer(scenario.fed_episodes, is_verbatim=scenario.retold is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """One scenario asked of one system, and judged."""

    plan: Plan
    scenario: Scenario
    trials: ScenarioStates
    parts: Components | RunContext
    record: Recorder
    budget: Budget
    finisher: ReplyFinisher
    answers: ObjectSendStream[Answered] | None = None
    """Takes answers to the judge; None if there is none."""
    parallelism: int = 1
    skip_catchup: bool = False
    """Trust a system that attests which days it still holds, instead of feeding it again."""
    pending: list[ReaderPending] = field(default_factory=list)
    """Answers that the reader gives later; their trials stay open."""
    inspected: set[str] = field(default_factory=set)
    """Labels of the checkpoints at which no memory is inspected any more."""

    @classmethod
    def make(
        cls,
        plan: Plan,
        scenario: Scenario,
        trials: ScenarioStates,
        parts: Components | RunContext,
        *,
        record: Recorder,
        budget: Budget,
        tracer: "Callable[[], PassageTracer]",
        answers: ObjectSendStream[Answered] | None = None,
        parallelism: int = 1,
        skip_catchup: bool = False,
        inspected: set[str] | None = None,
    ) -> "ScenarioRun":
        """Make the run of a scenario with these components."""
        return cls(
            plan=plan,
            scenario=scenario,
            trials=trials,
            parts=parts,
            record=record,
            budget=budget,
            finisher=ReplyFinisher(tracer, plan=plan, reader=parts.reader, budget=budget),
            answers=answers,
            parallelism=parallelism,
            skip_catchup=skip_catchup,
            inspected=set() if inspected is None else inspected,
        )

    @property
    def system(self) -> MemorySystem:
        """The system that is asked."""
        return self.parts.system

    @property
    def meter(self) -> Meter | None:
        """Returns what the system spends on models; None if we cannot count it."""
        return self.parts.meter

    def make_grader(self) -> Grader:
        """Make the grader of this scenario's answers."""
        return Grader(
            ExhibitFactory(self.scenario, self.trials, window=self.plan.judge_memory_window),
            plan=self.plan,
            judges=self.parts.judges,
            budget=self.budget,
            record=self.record,
        )

    async def submit(self, answered: Answered) -> None:
        """Hand an answer to the judge; once judging has stopped, it stays in the journal."""
        if self.answers is not None and not self.plan.unjudged:
            with suppress(anyio.BrokenResourceError):
                await self.answers.send(answered)
        # A system that only computes never yields, and without a turn nothing is judged or sent.
        await yield_turn()

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
        now = datetime.now(UTC)
        record(Metered(at=now, scenario=scenario, checkpoint=checkpoint, stage=stage, usage=usage))


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
    for exchange in exchanges:
        named = exchange.replace(scenario=scenario)
        record(Exchanged(at=datetime.now(UTC), checkpoint=checkpoint, exchange=named))
    return bool(exchanges)
