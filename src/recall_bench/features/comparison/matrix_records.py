"""The records of a matrix report, as written to `matrix.json`."""

from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.usage import Usage
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.engine.runs.trials import ScoreScale
from recall_bench.metrics.comparison import (
    PairedComparison,
)
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.judge_scores import (
    JudgeMean,
)
from recall_bench.reporting.run_contrast import Contrast
from recall_bench.reporting.suites.scorecard import Scorecard


class MissingCell(Record, frozen=True, kw_only=True):
    """A cell whose scores may not be quoted; it is in no figure and no ranking."""

    setting: str
    seed: int
    system: str
    reason: str
    folder: str


class SeedScore(Record, frozen=True, kw_only=True):
    """One valid cell by itself."""

    seed: int
    folder: str
    score: Estimate
    """Points of six."""


class PlaceMean(Record, frozen=True, kw_only=True):
    """A category or a checkpoint of one system."""

    name: str
    mean: Estimate | None
    """Points of six; None where nothing was measured."""
    bounds: ScoreRange | None
    """The same between silence and ceiling; None where the runs have neither."""


class SystemFigures(ComputedRecord, frozen=True, kw_only=True):
    """One system under one setting, all its valid seeds together.

    A question counts once however often and by however many seeds it was asked.
    """

    system: str
    seeds: tuple[SeedScore, ...]
    score: Estimate
    """Points of six."""
    bounds: ScoreRange | None
    """The same between silence and ceiling; None where the runs have neither."""
    hallucination: Estimate | None
    """The share of judged answers that are invented or leak."""
    invented: Estimate | None
    """The share of judged answers that are invented."""
    leaked: Estimate | None
    """The share of guarded answers that leak."""
    p50_s: float | None
    p95_s: float | None
    ingest_s: float
    """Of all seeds together, settling included."""
    usage: Usage
    """What judging, reading and our model endpoint cost."""
    owed: int
    not_answered: int
    not_judged: int
    categories: tuple[PlaceMean, ...]
    checkpoints: tuple[PlaceMean, ...]
    judges: tuple[JudgeMean, ...] = ()
    """The score by each judge, the first one first; empty if there is one."""

    @property
    def spread(self) -> float | None:
        """Between the best and the worst seed, in points of six; None for one seed."""
        values = [seed.score.value for seed in self.seeds]
        return max(values) - min(values) if len(values) > 1 else None


class BaselineContrast(Record, frozen=True, kw_only=True):
    """One system against the baseline; exactly one of the two is there."""

    system: str
    contrast: Contrast | None
    """Its p-values are adjusted over all comparisons of the matrix."""
    refusal: str | None
    """Why the two are not compared."""


class RankedSystem(Record, frozen=True, kw_only=True):
    """A system's place among those that could be compared."""

    system: str
    score: Estimate
    bounds: ScoreRange | None
    """The same between silence and ceiling."""
    alike: tuple[str, ...]
    """The systems it does not differ from significantly."""


class WidestGap(ComputedRecord, frozen=True, kw_only=True):
    """Where systems lie furthest apart: to look at, and to decide nothing by."""

    kind: str
    """`category` or `checkpoint`."""
    name: str
    best: str
    best_mean: float
    worst: str
    worst_mean: float


class SettingReport(Record, frozen=True, kw_only=True):
    """Everything about one setting."""

    name: str
    systems: tuple[SystemFigures, ...]
    """In the order of the file."""
    against: tuple[BaselineContrast, ...]
    ranking: tuple[RankedSystem, ...]
    """Best first."""
    widest: tuple[WidestGap, ...]
    dataset: str | None = None
    """The public dataset that was asked; None for personas."""
    score: ScoreScale | None = None
    """What its protocol scores the systems by; None for marks."""
    orders: tuple[str, ...] = ()
    """Which orders with the baseline depend on the judge, in sentences; empty if there is one
    judge."""


class SettingContrast(Record, frozen=True, kw_only=True):
    """One system under two settings, over the trials that are the same in both."""

    system: str
    first: str
    second: str
    comparison: PairedComparison | None
    unlike: tuple[str, ...]
    """What differs between the two beside the questions left out."""
    refusal: str | None


class SuiteScores(Record, frozen=True, kw_only=True):
    """The figures of all suites under one setting by one seed, with recall beside them."""

    setting: str
    seed: int
    card: Scorecard


class MatrixReport(Record, frozen=True, kw_only=True):
    """A whole matrix."""

    name: str
    baseline: str
    seeds: tuple[int, ...]
    personas: tuple[str, ...]
    judge: str | None
    """None where no cell may be quoted."""
    missing: tuple[MissingCell, ...]
    settings: tuple[SettingReport, ...]
    between: tuple[SettingContrast, ...]
    comparisons: int
    """How many comparisons with the baseline the p-values are adjusted for."""
    suites: tuple[SuiteScores, ...] = ()
