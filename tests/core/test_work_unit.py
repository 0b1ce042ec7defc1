"""Every trial is in one shard, and every shard in one part."""

from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core.plan import Lifecycle, Plan, Shard
from recall_bench.core.scenario import Scenario
from recall_bench.core.schedule import plan_checkpoints
from recall_bench.core.work_unit import (
    WorkUnit,
    collect_shard_units,
    distribute_units,
    list_asked,
    list_work_units,
    weigh_unit,
)


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(1, 9))
def test_every_shard_is_in_one_part(weights: list[int], of: int) -> None:
    shards = [(WorkUnit(scenario=f"s{n:03}"), heavy) for n, heavy in enumerate(weights)]

    parts = [list(distribute_units(shards, Shard(number=n, of=of))) for n in range(1, of + 1)]

    assert sorted(str(shard) for part in parts for shard in part) == [
        str(shard) for shard, _ in shards
    ]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 9))
def test_no_part_is_heavier_than_another_by_more_than_its_lightest_shard(
    weights: list[int], of: int
) -> None:
    shards = [(WorkUnit(scenario=f"s{n:03}"), heavy) for n, heavy in enumerate(weights)]
    heavy = dict(shards)

    parts = [
        [heavy[s] for s in distribute_units(shards, Shard(number=n, of=of))]
        for n in range(1, of + 1)
    ]

    lightest = min(sum(part) for part in parts)
    assert all(sum(part) - min(part, default=0) <= lightest for part in parts)


def test_a_fresh_checkpoint_and_repeat_is_a_shard(plan: Plan, scenario: Scenario) -> None:
    plan = plan.replace(repeats=2)
    owed = plan_checkpoints(scenario.items, 3, plan)

    shards = list_work_units("ada", owed, plan)

    assert [str(shard) for shard in shards] == ["ada@2d#0", "ada@2d#1", "ada@3d#0", "ada@3d#1"]
    assert [weigh_unit(shard, owed, plan) for shard in shards] == [3, 3, 4, 4]


def test_parts_never_share_a_memory_that_grows(plan: Plan, scenario: Scenario) -> None:
    for lifecycle in (Lifecycle.GROWING, Lifecycle.FORKED):
        whole = plan.replace(lifecycle=lifecycle)

        parts = [
            collect_shard_units(whole, {"ada": scenario.items}, Shard(number=n, of=3))
            for n in range(1, 4)
        ]

        assert parts == [{"ada": (WorkUnit(scenario="ada"),)}, {}, {}]


def test_a_copy_of_a_forked_memory_is_a_unit_and_each_question_is_in_one(
    plan: Plan, scenario: Scenario
) -> None:
    items = tuple(scenario.items[0].replace(id=f"q{number}") for number in range(7))
    plan = plan.replace(lifecycle=Lifecycle.FORKED, copies=3)
    point = plan_checkpoints(items, 3, plan)[0]

    units = list_work_units("ada", [point], plan, portable=True)

    assert [str(unit) for unit in units] == ["ada@2d#0.0", "ada@2d#0.1", "ada@2d#0.2"]
    parts = [list_asked(unit, point, plan) for unit in units]
    assert [len(part) for part in parts] == [3, 2, 2]
    assert sorted(number for part in parts for number in part) == list(range(7))
    assert [weigh_unit(unit, [point], plan) for unit in units] == [5, 4, 4]
    # No unit without a question, and one for all of it where snapshots cannot be exchanged.
    assert len(list_work_units("ada", [point], plan.replace(copies=99), portable=True)) == 7
    assert list_work_units("ada", [point], plan) == (WorkUnit(scenario="ada"),)
