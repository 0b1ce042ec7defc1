"""Every miss of a run in its leaf, counted, with what could not be told apart."""

from collections import Counter
from collections.abc import Sequence

from recall_bench.analysis.attribution.notes import notes_on
from recall_bench.analysis.attribution.tree import is_miss, leaf_of
from recall_bench.analysis.attribution.views import Attribution, Leaf, LeafCount
from recall_bench.analysis.trials import Table, TrialRow
from recall_bench.core.plan import Trial
from recall_bench.core.question import CATEGORIES
from recall_bench.core.verdict import FULL_MARKS

EXAMPLES = 3
"""So many trials of a leaf are named, each of another question."""


def leaves_of(table: Table) -> dict[Trial, Leaf]:
    """The leaf of every miss, in the order of the table."""
    return {row.trial: leaf_of(row) for row in table.rows if is_miss(row)}


def attribute(table: Table) -> Attribution:
    """Count every miss in its leaf; what has no outcome yet is counted apart."""
    outcomes = [(row, missed) for row in table.rows if (missed := is_miss(row)) is not None]
    misses = [(row, leaf_of(row)) for row, missed in outcomes if missed]
    by_leaf: dict[Leaf, list[TrialRow]] = {leaf: [] for leaf in Leaf}
    for row, leaf in misses:
        by_leaf[leaf].append(row)
    categories = {row.category for row, _ in outcomes}
    known = [name for name in CATEGORIES if name in categories]
    asked = {row.trial.checkpoint for row, _ in outcomes}
    return Attribution(
        answered=len(outcomes),
        misses=len(misses),
        undecided=len(table.rows) - len(outcomes),
        leaves=tuple(_counted(leaf, rows) for leaf, rows in by_leaf.items()),
        categories=_crossed(
            (*known, *sorted(categories.difference(known))),
            [(row.category, leaf) for row, leaf in misses],
        ),
        checkpoints=_crossed(
            [each.label for each in table.plan.checkpoints if each.label in asked],
            [(row.trial.checkpoint, leaf) for row, leaf in misses],
        ),
        notes=tuple(notes_on(by_leaf)),
    )


def _counted(leaf: Leaf, rows: Sequence[TrialRow]) -> LeafCount:
    firsts: dict[tuple[str, str], Trial] = {}
    for row in rows:
        firsts.setdefault((row.trial.scenario, row.trial.item), row.trial)
    return LeafCount(
        leaf=leaf,
        trials=len(rows),
        questions=len(firsts),
        points_lost=sum(FULL_MARKS - row.points for row in rows if row.points is not None),
        examples=tuple(firsts.values())[:EXAMPLES],
    )


def _crossed(
    names: Sequence[str], misses: Sequence[tuple[str, Leaf]]
) -> dict[str, dict[Leaf, int]]:
    counts = Counter(misses)
    return {name: {leaf: counts[name, leaf] for leaf in Leaf} for name in names}
