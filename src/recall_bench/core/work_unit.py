"""A plan divided into work units that can be asked independently. Deterministic.

Their size depends on the lifecycle and its copies alone:

* `fresh` gives every checkpoint and repeat its own memory, so each is a unit.
* `forked` grows one memory, and copies of it answer at each checkpoint and repeat. If its
  snapshots are portable, each copy is a unit that waits for one pass of feeding; otherwise the
  scenario is the unit.
* `growing` asks one memory throughout: the scenario is the unit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from recall_bench.core.plan import Lifecycle, Plan, Shard
from recall_bench.core.record import Record, group_by
from recall_bench.core.scenario import Item
from recall_bench.core.schedule import CheckpointPlan, plan_checkpoints
from recall_bench.core.trial_states import ScenarioStates, TrialState


class WorkUnit(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Trials of one scenario that share no memory with others."""

    scenario: str
    checkpoint: str | None = None
    """None for every checkpoint, in story order."""
    repeat: int | None = None
    """None for every repeat."""
    copy: int | None = None
    """The copy of the memory that is asked; None where one is asked everything."""

    def __str__(self) -> str:
        place = "" if self.checkpoint is None else f"@{self.checkpoint}"
        place += "" if self.repeat is None else f"#{self.repeat}"
        return f"{self.scenario}{place}" + ("" if self.copy is None else f".{self.copy}")


def is_divisible(plan: Plan, *, portable: bool) -> bool:
    """Whether the checkpoints of a scenario can be asked independently.

    `portable` says whether other workers can open the system's snapshots.
    """
    if plan.lifecycle is Lifecycle.FORKED:
        return portable
    return plan.lifecycle is Lifecycle.FRESH


def list_work_units(
    scenario: str, checkpoint_plans: Sequence[CheckpointPlan], plan: Plan, *, portable: bool = False
) -> tuple[WorkUnit, ...]:
    """List the units of one scenario that ask anything; every owed trial is in exactly one."""
    asking = [point for point in checkpoint_plans if point.asked]
    if not asking:
        return ()
    if not is_divisible(plan, portable=portable):
        return (WorkUnit(scenario=scenario),)
    return tuple(
        WorkUnit(scenario=scenario, checkpoint=point.checkpoint.label, repeat=repeat, copy=copy)
        for point in asking
        for repeat in range(plan.repeats)
        for copy in ([None] if plan.copies == 1 else range(min(plan.copies, len(point.asked))))
    )


def select_part(copy: int, copies: int) -> slice:
    """Return which of a checkpoint's questions a copy is asked.

    They take turns, so that each copy gets about as many. Which one is asked a question does not
    depend on the workers, nor on what was asked before.
    """
    return slice(copy, None, copies)


def weigh_unit(unit: WorkUnit, checkpoint_plans: Sequence[CheckpointPlan], plan: Plan) -> int:
    """Estimate the work of a unit: the days it feeds plus the questions it asks."""
    if unit.checkpoint is None:
        questions = plan.repeats * sum(len(point.asked) for point in checkpoint_plans)
        return questions + max(point.cutoff for point in checkpoint_plans)
    (asked_at,) = (point for point in checkpoint_plans if point.checkpoint.label == unit.checkpoint)
    return len(list_asked(unit, asked_at, plan)) + asked_at.cutoff


def list_asked(unit: WorkUnit, point: CheckpointPlan, plan: Plan) -> tuple[int, ...]:
    """List the questions of its checkpoint that a unit asks."""
    return point.asked if unit.copy is None else point.asked[select_part(unit.copy, plan.copies)]


def distribute_units(weighed: Iterable[tuple[WorkUnit, int]], part: Shard) -> Iterator[WorkUnit]:
    """Yield the units of one shard; every unit is in one shard, all about equally heavy."""
    heaviest_first = sorted(weighed, key=lambda each: (-each[1], str(each[0])))
    loads = [(0, number) for number in range(1, part.of + 1)]
    heapify(loads)
    for unit, heavy in heaviest_first:
        load, number = heappop(loads)
        if number == part.number:
            yield unit
        heappush(loads, (load + heavy, number))


def collect_shard_units(
    plan: Plan, items: Mapping[str, Sequence[Item]], part: Shard
) -> dict[str, tuple[WorkUnit, ...]]:
    """Collect the units of one shard by scenario; a scenario without any is left out.

    Shards are independent, so no snapshot is carried from one to another.
    """
    units = distribute_units(_weigh_units(plan, items), part)
    by_scenario = group_by(units, lambda unit: unit.scenario)
    return {scenario: tuple(own) for scenario, own in by_scenario.items()}


def _weigh_units(plan: Plan, items: Mapping[str, Sequence[Item]]) -> Iterator[tuple[WorkUnit, int]]:
    for card in plan.scenarios:
        owed = plan_checkpoints(
            items[card.id], card.last_day, plan, left_out=plan.list_left_out(card.id)
        )
        for unit in list_work_units(card.id, owed, plan):
            yield unit, weigh_unit(unit, owed, plan)


def list_states(states: ScenarioStates, units: Iterable[WorkUnit]) -> Iterator[TrialState]:
    """List the state of each trial of these units, which are of this scenario."""
    for unit in units:
        rows = (
            range(len(states.checkpoint_plans))
            if unit.checkpoint is None
            else [states.row[unit.checkpoint]]
        )
        for row in rows:
            for repeat, item in states.list_owed_trials(row):
                if unit.repeat in (None, repeat):
                    yield states.get_status(row, repeat, item).state
