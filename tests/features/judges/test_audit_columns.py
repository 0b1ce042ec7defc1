"""Audits stand side by side only if they are of the same answers."""

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import SCALES, JudgeCard
from recall_bench.features.judges.audit_report import (
    AuditReport,
    AuditShare,
    ClassFigures,
    MarkFigures,
)
from recall_bench.features.judges.judge_tables import render_audits


def figures(passed: int, of: int, *, must: bool) -> MarkFigures:
    share = AuditShare.count_hits([True] * passed + [False] * (of - passed))
    other = AuditShare.count_hits([False] * passed + [True] * (of - passed))
    return MarkFigures(
        passed=share,
        sensitivity=share if must else None,
        specificity=None if must else other,
        leniency=None if must else share,
    )


def report(name: str, right: int, vague: int) -> AuditReport:
    """A judge that passes this many of 100 right answers and of 100 vague ones."""
    classes = {
        "right": figures(right, 100, must=True),
        "vague on topic": figures(vague, 100, must=False),
    }
    overall = MarkFigures(
        passed=None,
        sensitivity=classes["right"].sensitivity,
        specificity=classes["vague on topic"].specificity,
        leniency=classes["vague on topic"].leniency,
    )
    return AuditReport(
        judge=JudgeCard(name=name, version="1"),
        audit_set="a",
        scenarios=("ada",),
        memory_window=0,
        n=200,
        not_judged=0,
        faults={},
        usage=Usage(),
        marks=dict.fromkeys(SCALES, overall),
        classes={
            name: ClassFigures(n=100, not_judged=0, marks=dict.fromkeys(SCALES, part))
            for name, part in classes.items()
        },
        categories={},
        missing=(),
        worst=(),
    )


def test_every_judge_has_a_column_and_misses_are_marked() -> None:
    lines = render_audits([report("strict", 94, 1), report("lenient", 95, 2)]).splitlines()

    head, right, vague, rate = (
        next(line for line in lines if line.startswith(start))
        for start in ("passed, ", "right ", "vague ", "correctness, specificity")
    )
    assert head.split()[-4:] == ["strict", "1", "lenient", "1"]
    assert right.split() == ["right", "100", "94.0", "▼", "95.0"]
    assert vague.split() == ["vague", "on", "topic", "100", "1.0", "2.0", "▲"]
    assert rate.split() == ["correctness,", "specificity", "99.0", "98.0"]


def test_what_a_judge_cost_and_failed_at_is_said() -> None:
    dear = report("dear", 95, 1).replace(not_judged=3, usage=Usage(calls=9, cost_usd=1.5))

    text = render_audits([report("free", 95, 1), dear])

    assert "dear 1: 3 not judged, 9 calls, 0 tokens in, 0 out, 1.5000 USD" in text
    assert "free 1:" not in text


def test_audits_of_different_answers_do_not_compare() -> None:
    with pytest.raises(UsageError, match="different answers"):
        render_audits([report("a", 95, 1), report("b", 95, 1).replace(audit_set="b")])
