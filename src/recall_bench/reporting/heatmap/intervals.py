"""The intervals that a result.json of ours has besides the public format."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta

from recall_bench.reporting.heatmap.cells import Cell
from recall_bench.reporting.heatmap.measured import drawn_again
from recall_bench.statistics.estimate import Method

_Count = Annotated[int, Meta(ge=0)]


class _Read(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class Figure(_Read, frozen=True, kw_only=True):
    """One mean."""

    low: float | None
    high: float | None
    method: Method
    questions: _Count
    missing: _Count


class Known(_Read, frozen=True, kw_only=True):
    """One checkpoint."""

    range: str = ""
    overall: Figure | None = None
    hallucination_rate: Figure | None = None
    categories: dict[str, Figure | None] = {}


class Intervals(_Read, frozen=True, kw_only=True):
    """All checkpoints, the personas together."""

    seed: int
    checkpoints: tuple[Known, ...]

    @property
    def words(self) -> str | None:
        """How they were made; None if there is none."""
        found = [known.overall for known in self.checkpoints if known.overall is not None]
        return drawn_again({figure.method for figure in found}, self.seed)

    def at(self, labels: Iterable[str]) -> list[Known]:
        """What is known of each of these checkpoints, which may be nothing."""
        told = {known.range: known for known in self.checkpoints}
        return [told.get(label, Known()) for label in labels]


def joined(cells: Iterable[Cell], figures: Iterable[Figure | None]) -> tuple[Cell, ...]:
    """The cells with their intervals."""
    return tuple(
        cell
        if found is None or cell.score is None
        else replace(
            cell, low=found.low, high=found.high, questions=found.questions, missing=found.missing
        )
        for cell, found in zip(cells, figures, strict=True)
    )
