"""One screen says how far a spread run is, how fast, at what cost, and what lags behind."""

from typing import Any

import pytest

from recall_bench.cli import run_display
from recall_bench.cli.run_display import RunOverview, render_pool_lines
from recall_bench.core.event import NotAnswered, NotJudged
from recall_bench.core.scenario import Scenario
from recall_bench.core.trial_states import TrialStates
from recall_bench.core.usage import Usage
from recall_bench.engine.worker_messages import UnitKind
from recall_bench.engine.worker_pool import RunningUnit, WorkerPool
from tests.ada_trials import NEW, NOW, OLD, answered, judged
from tests.cli.test_run_display import job_of


class Shown:
    """Keeps what would be on the screen."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.said: list[str] = []

    def show(self, lines: list[str]) -> None:
        self.lines = lines

    def print_line(self, line: str) -> None:
        self.said.append(line.strip())


def test_trials_rate_errors_money_and_the_end_are_in_one_line(states: TrialStates) -> None:
    watching = RunOverview(job_of(states.plan), Shown())
    for event in (
        answered(OLD),
        judged(OLD, usage=Usage(calls=1, input_tokens=1200, cost_usd=0.5)),
        answered(NEW),
        NotJudged(at=NOW, trial=NEW, fault="JudgeBusy", message="later"),
    ):
        watching(event, states)
        states.apply_event(event)

    words = watching.describe(states, 4.0)

    assert words.startswith(
        "1 of 2 trials (50 %) · 15.0 a minute · 1 error · $0.50, 1,200 tokens · 4.0 s left, until "
    )


def test_what_an_earlier_process_did_is_done_but_is_no_speed(states: TrialStates) -> None:
    states.apply_event(answered(OLD))
    states.apply_event(judged(OLD))
    watching = RunOverview(job_of(states.plan), Shown())

    watching(judged(OLD), states)

    assert watching.describe(states, 4.0) == "1 of 2 trials (50 %) · 0 errors"


def make_pool(*doing: RunningUnit) -> WorkerPool:
    async def start(number: int) -> Any:
        raise AssertionError(number)

    pool = WorkerPool(start, 4)
    pool.doing = dict(enumerate(doing))
    return pool


def test_workers_are_counted_by_what_they_do() -> None:
    pool = make_pool(
        RunningUnit(what="ada@2d#0", kind=UnitKind.ASK, worker=1, since=0.0),
        RunningUnit(what="ada@3d#0", kind=UnitKind.ASK, worker=2, since=0.0),
        RunningUnit(what="ada, judging", kind=UnitKind.GRADE, worker=2, since=0.0),
    )
    pool.lost = 1

    assert render_pool_lines(pool, 1.0) == [
        "0 of 4 workers · 2 asking · 1 judging · 1 lost and replaced"
    ]


def test_what_takes_far_longer_than_usual_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bench.engine.worker_pool.time.monotonic", lambda: 100.0)
    late = [
        RunningUnit(what=f"ada@{n}d#0", kind=UnitKind.ASK, worker=n, since=float(n))
        for n in range(5)
    ]
    pool = make_pool(*late, RunningUnit(what="ada@9d#0", kind=UnitKind.ASK, worker=9, since=99.0))
    pool.took[UnitKind.ASK].extend([2.0, 2.0, 2.0])

    lines = render_pool_lines(pool, 100.0)

    assert lines[1] == "slow: ada@0d#0, 1m 40s on worker 0"
    assert lines[4] == "slow: 2 more"
    assert not any("ada@9d" in line for line in lines)


def test_failures_are_counted_and_the_first_is_said(states: TrialStates) -> None:
    shown = Shown()
    watching = RunOverview(job_of(states.plan), shown)
    failed = NotAnswered(at=NOW, trial=NEW, fault="SystemTimeout", message="late", seconds=1.0)
    states.apply_event(failed)

    watching(failed, states)
    watching.refresh()

    assert "1 of 2 trials (50 %) · 1 error" in shown.lines[0]
    assert any("SystemTimeout: late" in line for line in shown.said)


def test_a_part_is_as_far_as_its_own_trials_are(states: TrialStates, scenario: Scenario) -> None:
    shown = Shown()
    watching = RunOverview(job_of(states.plan, scenario.items, shard="1/2"), shown)
    states.apply_event(answered(NEW))
    states.apply_event(judged(NEW))

    watching(judged(NEW), states)
    watching.refresh()

    assert shown.lines == ["1 of 1 trials (100 %) · 0 errors"]


def test_errors_of_an_earlier_process_are_counted_until_they_are_mended(
    states: TrialStates,
) -> None:
    shown = Shown()
    watching = RunOverview(job_of(states.plan), shown)
    for trial in (OLD, NEW):
        states.apply_event(answered(trial))
        states.apply_event(NotJudged(at=NOW, trial=trial, fault="JudgeBusy", message="later"))
    states.apply_event(judged(OLD))

    watching(judged(OLD), states)
    watching.refresh()

    assert shown.lines == ["1 of 2 trials (50 %) · 1 error"]


def test_every_kind_of_unit_has_a_word() -> None:
    assert set(run_display._KIND_WORDS) == set(UnitKind)
