"""What the misses of a run do not tell apart, and what would tell it apart."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from recall_bench.analysis.attribution.views import FailureLeaf
from recall_bench.analysis.trials import TrialRow
from recall_bench.core.standing import TrialState


def describe_doubts(misses: Mapping[FailureLeaf, Sequence[TrialRow]]) -> Iterator[str]:
    """One sentence for each doubt that concerns any miss, with how many it concerns."""
    for doubt in DOUBTS:
        count = sum(doubt.concerns(row) for leaf in doubt.leaves for row in misses.get(leaf, ()))
        if count:
            yield f"{count:,} {'miss' if count == 1 else 'misses'} {doubt.text}."


@dataclass(frozen=True, slots=True)
class AttributionDoubt:
    """Something that a reader of the counts has to know."""

    leaves: tuple[FailureLeaf, ...]
    concerns: Callable[[TrialRow], bool]
    text: str


def _is_partly_traceable(row: TrialRow) -> bool:
    return row.delivery is not None and row.delivery.traced < row.delivery.kept


def _is_partly_found(row: TrialRow) -> bool:
    return 0 < (row.evidence_missing or 0) < row.evidence_days


DOUBTS = (
    AttributionDoubt(
        (FailureLeaf.NOT_RETRIEVED,),
        lambda row: row.evidence_lost is None,
        text="put down to retrieval may as well be days never stored: the system does not say what"
        " it holds (a Python adapter says it by stored_days)",
    ),
    AttributionDoubt(
        (FailureLeaf.NOT_RETRIEVED,),
        _is_partly_traceable,
        text="put down to retrieval had passages that could not be traced to a day, and the right"
        " one may be among them",
    ),
    AttributionDoubt(
        (FailureLeaf.NEVER_WRITTEN, FailureLeaf.NOT_RETRIEVED, FailureLeaf.CUT),
        _is_partly_found,
        text="lacked some of the days that tell the answer, and had others",
    ),
    AttributionDoubt(
        (FailureLeaf.CUT,),
        lambda row: row.reading_s is None,
        text="put down to the budget had answers that the system wrote itself, and it may have read"
        " more than was kept",
    ),
    AttributionDoubt(
        (FailureLeaf.MISREAD,),
        lambda row: row.findings is None,
        text="counted as misread may be refusals: the judge does not say what it notices",
    ),
    AttributionDoubt(
        tuple(FailureLeaf),
        lambda row: row.state is TrialState.MEASURED,
        text="have a score and no mark for what is made up, so that is noticed only where there was"
        " nothing to tell",
    ),
    AttributionDoubt(
        (FailureLeaf.UNTRACED,),
        lambda row: not row.item.truth.evidence,
        text="could not be traced, for their questions name no evidence",
    ),
    AttributionDoubt(
        (FailureLeaf.UNTRACED,),
        lambda row: bool(row.item.truth.evidence),
        text="could not be traced, for the system does not show what it found, or nobody can tell"
        " where that is from",
    ),
)
"""In the order in which they are told."""
