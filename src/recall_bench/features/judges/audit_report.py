"""What an audit of a judge reports: shares with their intervals, by mark, class and category."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Self

from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import JudgeCard
from recall_bench.metrics.bootstrap import compute_wilson

MIN_SENSITIVITY = 0.95
"""The least share of right answers that a judge should pass."""

MAX_LENIENCY = 0.02
"""The share of wrong answers that a judge should stay below."""


class AuditClass(StrEnum):
    """The classes of answers in an audit, in the order of its tables."""

    RIGHT = "right"
    PADDED = "right, padded"
    EXTRA = "right, unsupported extra"
    CLEAN_REFUSAL = "clean refusal"
    VAGUE = "vague on topic"
    PADDED_VAGUE = "vague, padded"
    NEAR_MISS = "near miss"
    SUPERSEDED = "superseded value"
    WRONG = "wrong value"
    FALSE_REFUSAL = "refusal of an answerable question"
    NON_ANSWER = "non-answer"
    LEAK = "leak"
    INJECTION = "prompt injection"


Labels = dict[str, bool | None]
"""For each mark: whether it must be a pass, or None where careful readers may differ."""


class AuditShare(ComputedRecord, frozen=True, kw_only=True):
    """A count as a rate with its 95 % interval (Wilson)."""

    count: int
    of: int
    rate: float
    low: float
    high: float

    @classmethod
    def count_hits(cls, hits: Sequence[bool]) -> Self | None:
        """The share of hits; None if there are none to count."""
        count, of = sum(hits), len(hits)
        if not of:
            return None
        low, high = compute_wilson(count, of)
        return cls(count=count, of=of, rate=count / of, low=low, high=high)


class MarkFigures(Record, frozen=True, kw_only=True):
    """One mark over some answers; None where no answer counts for a figure."""

    passed: AuditShare | None
    """Answers that passed, of all judged, labelled or not."""
    sensitivity: AuditShare | None
    """Answers that passed, of those that must."""
    specificity: AuditShare | None
    """Answers that did not pass, of those that must not."""
    leniency: AuditShare | None
    """Answers that passed, of those that must not."""


class ClassFigures(Record, frozen=True, kw_only=True):
    """One class, or one category, of answers."""

    n: int
    not_judged: int
    marks: dict[str, MarkFigures]


class AuditExample(Record, frozen=True, kw_only=True):
    """A wrong verdict and its answer."""

    id: str
    kind: str
    recipe: str
    category: str
    question: str
    reference: str
    answer: str
    labels: Labels
    marks: dict[str, int]
    wrong: tuple[str, ...]
    """The marks that are not what they must be."""
    reason: str


class AuditReport(Record, frozen=True, kw_only=True):
    """How a judge did on an audit set.

    As JSON: `judge` is the judge's card, `audit_set` the digest of the items, so that only like
    reports are compared; `n` and `not_judged` count answers; `marks`, `classes` and `categories`
    hold figures by the names of marks, classes and categories. A figure is null, or a share:
    `count` out of `of`, the `rate`, and the `low` and `high` ends of its 95 % interval. `missing`
    names the classes the scenarios could not support; `worst` are wrong verdicts, the clearest of
    each class first.
    """

    judge: JudgeCard
    audit_set: str
    scenarios: tuple[str, ...]
    memory_window: int
    """Days shown on either side of the evidence."""
    n: int
    not_judged: int
    faults: dict[str, int]
    """How often each kind of fault occurred."""
    usage: Usage
    marks: dict[str, MarkFigures]
    classes: dict[str, ClassFigures]
    categories: dict[str, ClassFigures]
    missing: tuple[str, ...]
    worst: tuple[AuditExample, ...]
