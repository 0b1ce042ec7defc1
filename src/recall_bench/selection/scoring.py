"""How a selection compares with what was expected."""

from collections.abc import Collection
from enum import StrEnum

from recall_bench.core.record import Record


class Outcome(StrEnum):
    """The three classes, which partition all answers, and the two that are none."""

    PERFECT = "PERFECT"
    """Nothing missing, nothing extra."""
    OVERRECALL = "OVERRECALL"
    """Nothing missing, something extra."""
    UNDERRECALL = "UNDERRECALL"
    """Something missing, whether or not something is extra."""
    ERROR = "ERROR"
    """The selector failed. In no class, and in no figure."""
    SKIP = "SKIP"
    """The prompt is empty and was not put."""


CLASSES = (Outcome.PERFECT, Outcome.OVERRECALL, Outcome.UNDERRECALL)
NO_CLASS = (Outcome.ERROR, Outcome.SKIP)


class Compared(Record, frozen=True, kw_only=True):
    """One selection beside what was expected."""

    outcome: Outcome
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


def compare(expected: Collection[str], recalled: Collection[str]) -> Compared:
    """The class of a selection, and how near it came."""
    missing = tuple(name for name in expected if name not in recalled)
    extra = tuple(name for name in recalled if name not in expected)
    both = len(expected) - len(missing)
    union = len(expected) + len(extra)
    within = Outcome.OVERRECALL if extra else Outcome.PERFECT
    outcome = Outcome.UNDERRECALL if missing else within
    total = len(expected) + len(recalled)
    return Compared(
        outcome=outcome,
        missing=missing,
        extra=extra,
        precision=both / len(recalled) if recalled else None,
        recall=both / len(expected) if expected else None,
        f1=2 * both / total if total else 1.0,
        jaccard=both / union if union else 1.0,
    )
