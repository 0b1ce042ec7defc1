"""Report rows: one figure across the checkpoints of a run, the table of them, and a run's rows.

Terminal, picture, page, notebook, exports and result files iterate over the rows of a table, and
know none by its name. To add a row, write a function and add it to `_ROWS`; a package of your own
names it by an entry point of the group `recall_bench.rows`. All outputs show it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from recall_bench.core.plan import Checkpoint
from recall_bench.core.record import Record
from recall_bench.core.user_code import list_plugins, load_plugin
from recall_bench.engine.runs.counted_marks import CountedTrials
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.metrics.bootstrap import QuestionNumbers
from recall_bench.metrics.estimate import (
    Estimate,
    Limits,
    MarkTally,
    estimate_mean,
    estimate_tallies,
)
from recall_bench.metrics.scale import POINTS, SHARE, Scale

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


CELL_RESAMPLES: Final = 2_000
"""Resamples for a mean that is one of many.

The sampling error moves an end of the interval by about a thirtieth of its half-width, less than
the tenth of a point that a cell shows. The headline has five times as many.
"""

OVERALL: Final = "overall"
SAME_QUESTIONS: Final = "same questions"
"""Of all questions, those that were asked at each of several checkpoints."""
SAME_NOTE: Final = f"{SAME_QUESTIONS}: one set; those of the other rows change"
NOT_SAME: Final = "not all of these questions were asked"
"""Of a checkpoint without a figure in that row."""
INVENTED: Final = "invented"
LEAKED: Final = "leaked"
UNGROUNDED: Final = "invented or leaked"
"""Both together, where a file does not tell them apart."""


RowMeans = tuple[tuple[Estimate | None, ...], Estimate | None]
"""The cells of a row, and all checkpoints together."""


@dataclass(frozen=True, kw_only=True)
class RowTrials:
    """The trials of one persona, or of all of them, as a row function sees them."""

    personas: Sequence[str]
    columns: Sequence[Checkpoint]
    trials: Sequence[CountedTrials]
    """Those of each column."""
    eligible: tuple[int, ...]
    """The questions that the story supports by each column."""
    categories: Mapping[str, "CategoryTrials"]
    same: Sequence[CountedTrials | None]
    """The same questions in each column; None outside their span, empty where there are none."""
    bounds: ScoreRange | None
    """Silence and ceiling over all checkpoints."""
    whole: CountedTrials
    """Those of all checkpoints, also of those that are not among the columns."""
    total_resamples: int
    numbers: QuestionNumbers
    read_table: Callable[[], TrialTable]
    """Reads each trial with all that the journal knows of it: slow for a large run."""

    def estimate(self, tally: Callable[[CountedTrials, int], MarkTally]) -> RowMeans:
        """Estimate the mean of a mark in each column, and over all checkpoints."""
        *cells, total = self.estimate_tallies(
            (
                *(tally(trials, CELL_RESAMPLES) for trials in self.trials),
                tally(self.whole, self.total_resamples),
            )
        )
        return tuple(cells), total

    def estimate_tallies(self, tallies: Iterable[MarkTally]) -> tuple[Estimate | None, ...]:
        """Estimate several means; many at once take a fraction of the time."""
        return tuple(estimate_tallies(tallies, self.numbers))

    def estimate_values(
        self, value: Callable[[TrialRow], float | None], limits: Limits | None = None
    ) -> RowMeans:
        """Estimate the mean of any value of the trials in each column, and over all checkpoints.

        The value is None where a figure does not apply to a trial. `limits` are the lowest and
        highest possible value, if there are any.
        """
        table = self.read_table()
        columns: dict[str, list[tuple[TrialRow, float]]] = {
            column.label: [] for column in self.columns
        }
        whole = []
        for row in table.rows:
            number = value(row) if row.trial.scenario in self.personas else None
            if number is not None:
                whole.append((row, number))
                columns.get(row.trial.checkpoint, []).append((row, number))
        *cells, total = (
            estimate_mean(
                [number for _, number in part],
                [row.trial.item for row, _ in part],
                [row.trial.scenario for row, _ in part],
                limits=limits,
                templates=table.templates,
                resamples=CELL_RESAMPLES,
            )
            for part in (*columns.values(), whole)
        )
        return tuple(cells), total


@dataclass(frozen=True, kw_only=True)
class CategoryTrials:
    """The trials of one category."""

    trials: Sequence[CountedTrials]
    """Those of each column."""
    whole: CountedTrials
    """Those of all checkpoints."""
    eligible: tuple[int, ...]
    bounds: ScoreRange | None


RowFunction = Callable[[RowTrials], Iterable[Row]]


def build_categories(trials: RowTrials) -> Iterator[Row]:
    """Build the score of each category."""
    categories = trials.categories.values()
    # One call for all, because those with as many questions are resampled together.
    means = iter(
        trials.estimate_tallies(
            part.tally_points(CELL_RESAMPLES)
            for category in categories
            for part in (*category.trials, category.whole)
        )
    )
    for name, category in trials.categories.items():
        yield Row(
            name=name,
            kind=RowKind.CATEGORY,
            scale=POINTS,
            cells=tuple(next(means) for _ in trials.columns),
            total=next(means),
            eligible=category.eligible,
            bounds=category.bounds,
            opens=(("category", name),),
        )


def build_overall(trials: RowTrials) -> Iterator[Row]:
    """Build the score of all questions."""
    cells, total = trials.estimate(CountedTrials.tally_points)
    yield Row(
        name=OVERALL,
        kind=RowKind.TOTAL,
        key="overall",
        scale=POINTS,
        cells=cells,
        total=total,
        eligible=trials.eligible,
        bounds=trials.bounds,
    )


def build_same(trials: RowTrials) -> Iterator[Row]:
    """Build the score of the same questions, where checkpoints do not ask the same anyway."""
    if not trials.same:
        return
    means = iter(
        trials.estimate_tallies(
            part.tally_points(CELL_RESAMPLES) for part in trials.same if part is not None
        )
    )
    yield Row(
        name=SAME_QUESTIONS,
        key="sameQuestions",
        scale=POINTS,
        cells=tuple(None if part is None else next(means) for part in trials.same),
        eligible=trials.eligible,
        note=SAME_NOTE,
        absent=NOT_SAME,
        opens=(("section", "degradation"),),
    )


def build_ungrounded(trials: RowTrials) -> Iterator[Row]:
    """Build the share of answers that are not grounded: the public format has it."""
    cells, total = trials.estimate(CountedTrials.tally_ungrounded)
    yield Row(
        name=UNGROUNDED,
        key="hallucinationRate",
        scale=SHARE,
        cells=cells,
        total=total,
        eligible=trials.eligible,
        is_in_files_only=True,
    )


def build_invented(trials: RowTrials) -> Iterator[Row]:
    """Build the share of answers that are invented."""
    cells, total = trials.estimate(CountedTrials.tally_invented)
    yield Row(
        name=INVENTED,
        key="inventionRate",
        scale=SHARE,
        cells=cells,
        total=total,
        eligible=trials.eligible,
        opens=(("invented", "yes"),),
    )


def build_leaked(trials: RowTrials) -> Iterator[Row]:
    """Build the share of answers that leak, of those in which a leak could be noticed."""
    cells, total = trials.estimate(CountedTrials.tally_leaked)
    yield Row(
        name=LEAKED,
        key="leakRate",
        scale=SHARE,
        cells=cells,
        total=total,
        eligible=trials.eligible,
        opens=(("leaked", "yes"),),
    )


_ROWS: Final[list[RowFunction]] = [
    build_categories,
    build_overall,
    build_same,
    build_ungrounded,
    build_invented,
    build_leaked,
]
"""In the order of all outputs."""


def build_rows(trials: RowTrials) -> tuple[Row, ...]:
    """Build all rows, those of installed packages last."""
    others = (load_plugin("rows", entry.name) for entry in list_plugins("rows"))
    return tuple(row for function in (*_ROWS, *others) for row in function(trials))
