"""Scores of a selection against what was expected."""

from collections.abc import Collection
from enum import StrEnum

from recall_bench.core.record import ComputedRecord

PROTOCOL, EVAL_VERSION = "selection/exact", "exact-1"
"""How tests are scored, and the version of it that plans and reports declare."""


class SelectionOutcome(StrEnum):
    """The three classes that partition all selections, and two outcomes without a class."""

    PERFECT = "PERFECT"
    """Nothing missing, nothing extra."""
    OVERRECALL = "OVERRECALL"
    """Nothing missing, something extra."""
    UNDERRECALL = "UNDERRECALL"
    """Something missing, whether or not something is extra."""
    ERROR = "ERROR"
    """The selector failed. Not counted in any class or mean."""
    SKIP = "SKIP"
    """The prompt is empty and was not asked."""


CLASSES = (SelectionOutcome.PERFECT, SelectionOutcome.OVERRECALL, SelectionOutcome.UNDERRECALL)
NO_CLASS = (SelectionOutcome.ERROR, SelectionOutcome.SKIP)


class SelectionComparison(ComputedRecord, frozen=True, kw_only=True):
    """One selection compared with the expected one."""

    outcome: SelectionOutcome
    missing: tuple[str, ...]
    """Expected and not recalled, in the order of the test."""
    extra: tuple[str, ...]
    """Recalled and not expected, in the order of the selector."""
    precision: float | None
    """None where nothing was recalled."""
    recall: float | None
    """None where nothing was expected."""
    f1: float
    """1 where nothing was expected and nothing recalled."""
    jaccard: float


def compare_selection(expected: Collection[str], recalled: Collection[str]) -> SelectionComparison:
    """The class of a selection, and its scores."""
    missing = tuple(name for name in expected if name not in recalled)
    extra = tuple(name for name in recalled if name not in expected)
    both = len(expected) - len(missing)
    union = len(expected) + len(extra)
    within = SelectionOutcome.OVERRECALL if extra else SelectionOutcome.PERFECT
    outcome = SelectionOutcome.UNDERRECALL if missing else within
    total = len(expected) + len(recalled)
    return SelectionComparison(
        outcome=outcome,
        missing=missing,
        extra=extra,
        precision=both / len(recalled) if recalled else None,
        recall=both / len(expected) if expected else None,
        f1=2 * both / total if total else 1.0,
        jaccard=both / union if union else 1.0,
    )
