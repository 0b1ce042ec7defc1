"""Lines of the logs beside the evaluations of a result that they tell more about.

A result has no passages, and a reconstructed one no first verdicts; the logs have both. A line and
an evaluation are the same if persona, question, answer, marks and time are. Where several are, the
lines are given out in order if there are as many of both; otherwise nothing is guessed.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from recall_bench.importing.evaluations import CheckpointVisit, Evaluation
from recall_bench.importing.faults import FaultCounts
from recall_bench.importing.formats import FailureLogRecord, QuestionLogRecord

LogRecord = TypeVar("LogRecord", QuestionLogRecord, FailureLogRecord)


def add_log(
    visits: Iterable[CheckpointVisit], rows: Sequence[QuestionLogRecord], faults: FaultCounts
) -> None:
    """Fill in what the question log knows of the result's evaluations."""
    _match_rows(visits, rows, Evaluation.add_log_row, faults)


def add_reviews(
    visits: Iterable[CheckpointVisit], rows: Sequence[FailureLogRecord], faults: FaultCounts
) -> None:
    """Fill in the first verdicts that a result lacks, and count the passes among the rows."""
    restored = 0

    def add(evaluation: Evaluation, row: FailureLogRecord) -> None:
        nonlocal restored
        if evaluation.primary is None and row.appellate_score is not None:
            evaluation.primary = row.primary_score
            restored += 1

    _match_rows(visits, rows, add, faults)
    faults.note("restored-reviews", restored)
    faults.note(
        "reviews-not-failures",
        sum(row.score is not None and not row.score.verdict.is_failure for row in rows),
    )


def _match_rows(
    visits: Iterable[CheckpointVisit],
    rows: Sequence[LogRecord],
    add: Callable[[Evaluation, LogRecord], None],
    faults: FaultCounts,
) -> None:
    lines: dict[Hashable, list[LogRecord]] = {}
    is_labelled = any(row.checkpoint is not None for row in rows)
    for row in rows:
        lines.setdefault(_make_row_key(row, is_labelled=is_labelled), []).append(row)
    found: dict[Hashable, list[Evaluation]] = {}
    for visit in visits:
        for each in visit.evaluations:
            label = visit.place[1] if is_labelled else None
            found.setdefault(_make_key(each, label), []).append(each)
    for key, own in lines.items():
        evaluations = found.get(key, [])
        if not evaluations:
            faults.note("disagreeing", len(own))
        elif len(own) == len(evaluations):
            for evaluation, row in zip(evaluations, own, strict=True):
                add(evaluation, row)
        else:
            faults.note("ambiguous", len(own))


def _make_row_key(row: QuestionLogRecord | FailureLogRecord, *, is_labelled: bool) -> Hashable:
    marks = None if row.score is None else row.score.marks
    label = row.checkpoint if is_labelled else None
    return (row.persona_id, label, row.qa.id, row.repeat, row.system_answer, marks, row.latency_ms)


def _make_key(each: Evaluation, label: str | None) -> Hashable:
    marks = None if each.score is None else each.score.marks
    return (each.persona, label, each.qa.id, each.repeat, each.answer, marks, each.latency_ms)
