"""What a heatmap is drawn from, wherever it was measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One measurement."""

    score: float | None
    """Mean points of six; None if nothing was measured."""
    count: int
    """How many trials the mean is over."""
    eligible: int | None = None
    """How many questions the story supports by then; None if the source does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapData:
    """All a picture shows."""

    title: str
    subtitle: tuple[str, ...]
    categories: tuple[str, ...]
    columns: tuple[str, ...]
    """Checkpoint labels, by days."""
    cells: tuple[tuple[Cell, ...], ...]
    """One row for each category, one cell for each column."""
    overall: tuple[Cell, ...]
    hallucination: tuple[float | None, ...]
    """In percent of judged answers."""
    done: int
    """Checkpoints with nothing left to do, over all personas."""
    visits: int
    """Checkpoints there are to visit, over all personas."""
    is_stub: bool = False
    invalid: str | None = None
    """Why the scores must not be quoted."""
