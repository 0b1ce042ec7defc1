"""How a judge does on answers that readers marked, by writer, category and kind."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from recall_bench.core.errors import Malformed
from recall_bench.core.record import ComputedRecord, Record, group_by
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, Judge, JudgeCard, Verdict
from recall_bench.features.judges.audit_report import AuditShare
from recall_bench.judging.answer_rows import AnswerRow, GoldMarks, judge_rows, read_answer_rows
from recall_bench.judging.judge_calls import JudgeLimits
from recall_bench.metrics.agreement import compute_auc

MarkedVerdict = tuple[AnswerRow, GoldMarks, Verdict]


class AnswerFigures(ComputedRecord, frozen=True, kw_only=True):
    """A judge's figures over some answers; None where no answer counts for one."""

    n: int
    right_passed: AuditShare | None
    """Answers passed, of those right by the reader's correctness."""
    wrong_passed: AuditShare | None
    """Answers passed, of those that are not."""
    inventions_found: AuditShare | None
    """Answers marked as not grounded, of those that are not."""
    false_alarms: AuditShare | None
    """Answers marked as not grounded, of those that are."""
    auc_correct: float | None
    """How often a right answer is ranked above a wrong one."""
    auc_grounded: float | None


class AnswersReport(Record, frozen=True, kw_only=True):
    """The figures of a judge over all answers, and by writer, category and kind."""

    judge: JudgeCard
    answers: int
    not_judged: int
    faults: dict[str, int]
    """How often each kind of fault occurred."""
    usage: Usage
    overall: AnswerFigures
    groups: dict[str, dict[str, AnswerFigures]]
    """The figures by `writer`, `category` and `kind`, the most frequent first."""


def read_marked_answers(path: Path) -> tuple[AnswerRow, ...]:
    """The rows of a file in which every answer has its `gold` marks; else Malformed."""
    rows = read_answer_rows(path)
    for number, row in enumerate(rows, start=1):
        if row.gold is None:
            raise Malformed(f"{path}, row {number}", "has no gold marks; add them")
    return rows


async def measure_on_answers(
    judge: Judge, rows: Sequence[AnswerRow], *, limits: JudgeLimits | None = None
) -> AnswersReport:
    """Let the judge judge every marked answer with the row alone, and compare."""
    outcomes = await judge_rows(judge, rows, limits=limits)
    judged = [
        (row, row.gold, outcome)
        for row, outcome in zip(rows, outcomes.outcomes, strict=True)
        if isinstance(outcome, Verdict) and row.gold is not None
    ]
    groups = {
        name: {
            value: compute_answer_figures(part)
            for value, part in sorted(
                _group_by_field(judged, name).items(),
                key=lambda pair: (-len(pair[1]), pair[0]),
            )
        }
        for name in ("writer", "category", "kind")
    }
    return AnswersReport(
        judge=judge.card,
        answers=len(rows),
        not_judged=outcomes.not_judged,
        faults=outcomes.faults,
        usage=outcomes.usage,
        overall=compute_answer_figures(judged),
        groups=groups,
    )


def _group_by_field(judged: Sequence[MarkedVerdict], name: str) -> dict[str, list[MarkedVerdict]]:
    return group_by(judged, lambda entry: str(getattr(entry[0], name)))


def compute_answer_figures(judged: Sequence[MarkedVerdict]) -> AnswerFigures:
    """The figures over these verdicts."""
    passed: dict[bool, list[bool]] = {True: [], False: []}
    flagged: dict[bool, list[bool]] = {True: [], False: []}
    for _, gold, verdict in judged:
        is_right, is_grounded = gold.is_pass("correctness"), gold.is_pass("grounded")
        passed[is_right].append(verdict.marks["correctness"] >= PASS["correctness"])
        flagged[is_grounded].append(verdict.marks["grounded"] < PASS["grounded"])
    return AnswerFigures(
        n=len(judged),
        right_passed=AuditShare.count_hits(passed[True]),
        wrong_passed=AuditShare.count_hits(passed[False]),
        inventions_found=AuditShare.count_hits(flagged[False]),
        false_alarms=AuditShare.count_hits(flagged[True]),
        auc_correct=_compute_auc(judged, "correctness"),
        auc_grounded=_compute_auc(judged, "grounded"),
    )


def _compute_auc(judged: Sequence[MarkedVerdict], mark: str) -> float | None:
    # Ranking some answers by probability and others by points would mix two scales.
    has_chances = all(mark in verdict.probabilities for _, _, verdict in judged)
    scores = [
        verdict.probabilities[mark] if has_chances else verdict.marks[mark]
        for _, _, verdict in judged
    ]
    positive = np.array([gold.is_pass(mark) for _, gold, _ in judged], dtype=np.bool_)
    ones = np.ones((1, len(scores)))
    auc = float(compute_auc(ones, np.array(scores, dtype=np.float64), positive)[0])
    return None if np.isnan(auc) else auc
