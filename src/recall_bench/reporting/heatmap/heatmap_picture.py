"""A picture of a run: one cell for each category at each checkpoint, and nothing invented.

A cell that was not measured is drawn as not measured. What a reader must know before believing the
picture (a stub judge, a run that is invalid or unfinished) is written into it.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from recall_bench.core.plain_text import clean_text, format_quantity
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.reporting.formats import (
    SMALL_MARK,
    format_bounds,
    format_number,
    format_range,
    format_score,
    format_slug,
)
from recall_bench.reporting.headlines import (
    LOW_CEILING_NOTE,
    NOT_SAME,
    SAME_NOTE,
    SAME_QUESTIONS,
    format_ceiling,
    has_low_ceiling,
)
from recall_bench.reporting.heatmap.cell_grid import (
    EARLY_KEY,
    EMPTY_KEY,
    LABEL_SIZE,
    MEAN_SIZE,
    NARROWEST_TEXT,
    NOTICE_SIZE,
    SIDE_WIDTH,
    TITLE_SIZE,
    ColourLegend,
    GridCell,
    GridStyle,
    LegendKey,
    SideColumn,
    View,
    build_grid,
    build_legend,
    build_notice,
    build_picture,
    build_rate_scale,
    build_score_scale,
    is_fitting,
    make_small_key,
    select_labels,
)
from recall_bench.reporting.heatmap.colours import (
    ALARM,
    WARNING,
    ColourScale,
    colour_rate,
    colour_score,
)
from recall_bench.reporting.heatmap.heatmap_data import HeatmapData, PictureCell, RowBounds
from recall_bench.reporting.pictures import estimate_width, wrap_lines, write_picture

_WIDTH, _MOST_WIDTH = 1120.0, 2400.0
_LEAST_TEXT_WIDTH = 900.0
"""Titles are broken at this width, or at that of the picture if it is wider."""
_LABELS_WIDTH = 180.0
"""About what the names of the rows take."""
_NARROWEST, _WIDEST = 7.6, 118.0
_BEST = 100.0
_SCORE_TICKS = (0, 20, 40, 60, 80, 100)
_RATE_TICKS = (0, 5, 25, 50, 100)


class CellText(Enum):
    """How much is written into every cell of a picture."""

    LINE = "the interval and the count side by side below the mean"
    LINES = "the interval and the count below each other"
    COUNT = "the count below the mean"
    NOTHING = "nothing: a cell is its colour"


_ROW_HEIGHTS = {
    CellText.LINE: 38.0,
    CellText.LINES: 48.0,
    CellText.COUNT: 36.0,
    CellText.NOTHING: 25.0,
}
_DETAIL_LINES = {CellText.LINE: 1, CellText.LINES: 2, CellText.COUNT: 1, CellText.NOTHING: 0}


def draw_picture(
    data: HeatmapData, *paths: Path, scale: ColourScale = ColourScale.STANDARD
) -> None:
    """Write the picture as PNG, SVG or PDF, as the names of the files say."""
    spec = build_heatmap_spec(data, scale)
    title, _, summary = str(spec["description"]).partition("\n")
    write_picture(spec, *paths, title=title, summary=summary)


def build_heatmap_spec(data: HeatmapData, scale: ColourScale = ColourScale.STANDARD) -> View:
    """The Vega-Lite chart of a heatmap."""
    return _HeatmapPicture(data, scale).build_chart()


class PictureRow(NamedTuple):
    """One row of the picture, and its label."""

    label: str
    cells: Sequence[PictureCell]
    is_rate: bool = False
    bounds: RowBounds | None = None
    absent: str = EMPTY_KEY.label
    """Why a cell has no figure although there was something to ask."""

    @property
    def is_measured(self) -> bool:
        """Whether any of its cells has a value."""
        return any(cell.score is not None for cell in self.cells)


class PictureRows(NamedTuple):
    """The rows of the picture, by part."""

    categories: list[PictureRow]
    overall: list[PictureRow]
    """All questions, and where it is known the same questions at several checkpoints."""
    rates: list[PictureRow]


def list_picture_rows(data: HeatmapData) -> PictureRows:
    """The rows to show: those in which nothing was measured are left out."""
    labels = _list_labels(data.categories)
    every = [
        PictureRow(label, row, bounds=data.bounds.get(name))
        for label, name, row in zip(labels, data.categories, data.cells, strict=True)
    ]
    rates = [PictureRow(format_slug(name), cells, is_rate=True) for name, cells in data.rates]
    return PictureRows(
        [row for row in every if row.is_measured],
        [
            PictureRow("Overall", data.overall, bounds=data.overall_bounds),
            *(
                [PictureRow(format_slug(SAME_QUESTIONS), data.same, absent=NOT_SAME)]
                if data.same
                else []
            ),
        ],
        [row for row in rates if row.is_measured] or rates[:1],
    )


def choose_fill(
    score: float | None, *, is_rate: bool, scale: ColourScale = ColourScale.STANDARD
) -> str | None:
    """The colour of a cell; None if nothing was measured."""
    if score is None:
        return None
    return colour_rate(score / 100, scale) if is_rate else colour_score(score, _BEST, scale)


class _HeatmapPicture:
    def __init__(self, data: HeatmapData, scale: ColourScale) -> None:
        self._data = data
        self._colours = scale
        self._scores, self._rates = build_score_scale(scale, best=_BEST), build_rate_scale(scale)
        self._rows, self._overall, self._invented = list_picture_rows(data)
        columns = max(1, len(data.columns))
        least = min(_NARROWEST, _MOST_WIDTH / columns)
        cell = max(least, min(_WIDEST, _WIDTH / columns))
        self._text = self._choose_text(cell)
        self._style = GridStyle(
            cell=cell, row=_ROW_HEIGHTS[self._text], detail_lines=_DETAIL_LINES[self._text]
        )
        self._width = columns * cell

    def build_chart(self) -> View:
        side = 0.0 if self._overall[0].bounds is None else 2 * SIDE_WIDTH
        room = max(self._width + side + _LABELS_WIDTH, _LEAST_TEXT_WIDTH)
        notices = [
            build_notice(wrap_lines(text, size=NOTICE_SIZE, width=self._width), colour, self._width)
            for text, colour in list_notices(self._data)
        ]
        unit: dict[str, object] = {"labelExpr": "datum.label + ', %'"}
        axis = {
            "title": "checkpoint",
            "titleAnchor": "end",
            "titleAlign": "right",
            "titleBaseline": "top",
            "titleX": -12,
            "titleY": 9,
            "values": select_labels(self._data.columns, self._style.cell),
        }
        return build_picture(
            wrap_lines(self._data.title, size=TITLE_SIZE, width=room),
            [
                line
                for text in (self._data.headline, *self._data.subtitle)
                if text is not None
                for line in wrap_lines(text, size=LABEL_SIZE, width=room)
            ],
            _describe_heatmap(self._data),
            [
                *notices,
                *([self._build_view(self._rows)] if self._rows else []),
                self._build_view(self._overall, {"labelFontWeight": "bold"}),
                self._build_view(self._invented, unit, axis),
                self._build_legend(),
            ],
        )

    def _choose_text(self, cell: float) -> CellText:
        """The most that fits into every cell."""
        if cell < NARROWEST_TEXT:
            return CellText.NOTHING
        found = [
            (_format_interval(each, is_rate=row.is_rate), _format_count(each))
            for row in (*self._rows, *self._overall, *self._invented)
            for each in row.cells
        ]
        if not any(interval for interval, _ in found):
            return CellText.COUNT
        if is_fitting((_join_details(*each) for each in found), cell):
            return CellText.LINE
        fits = is_fitting((text for each in found for text in each), cell)
        return CellText.LINES if fits else CellText.COUNT

    def _build_view(
        self,
        rows: Sequence[PictureRow],
        y_axis: dict[str, object] | None = None,
        x_axis: dict[str, object] | None = None,
    ) -> View:
        return build_grid(
            (cell for row in rows for cell in self._list_cells(row)),
            rows=[row.label for row in rows],
            columns=self._data.columns,
            style=self._style,
            scale=self._rates if rows[0].is_rate else self._scores,
            x_axis=x_axis,
            y_axis={"title": None, **(y_axis or {})},
            side=self._list_side(rows),
        )

    def _list_side(self, rows: Sequence[PictureRow]) -> list[SideColumn]:
        """Silence and ceiling of the rows that have them; the first view names them."""
        found = {row.label: row.bounds for row in rows if row.bounds is not None}
        if not found:
            return []
        is_first = rows is self._rows or not self._rows
        silence = {label: format_score(bounds.floor) for label, bounds in found.items()}
        ceiling = {label: format_ceiling(bounds) for label, bounds in found.items()}
        return [
            SideColumn(head="silence" if is_first else "", figures=silence),
            SideColumn(head="ceiling" if is_first else "", figures=ceiling),
        ]

    def _list_cells(self, row: PictureRow) -> Iterator[GridCell]:
        scores = [cell.score for cell in row.cells if cell.score is not None]
        is_precise = all(
            estimate_width(f"{format_number(score, 1)} %", MEAN_SIZE) < self._style.cell - 4
            for score in scores
        )
        for column, cell in zip(self._data.columns, row.cells, strict=True):
            mean = "" if cell.score is None else format_number(cell.score, 0)
            if row.is_rate and cell.score is not None:
                mean = (
                    f"{format_number(cell.score, 1)} %"
                    if is_precise
                    else format_number(cell.score, 0)
                )
            yield GridCell(
                row=row.label,
                column=column,
                value=cell.score,
                fill=choose_fill(cell.score, is_rate=row.is_rate, scale=self._colours),
                mean=mean,
                details=self._list_details(cell, row.is_rate),
                is_small=cell.is_small,
                is_early=cell.eligible == 0,
                description=clean_text(describe_cell(row, column, cell)),
            )

    def _list_details(self, cell: PictureCell, is_rate: bool) -> list[str]:
        interval, count = _format_interval(cell, is_rate=is_rate), _format_count(cell)
        match self._text:
            case CellText.LINE:
                return [_join_details(interval, count)]
            case CellText.LINES:
                return [interval, count]
            case CellText.COUNT:
                fits = is_fitting([count], self._style.cell)
                return [count if fits else count.removeprefix("n ")]
            case CellText.NOTHING:
                return []

    def _build_legend(self) -> View:
        return build_legend(
            [
                ColourLegend(
                    title="score, points of 100",
                    scale=self._scores,
                    ticks=_SCORE_TICKS,
                ),
                ColourLegend(title="invented, leaked, %", scale=self._rates, ticks=_RATE_TICKS),
            ],
            list(self._list_keys()),
        )

    def _list_keys(self) -> Iterator[LegendKey]:
        yield EMPTY_KEY
        yield EARLY_KEY
        has_text = self._text is not CellText.NOTHING
        if any(cell.is_small for cell in self._data.all_cells):
            shape = "" if has_text else "half height: "
            label = f"{shape}under {FEW_QUESTIONS} questions, interval unreliable"
            fill = colour_score(_BEST, _BEST, self._colours)
            yield make_small_key(label, fill, has_text=has_text)
        if has_text:
            counted = [cell for cell in self._data.all_cells if cell.score is not None]
            is_known = bool(counted) and all(cell.questions is not None for cell in counted)
            yield LegendKey(
                label=f"n: {'different questions' if is_known else 'trials the mean is over'}"
            )
        if self._text in (CellText.LINE, CellText.LINES) and self._data.intervals:
            yield LegendKey(label=f"a–b: {self._data.intervals}")
        found = [row.bounds for row in (*self._rows, *self._overall)]
        if any(bounds is not None and has_low_ceiling(bounds) for bounds in found):
            yield LegendKey(label=LOW_CEILING_NOTE)
        if self._data.same:
            yield LegendKey(label=SAME_NOTE)


def _list_labels(categories: Sequence[str]) -> list[str]:
    """The categories as words, or as they are where two would read alike."""
    labels = [format_slug(name) for name in categories]
    return labels if len(set(labels)) == len(labels) else list(categories)


def list_notices(data: HeatmapData) -> Iterator[tuple[str, str]]:
    """What must be said before the scores, each with its colour."""
    if data.is_stub:
        yield "STUB JUDGE: scores mean nothing", ALARM
    if data.invalid is not None:
        yield f"INVALID: {data.invalid}", ALARM
    if data.done < data.planned_checkpoints:
        yield f"UNFINISHED: {data.done} of {data.planned_checkpoints} checkpoints", WARNING


def _describe_heatmap(data: HeatmapData) -> str:
    """The title on a line of its own, then what the picture says in words."""
    notices = [text for text, _ in list_notices(data)]
    said = [data.headline] if data.headline else []
    rows = [_describe_row(row, data.columns) for row in list_picture_rows(data).overall]
    rest = ". ".join([*said, *data.subtitle, *notices, *rows])
    return f"{clean_text(data.title)}\n{clean_text(rest)}"


def _describe_row(row: PictureRow, columns: Sequence[str]) -> str:
    means = []
    for label, cell in zip(columns, row.cells, strict=True):
        mean = row.absent if cell.score is None else format_number(cell.score, 0)
        means.append(f"{label} {mean}{format_bounds(cell, digits=0)}")
    return f"{row.label}: {', '.join(means)}"


def describe_cell(row: PictureRow, column: str, cell: PictureCell) -> str:
    """A cell in words."""
    place = f"{row.label}, {column}"
    if cell.score is None:
        return f"{place}: {EARLY_KEY.label if cell.eligible == 0 else row.absent}"
    digits, unit = (1, "%") if row.is_rate else (1, "of 100")
    words = [f"{place}: {cell.score:.{digits}f} {unit}"]
    if ends := format_bounds(cell, digits=digits, unit=" %" if row.is_rate else "").strip(" ()"):
        words.append(f"95 % interval {ends}")
    if cell.questions is not None:
        words.append(format_quantity(cell.questions, "question"))
    words.append(format_quantity(cell.count, "trial"))
    if cell.missing is not None:
        words.append(f"{cell.missing} missing")
    if cell.is_small:
        words.append(f"fewer than {FEW_QUESTIONS} questions: the interval is unreliable")
    return " · ".join(words)


def _format_interval(cell: PictureCell, *, is_rate: bool) -> str:
    return format_range(cell, digits=1 if is_rate and (cell.high or 0) < 9.95 else 0)


def _format_count(cell: PictureCell) -> str:
    """Questions behind the mean, or trials where questions were not counted."""
    if cell.score is None:
        return ""
    asked = cell.count if cell.questions is None else cell.questions
    return f"n {asked}{SMALL_MARK if cell.is_small else ''}"


def _join_details(interval: str, count: str) -> str:
    return " · ".join(text for text in (interval, count) if text)
