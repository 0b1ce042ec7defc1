"""A plan carried out in parts and merged comes to what one process makes of it."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall_bench.core.errors import SystemFault
from recall_bench.core.event import (
    Answered,
    Event,
    Ingested,
    Judged,
    NotAnswered,
    RunEnded,
    RunResumed,
    RunStarted,
)
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Checkpoint, Lifecycle, Plan, Shard
from recall_bench.core.scenario import Episode, Item, Question, Scenario, Truth
from recall_bench.core.verdict import JudgeCard
from recall_bench.features.archive.merge import merge_events
from tests.conftest import EPOCH, card_of, episode
from tests.engine.many import FAIL, PASS, Ruled
from tests.engine.runs.merging.apart import begun, fold_states, go_on, resumed, source
from tests.faulty.fakes import ScriptedSystem
from tests.thoroughness import choose_number

MOST_DAYS = 6


def reply(lived: Sequence[Episode], question: Question) -> str:
    """A number that depends on all the system has lived and on what it is asked; or a failure."""
    number = (len(lived) * 7 + int(question.text) * 5) % 12
    if number == 0:
        raise SystemFault("not today")
    return str(number)


def judges() -> tuple[Ruled, Ruled]:
    return Ruled(lambda n: FAIL if n < 4 else PASS), Ruled(lambda n: PASS if n % 2 else FAIL)


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Scenario]:
    truth = Truth(reference="r", category="factual-recall")
    found: dict[str, Scenario] = {}
    for name in ("ann", "bea")[: draw(st.integers(1, 2))]:
        days = draw(st.integers(1, MOST_DAYS))
        opened = draw(st.lists(st.integers(1, days), min_size=1, max_size=6))
        found[name] = Scenario(
            id=name,
            epoch=EPOCH,
            episodes=tuple(episode(day, "text") for day in range(1, days + 1)),
            items=tuple(
                Item(id=f"q{n}", text=str(n), known_from=day, truth=truth)
                for n, day in enumerate(opened)
            ),
        )
    return found


@st.composite
def plans(draw: st.DrawFn, told: dict[str, Scenario], *, reviewed: bool) -> Plan:
    days = draw(st.sets(st.integers(1, MOST_DAYS), min_size=1, max_size=4))
    return Plan(
        scenarios=tuple(card_of(scenario) for scenario in told.values()),
        checkpoints=tuple(Checkpoint(label=f"{day}d", days=day) for day in sorted(days)),
        system=SystemCard(name="scripted", version="1"),
        judge=JudgeCard(name="ruled", version="1"),
        appellate=JudgeCard(name="ruled", version="1") if reviewed else None,
        lifecycle=draw(st.sampled_from(list(Lifecycle))),
        repeats=draw(st.integers(1, 3)),
        sample=draw(st.sampled_from([None, 0, 1, 2])),
        seed=draw(st.integers(0, 9)),
    )


def system() -> ScriptedSystem:
    return ScriptedSystem(reply, can_snapshot=True)


def outcomes(journal: list[Event]) -> Counter[object]:
    """What was said, found and fed, and nothing of when."""
    told: Counter[object] = Counter()
    for event in journal:
        match event:
            case Answered(trial=trial, answer=answer):
                told[str(trial), answer.text] += 1
            case NotAnswered(trial=trial, fault=fault, message=message):
                told[str(trial), fault, message] += 1
            case Judged(trial=trial, verdict=verdict, primary=primary):
                told[str(trial), repr(verdict), repr(primary)] += 1
            case Ingested(scenario=scenario, checkpoint=label, day=day):
                told[scenario, label, day] += 1
            case _:
                pass
    return told


def stands(plan: Plan, journal: list[Event]) -> object:
    states = fold_states(plan, journal)
    return states.has_ended, {
        name: (each.grid, each.reviews, each.last_fed_day, [clock.days_fed for clock in each.times])
        for name, each in states.scenarios.items()
    }


@pytest.mark.parametrize("reviewed", [False, True])
@settings(
    max_examples=choose_number(25, 60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.data())
def test_parts_that_are_merged_equal_one_run(reviewed: bool, data: st.DataObject) -> None:
    told = data.draw(scenarios())
    plan = data.draw(plans(told, reviewed=reviewed))
    of = data.draw(st.integers(1, 5))
    first, second = judges()
    appellate = second if reviewed else None
    one = go_on(begun(plan, told), told, system(), first, appellate)

    parts = [
        go_on(begun(plan, told, Shard(number=n, of=of)), told, system(), first, appellate)
        for n in range(1, of + 1)
    ]
    whole = list(merge_events([source(f"p{n}", part) for n, part in enumerate(parts)]))
    if reviewed:
        # Passes of a scenario that no part held whole are drawn by whoever goes on.
        whole = go_on(whole, told, system(), first, appellate)

    assert not any(isinstance(event, RunEnded) for part in parts for event in part)
    assert isinstance(whole[-1], RunEnded)
    assert stands(plan, whole) == stands(plan, one)
    assert outcomes(whole) == outcomes(one)


@settings(
    max_examples=choose_number(20, 40), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.data())
def test_parts_that_are_missing_are_done_by_the_merged_run(data: st.DataObject) -> None:
    told = data.draw(scenarios())
    plan = data.draw(plans(told, reviewed=False))
    of = data.draw(st.integers(2, 4))
    there = data.draw(st.sets(st.integers(1, of), min_size=1, max_size=of))
    judge, _ = judges()
    one = go_on(begun(plan, told), told, system(), judge)

    parts = {
        n: go_on(begun(plan, told, Shard(number=n, of=of)), told, system(), judge) for n in there
    }
    whole = list(merge_events([source(f"p{n}", part) for n, part in parts.items()]))
    is_whole = isinstance(whole[-1], RunEnded)
    whole = go_on(whole if is_whole else resumed(whole), told, system(), judge)

    assert is_whole or len(there) < of
    assert stands(plan, whole)[1].keys() == told.keys()  # type: ignore[index]
    grids = [
        {name: each.grid for name, each in fold_states(plan, journal).scenarios.items()}
        for journal in (whole, one)
    ]
    assert grids[0] == grids[1]
    asked = [
        Counter(str(e.trial) for e in journal if isinstance(e, Answered | NotAnswered))
        for journal in (whole, one)
    ]
    assert asked[0] == asked[1]


@settings(
    max_examples=choose_number(20, 40), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.data())
def test_a_merged_journal_begins_once_and_keeps_every_code(data: st.DataObject) -> None:
    told = data.draw(scenarios())
    plan = data.draw(plans(told, reviewed=False))
    of = data.draw(st.integers(1, 4))
    parts = [
        go_on(begun(plan, told, Shard(number=n, of=of)), told, system(), judges()[0])
        for n in range(1, of + 1)
    ]

    whole = list(merge_events([source(f"p{n}", part) for n, part in enumerate(reversed(parts))]))

    started, *others = whole
    assert isinstance(started, RunStarted)
    assert started.part is None
    assert started.code == "code 1"
    assert not any(isinstance(event, RunStarted) for event in others)
    assert [e.code for e in others if isinstance(e, RunResumed)] == [
        f"code {n}" for n in range(2, of + 1)
    ]
    for part in parts:
        own = part[1 + len(told) :]
        assert [event for event in whole if event in own] == own
