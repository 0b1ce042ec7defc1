"""Every miss of a run in its leaf, counted, with what could not be told apart."""

from collections import Counter
from collections.abc import Sequence

from recall_bench.analysis.attribution.notes import describe_doubts
from recall_bench.analysis.attribution.tree import find_leaf, is_miss
from recall_bench.analysis.attribution.views import Attribution, FailureLeaf, LeafCount
from recall_bench.analysis.trials import TrialRow, TrialTable
from recall_bench.core.plan import Trial
from recall_bench.core.question import CATEGORIES
from recall_bench.core.verdict import FULL_MARKS

MAX_EXAMPLES = 3
"""So many trials of a leaf are named, each of another question."""


def find_leaves(table: TrialTable) -> dict[Trial, FailureLeaf]:
    """The leaf of every miss, in the order of the table."""
    return {row.trial: find_leaf(row) for row in table.rows if is_miss(row)}


def count_causes(table: TrialTable) -> Attribution:
    """Count every miss in its leaf; what has no outcome yet is counted apart."""
    outcomes = [(row, missed) for row in table.rows if (missed := is_miss(row)) is not None]
    misses = [(row, find_leaf(row)) for row, missed in outcomes if missed]
    by_leaf: dict[FailureLeaf, list[TrialRow]] = {leaf: [] for leaf in FailureLeaf}
    for row, leaf in misses:
        by_leaf[leaf].append(row)
    categories = {row.category for row, _ in outcomes}
    known = [name for name in CATEGORIES if name in categories]
    asked = {row.trial.checkpoint for row, _ in outcomes}
    return Attribution(
        answered=len(outcomes),
        misses=len(misses),
        undecided=len(table.rows) - len(outcomes),
        leaves=tuple(_count_leaf(leaf, rows) for leaf, rows in by_leaf.items()),
        categories=_count_by_name(
            (*known, *sorted(categories.difference(known))),
            [(row.category, leaf) for row, leaf in misses],
        ),
        checkpoints=_count_by_name(
            [each.label for each in table.plan.checkpoints if each.label in asked],
            [(row.trial.checkpoint, leaf) for row, leaf in misses],
        ),
        notes=tuple(describe_doubts(by_leaf)),
    )


def _count_leaf(leaf: FailureLeaf, rows: Sequence[TrialRow]) -> LeafCount:
    firsts: dict[tuple[str, str], Trial] = {}
    for row in rows:
        firsts.setdefault((row.trial.scenario, row.trial.item), row.trial)
    return LeafCount(
        leaf=leaf,
        trials=len(rows),
        questions=len(firsts),
        points_lost=sum(FULL_MARKS - row.points for row in rows if row.points is not None),
        examples=tuple(firsts.values())[:MAX_EXAMPLES],
    )


def _count_by_name(
    names: Sequence[str], misses: Sequence[tuple[str, FailureLeaf]]
) -> dict[str, dict[FailureLeaf, int]]:
    counts = Counter(misses)
    return {name: {leaf: counts[name, leaf] for leaf in FailureLeaf} for name in names}
