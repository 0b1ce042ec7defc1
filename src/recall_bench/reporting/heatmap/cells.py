"""What a heatmap is drawn from, wherever it was measured."""

from dataclasses import dataclass

from recall_bench.statistics.estimate import FEW_QUESTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureCell:
    """One measurement."""

    score: float | None
    """Mean points of six, or percent of judged answers; None if nothing was measured."""
    count: int
    """How many trials the mean is over."""
    eligible: int | None = None
    """How many questions the story supports by then; None if the source does not say."""
    low: float | None = None
    high: float | None = None
    """The ends of the 95 % interval, or neither if there is none or the source does not say."""
    questions: int | None = None
    """How many different questions were asked; None if the source does not say."""
    missing: int | None = None
    """Trials owed that the mean knows nothing of; None if the source does not say."""

    @property
    def is_small(self) -> bool:
        """Whether so few questions stand behind it that an interval is in doubt.

        Where questions were not counted, so few trials cannot have had more.
        """
        asked = self.count if self.questions is None else self.questions
        return self.score is not None and asked < FEW_QUESTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapData:
    """All a picture shows."""

    title: str
    subtitle: tuple[str, ...]
    categories: tuple[str, ...]
    columns: tuple[str, ...]
    """Checkpoint labels, by days."""
    cells: tuple[tuple[PictureCell, ...], ...]
    """One row for each category, one cell for each column."""
    overall: tuple[PictureCell, ...]
    hallucination: tuple[PictureCell, ...]
    """In percent of judged answers."""
    done: int
    """Checkpoints with nothing left to do, over all personas."""
    visits: int
    """Checkpoints there are to visit, over all personas."""
    is_stub: bool = False
    invalid: str | None = None
    """Why the scores must not be quoted."""
    intervals: str | None = None
    """How intervals were made; None if there are none."""

    @property
    def all_cells(self) -> tuple[PictureCell, ...]:
        """Every cell of every row."""
        rows = (*self.cells, self.overall, self.hallucination)
        return tuple(cell for row in rows for cell in row)
