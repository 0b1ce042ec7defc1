"""A plan cut into shards, which can be asked apart from each other. Pure: no clock, no chance.

How small they get depends on the lifecycle alone:

* `fresh` gives every checkpoint and repeat a memory of its own, so each is a shard.
* `forked` grows one memory, and a copy of it answers at each checkpoint and repeat: where its
  snapshots can be carried elsewhere, each is a shard that waits for one pass of feeding; where they
  cannot, the scenario stays whole.
* `growing` asks one memory from first to last: the scenario is the shard.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from recall_bench.core.plan import Lifecycle, Plan, Shard, Trial
from recall_bench.core.record import Record
from recall_bench.core.scenario import Item
from recall_bench.core.schedule import CheckpointPlan, plan_checkpoints
from recall_bench.core.trial_states import ScenarioStates, TrialState


class WorkUnit(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Trials of one scenario that need no memory which others need."""

    scenario: str
    checkpoint: str | None = None
    """None is every checkpoint, in story order."""
    repeat: int | None = None
    """None is every repeat."""

    def __str__(self) -> str:
        place = "" if self.checkpoint is None else f"@{self.checkpoint}"
        return f"{self.scenario}{place}" + ("" if self.repeat is None else f"#{self.repeat}")

    def contains(self, trial: Trial) -> bool:
        """Whether the trial is one of its."""
        return (
            trial.scenario == self.scenario
            and self.checkpoint in (None, trial.checkpoint)
            and self.repeat in (None, trial.repeat)
        )


def is_divisible(plan: Plan, *, portable: bool) -> bool:
    """Whether the checkpoints of a scenario can be asked apart from each other.

    `portable` says whether the system's snapshots can be opened by another worker.
    """
    if plan.lifecycle is Lifecycle.FORKED:
        return portable
    return plan.lifecycle is Lifecycle.FRESH


def list_work_units(
    scenario: str, sheets: Sequence[CheckpointPlan], plan: Plan, *, portable: bool = False
) -> tuple[WorkUnit, ...]:
    """The shards of one scenario that ask anything: every trial it owes is in exactly one."""
    asking = [sheet.checkpoint.label for sheet in sheets if sheet.asked]
    if not asking:
        return ()
    if not is_divisible(plan, portable=portable):
        return (WorkUnit(scenario=scenario),)
    return tuple(
        WorkUnit(scenario=scenario, checkpoint=label, repeat=repeat)
        for label in asking
        for repeat in range(plan.repeats)
    )


def weigh_unit(shard: WorkUnit, sheets: Sequence[CheckpointPlan], plan: Plan) -> int:
    """About how much work a shard is: the days it feeds and the questions it puts."""
    if shard.checkpoint is None:
        asked = plan.repeats * sum(len(sheet.asked) for sheet in sheets)
        return asked + max(sheet.cutoff for sheet in sheets)
    (sheet,) = (each for each in sheets if each.checkpoint.label == shard.checkpoint)
    return len(sheet.asked) + sheet.cutoff


def distribute_units(weighed: Iterable[tuple[WorkUnit, int]], part: Shard) -> Iterator[WorkUnit]:
    """The shards of one part, all parts being about equally heavy. Every shard is in one part."""
    heaviest_first = sorted(weighed, key=lambda each: (-each[1], str(each[0])))
    loads = [(0, number) for number in range(1, part.of + 1)]
    heapify(loads)
    for shard, heavy in heaviest_first:
        load, number = heappop(loads)
        if number == part.number:
            yield shard
        heappush(loads, (load + heavy, number))


def collect_shard_units(
    plan: Plan, items: Mapping[str, Sequence[Item]], part: Shard
) -> dict[str, tuple[WorkUnit, ...]]:
    """By scenario, the shards of one part; a scenario with none of them is not there.

    Parts know nothing of each other, so no snapshot is carried from one to another.
    """
    found: dict[str, list[WorkUnit]] = {}
    for shard in distribute_units(_weigh_units(plan, items), part):
        found.setdefault(shard.scenario, []).append(shard)
    return {scenario: tuple(shards) for scenario, shards in found.items()}


def _weigh_units(plan: Plan, items: Mapping[str, Sequence[Item]]) -> Iterator[tuple[WorkUnit, int]]:
    for card in plan.scenarios:
        owed = plan_checkpoints(items[card.id], card.last_day, plan)
        for shard in list_work_units(card.id, owed, plan):
            yield shard, weigh_unit(shard, owed, plan)


def list_states(standing: ScenarioStates, shards: Iterable[WorkUnit]) -> Iterator[TrialState]:
    """How far each trial of these shards, which are of this scenario, has come."""
    for shard in shards:
        rows = (
            range(len(standing.checkpoint_plans))
            if shard.checkpoint is None
            else [standing.row[shard.checkpoint]]
        )
        for row in rows:
            for repeat, item in standing.list_owed_trials(row):
                if shard.repeat in (None, repeat):
                    yield standing.get_status(row, repeat, item).state
