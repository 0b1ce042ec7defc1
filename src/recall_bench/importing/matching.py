"""Lines of the logs beside the evaluations of a result that they tell more about.

A result has no passages, and a reconstructed one no first verdicts; the logs have both. A line and
an evaluation are the same if persona, question, answer, marks and time are. Where several are, the
lines are given out in order if there are as many of both; otherwise nothing is guessed.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from recall_bench.importing.evaluations import Evaluation, Visit
from recall_bench.importing.faults import Faults
from recall_bench.importing.formats import FailureRow, QuestionRow

Row = TypeVar("Row", QuestionRow, FailureRow)


def add_log(visits: Iterable[Visit], rows: Sequence[QuestionRow], faults: Faults) -> None:
    """Fill in what the question log knows of the result's evaluations."""
    _match(visits, rows, Evaluation.add, faults)


def add_reviews(visits: Iterable[Visit], rows: Sequence[FailureRow], faults: Faults) -> None:
    """Fill in the first verdicts that a result lacks, and count the passes among the rows."""
    restored = 0

    def add(evaluation: Evaluation, row: FailureRow) -> None:
        nonlocal restored
        if evaluation.primary is None and row.appellate_score is not None:
            evaluation.primary = row.primary_score
            restored += 1

    _match(visits, rows, add, faults)
    faults.note("restored-reviews", restored)
    faults.note(
        "reviews-not-failures",
        sum(row.score is not None and not row.score.verdict.is_failure for row in rows),
    )


def _match(
    visits: Iterable[Visit],
    rows: Sequence[Row],
    add: Callable[[Evaluation, Row], None],
    faults: Faults,
) -> None:
    lines: dict[Hashable, list[Row]] = {}
    is_labelled = any(row.checkpoint is not None for row in rows)
    for row in rows:
        lines.setdefault(_row_key(row, is_labelled=is_labelled), []).append(row)
    found: dict[Hashable, list[Evaluation]] = {}
    for visit in visits:
        for each in visit.evaluations:
            label = visit.place[1] if is_labelled else None
            found.setdefault(_key(each, label), []).append(each)
    for key, own in lines.items():
        evaluations = found.get(key, [])
        if not evaluations:
            faults.note("disagreeing", len(own))
        elif len(own) == len(evaluations):
            for evaluation, row in zip(evaluations, own, strict=True):
                add(evaluation, row)
        else:
            faults.note("ambiguous", len(own))


def _row_key(row: QuestionRow | FailureRow, *, is_labelled: bool) -> Hashable:
    marks = None if row.score is None else row.score.marks
    label = row.checkpoint if is_labelled else None
    return (row.persona_id, label, row.qa.id, row.repeat, row.system_answer, marks, row.latency_ms)


def _key(each: Evaluation, label: str | None) -> Hashable:
    marks = None if each.score is None else each.score.marks
    return (each.persona, label, each.qa.id, each.repeat, each.answer, marks, each.latency_ms)
