"""The intervals that a result.json of ours has besides the public format."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta

from recall_bench.reporting.heatmap.cells import PictureCell
from recall_bench.reporting.heatmap.measured import describe_resampling
from recall_bench.statistics.estimate import IntervalMethod

_FigureCount = Annotated[int, Meta(ge=0)]


class _IntervalRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class IntervalFigure(_IntervalRecord, frozen=True, kw_only=True):
    """One mean."""

    low: float | None
    high: float | None
    method: IntervalMethod
    questions: _FigureCount
    missing: _FigureCount


class CheckpointIntervals(_IntervalRecord, frozen=True, kw_only=True):
    """One checkpoint."""

    range: str = ""
    overall: IntervalFigure | None = None
    hallucination_rate: IntervalFigure | None = None
    categories: dict[str, IntervalFigure | None] = {}


class ResultIntervals(_IntervalRecord, frozen=True, kw_only=True):
    """All checkpoints, the personas together."""

    seed: int
    checkpoints: tuple[CheckpointIntervals, ...]

    @property
    def words(self) -> str | None:
        """How they were made; None if there is none."""
        found = [known.overall for known in self.checkpoints if known.overall is not None]
        return describe_resampling({figure.method for figure in found}, self.seed)

    def select_labels(self, labels: Iterable[str]) -> list[CheckpointIntervals]:
        """What is known of each of these checkpoints, which may be nothing."""
        told = {known.range: known for known in self.checkpoints}
        return [told.get(label, CheckpointIntervals()) for label in labels]


def join_intervals(
    cells: Iterable[PictureCell], figures: Iterable[IntervalFigure | None]
) -> tuple[PictureCell, ...]:
    """The cells with their intervals."""
    return tuple(
        cell
        if found is None or cell.score is None
        else replace(
            cell, low=found.low, high=found.high, questions=found.questions, missing=found.missing
        )
        for cell, found in zip(cells, figures, strict=True)
    )
