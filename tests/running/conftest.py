"""A run without files: events in a list, parts from the test."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from recall_bench.core.event import Answered, Event, Judged
from recall_bench.core.memory import MemorySystem, Reader
from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.scenario import Scenario
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Judge
from recall_bench.judging.judge_call import Judges
from recall_bench.running.components import RunContext
from recall_bench.running.local_engine import run_plan
from tests.faulty.fakes import ExactJudge


@dataclass
class Rehearsal:
    """Runs a plan against parts a test supplies, and keeps what was recorded."""

    plan: Plan
    scenarios: dict[str, Scenario]
    journal: list[Event] = field(default_factory=list)
    record: Callable[[Event], None] | None = None
    reopened: bool = False
    """Whether questions that failed are owed again."""

    def fold_states(self) -> TrialStates:
        """A fold over everything recorded so far."""
        states = TrialStates(self.plan)
        for event in self.journal:
            states.apply_event(event)
        return states

    async def run(
        self,
        system: MemorySystem,
        judge: Judge | None = None,
        *,
        others: tuple[Judge, ...] = (),
        appellate: Judge | None = None,
        parallelism: int = 1,
        skip_catchup: bool = False,
        asks: bool = True,
        max_cost_usd: float | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
        reader: Reader | None = None,
        meter: Callable[[], Usage] | None = None,
        **changes: object,
    ) -> TrialStates:
        """Go on from the journal as it is."""
        if others:
            changes["other_judges"] = tuple(other.card for other in others)
        self.plan = self.plan.replace(**changes)
        states = self.fold_states()
        if self.reopened:
            states.reset_state(TrialState.NOT_ANSWERED)

        def record(event: Event) -> None:
            if self.record is not None:
                self.record(event)
            self.journal.append(event)
            states.apply_event(event)

        def unjudged(scenario: str, wanted: frozenset[TrialState]) -> Iterable[Answered]:
            found = states.scenarios[scenario]
            return [
                event
                for event in self.journal
                if isinstance(event, Answered)
                and event.trial.scenario == scenario
                and found.find_state(event.trial) in wanted
            ]

        def judged(scenario: str) -> Iterable[Judged]:
            last = {
                event.trial: event
                for event in self.journal
                if isinstance(event, Judged) and event.trial.scenario == scenario
            }
            return list(last.values())

        company = RunContext(
            system=system,
            judges=Judges(judge=judge or ExactJudge(), others=others, appellate=appellate),
            load=self.scenarios.__getitem__,
            record=record,
            find_answers=unjudged,
            find_verdicts=judged,
            reader=reader,
            meter=meter,
            parallelism=parallelism,
            skip_catchup=skip_catchup,
            asks=asks,
            max_cost_usd=max_cost_usd,
            max_tokens=max_tokens,
            max_calls=max_calls,
        )
        await run_plan(self.plan, states, company)
        return states

    def of(self, kind: type[Event]) -> list[Event]:
        """The recorded events of one kind."""
        return [event for event in self.journal if isinstance(event, kind)]


@pytest.fixture
def rehearsal(plan: Plan, scenario: Scenario) -> Rehearsal:
    return Rehearsal(plan=plan, scenarios={scenario.id: scenario})


LIFECYCLES = tuple(Lifecycle)
