"""What can be believed of a run's evaluations, and what is wrong with the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

from recall_bench.importing.evaluations import CheckpointVisit, Evaluation
from recall_bench.importing.faults import FaultCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportScope:
    """What of the evaluations goes into the journal."""

    passages: bool
    """Whether passages are on record for all answers, or for none that can be believed."""
    findings: bool
    sentinels: bool
    """Whether the mark of a failed query counts as one, and not as it was graded."""


def audit_evaluations(
    visits: Sequence[CheckpointVisit], faults: FaultCounts, *, as_graded: bool, is_ours: bool
) -> ImportScope:
    """Look through all evaluations; what is wrong with them is counted."""
    rows = [each for visit in visits for each in visit.evaluations]
    answered = [each for each in rows if each.answer is not None and not each.is_sentinel]
    recorded = [each for each in answered if each.retrieval is not None]
    has_all = bool(recorded) and len(recorded) == len(answered)
    if not has_all:
        faults.note("passages", len(recorded))
    faults.note("untimed", sum(each.latency_ms is None for each in answered))
    faults.note("composites", sum(each.has_wrong_total for each in rows))
    if not is_ours:
        _note_public_faults(rows, answered, faults, as_graded=as_graded)
    return ImportScope(
        passages=has_all,
        findings=all(each.findings is not None for each in rows if each.score is not None),
        sentinels=not is_ours and not as_graded,
    )


def _note_public_faults(
    rows: list[Evaluation], answered: list[Evaluation], faults: FaultCounts, *, as_graded: bool
) -> None:
    sentinels = sum(each.is_sentinel for each in rows)
    faults.note("as-graded" if as_graded else "sentinels", sentinels)
    faults.note("silent", sum(not (each.answer or "").strip() for each in answered))
    faults.note("apologies", sum(each.is_apology for each in answered))
    faults.note("askers", sum(each.qa.expected_disclosure is not None for each in rows))
    if any(each.score is not None and each.score.reasoning for each in rows):
        faults.note("speechless", sum(_lacks_reason(each) for each in rows))


def _lacks_reason(each: Evaluation) -> bool:
    return each.score is not None and each.score.marks == (0, 0, 1) and not each.score.reasoning
