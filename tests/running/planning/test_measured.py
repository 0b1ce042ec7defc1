"""A journal tells how long every step took, verdicts too, which it does not time."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from recall_bench.core.event import (
    Answered,
    Declared,
    Event,
    Ingested,
    Judged,
    NotAnswered,
    NotJudged,
    RunResumed,
    RunStarted,
)
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.scenario import Scenario
from recall_bench.core.verdict import Verdict
from recall_bench.running.measured_runs import ASK, JUDGE, MeasuredRun

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def trial(number: int) -> Trial:
    return Trial(scenario="ada", item=f"q{number}", checkpoint="3d")


def answered(number: int, when: float, seconds: float) -> Answered:
    return Answered(at=at(when), trial=trial(number), answer=Answer(text="Plum"), seconds=seconds)


def judged(number: int, when: float) -> Judged:
    return Judged(at=at(when), trial=trial(number), verdict=Verdict.of(3, 2, 1))


def not_judged(number: int, when: float) -> NotJudged:
    return NotJudged(at=at(when), trial=trial(number), fault="JudgeBusy", message="later")


def fed(day: int, when: float, seconds: float, *, checkpoint: str = "3d") -> Ingested:
    return Ingested(at=at(when), scenario="ada", day=day, checkpoint=checkpoint, seconds=seconds)


def told(plan: Plan, scenario: Scenario, events: Iterable[Event]) -> MeasuredRun:
    found = MeasuredRun(name="r", plan=plan)
    found.note(Declared(at=START, scenario="ada", items=scenario.items, days=(1, 2, 3)))
    for event in events:
        found.note(event)
    found.end()
    return found


def times(found: MeasuredRun, step: str) -> list[float]:
    return [round(each, 3) for each in found.get_timing(step).single]


def test_a_verdict_that_had_to_wait_for_another_is_not_charged_the_wait(
    plan: Plan, scenario: Scenario
) -> None:
    events = [answered(n, 1 + n, 1) for n in range(3)]
    found = told(plan, scenario, [*events, judged(0, 5), judged(1, 9), judged(2, 13)])

    assert found.concurrency == 1
    assert times(found, JUDGE) == [4, 4, 4]


def test_places_are_as_many_as_questions_were_asked_at_a_time(
    plan: Plan, scenario: Scenario
) -> None:
    events: list[Event] = [
        answered(0, 2, 2),
        answered(1, 2, 2),
        answered(2, 4, 2),
        answered(3, 4, 2),
    ]
    verdicts = [judged(0, 7), judged(1, 7), judged(2, 12), judged(3, 12)]
    found = told(plan, scenario, [*events, *verdicts])

    assert found.concurrency == 2
    assert times(found, ASK) == [2, 2, 2, 2]
    assert times(found, JUDGE) == [5, 5, 5, 5]


def test_a_pause_between_two_processes_is_no_ones_time(plan: Plan, scenario: Scenario) -> None:
    events: list[Event] = [
        answered(0, 1, 1),
        judged(0, 2),
        answered(1, 3, 1),
        RunResumed(at=at(1000), code="c"),
        judged(1, 1001),
    ]
    found = told(plan, scenario, events)

    assert found.wall_s == pytest.approx(4)
    assert times(found, JUDGE) == [1]
    assert len(found.marks) == 2


def test_a_judge_that_computes_is_timed_from_the_line_before(
    plan: Plan, scenario: Scenario
) -> None:
    computing = plan.replace(judge=plan.judge.replace(computes=True))
    events: list[Event] = [answered(0, 1, 1), answered(1, 2, 1), judged(0, 2.5), judged(1, 2.75)]
    found = told(computing, scenario, events)

    assert times(found, JUDGE) == [0.5, 0.25]


def test_an_answer_that_no_one_could_judge_kept_a_place_and_is_no_time(
    plan: Plan, scenario: Scenario
) -> None:
    events: list[Event] = [answered(n, 1 + n, 1) for n in range(3)]
    verdicts: list[Event] = [not_judged(0, 4), not_judged(1, 5), judged(2, 7)]
    found = told(plan, scenario, [*events, *verdicts])

    assert times(found, JUDGE) == [2]
    assert found.verdicts == 1


def test_answers_that_an_adjourned_run_never_judged_are_not_waited_for(
    plan: Plan, scenario: Scenario
) -> None:
    events: list[Event] = [answered(n, 1 + n, 1) for n in range(4)]
    found = told(plan, scenario, [*events, judged(3, 9)])

    assert times(found, JUDGE) == [5]


def test_a_question_that_failed_first_counts_once_its_answer_is_judged(
    plan: Plan, scenario: Scenario
) -> None:
    failed = NotAnswered(at=at(1), trial=trial(0), fault="SystemGone", message="", seconds=1)
    again: list[Event] = [RunResumed(at=at(10), code="c"), answered(0, 12, 1), judged(0, 14)]
    found = told(plan, scenario, [failed, *again])

    assert found.verdicts == 1
    assert times(found, JUDGE) == [2]


def test_one_process_tells_what_opening_a_memory_took(plan: Plan, scenario: Scenario) -> None:
    found = told(plan, scenario, [fed(1, 3, 1), fed(2, 4, 1), answered(0, 5, 1)])

    assert found.openings == {"ada": 2}
    assert not found.is_shared


def shared_steps() -> list[list[Event]]:
    first = Trial(scenario="ada", item="q0", checkpoint="2d")
    other = answered(1, 5, 2)
    return [
        [fed(1, 3, 1), fed(1, 3.5, 1, checkpoint="2d")],
        [fed(1, 3, 1), other, answered(0, 5.5, 2).replace(trial=first)],
        [fed(1, 3, 1), other, answered(0, 4.5, 1).replace(trial=first)],
        [fed(1, 3, 1), answered(0, 3.5, 1).replace(trial=first.replace(scenario="bob"))],
    ]


@pytest.mark.parametrize("steps", shared_steps())
def test_where_several_were_at_work_the_line_before_is_anothers_and_times_nothing(
    steps: list[Event], plan: Plan, scenario: Scenario
) -> None:
    bob = plan.scenarios[0].replace(id="bob")
    computing = plan.replace(
        judge=plan.judge.replace(computes=True), scenarios=(plan.scenarios[0], bob)
    )
    declared = Declared(at=START, scenario="bob", items=scenario.items, days=(1, 2, 3))
    found = told(computing, scenario, [declared, *steps, answered(5, 10, 1), judged(5, 11)])

    assert found.is_shared
    assert found.openings == {}
    assert times(found, JUDGE) == []


def test_questions_at_a_time_of_one_paper_are_one_process(plan: Plan, scenario: Scenario) -> None:
    computing = plan.replace(judge=plan.judge.replace(computes=True))
    events: list[Event] = [answered(0, 5, 4), answered(1, 5.5, 4), judged(0, 6), judged(1, 7)]
    found = told(computing, scenario, events)

    assert not found.is_shared
    assert times(found, JUDGE) == [0.5, 1]


def test_a_verdict_that_the_journal_times_takes_what_it_says(
    plan: Plan, scenario: Scenario
) -> None:
    events: list[Event] = [answered(0, 1, 1), judged(0, 5).replace(seconds=0.25)]

    assert times(told(plan, scenario, events), JUDGE) == [0.25]


def by_workers(plan: Plan) -> RunStarted:
    return RunStarted(at=START, plan=plan, code="c", executor="processes", workers=2)


def test_where_workers_did_the_work_nothing_is_timed_by_the_line_before(
    plan: Plan, scenario: Scenario
) -> None:
    computing = plan.replace(judge=plan.judge.replace(computes=True))
    steps: list[Event] = [by_workers(computing), fed(1, 3, 1), answered(0, 5, 1)]
    found = told(computing, scenario, [*steps, judged(0, 6)])

    assert found.is_shared
    assert found.openings == {}
    assert times(found, JUDGE) == []
    assert found.starts_s == [2]


def test_verdicts_of_workers_are_timed_where_the_journal_times_them(
    plan: Plan, scenario: Scenario
) -> None:
    computing = plan.replace(judge=plan.judge.replace(computes=True))
    steps: list[Event] = [by_workers(computing), answered(0, 5, 1)]
    found = told(computing, scenario, [*steps, judged(0, 6).replace(seconds=0.5)])

    assert times(found, JUDGE) == [0.5]


def test_questions_read_before_the_run_started_do_not_lengthen_it(
    plan: Plan, scenario: Scenario
) -> None:
    started = RunStarted(at=at(10), plan=plan, code="c")
    found = MeasuredRun(name="r", plan=plan)
    found.note(started)
    found.note(Declared(at=at(4), scenario="ada", items=scenario.items, days=(1, 2, 3)))
    for event in (fed(1, 13, 1), answered(0, 15, 1)):
        found.note(event)
    found.end()

    assert found.wall_s == pytest.approx(5)
    assert found.openings == {"ada": 2}
