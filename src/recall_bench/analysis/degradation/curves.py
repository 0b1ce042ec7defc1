"""Means and lines over corpus size: of whatever was asked, and of the same questions throughout."""

from collections.abc import Iterable, Mapping, Sequence

from recall_bench.analysis.degradation.stretch import CheckpointSpan
from recall_bench.analysis.degradation.views import CohortCard, CurvePoint
from recall_bench.analysis.trials import TrialRow
from recall_bench.reporting.estimates import CELL_RESAMPLES, POINTS
from recall_bench.statistics.estimate import Estimate, estimate_mean
from recall_bench.statistics.trend import Trend, estimate_trend


def average_checkpoints(
    rows: Iterable[TrialRow], sizes: Mapping[str, int], *, seed: int, resamples: int
) -> tuple[CurvePoint, ...]:
    """The mean of the trials of each checkpoint; None where none has points yet."""
    draws = min(resamples, CELL_RESAMPLES)
    parts: dict[str, list[TrialRow]] = {label: [] for label in sizes}
    for row in rows:
        parts[row.trial.checkpoint].append(row)
    return tuple(
        CurvePoint(
            checkpoint=label,
            days=days,
            mean=_average_points(parts[label], seed=seed, resamples=draws),
        )
        for label, days in sizes.items()
    )


def fit_trend(rows: Iterable[TrialRow], *, seed: int, resamples: int) -> Trend | None:
    """The line through the trials, each at the days its own persona had been told.

    None at one checkpoint: there sizes differ only because stories do, and so does all else.
    """
    counted = [(float(points), row) for row in rows if (points := row.points) is not None]
    if len({row.trial.checkpoint for _, row in counted}) < 2:
        return None
    return estimate_trend(
        [points for points, _ in counted],
        [float(row.cutoff) for _, row in counted],
        [row.trial.item for _, row in counted],
        [row.trial.scenario for _, row in counted],
        seed=seed,
        limits=POINTS,
        resamples=resamples,
    )


def select_span(rows: Iterable[TrialRow], stretch: CheckpointSpan) -> list[TrialRow]:
    """The trials of the questions that are followed, over the checkpoints they are followed."""
    labels = frozenset(stretch.labels)
    return [
        row
        for row in rows
        if row.trial.checkpoint in labels
        and (row.trial.scenario, row.trial.item) in stretch.questions
    ]


def describe_cohort(stretch: CheckpointSpan, rows: Sequence[TrialRow]) -> CohortCard:
    """What is followed, and how much else was asked meanwhile."""
    labels = frozenset(stretch.labels)
    asked = {(row.trial.scenario, row.trial.item) for row in rows if row.trial.checkpoint in labels}
    return CohortCard(
        first=stretch.labels[0],
        last=stretch.labels[-1],
        checkpoints=len(stretch.labels),
        questions=len(stretch.questions),
        personas=len({persona for persona, _ in stretch.questions}),
        left_out=len(asked - stretch.questions),
    )


def _average_points(rows: Sequence[TrialRow], *, seed: int, resamples: int) -> Estimate | None:
    counted = [(float(points), row.trial) for row in rows if (points := row.points) is not None]
    return estimate_mean(
        [points for points, _ in counted],
        [trial.item for _, trial in counted],
        [trial.scenario for _, trial in counted],
        seed=seed,
        missing=len(rows) - len(counted),
        limits=POINTS,
        resamples=resamples,
    )
