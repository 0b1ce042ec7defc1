"""The steps of a run come to the time the run took, by one process and by workers."""

from datetime import datetime

import pytest

from recall_bench.core.event import (
    Answered,
    Declared,
    Ingested,
    Judged,
    RunEnded,
    RunStarted,
    Settled,
)
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Lifecycle, Plan, Trial
from recall_bench.core.scenario import Scenario
from recall_bench.core.verdict import Verdict
from recall_bench.running.measured_runs import MeasuredRun
from recall_bench.running.plan_schedule import estimate_rest, explain_run, list_scenario_work
from tests.running.planning.test_measured import START, at

DAYS = (1, 2, 3)


def lived(plan: Plan, scenario: Scenario, *, executor: str | None, wall_s: float) -> MeasuredRun:
    """A run of steps that take no longer than a tenth of a second each."""
    declared = Declared(at=START, scenario="ada", items=scenario.items, days=DAYS)
    found = MeasuredRun(name="r", plan=plan)
    workers = None if executor is None else 2
    found.note(RunStarted(at=START, plan=plan, code="c", executor=executor, workers=workers))
    found.note(declared)
    clock = 2.0

    def now() -> datetime:
        nonlocal clock
        clock += 0.1
        return at(clock)

    told = 0
    [story] = list_scenario_work(plan, {"ada": declared})
    for sheet in story.points:
        label = sheet.checkpoint.label
        for day in story.list_days(told, sheet.cutoff):
            fed = Ingested(at=now(), scenario="ada", day=day, checkpoint=label, seconds=0.1)
            found.note(fed)
        told = sheet.cutoff
        found.note(Settled(at=now(), scenario="ada", checkpoint=label, seconds=0.1))
        for place in sheet.asked:
            trial = Trial(scenario="ada", item=scenario.items[place].id, checkpoint=label)
            answer = Answer(text="Plum")
            found.note(Answered(at=now(), trial=trial, answer=answer, seconds=0.1))
            verdict = Verdict.of(3, 2, 1)
            found.note(Judged(at=now(), trial=trial, verdict=verdict, seconds=0.1))
    assert clock < wall_s
    found.note(RunEnded(at=at(wall_s)))
    found.end()
    return found


@pytest.mark.parametrize("executor", [None, "processes"])
@pytest.mark.parametrize("portable", [False, True])
def test_an_estimate_of_the_very_run_comes_to_its_time(
    plan: Plan, scenario: Scenario, executor: str | None, portable: bool
) -> None:
    forked = plan.replace(
        lifecycle=Lifecycle.FORKED,
        system=plan.system.replace(computes=True),
        judge=plan.judge.replace(computes=True),
    )
    run = lived(forked, scenario, executor=executor, wall_s=20)

    rest = estimate_rest([run], portable=portable)

    assert rest is not None
    assert run.wall_s == pytest.approx(20)
    assert explain_run(run, portable=portable) < 10
    assert explain_run(run, rest, portable=portable) == pytest.approx(20)


def test_the_workers_of_merged_parts_are_not_known(plan: Plan, scenario: Scenario) -> None:
    run = lived(plan, scenario, executor=None, wall_s=20)
    run.is_shared = True

    assert estimate_rest([run]) is None
