"""How large a memory is at a checkpoint, and which checkpoints made it larger."""

from collections.abc import Iterator

from recall_bench.analysis.trials import TrialRow, TrialTable


def measure_sizes(table: TrialTable) -> dict[str, int]:
    """For each checkpoint, by days, the most story days that any persona was told by then.

    What a checkpoint is called says less: `full` is more days than any story has.
    """
    told: dict[str, int] = {}
    for row in table.rows:
        label = row.trial.checkpoint
        told[label] = max(told.get(label, 0), row.cutoff)
    return {each.label: told[each.label] for each in table.plan.checkpoints if each.label in told}


def select_grown(table: TrialTable) -> Iterator[TrialRow]:
    """The trials of checkpoints by which a persona's story had gone on.

    Once a story is over, a later checkpoint asks the same memory again: that is a repeat, and
    nothing can be lost between the two.
    """
    first: dict[tuple[str, int], str] = {}
    for row in table.rows:
        place = row.trial.scenario, row.cutoff
        if first.setdefault(place, row.trial.checkpoint) == row.trial.checkpoint:
            yield row
