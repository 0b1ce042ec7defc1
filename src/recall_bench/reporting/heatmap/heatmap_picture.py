"""A picture of a run: one cell for each category at each checkpoint, and nothing invented.

A cell that was not measured is drawn as not measured. What a reader must know before believing the
picture (a stub judge, a run that is invalid or unfinished) is written into it.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

from recall_bench.core.plain_text import clean_text, format_quantity
from recall_bench.engine.runs.rows import Row, RowKind, RowTable
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import Summary
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate
from recall_bench.metrics.scale import ColourRamp
from recall_bench.reporting.formats import (
    SMALL_MARK,
    format_score,
    format_slug,
)
from recall_bench.reporting.headlines import (
    LOW_CEILING_NOTE,
    format_ceiling,
    has_low_ceilings,
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
    Channels,
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
from recall_bench.reporting.heatmap.heatmap_data import HeatmapData
from recall_bench.reporting.pictures import estimate_width, wrap_lines, write_picture

_WIDTH, _MOST_WIDTH = 1120.0, 2400.0
_LEAST_TEXT_WIDTH = 900.0
"""Titles are broken at this width, or at that of the picture if it is wider."""
_LABELS_WIDTH = 180.0
"""About what the names of the rows take."""
_NARROWEST, _WIDEST = 7.6, 118.0
_SCORE_TICKS = (0, 0.2, 0.4, 0.6, 0.8, 1)


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


def label_rows(rows: Sequence[Row]) -> list[str]:
    """The names of rows as words, or as they are where two would read alike."""
    labels = [format_slug(row.name) for row in rows]
    return labels if len(set(labels)) == len(labels) else [row.name for row in rows]


def choose_fill(row: Row, value: float, colours: ColourScale = ColourScale.STANDARD) -> str:
    """The colour of a cell."""
    shade = row.scale.compute_shade(value, row.highest)
    if row.scale.ramp is ColourRamp.RATE:
        return colour_rate(shade, colours)
    return colour_score(shade, 1, colours)


class _HeatmapPicture:
    def __init__(self, data: HeatmapData, colours: ColourScale) -> None:
        self._data, self._table = data, data.table
        self._colours = colours
        self._rows = data.table.shown
        self._labels = {
            row.name: label for row, label in zip(self._rows, label_rows(self._rows), strict=True)
        }
        self._columns = [column.label for column in data.table.columns]
        columns = max(1, len(self._columns))
        least = min(_NARROWEST, _MOST_WIDTH / columns)
        cell = max(least, min(_WIDEST, _WIDTH / columns))
        self._text = self._choose_text(cell)
        self._style = GridStyle(
            cell=cell, row=_ROW_HEIGHTS[self._text], detail_lines=_DETAIL_LINES[self._text]
        )
        self._width = columns * cell

    def build_chart(self) -> View:
        side = 0.0 if self._table.total.bounds is None else 2 * SIDE_WIDTH
        room = max(self._width + side + _LABELS_WIDTH, _LEAST_TEXT_WIDTH)
        notices = [
            build_notice(wrap_lines(text, size=NOTICE_SIZE, width=self._width), colour, self._width)
            for text, colour in list_notices(self._data)
        ]
        axis = {
            "title": "checkpoint",
            "titleAnchor": "end",
            "titleAlign": "right",
            "titleBaseline": "top",
            "titleX": -12,
            "titleY": 9,
            "values": select_labels(self._columns, self._style.cell),
        }
        groups = self._group_rows()
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
                *(
                    self._build_view(
                        rows,
                        is_first=rows is groups[0],
                        x_axis=axis if rows is groups[-1] else None,
                    )
                    for rows in groups
                ),
                self._build_legend(groups),
            ],
        )

    def _group_rows(self) -> list[list[Row]]:
        """The categories; all questions, with what is on the same scale; each other scale."""
        groups: dict[tuple[bool, str], list[Row]] = {}
        for row in self._rows:
            groups.setdefault((row.kind is RowKind.CATEGORY, row.scale.name), []).append(row)
        return list(groups.values())

    def _choose_text(self, cell: float) -> CellText:
        """The most that fits into every cell."""
        if cell < NARROWEST_TEXT:
            return CellText.NOTHING
        texts = [
            (row.scale.format_range(mean), _format_count(mean))
            for row in self._rows
            for mean in row.cells
        ]
        if not any(interval for interval, _ in texts):
            return CellText.COUNT
        if is_fitting((_join_details(*each) for each in texts), cell):
            return CellText.LINE
        fits = is_fitting((text for each in texts for text in each), cell)
        return CellText.LINES if fits else CellText.COUNT

    def _build_view(
        self, rows: Sequence[Row], *, is_first: bool, x_axis: dict[str, object] | None
    ) -> View:
        y_axis: dict[str, object] = {"title": None}
        if rows[0].kind is RowKind.TOTAL:
            y_axis["labelFontWeight"] = "bold"
        head = rows[0].scale.head
        if rows[0].scale != self._table.total.scale and head:
            y_axis["labelExpr"] = f"datum.label + ', {head}'"
        bounds = {self._labels[row.name]: row.bounds for row in rows if row.bounds is not None}
        side = []
        if bounds:
            # The first view names them.
            silence = {label: format_score(each.floor) for label, each in bounds.items()}
            ceiling = {label: format_ceiling(each) for label, each in bounds.items()}
            side = [
                SideColumn(head="silence" if is_first else "", figures=silence),
                SideColumn(head="ceiling" if is_first else "", figures=ceiling),
            ]
        return build_grid(
            (cell for row in rows for cell in self._list_cells(row)),
            rows=[self._labels[row.name] for row in rows],
            columns=self._columns,
            style=self._style,
            scale=self._build_ramp(rows),
            x_axis=x_axis,
            y_axis=y_axis,
            side=side,
        )

    def _build_ramp(self, rows: Sequence[Row]) -> Channels:
        scale = rows[0].scale
        best = scale.best or max((row.highest or 0 for row in rows), default=0) or 1.0
        build = build_rate_scale if scale.ramp is ColourRamp.RATE else build_score_scale
        return build(self._colours, best=best * scale.factor)

    def _list_cells(self, row: Row) -> Iterator[GridCell]:
        means = [row.scale.format_short(cell.value) for cell in row.cells if cell is not None]
        is_roomy = all(estimate_width(text, MEAN_SIZE) < self._style.cell - 4 for text in means)
        label = self._labels[row.name]
        for place, (column, mean) in enumerate(zip(self._columns, row.cells, strict=True)):
            words = clean_text(describe_cell(label, row, place, self._data))
            if mean is None:
                is_early = row.count_eligible(place) == 0
                yield GridCell(
                    row=label,
                    column=column,
                    value=None,
                    fill=None,
                    is_early=is_early,
                    description=words,
                )
                continue
            text = row.scale.format_short(mean.value)
            yield GridCell(
                row=label,
                column=column,
                value=mean.value * row.scale.factor,
                fill=choose_fill(row, mean.value, self._colours),
                mean=text if is_roomy else text.partition(" ")[0],
                details=self._list_details(row, mean),
                is_small=mean.is_small,
                description=words,
            )

    def _list_details(self, row: Row, mean: Estimate) -> list[str]:
        interval, count = row.scale.format_range(mean), _format_count(mean)
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

    def _build_legend(self, groups: Sequence[Sequence[Row]]) -> View:
        scales: dict[str, list[Row]] = {}
        for rows in groups:
            scales.setdefault(rows[0].scale.name, []).extend(rows)
        return build_legend(
            [self._build_colour_legend(rows) for rows in scales.values()], list(self._list_keys())
        )

    def _build_colour_legend(self, rows: Sequence[Row]) -> ColourLegend:
        scale = rows[0].scale
        if scale == self._table.total.scale:
            title = f"score, {scale.head}"
        else:
            title = ", ".join([*(row.name for row in rows), *([scale.head] if scale.head else [])])
        best = scale.best or max((row.highest or 0 for row in rows), default=0) or 1.0
        shares = (0, 0.05, 0.25, 0.5, 1) if scale.ramp is ColourRamp.RATE else _SCORE_TICKS
        ticks = [round(share * best * scale.factor, 6) for share in shares]
        return ColourLegend(title=title, scale=self._build_ramp(rows), ticks=ticks)

    def _list_keys(self) -> Iterator[LegendKey]:
        yield EMPTY_KEY
        yield EARLY_KEY
        has_text = self._text is not CellText.NOTHING
        if self._table.has_small:
            shape = "" if has_text else "half height: "
            label = f"{shape}under {FEW_QUESTIONS} questions, interval unreliable"
            fill = colour_score(1, 1, self._colours)
            yield make_small_key(label, fill, has_text=has_text)
        if has_text:
            counted = (
                "trials the mean is over" if self._data.counts_trials else "different questions"
            )
            yield LegendKey(label=f"n: {counted}")
        if self._text in (CellText.LINE, CellText.LINES) and self._data.intervals:
            yield LegendKey(label=f"a–b: {self._data.intervals}")
        if has_low_ceilings(self._table):
            yield LegendKey(label=LOW_CEILING_NOTE)
        for note in self._table.iterate_notes():
            yield LegendKey(label=note)


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
    parts = [data.headline] if data.headline else []
    parts += [*data.subtitle, *(text for text, _ in list_notices(data))]
    scale = data.table.total.scale
    parts += [
        _describe_row(row, data.table)
        for row in data.table.shown
        if row.kind is not RowKind.CATEGORY and row.scale == scale
    ]
    return f"{clean_text(data.title)}\n{clean_text('. '.join(parts))}"


def _describe_row(row: Row, table: RowTable) -> str:
    means = []
    for column, mean in zip(table.columns, row.cells, strict=True):
        figure = row.absent if mean is None else row.scale.format_short(mean.value)
        ends = row.scale.format_bounds(mean, digits=0)
        means.append(f"{column.label} {figure}{f' ({ends})' if ends else ''}")
    return f"{format_slug(row.name)}: {', '.join(means)}"


def describe_cell(label: str, row: Row, place: int, data: HeatmapData) -> str:
    """A cell in words."""
    where, mean = f"{label}, {data.table.columns[place].label}", row.cells[place]
    if mean is None:
        return f"{where}: {EARLY_KEY.label if row.count_eligible(place) == 0 else row.absent}"
    words = [f"{where}: {row.scale.format_value(mean.value)}"]
    if ends := row.scale.format_bounds(mean):
        words.append(f"95 % interval {ends}")
    if not data.counts_trials:
        words.append(format_quantity(mean.questions, "question"))
    words.append(format_quantity(mean.trials, "trial"))
    if not data.counts_trials:
        words.append(f"{mean.missing} missing")
    if mean.is_small:
        words.append(f"fewer than {FEW_QUESTIONS} questions: the interval is unreliable")
    return " · ".join(words)


def _format_count(mean: Estimate | None) -> str:
    """The questions behind the mean."""
    return "" if mean is None else f"n {mean.questions}{SMALL_MARK if mean.is_small else ''}"


def _join_details(interval: str, count: str) -> str:
    return " · ".join(text for text in (interval, count) if text)


def draw_run(folder: RunFolder, summary: Summary, *paths: Path) -> None:
    """Draw a run's heatmap into these files."""
    from recall_bench.reporting.heatmap.heatmap_data import build_run_heatmap

    draw_picture(build_run_heatmap(folder, summary), *paths)
