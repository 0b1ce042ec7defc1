"""Which leaf a miss lands in: the first rule that applies to it.

What happened first is the cause. A memory that is honest with what it has answers wrongly, or says
that there is nothing, when a day was never written, not found or cut off: the gap explains the
miss. No gap explains a secret told, a value made up or another persona's value, so these are
looked for before it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from recall_bench.analysis.attribution.views import FailureLeaf
from recall_bench.analysis.trials import TrialRow
from recall_bench.core.question import Expects
from recall_bench.core.standing import TrialState
from recall_bench.core.verdict import PASS, Finding


def is_miss(row: TrialRow) -> bool | None:
    """Whether a trial went wrong; None while it has no outcome.

    A question not answered is a miss, and so is an answer of which any mark is below its pass or
    that a dataset's protocol scores below 1. A leak is one whatever the marks say.
    """
    standing = row.standing
    match standing.state:
        case TrialState.NOT_ANSWERED:
            return True
        case TrialState.JUDGED:
            return bool(row.leaked) or not (
                standing.correctness >= PASS["correctness"]
                and standing.completeness >= PASS["completeness"]
                and standing.grounded >= PASS["grounded"]
            )
        case TrialState.MEASURED if row.score is not None:
            return bool(row.leaked) or row.score < 1.0
        case _:
            return None


@dataclass(frozen=True, slots=True)
class CauseRule:
    """What puts a miss into a leaf."""

    leaf: FailureLeaf
    applies: Callable[[TrialRow], bool]


def find_leaf(row: TrialRow) -> FailureLeaf:
    """The leaf of a miss; every miss has one."""
    for rule in CAUSE_RULES:
        if rule.applies(row):
            return rule.leaf
    return FailureLeaf.UNTRACED


def _is_finding(row: TrialRow, finding: Finding) -> bool:
    return row.findings is not None and finding in row.findings


def _is_fabrication(row: TrialRow) -> bool:
    """By the mark for it; where nobody marks it, an answer about what never was is made up."""
    if row.is_hallucination or _is_finding(row, Finding.FABRICATION):
        return True
    return (
        row.state is TrialState.MEASURED
        and row.item.truth.expects is Expects.ABSTAIN
        and not _is_refusal(row)
    )


def _is_refusal(row: TrialRow) -> bool:
    return row.is_silent or bool(row.is_refusal)


def _is_answerable(row: TrialRow) -> bool:
    """Whether something has to be known to answer: to decline, nothing has."""
    return row.item.truth.expects is Expects.ANSWER


CAUSE_RULES = (
    CauseRule(FailureLeaf.LEAKED, lambda row: bool(row.leaked)),
    CauseRule(FailureLeaf.INFRASTRUCTURE, lambda row: row.state is TrialState.NOT_ANSWERED),
    # Nobody told it this here, and another persona of the run was told it.
    CauseRule(FailureLeaf.WRONG_PLACE, lambda row: row.tells_other_people and _is_fabrication(row)),
    # There is no such thing of whom the question names, and it tells somebody else's.
    CauseRule(
        FailureLeaf.WRONG_PLACE,
        lambda row: row.tells_others and row.item.truth.expects is Expects.ABSTAIN,
    ),
    CauseRule(FailureLeaf.FABRICATED, _is_fabrication),
    CauseRule(FailureLeaf.NEVER_WRITTEN, lambda row: bool(row.evidence_lost)),
    CauseRule(FailureLeaf.CUT, lambda row: bool(row.evidence_cut)),
    CauseRule(FailureLeaf.STALE, lambda row: row.tells_stale or _is_finding(row, Finding.STALE)),
    CauseRule(FailureLeaf.WRONG_PLACE, lambda row: row.tells_others),
    # Whoever says that it will not tell need not have looked.
    CauseRule(
        FailureLeaf.REFUSED, lambda row: _is_answerable(row) and _is_finding(row, Finding.REFUSAL)
    ),
    CauseRule(FailureLeaf.NOT_RETRIEVED, lambda row: bool(row.evidence_missing)),
    CauseRule(
        FailureLeaf.REFUSED,
        lambda row: _is_answerable(row) and row.evidence_missing == 0 and _is_refusal(row),
    ),
    CauseRule(
        FailureLeaf.MISREAD, lambda row: row.evidence_missing == 0 or not _is_answerable(row)
    ),
    CauseRule(FailureLeaf.UNTRACED, lambda _: True),
)
"""In the order in which they are tried."""
