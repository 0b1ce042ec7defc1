"""What a comparison of runs comes to, as it is written down."""

from recall_bench.analysis.likeness import RunDifference
from recall_bench.analysis.pairing import DroppedTrials
from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.record import Record
from recall_bench.reporting.summary import RunStatus
from recall_bench.statistics.comparison import PairedComparison
from recall_bench.statistics.estimate import Estimate


class RunCard(Record, frozen=True, kw_only=True):
    """One of the runs, as it stands by itself."""

    letter: str
    folder: str
    system: str
    judge: str
    status: RunStatus
    reason: str | None
    """Why its scores may not be quoted, if they may not."""
    health: SystemHealth | None
    """What `doctor` said of the system before the run; None if it was never asked."""
    mean: Estimate | None
    """Points of six, over all its trials that count; None where there is none."""
    hallucination_rate: float | None
    owed: int


class ContrastPart(Record, frozen=True, kw_only=True):
    """Some of the pairs: what both runs came to on average, and the difference.

    There is no smallest difference that can be seen where there are too few questions for any.
    """

    name: str
    first: float
    second: float
    comparison: PairedComparison


class ContrastView(Record, frozen=True, kw_only=True):
    """The same without a test: to look at, and to decide nothing by."""

    name: str
    first: float
    second: float
    difference: Estimate


class Contrast(Record, frozen=True, kw_only=True):
    """One run against the baseline."""

    letter: str
    is_identical: bool
    """Whether every trial that both owe stands exactly alike in both."""
    unlike: tuple[RunDifference, ...]
    """What differs beside the system, where that was allowed."""
    owed: int
    """Trials that both owe."""
    only_first: int
    """Of these, trials that only the baseline has a mark for,"""
    only_second: int
    """that only this run has a mark for,"""
    neither: int
    """and that neither has."""
    dropped: tuple[DroppedTrials, ...]
    overall: ContrastPart
    difference_share: float
    """The difference as a share of full marks."""
    categories: tuple[ContrastPart, ...]
    checkpoints: tuple[ContrastView, ...]
    personas: tuple[ContrastView, ...]
    hallucination: ContrastPart | None
    """Of answers judged in both runs, the share that made something up; None where none was."""
    leaks: ContrastPart | None
    """Of guarded answers in both runs, the share that told the secret; None where none was."""


class RunRank(Record, frozen=True, kw_only=True):
    """A run's place, by its mean over the trials that all runs have a mark for."""

    letter: str
    mean: Estimate


class ComparisonReport(Record, frozen=True, kw_only=True):
    """A whole comparison."""

    is_intersection: bool
    """Whether unlike runs were allowed."""
    is_stub: bool
    """Whether a judge graded nothing."""
    runs: tuple[RunCard, ...]
    """The baseline first."""
    contrasts: tuple[Contrast, ...]
    """Every other run against it."""
    conclusions: tuple[str, ...]
    """What each of these comes to, in a sentence."""
    ranking: tuple[RunRank, ...]
    """Best first, for three runs or more."""
    seed: int
