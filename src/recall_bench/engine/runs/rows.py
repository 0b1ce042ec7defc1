"""Report rows: one figure across the checkpoints of a run, and the table of them.

Terminal, picture, page, notebook, exports and result files iterate over the rows of a table, and
know none by its name.
"""

from collections.abc import Iterator
from enum import StrEnum

from recall_bench.core.plan import Checkpoint
from recall_bench.core.record import Record
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.scale import Scale

NOT_MEASURED = "not measured"


class RowKind(StrEnum):
    """Which part of a table a row belongs to."""

    CATEGORY = "category"
    """The score of one category of questions."""
    TOTAL = "total"
    """The score of all questions."""
    FIGURE = "figure"
    """Any other figure."""


class Row(Record, frozen=True, kw_only=True):
    """One figure across the columns of a table."""

    name: str
    scale: Scale
    cells: tuple[Estimate | None, ...]
    """One a column; None where nothing was measured."""
    kind: RowKind = RowKind.FIGURE
    key: str = ""
    """Its field in result files; empty for a category, which is found by its name."""
    eligible: tuple[int | None, ...] = ()
    """The questions that the story supports by each column, asked or not; empty if unknown."""
    total: Estimate | None = None
    """All columns together."""
    bounds: ScoreRange | None = None
    """Silence and ceiling over all columns; None where the run has none."""
    note: str | None = None
    """What a reader must know of the row, for below the table."""
    absent: str = NOT_MEASURED
    """Why a cell has no figure although there was something to ask."""
    opens: tuple[tuple[str, str], ...] = ()
    """What the page shows of a cell: filters of its trials, or the `section` to go to."""
    is_in_files_only: bool = False
    """Whether only result files have it."""

    @property
    def is_measured(self) -> bool:
        """Whether any of its cells has a value."""
        return any(cell is not None for cell in self.cells)

    @property
    def highest(self) -> float | None:
        """The highest value, for the colours of a scale without an end."""
        return max((cell.value for cell in self.cells if cell is not None), default=None)

    def count_eligible(self, place: int) -> int | None:
        """The questions that there are in a column; None if unknown."""
        return self.eligible[place] if self.eligible else None


class RowTable(Record, frozen=True, kw_only=True):
    """The rows of one persona, or of all of them: what a heatmap shows."""

    persona: str | None
    """None for all together."""
    columns: tuple[Checkpoint, ...]
    rows: tuple[Row, ...]

    @property
    def categories(self) -> tuple[Row, ...]:
        """The rows of the categories."""
        return tuple(row for row in self.rows if row.kind is RowKind.CATEGORY)

    @property
    def total(self) -> Row:
        """The row of all questions."""
        return next(row for row in self.rows if row.kind is RowKind.TOTAL)

    @property
    def shown(self) -> tuple[Row, ...]:
        """The rows to show: those in which nothing was measured are left out, but for the total."""
        return tuple(
            row
            for row in self.rows
            if (row.is_measured or row.kind is RowKind.TOTAL) and not row.is_in_files_only
        )

    @property
    def has_small(self) -> bool:
        """Whether any mean that is shown rests on too few questions for a reliable interval."""
        return any(cell.is_small for row in self.shown for cell in row.cells if cell is not None)

    def get(self, name: str) -> Row | None:
        """The row of this name; None if the table has none."""
        return next((row for row in self.rows if row.name == name), None)

    def iterate_notes(self) -> Iterator[str]:
        """What to know of the rows that are shown, each note once."""
        yield from dict.fromkeys(row.note for row in self.shown if row.note is not None)
