"""Every mean of a run's heatmaps with its interval, from how its trials stand."""

from recall_bench.core.plan import Checkpoint
from recall_bench.core.record import Record
from recall_bench.statistics.estimate import Estimate


class Cell(Record, frozen=True, kw_only=True):
    """One category at one checkpoint."""

    mean: Estimate | None
    """Of six points, or a share of one in the row of hallucination; None if not measured."""
    eligible: int
    """Questions the story supports by then, whether or not they were to be asked."""


class Row(Record, frozen=True, kw_only=True):
    """One category over all checkpoints."""

    category: str
    cells: tuple[Cell, ...]


class Heatmap(Record, frozen=True, kw_only=True):
    """One persona, or all of them."""

    persona: str | None
    """None for all together."""
    columns: tuple[Checkpoint, ...]
    rows: tuple[Row, ...]
    overall: tuple[Cell, ...]
    hallucination: tuple[Cell, ...]
