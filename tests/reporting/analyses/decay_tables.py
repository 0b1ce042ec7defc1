"""Runs in memory whose answers follow a rule that is known."""

import math
from collections.abc import Callable, Mapping, Sequence

from numpy.random import Generator

from recall_bench.core.plan import Checkpoint, Trial
from recall_bench.core.scenario import Item
from recall_bench.core.schedule import plan_checkpoints
from recall_bench.core.trial_states import TrialState, TrialStatus
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from tests.written_runs import plan_of, question

RIGHT = TrialStatus(TrialState.JUDGED, 3, 2, 1)
WRONG = TrialStatus(TrialState.JUDGED, 1, 0, 1)

Rule = Callable[[str, Item, int, int], TrialStatus]
"""By persona, question, days told and repeat, how the trial stands."""


def table_of(
    personas: Mapping[str, Sequence[Item]],
    days: Sequence[int],
    rule: Rule,
    *,
    ends: Mapping[str, int] | None = None,
    **settings: object,
) -> TrialTable:
    """A run that asked at these days; a story is as long as it is said to be."""
    marks = tuple(Checkpoint(label=f"{day}d", days=day) for day in days)
    plan = plan_of(dict(personas), checkpoints=marks, **settings)
    rows = []
    for persona, items in personas.items():
        for point in plan_checkpoints(items, (ends or {}).get(persona, max(days)), plan):
            for repeat in range(plan.repeats):
                for number in point.asked:
                    item = items[number]
                    rows.append(
                        TrialRow(
                            trial=Trial(
                                scenario=persona,
                                item=item.id,
                                checkpoint=point.checkpoint.label,
                                repeat=repeat,
                            ),
                            item=item,
                            days=point.checkpoint.days,
                            cutoff=point.cutoff,
                            status=rule(persona, item, point.cutoff, repeat),
                        )
                    )
    return TrialTable(plan=plan, rows=tuple(rows), items={k: tuple(v) for k, v in personas.items()})


def facts(
    count: int, *, until: int, chance: Generator, category: str = "factual-recall"
) -> tuple[Item, ...]:
    """As many facts, told all along."""
    return tuple(
        question(f"{category}-{number}", category, known_from=int(chance.integers(1, until)))
        for number in range(count)
    )


def forgetting(half_life: float, chance: Generator) -> Rule:
    """Every fact is lost at a steady rate from its day on, and never comes back."""
    lives: dict[tuple[str, str], float] = {}

    def rule(persona: str, item: Item, told: int, repeat: int) -> TrialStatus:
        place = persona, item.id
        if place not in lives:
            lives[place] = -half_life * math.log2(1 - chance.random())
        return RIGHT if told - item.known_from < lives[place] else WRONG

    return rule
