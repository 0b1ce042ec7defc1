"""Which leaf a miss lands in: the first rule that applies to it.

What happened first is the cause. A memory that is honest with what it has answers wrongly, or says
that there is nothing, when a day was never written, not found or cut off: the gap explains the
miss. No gap explains a secret told, a value made up or another persona's value, so these are
looked for before it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from recall_bench.analysis.attribution.views import Leaf
from recall_bench.analysis.trials import TrialRow
from recall_bench.core.question import Expects
from recall_bench.core.standing import State
from recall_bench.core.verdict import PASS, Finding


def is_miss(row: TrialRow) -> bool | None:
    """Whether a trial went wrong; None while it has no outcome.

    A question not answered is a miss, and so is an answer of which any mark is below its pass or
    that a dataset's protocol scores below 1. A leak is one whatever the marks say.
    """
    standing = row.standing
    match standing.state:
        case State.NOT_ANSWERED:
            return True
        case State.JUDGED:
            return bool(row.leaked) or not (
                standing.correctness >= PASS["correctness"]
                and standing.completeness >= PASS["completeness"]
                and standing.grounded >= PASS["grounded"]
            )
        case State.MEASURED if row.score is not None:
            return bool(row.leaked) or row.score < 1.0
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Rule:
    """What puts a miss into a leaf."""

    leaf: Leaf
    applies: Callable[[TrialRow], bool]


def leaf_of(row: TrialRow) -> Leaf:
    """The leaf of a miss; every miss has one."""
    for rule in RULES:
        if rule.applies(row):
            return rule.leaf
    return Leaf.UNTRACED


def _noticed(row: TrialRow, finding: Finding) -> bool:
    return row.findings is not None and finding in row.findings


def _is_made_up(row: TrialRow) -> bool:
    """By the mark for it; where nobody marks it, an answer about what never was is made up."""
    if row.hallucinated or _noticed(row, Finding.FABRICATION):
        return True
    return (
        row.state is State.MEASURED
        and row.item.truth.expects is Expects.ABSTAIN
        and not _declines(row)
    )


def _declines(row: TrialRow) -> bool:
    return row.is_silent or bool(row.declined)


def _is_needed(row: TrialRow) -> bool:
    """Whether something has to be known to answer: to decline, nothing has."""
    return row.item.truth.expects is Expects.ANSWER


RULES = (
    Rule(Leaf.LEAKED, lambda row: bool(row.leaked)),
    Rule(Leaf.INFRASTRUCTURE, lambda row: row.state is State.NOT_ANSWERED),
    # Nobody told it this here, and another persona of the run was told it.
    Rule(Leaf.WRONG_PLACE, lambda row: row.tells_strangers and _is_made_up(row)),
    # There is no such thing of whom the question names, and it tells somebody else's.
    Rule(
        Leaf.WRONG_PLACE,
        lambda row: row.tells_others and row.item.truth.expects is Expects.ABSTAIN,
    ),
    Rule(Leaf.FABRICATED, _is_made_up),
    Rule(Leaf.NEVER_WRITTEN, lambda row: bool(row.evidence_lost)),
    Rule(Leaf.CUT, lambda row: bool(row.evidence_cut)),
    Rule(Leaf.STALE, lambda row: row.tells_stale or _noticed(row, Finding.STALE)),
    Rule(Leaf.WRONG_PLACE, lambda row: row.tells_others),
    # Whoever says that it will not tell need not have looked.
    Rule(Leaf.REFUSED, lambda row: _is_needed(row) and _noticed(row, Finding.REFUSAL)),
    Rule(Leaf.NOT_RETRIEVED, lambda row: bool(row.evidence_missing)),
    Rule(
        Leaf.REFUSED,
        lambda row: _is_needed(row) and row.evidence_missing == 0 and _declines(row),
    ),
    Rule(Leaf.MISREAD, lambda row: row.evidence_missing == 0 or not _is_needed(row)),
    Rule(Leaf.UNTRACED, lambda _: True),
)
"""In the order in which they are tried."""
