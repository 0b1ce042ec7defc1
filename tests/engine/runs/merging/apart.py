"""Plans carried out in parts or as one, without files."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial

import anyio

from recall_bench.core.event import Answered, Declared, Event, Judged, RunResumed, RunStarted
from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Plan, Shard
from recall_bench.core.scenario import Scenario
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.verdict import Judge
from recall_bench.core.work_unit import collect_shard_units
from recall_bench.engine.components import RunContext
from recall_bench.engine.scheduler import run_plan
from recall_bench.features.archive.merge import MergeSource
from recall_bench.judging.judge_call import Judges
from tests.faulty.fakes import ExactJudge

Scenarios = dict[str, Scenario]


def begun(plan: Plan, scenarios: Scenarios, part: Shard | None = None) -> list[Event]:
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
                days=tuple(episode.day for episode in scenario.fed_episodes),
            )
            for name, scenario in scenarios.items()
        ),
    ]


def fold_states(plan: Plan, journal: Iterable[Event]) -> TrialStates:
    """A fold over a journal."""
    states = TrialStates(plan)
    for event in journal:
        states.apply_event(event)
    return states


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
    states = fold_states(plan, journal)
    items = {name: scenario.items for name, scenario in scenarios.items()}
    shares = None if part is None else collect_shard_units(plan, items, part)

    def record(event: Event) -> None:
        journal.append(event)
        states.apply_event(event)

    def unjudged(scenario: str, wanted: frozenset[TrialState]) -> list[Answered]:
        found = states.scenarios[scenario]
        return [
            event
            for event in journal
            if isinstance(event, Answered)
            and event.trial.scenario == scenario
            and found.find_state(event.trial) in wanted
        ]

    def judged(scenario: str) -> list[Judged]:
        told = [e for e in journal if isinstance(e, Judged) and e.trial.scenario == scenario]
        return list({event.trial: event for event in told}.values())

    company = RunContext(
        system=system,
        judges=Judges(judge=judge or ExactJudge(), appellate=appellate),
        load=scenarios.__getitem__,
        record=record,
        find_answers=unjudged,
        find_verdicts=judged,
        units=None if shares is None else lambda name: shares.get(name, ()),
    )
    if not states.has_ended:
        anyio.run(partial(run_plan, plan, states, company))
    return journal


def resumed(journal: list[Event]) -> list[Event]:
    """The journal with the line of a process that goes on with it."""
    return [*journal, RunResumed(at=datetime.now(UTC), code="later")]


def source(place: str, journal: list[Event]) -> MergeSource:
    """A journal to merge."""
    first = journal[0]
    assert isinstance(first, RunStarted)
    return MergeSource(
        place=place,
        started=first,
        declared=lambda: [event for event in journal if isinstance(event, Declared)],
        events=lambda: journal[1:],
    )
