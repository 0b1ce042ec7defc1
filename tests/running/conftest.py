"""A run without files: events in a list, parts from the test."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from recall_bench.core.event import Answered, Event, Judged
from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.question import Scenario
from recall_bench.core.reader import Reader
from recall_bench.core.standing import Standings, State
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Judge
from recall_bench.running.company import Company
from recall_bench.running.conduct import conduct
from recall_bench.running.grade import Bench
from recall_bench.testing import ExactJudge


@dataclass
class Rehearsal:
    """Runs a plan against parts a test supplies, and keeps what was recorded."""

    plan: Plan
    scenarios: dict[str, Scenario]
    journal: list[Event] = field(default_factory=list)
    record: Callable[[Event], None] | None = None
    reopened: bool = False
    """Whether questions that failed are owed again."""

    def standings(self) -> Standings:
        """A fold over everything recorded so far."""
        standings = Standings(self.plan)
        for event in self.journal:
            standings.note(event)
        return standings

    async def run(
        self,
        system: MemorySystem,
        judge: Judge | None = None,
        *,
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
    ) -> Standings:
        """Go on from the journal as it is."""
        self.plan = self.plan.but(**changes)
        standings = self.standings()
        if self.reopened:
            standings.reopen(State.NOT_ANSWERED)

        def record(event: Event) -> None:
            if self.record is not None:
                self.record(event)
            self.journal.append(event)
            standings.note(event)

        def unjudged(scenario: str, states: frozenset[State]) -> Iterable[Answered]:
            standing = standings.scenarios[scenario]
            return [
                event
                for event in self.journal
                if isinstance(event, Answered)
                and event.trial.scenario == scenario
                and standing.state_of(event.trial) in states
            ]

        def judged(scenario: str) -> Iterable[Judged]:
            last = {
                event.trial: event
                for event in self.journal
                if isinstance(event, Judged) and event.trial.scenario == scenario
            }
            return list(last.values())

        company = Company(
            system=system,
            bench=Bench(judge=judge or ExactJudge(), appellate=appellate),
            load=self.scenarios.__getitem__,
            record=record,
            unjudged=unjudged,
            judged=judged,
            reader=reader,
            meter=meter,
            parallelism=parallelism,
            skip_catchup=skip_catchup,
            asks=asks,
            max_cost_usd=max_cost_usd,
            max_tokens=max_tokens,
            max_calls=max_calls,
        )
        await conduct(self.plan, standings, company)
        return standings

    def of(self, kind: type[Event]) -> list[Event]:
        """The recorded events of one kind."""
        return [event for event in self.journal if isinstance(event, kind)]


@pytest.fixture
def rehearsal(plan: Plan, scenario: Scenario) -> Rehearsal:
    return Rehearsal(plan=plan, scenarios={scenario.id: scenario})


LIFECYCLES = tuple(Lifecycle)
