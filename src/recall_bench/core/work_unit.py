"""A plan divided into work units that can be asked independently. Deterministic.

Their size depends on the lifecycle alone:

* `fresh` gives every checkpoint and repeat its own memory, so each is a unit.
* `forked` grows one memory, and a copy of it answers at each checkpoint and repeat. If its
  snapshots are portable, each is a unit that waits for one pass of feeding; otherwise the scenario
  is the unit.
* `growing` asks one memory throughout: the scenario is the unit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from recall_bench.core.plan import Lifecycle, Plan, Shard, Trial
from recall_bench.core.record import Record
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

    def __str__(self) -> str:
        place = "" if self.checkpoint is None else f"@{self.checkpoint}"
        return f"{self.scenario}{place}" + ("" if self.repeat is None else f"#{self.repeat}")

    def contains(self, trial: Trial) -> bool:
        """Whether the trial belongs to it."""
        return (
            trial.scenario == self.scenario
            and self.checkpoint in (None, trial.checkpoint)
            and self.repeat in (None, trial.repeat)
        )


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
    asking = [each.checkpoint.label for each in checkpoint_plans if each.asked]
    if not asking:
        return ()
    if not is_divisible(plan, portable=portable):
        return (WorkUnit(scenario=scenario),)
    return tuple(
        WorkUnit(scenario=scenario, checkpoint=label, repeat=repeat)
        for label in asking
        for repeat in range(plan.repeats)
    )


def weigh_unit(unit: WorkUnit, checkpoint_plans: Sequence[CheckpointPlan], plan: Plan) -> int:
    """Estimate the work of a unit: the days it feeds plus the questions it asks."""
    if unit.checkpoint is None:
        asked = plan.repeats * sum(len(each.asked) for each in checkpoint_plans)
        return asked + max(each.cutoff for each in checkpoint_plans)
    (asked_at,) = (each for each in checkpoint_plans if each.checkpoint.label == unit.checkpoint)
    return len(asked_at.asked) + asked_at.cutoff


def distribute_units(weighed: Iterable[tuple[WorkUnit, int]], part: Shard) -> Iterator[WorkUnit]:
    """Yield the units of one unit; every unit is in one unit, all about equally heavy."""
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
    """Collect the units of one unit by scenario; a scenario without any is left out.

    Shards are independent, so no snapshot is carried from one to another.
    """
    found: dict[str, list[WorkUnit]] = {}
    for unit in distribute_units(_weigh_units(plan, items), part):
        found.setdefault(unit.scenario, []).append(unit)
    return {scenario: tuple(units) for scenario, units in found.items()}


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
