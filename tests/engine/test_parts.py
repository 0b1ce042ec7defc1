"""A part feeds and asks its own shards, grades their answers, and says nothing of the rest."""

from recall_bench.core.event import Answered, Event, Ingested, Judged, RunEnded
from recall_bench.core.plan import Checkpoint, Lifecycle, Plan, Shard
from recall_bench.core.scenario import Scenario
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.lifecycle import list_open_trials
from tests.engine.many import QUESTIONS, Ruled, fails_below, many, parrot
from tests.engine.runs.merging.apart import begun, fold_states, go_on
from tests.faulty.fakes import ScriptedSystem


def part(plan: Plan, scenario: Scenario, number: int, system: ScriptedSystem) -> list[Event]:
    told = {scenario.id: scenario}
    return go_on(begun(plan, told, Shard(number=number, of=2)), told, system)


def test_a_part_feeds_and_asks_its_own_shards_alone(plan: Plan, scenario: Scenario) -> None:
    plan = plan.replace(repeats=2)
    system = ScriptedSystem(lambda lived, question: "Fig")

    journal = part(plan, scenario, 1, system)

    asked = {(e.trial.checkpoint, e.trial.repeat) for e in journal if isinstance(e, Answered)}
    assert asked == {("3d", 0), ("2d", 0)}
    assert len(system.opened) == len(asked)
    fed = [(e.checkpoint, e.day) for e in journal if isinstance(e, Ingested)]
    assert sorted(fed) == [("2d", 1), ("2d", 2), ("3d", 1), ("3d", 2), ("3d", 3)]


def test_what_a_shard_has_open_is_part_of_what_the_scenario_has(
    plan: Plan, scenario: Scenario
) -> None:
    plan = plan.replace(repeats=2)
    journal = part(plan, scenario, 1, ScriptedSystem(lambda lived, question: "Fig"))
    states = fold_states(plan, journal[:-3]).scenarios[scenario.id]
    whole = list(list_open_trials(states))
    labels = [each.checkpoint.label for each in states.checkpoint_plans]

    units = [(label, repeat) for label in labels for repeat in range(2)]
    assert [each for unit in units for each in list_open_trials(states, *unit)] == whole
    assert [each for label in labels for each in list_open_trials(states, label)] == whole
    assert {each.repeat for each in list_open_trials(states, repeat=1)} == {1}
    assert len(whole) > 1


def test_a_part_does_not_say_that_the_run_has_ended(plan: Plan, scenario: Scenario) -> None:
    for number in (1, 2):
        journal = part(plan, scenario, number, ScriptedSystem(lambda lived, question: "Fig"))

        assert any(isinstance(event, Judged) for event in journal)
        assert not any(isinstance(event, RunEnded) for event in journal)


def test_a_part_without_shards_opens_no_memory(plan: Plan, scenario: Scenario) -> None:
    system = ScriptedSystem(lambda lived, question: "Fig")

    journal = part(plan.replace(lifecycle=Lifecycle.GROWING), scenario, 2, system)

    assert system.opened == []
    assert len(journal) == 2


def test_a_part_that_goes_on_asks_only_what_it_still_owes(plan: Plan, scenario: Scenario) -> None:
    whole = part(plan, scenario, 1, ScriptedSystem(lambda lived, question: "Fig"))
    cut = whole[: next(n for n, e in enumerate(whole) if isinstance(e, Answered)) + 1]

    again = go_on(cut, {scenario.id: scenario}, ScriptedSystem(lambda lived, question: "Fig"))

    asked = [event.trial for event in again if isinstance(event, Answered)]
    assert len(asked) == len(set(asked))
    grids = [fold_states(plan, journal).scenarios["ada"].grid for journal in (again, whole)]
    assert grids[0] == grids[1]


def reviewed(plan: Plan, lifecycle: Lifecycle) -> tuple[list[Event], Ruled]:
    """One of two parts of twelve questions put at two checkpoints, with an appellate judge."""
    rehearsal = many(
        plan,
        days=2,
        appellate=JudgeCard(name="ruled", version="1"),
        checkpoints=(Checkpoint(label="1d", days=1), Checkpoint(label="2d", days=2)),
        lifecycle=lifecycle,
    )
    first, second = Ruled(fails_below(3)), Ruled(fails_below(6))
    journal = begun(rehearsal.plan, rehearsal.scenarios, Shard(number=1, of=2))
    return go_on(journal, rehearsal.scenarios, parrot(), first, second), second


def test_a_part_of_a_scenario_reviews_failures_and_draws_no_passes(plan: Plan) -> None:
    journal, appellate = reviewed(plan, Lifecycle.FRESH)

    assert sorted(set(appellate.seen)) == ["many/q0", "many/q1", "many/q2"]
    assert sum(isinstance(event, Judged) for event in journal) == QUESTIONS


def test_a_part_that_holds_a_scenario_whole_draws_its_passes(plan: Plan) -> None:
    journal, appellate = reviewed(plan, Lifecycle.GROWING)

    assert len(appellate.seen) == 2 * 2 * 3
    judged = [event for event in journal if isinstance(event, Judged)]
    assert len({event.trial for event in judged}) == 2 * QUESTIONS
