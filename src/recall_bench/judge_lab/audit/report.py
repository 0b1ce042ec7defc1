"""What an audit found out about a judge."""

from collections.abc import Iterable, Sequence
from typing import Self

from recall_bench.core.record import Record
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES, JudgeCard, Verdict
from recall_bench.judge_lab.audit.item import AuditItem, Labels
from recall_bench.metrics.shares import compute_wilson

MUST_PASS = 0.95
"""A judge should pass at least this share of what is right."""

MUST_FAIL = 0.02
"""And at most this share of what is wrong."""

JudgedItem = tuple[AuditItem, Verdict]


class AuditShare(Record, frozen=True, kw_only=True):
    """A count out of another, as a rate with its 95 % interval (Wilson)."""

    count: int
    of: int
    rate: float
    low: float
    high: float

    @classmethod
    def count_hits(cls, hits: Sequence[bool]) -> Self | None:
        """The share of hits; None where there is nothing to share."""
        count, of = sum(hits), len(hits)
        if not of:
            return None
        low, high = compute_wilson(count, of)
        return cls(count=count, of=of, rate=count / of, low=low, high=high)


class MarkFigures(Record, frozen=True, kw_only=True):
    """One mark over some answers. None where no answer bears on a figure."""

    passed: AuditShare | None
    """Answers that got the pass, of all judged, whether their label is known or not."""
    sensitivity: AuditShare | None
    """Answers that got the pass, of those that must."""
    specificity: AuditShare | None
    """Answers that did not, of those that must not."""
    leniency: AuditShare | None
    """Answers that got the pass, of those that must not."""


class ClassFigures(Record, frozen=True, kw_only=True):
    """One class, or one category, of answers."""

    n: int
    not_judged: int
    marks: dict[str, MarkFigures]


class AuditExample(Record, frozen=True, kw_only=True):
    """A verdict that is wrong, and what it was about."""

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
    `count` out of `of`, the `rate`, and the `low` and `high` ends of its 95 % interval.
    `missing` names the classes the scenarios could not support; `worst` are verdicts that went
    wrong, the clearest of each class first.
    """

    judge: JudgeCard
    audit_set: str
    scenarios: tuple[str, ...]
    memory_window: int
    """How many days either side of the evidence the judge was shown."""
    n: int
    not_judged: int
    faults: dict[str, int]
    """Why some got no verdict, by kind."""
    usage: Usage
    marks: dict[str, MarkFigures]
    classes: dict[str, ClassFigures]
    categories: dict[str, ClassFigures]
    missing: tuple[str, ...]
    worst: tuple[AuditExample, ...]


def compute_figures(judged: Iterable[JudgedItem]) -> dict[str, MarkFigures]:
    """Every mark over these verdicts."""
    pairs = list(judged)
    return {mark: _compute_mark_figures(pairs, mark) for mark in SCALES}


def find_wrong_marks(item: AuditItem, verdict: Verdict) -> tuple[str, ...]:
    """The marks of a verdict that contradict the item's labels."""
    return tuple(
        mark
        for mark, label in item.labels.items()
        if label is not None and label != is_pass(verdict, mark)
    )


def is_pass(verdict: Verdict, mark: str) -> bool:
    """Whether the mark reaches its pass."""
    return verdict.marks[mark] >= PASS[mark]


def _compute_mark_figures(pairs: Sequence[JudgedItem], mark: str) -> MarkFigures:
    given = [(item.labels[mark], is_pass(verdict, mark)) for item, verdict in pairs]
    must = [passed for label, passed in given if label is True]
    must_not = [passed for label, passed in given if label is False]
    return MarkFigures(
        passed=AuditShare.count_hits([passed for _, passed in given]),
        sensitivity=AuditShare.count_hits(must),
        specificity=AuditShare.count_hits([not passed for passed in must_not]),
        leniency=AuditShare.count_hits(must_not),
    )
