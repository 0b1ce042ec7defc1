"""Tables of trials made by hand, a line a trial."""

from collections.abc import Iterable, Sequence

from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Item
from recall_bench.core.trial_states import TrialState, TrialStatus
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from tests.written_runs import plan_of, question

SOUND = (3, 2, 1)
MADE_UP = (0, 0, 0)


def asked(
    name: str = "q0",
    marks: tuple[int, int, int] | TrialState = SOUND,
    *,
    days: int = 100,
    persona: str = "ada",
    category: str = "factual-recall",
    repeat: int = 0,
    label: str | None = None,
    item: Item | None = None,
) -> TrialRow:
    """One trial: judged with these marks, or no further than this state."""
    status = (
        TrialStatus(marks)
        if isinstance(marks, TrialState)
        else TrialStatus(TrialState.JUDGED, *marks)
    )
    return TrialRow(
        trial=Trial(scenario=persona, item=name, checkpoint=label or f"{days}d", repeat=repeat),
        item=item or question(name, category),
        days=days,
        cutoff=days,
        status=status,
    )


def table_of(rows: Iterable[TrialRow], **settings: object) -> TrialTable:
    """These trials, and the questions they put."""
    kept = tuple(rows)
    items: dict[str, dict[str, Item]] = {}
    for row in kept:
        items.setdefault(row.trial.scenario, {})[row.item.id] = row.item
    scenarios: dict[str, Sequence[Item]] = {
        name: tuple(own.values()) for name, own in items.items()
    }
    return TrialTable(
        plan=plan_of(scenarios, **settings),
        rows=kept,
        items={name: tuple(own) for name, own in scenarios.items()},
    )
