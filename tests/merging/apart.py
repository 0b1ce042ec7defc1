"""Plans carried out in parts or as one, without files."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial

import anyio

from recall_bench.core.event import Answered, Declared, Event, Judged, RunResumed, RunStarted
from recall_bench.core.memory import MemorySystem
from recall_bench.core.part import Part
from recall_bench.core.plan import Plan
from recall_bench.core.question import Scenario
from recall_bench.core.shard import part_of
from recall_bench.core.standing import Standings, State
from recall_bench.core.verdict import Judge
from recall_bench.merging.fold import Source
from recall_bench.running.company import Company
from recall_bench.running.conduct import conduct
from recall_bench.running.grade import Bench
from recall_bench.testing import ExactJudge

Scenarios = dict[str, Scenario]


def begun(plan: Plan, scenarios: Scenarios, part: Part | None = None) -> list[Event]:
    """A journal in which nothing was done yet."""
    now = datetime.now(UTC)
    code = "code" if part is None else f"code {part.number}"
    return [
        RunStarted(at=now, plan=plan, code=code, part=part),
        *(
            Declared(
                at=now,
                scenario=name,
                items=scenario.items,
                days=tuple(episode.day for episode in scenario.fed),
            )
            for name, scenario in scenarios.items()
        ),
    ]


def standings_of(plan: Plan, journal: Iterable[Event]) -> Standings:
    """A fold over a journal."""
    standings = Standings(plan)
    for event in journal:
        standings.note(event)
    return standings


def go_on(
    journal: list[Event],
    scenarios: Scenarios,
    system: MemorySystem,
    judge: Judge | None = None,
    appellate: Judge | None = None,
) -> list[Event]:
    """The journal with everything done that is owed by the run, or the part, it is of."""
    first = journal[0]
    assert isinstance(first, RunStarted)
    plan, part = first.plan, first.part
    standings = standings_of(plan, journal)
    items = {name: scenario.items for name, scenario in scenarios.items()}
    shares = None if part is None else part_of(plan, items, part)

    def record(event: Event) -> None:
        journal.append(event)
        standings.note(event)

    def unjudged(scenario: str, states: frozenset[State]) -> list[Answered]:
        standing = standings.scenarios[scenario]
        return [
            event
            for event in journal
            if isinstance(event, Answered)
            and event.trial.scenario == scenario
            and standing.state_of(event.trial) in states
        ]

    def judged(scenario: str) -> list[Judged]:
        told = [e for e in journal if isinstance(e, Judged) and e.trial.scenario == scenario]
        return list({event.trial: event for event in told}.values())

    company = Company(
        system=system,
        bench=Bench(judge=judge or ExactJudge(), appellate=appellate),
        load=scenarios.__getitem__,
        record=record,
        unjudged=unjudged,
        judged=judged,
        shards=None if shares is None else lambda name: shares.get(name, ()),
    )
    if not standings.ended:
        anyio.run(partial(conduct, plan, standings, company))
    return journal


def resumed(journal: list[Event]) -> list[Event]:
    """The journal with the line of a process that goes on with it."""
    return [*journal, RunResumed(at=datetime.now(UTC), code="later")]


def source(place: str, journal: list[Event]) -> Source:
    """A journal to merge."""
    first = journal[0]
    assert isinstance(first, RunStarted)
    return Source(
        place=place,
        started=first,
        declared=lambda: [event for event in journal if isinstance(event, Declared)],
        events=lambda: journal[1:],
    )
