"""Tables of rows as a picture: one coloured cell for each row and column, and nothing invented.

A cell that was not measured is drawn as not measured. What a reader must know before believing the
picture (a stub judge, a run that is invalid or unfinished) is written into it. Vega-Lite places
everything: cells are marks on band scales, names are axes, colours have legends.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from math import ceil
from pathlib import Path
from typing import Final

import msgspec

from recall_bench.core.plain_text import clean_text, format_quantity
from recall_bench.engine.runs.heatmap_rows import Row, RowKind, RowTable
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import Summary
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate
from recall_bench.metrics.scale import ColourRamp
from recall_bench.reporting.formats import SMALL_MARK, format_score, format_slug
from recall_bench.reporting.headlines import LOW_CEILING_NOTE, format_ceiling, has_low_ceilings
from recall_bench.reporting.heatmap.colours import (
    ALARM,
    DASH,
    INK,
    MUTED,
    NO_DATA_FILL,
    NOT_YET,
    NOT_YET_BORDER,
    SMALL_HEIGHT,
    WARNING,
    ColourScale,
    choose_ink,
    colour_rate,
    colour_score,
)
from recall_bench.reporting.heatmap.heatmap_data import HeatmapData, build_run_heatmap
from recall_bench.reporting.pictures import (
    FONT,
    VEGA_LITE_SCHEMA,
    estimate_width,
    wrap_lines,
    write_picture,
)

View = dict[str, object]
Channels = Mapping[str, object]

MEAN_SIZE, DETAIL_SIZE = 12.5, 9.5
TITLE_SIZE, LABEL_SIZE, AXIS_SIZE, NOTICE_SIZE = 21.0, 13.0, 11.5, 14.0
_WIDTH, _MOST_WIDTH = 1120.0, 2400.0
_LEAST_TEXT_WIDTH = 900.0
"""Titles are broken at this width, or at that of the picture if it is wider."""
_LABELS_WIDTH = 180.0
"""About what the names of the rows take."""
_NARROWEST, _NARROWEST_TEXT, _WIDEST = 7.6, 25.0, 118.0
"""The width of cells; narrower ones than the second hold no text."""
_SIDE_WIDTH = 58.0
"""The width of a column beside the cells."""
_TEXT_MARGIN = 6.0
_NOTICE_HEIGHT, _NOTICE_LINE = 28.0, 18.0
_STOPS = 24
"""Colours between which a scale is drawn in straight lines."""
_EARLY = "no question eligible yet"
_MEASURED = "isValid(datum.value)"
_BOX = "M-1.1,-0.8H1.1V0.8H-1.1Z"
_CUT_BOX, _HALF_BOX = "M-1.1,-0.8H0.3L1.1,0V0.8H-1.1Z", "M-1.1,-0.4H1.1V0.4H-1.1Z"
# The dash is a hole: it runs round the other way.
_DASHED_BOX = f"{_BOX}M-0.5,-0.16V0.16H0.5V-0.16Z"


class CellText(Enum):
    """How much is written into every cell: the height of a row, and lines below the mean."""

    LINE = (38.0, 1)
    """The interval and the count side by side."""
    LINES = (48.0, 2)
    """The interval and the count below each other."""
    COUNT = (36.0, 1)
    """The count alone."""
    NOTHING = (25.0, 0)
    """A cell is its colour."""


def draw_run(folder: RunFolder, summary: Summary, *paths: Path) -> None:
    """Draw a run's heatmap into these files."""
    draw_picture(build_run_heatmap(folder, summary), *paths)


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


def is_fitting(texts: Iterable[str], cell: float) -> bool:
    """Whether all these details fit into cells of this width."""
    return all(estimate_width(text, DETAIL_SIZE) <= cell - _TEXT_MARGIN for text in texts)


def select_labels(labels: Sequence[str], cell: float) -> list[str]:
    """The axis labels that have room, evenly spaced, the last among them."""
    widest = max((estimate_width(label, AXIS_SIZE) for label in labels), default=0.0)
    every = max(1, ceil((widest + 10) / cell))
    return list(labels)[::-1][::every][::-1]


class _HeatmapPicture:
    def __init__(self, data: HeatmapData, colours: ColourScale) -> None:
        self._data, self._colours = data, colours
        self._tables = (data.table, *(table for _, table in data.others))
        columns = max(1, *(len(table.columns) for table in self._tables))
        self._cell = min(_NARROWEST, _MOST_WIDTH / columns)
        self._cell = max(self._cell, min(_WIDEST, _WIDTH / columns))
        self._text = self._choose_text()
        self._width = columns * self._cell

    def _choose_text(self) -> CellText:
        """The most that fits into every cell."""
        if self._cell < _NARROWEST_TEXT:
            return CellText.NOTHING
        texts = [
            (row.scale.format_range(mean), _format_count(mean))
            for table in self._tables
            for row in table.shown
            for mean in row.cells
        ]
        if not any(interval for interval, _ in texts):
            return CellText.COUNT
        if is_fitting((_join_details(*pair) for pair in texts), self._cell):
            return CellText.LINE
        fits = is_fitting((text for pair in texts for text in pair), self._cell)
        return CellText.LINES if fits else CellText.COUNT

    def build_chart(self) -> View:
        data = self._data
        has_bounds = any(table.total.bounds for table in self._tables)
        room = self._width + 2 * _SIDE_WIDTH * has_bounds + _LABELS_WIDTH
        room = max(room, _LEAST_TEXT_WIDTH)
        views = [self._build_notice(text, colour) for text, colour in list_notices(data)]
        views += self._build_table(data.table)
        for title, table in data.others:
            first, *rest = self._build_table(table)
            heading = {"text": title, "fontSize": LABEL_SIZE, "color": MUTED, "offset": 8}
            views += [{**first, "title": heading}, *rest]
        channels = ("x", "y", "fill", "stroke", "shape")
        subtitle = [
            line
            for text in (data.headline, *data.subtitle)
            if text
            for line in wrap_lines(text, size=LABEL_SIZE, width=room)
        ]
        return {
            "$schema": VEGA_LITE_SCHEMA,
            "description": _describe_heatmap(data),
            "background": "#ffffff",
            "padding": 28,
            "title": {
                "text": wrap_lines(data.title, size=TITLE_SIZE, width=room),
                "subtitle": [
                    line
                    for text in subtitle
                    for line in wrap_lines(text, size=LABEL_SIZE, width=room)
                ],
            },
            "config": _CONFIG,
            "vconcat": [*views, self._build_legend()],
            "spacing": 12,
            "resolve": {"scale": dict.fromkeys(channels, "independent")},
        }

    def _build_notice(self, words: str, colour: str) -> View:
        """A bar with a warning in it."""
        lines = wrap_lines(words, size=NOTICE_SIZE, width=self._width)
        text = {
            "type": "text",
            "text": lines,
            "align": "left",
            "baseline": "middle",
            "fontSize": NOTICE_SIZE,
            "fontWeight": "bold",
            "lineHeight": _NOTICE_LINE,
            "color": choose_ink(colour),
            "aria": False,
        }
        bar = {"type": "rect", "cornerRadius": 4, "color": colour, "aria": False}
        return {
            "data": {"values": [{}]},
            "width": self._width,
            "height": _NOTICE_HEIGHT + _NOTICE_LINE * (len(lines) - 1),
            "layer": [
                {"mark": bar},
                {
                    "mark": text,
                    "encoding": {"x": {"value": 12}, "y": {"value": _NOTICE_HEIGHT / 2}},
                },
            ],
        }

    def _build_table(self, table: RowTable) -> list[View]:
        """One view for the categories, for all questions and what is on their scale, and others."""
        labels = dict(zip(table.shown, label_rows(table.shown), strict=True))
        by_kind: dict[tuple[bool, str], list[Row]] = {}
        for row in table.shown:
            by_kind.setdefault((row.kind is RowKind.CATEGORY, row.scale.name), []).append(row)
        groups = list(by_kind.values())
        columns = [column.label for column in table.columns]
        axis: View = {
            "title": self._data.column_name,
            "titleAnchor": "end",
            "titleAlign": "right",
            "titleBaseline": "top",
            "titleX": -12,
            "titleY": 9,
            "values": select_labels(columns, self._cell),
        }
        if self._data.names_all_columns:
            limit = int(self._cell / (AXIS_SIZE * 0.54))
            axis |= {"values": columns, "labelExpr": _wrap_labels(columns, limit)}
        views: list[View] = []
        for rows in groups:
            y_axis: View = {"title": None}
            if rows[0].kind is RowKind.TOTAL:
                y_axis["labelFontWeight"] = "bold"
            head = rows[0].scale.head
            if rows[0].scale != table.total.scale and head:
                y_axis["labelExpr"] = f"datum.label + ', {head}'"
            names = [labels[row] for row in rows]
            across, down = self._gap / self._cell, self._gap / self._text.value[0]
            x = _build_band("column", columns, across)
            y = _build_band("row", names, down)
            values = [cell for row in rows for cell in self._list_cells(labels[row], row, table)]
            views.append(
                {
                    "data": {"values": values},
                    "width": {"step": self._cell},
                    "height": {"step": self._text.value[0]},
                    "encoding": {
                        "x": {**x, "axis": axis if rows is groups[-1] else None},
                        "y": {**y, "axis": y_axis},
                    },
                    "layer": [
                        *self._draw_gaps(),
                        *self._draw_values(rows),
                        *self._draw_text(x, y),
                        # The first view names the columns beside the cells.
                        *_draw_side(
                            dict(zip(names, rows, strict=True)),
                            len(columns) * self._cell,
                            y,
                            has_heads=not views,
                        ),
                    ],
                }
            )
        return views

    @property
    def _gap(self) -> float:
        """The space between two cells."""
        return 2.0 if self._text.value[1] else min(1.0, self._cell / 7)

    def _list_cells(self, label: str, row: Row, table: RowTable) -> Iterator[View]:
        means = [row.scale.format_short(cell.value) for cell in row.cells if cell is not None]
        is_roomy = all(estimate_width(text, MEAN_SIZE) < self._cell - 4 for text in means)
        for place, (column, mean) in enumerate(zip(table.columns, row.cells, strict=True)):
            words = describe_cell(label, row, place, self._data, table)
            cell: View = {"row": label, "column": column.label, "description": clean_text(words)}
            if mean is None:
                yield cell | {"state": "early" if row.count_eligible(place) == 0 else "empty"}
                continue
            text = row.scale.format_short(mean.value)
            yield cell | {
                "value": mean.value * row.scale.factor,
                "ink": choose_ink(choose_fill(row, mean.value, self._colours)),
                "mean": text if is_roomy else text.partition(" ")[0],
                "details": self._list_details(row, mean),
                "is_small": mean.is_small,
            }

    def _list_details(self, row: Row, mean: Estimate) -> list[str]:
        interval, count = row.scale.format_range(mean), _format_count(mean)
        match self._text:
            case CellText.LINE:
                return [_join_details(interval, count)]
            case CellText.LINES:
                return [interval, count]
            case CellText.COUNT:
                fits = is_fitting([count], self._cell)
                return [count if fits else count.removeprefix("n ")]
            case CellText.NOTHING:
                return []

    def _draw_gaps(self) -> list[View]:
        """Cells not measured: grey with a dash, or pale where there was no question yet."""
        has_text = self._text is not CellText.NOTHING
        radius = 2 if has_text else 0
        early = {"type": "rect", "cornerRadius": radius, "fill": NOT_YET, "stroke": NOT_YET_BORDER}
        early["strokeWidth"] = int(has_text)
        empty = {"type": "rect", "cornerRadius": radius, "fill": NO_DATA_FILL}
        # Grey alone looks like a score to some eyes.
        dash = {
            "type": "tick",
            "orient": "horizontal",
            "thickness": 1.6,
            "color": DASH,
            "aria": False,
            "size": min(10.0, self._cell / 2),
        }
        return [
            _draw("datum.state === 'early'", early, _DESCRIBED),
            _draw("datum.state === 'empty'", empty, _DESCRIBED),
            _draw("datum.state === 'empty'", dash, {}),
        ]

    def _draw_values(self, rows: Sequence[Row]) -> list[View]:
        ramp = {"type": "quantitative", "scale": self._build_ramp(rows), "legend": None}
        channels = {"fill": {"field": "value", **ramp}, **_DESCRIBED}
        if self._text is not CellText.NOTHING:
            return [_draw(_MEASURED, {"type": "rect", "cornerRadius": 2}, channels)]
        slim = {"type": "rect", "height": {"band": SMALL_HEIGHT}}
        return [
            _draw(f"{_MEASURED} && !datum.is_small", {"type": "rect"}, channels),
            _draw(f"{_MEASURED} && datum.is_small", slim, channels),
        ]

    def _draw_text(self, x: View, y: View) -> list[View]:
        """The mean, what stands below it, and a corner where there are few questions."""
        if self._text is CellText.NOTHING:
            return []
        top = -6.0 * self._text.value[1]
        colour = {"color": {"field": "ink", "type": "nominal", "scale": None}}
        text = {"type": "text", "baseline": "middle", "aria": False}
        mean = {**text, "fontSize": MEAN_SIZE, "fontWeight": "bold", "dy": top}
        details = {**text, "fontSize": DETAIL_SIZE, "lineHeight": 11.5, "dy": top + 14}
        corner = {
            "type": "point",
            "shape": "M-2,0L0,0L0,2Z",
            "size": max(4.5, min(8.0, self._cell / 8)) ** 2,
            "filled": True,
            "opacity": 0.75,
            "aria": False,
        }
        ends = {"x": {**x, "bandPosition": 1}, "y": {**y, "bandPosition": 0}}
        return [
            _draw(_MEASURED, mean, {**colour, "text": {"field": "mean"}}),
            _draw(_MEASURED, details, {**colour, "text": {"field": "details"}}),
            _draw("datum.is_small", corner, {**colour, **ends}),
        ]

    def _build_ramp(self, rows: Sequence[Row]) -> Channels:
        """The colours from 0 to the best; small rates are told apart better than large ones."""
        scale, best = rows[0].scale, _find_best(rows)
        shares = [stop / _STOPS for stop in range(_STOPS + 1)]
        if scale.ramp is ColourRamp.RATE:
            shares = [share**2 for share in shares]
            colours = [colour_rate(share, self._colours) for share in shares]
        else:
            colours = [colour_score(share, 1, self._colours) for share in shares]
        domain = [best * share for share in shares]
        kind = {"type": "sqrt"} if scale.ramp is ColourRamp.RATE else {}
        return {**kind, "domain": domain, "range": colours}

    def _build_legend(self) -> View:
        """The legends of all scales and the keys, as a view without marks."""
        unseen = {"type": "point", "opacity": 0, "aria": False}
        scales: dict[str, list[Row]] = {}
        for table in self._tables:
            for row in table.shown:
                scales.setdefault(row.scale.name, []).append(row)
        layers: list[View] = []
        for rows in scales.values():
            scale, is_score = rows[0].scale, rows[0].scale == self._data.table.total.scale
            names = ["score"] if is_score else list(dict.fromkeys(row.name for row in rows))
            is_rate = scale.ramp is ColourRamp.RATE
            ticks = (0, 0.05, 0.25, 0.5, 1) if is_rate else (0, 0.2, 0.4, 0.6, 0.8, 1)
            legend = {
                "title": ", ".join(filter(None, (*names, scale.head))),
                "values": [round(share * _find_best(rows), 6) for share in ticks],
            }
            fill = {"field": "unseen", "type": "quantitative", "scale": self._build_ramp(rows)}
            layers.append({"mark": unseen, "encoding": {"fill": {**fill, "legend": legend}}})
        keys = list(self._list_keys())
        ranges = {
            "fill": [fill for _, fill, _, _ in keys],
            "stroke": [stroke for _, _, stroke, _ in keys],
            "shape": [shape for _, _, _, shape in keys],
        }
        domain = [label for label, *_ in keys]
        channels = {
            channel: {
                "field": "key",
                "type": "nominal",
                "scale": {"domain": domain, "range": values},
                "legend": {"title": None, "columns": 1, "labelFontSize": AXIS_SIZE},
            }
            for channel, values in ranges.items()
        }
        return {
            "data": {"values": [{}]},
            "width": 1,
            "height": 1,
            "layer": [*layers, {"mark": unseen, "encoding": channels}],
            "resolve": {"scale": dict.fromkeys(ranges, "independent")},
        }

    def _list_keys(self) -> Iterator[tuple[str, str, str, str]]:
        """Each line of the legend: its label, and fill, stroke and shape of a small cell."""
        data, white, has_text = self._data, "#ffffff", self._text is not CellText.NOTHING
        yield "not measured", NO_DATA_FILL, NO_DATA_FILL, _DASHED_BOX
        if not data.names_all_columns:
            yield _EARLY, NOT_YET, NOT_YET_BORDER, _BOX
        if any(table.has_small for table in self._tables):
            shape = "" if has_text else "half height: "
            label = f"{shape}under {FEW_QUESTIONS} questions, interval unreliable"
            fill = colour_score(1, 1, self._colours)
            yield label, fill, fill, _CUT_BOX if has_text else _HALF_BOX
        notes = []
        if has_text:
            what = "trials the mean is over" if data.counts_trials else "different questions"
            notes.append(f"n: {what}")
        if self._text in (CellText.LINE, CellText.LINES) and data.intervals:
            notes.append(f"a–b: {data.intervals}")
        if any(map(has_low_ceilings, self._tables)):
            notes.append(LOW_CEILING_NOTE)
        notes += dict.fromkeys(note for table in self._tables for note in table.iterate_notes())
        yield from ((note, white, white, _BOX) for note in notes)


def _find_best(rows: Sequence[Row]) -> float:
    """The upper end of the scale of these rows, as people see it."""
    scale = rows[0].scale
    best = scale.best or max((row.highest or 0 for row in rows), default=0) or 1.0
    return best * scale.factor


def _wrap_labels(labels: Sequence[str], letters: int) -> str:
    """An expression that breaks long labels into lines."""
    lines = {label: wrap_lines(label, size=1, width=letters * 0.54) for label in labels}
    return f"{msgspec.json.encode(lines).decode()}[datum.label]"


def _build_band(field: str, names: Sequence[str], padding: float) -> View:
    scale = {"domain": list(names), "paddingInner": padding, "paddingOuter": padding / 2}
    return {"field": field, "type": "nominal", "scale": scale}


_DESCRIBED: Final[Channels] = {"description": {"field": "description", "type": "nominal"}}


def _draw(test: str, mark: Channels, channels: Channels) -> View:
    return {"transform": [{"filter": test}], "mark": mark, "encoding": channels}


def _draw_side(
    rows: Mapping[str, Row], width: float, y: View, *, has_heads: bool
) -> Iterator[View]:
    """Silence and ceiling at the right of their rows, each below its head."""
    bounds = {label: row.bounds for label, row in rows.items() if row.bounds is not None}
    if not bounds:
        return
    text = {"type": "text", "align": "right", "baseline": "middle", "aria": False, "color": INK}
    floors = {label: format_score(ends.floor) for label, ends in bounds.items()}
    ceilings = {label: format_ceiling(ends) for label, ends in bounds.items()}
    for place, (head, figures) in enumerate((("silence", floors), ("ceiling", ceilings)), start=1):
        x = {"value": width + place * _SIDE_WIDTH}
        values = [{"row": label, "figure": figure} for label, figure in figures.items()]
        yield {
            "data": {"values": values},
            "mark": {**text, "fontSize": MEAN_SIZE},
            "encoding": {"x": x, "y": y, "text": {"field": "figure"}},
        }
        if has_heads:
            yield {
                "data": {"values": [{"head": head}]},
                "mark": {**text, "fontSize": AXIS_SIZE, "color": MUTED},
                "encoding": {"x": x, "y": {"value": -9}, "text": {"field": "head"}},
            }


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
    for table in (data.table, *(table for _, table in data.others)):
        for row in table.shown:
            if row.kind is RowKind.CATEGORY or row.scale != table.total.scale:
                continue
            means = []
            for column, mean in zip(table.columns, row.cells, strict=True):
                figure = row.absent if mean is None else row.scale.format_short(mean.value)
                ends = row.scale.format_bounds(mean, digits=0)
                means.append(f"{column.label} {figure}{f' ({ends})' if ends else ''}")
            parts.append(f"{format_slug(row.name)}: {', '.join(means)}")
    return f"{clean_text(data.title)}\n{clean_text('. '.join(parts))}"


def describe_cell(
    label: str, row: Row, place: int, data: HeatmapData, table: RowTable | None = None
) -> str:
    """A cell in words."""
    column = (table or data.table).columns[place].label
    where, mean = f"{label}, {column}", row.cells[place]
    if mean is None:
        return f"{where}: {_EARLY if row.count_eligible(place) == 0 else row.absent}"
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


_CONFIG: Final[View] = {
    "font": FONT,
    "view": {"stroke": None},
    "concat": {"spacing": 12},
    "title": {
        "anchor": "start",
        "frame": "bounds",
        "offset": 16,
        "color": INK,
        "fontSize": TITLE_SIZE,
        "subtitleColor": MUTED,
        "subtitleFontSize": LABEL_SIZE,
        "subtitlePadding": 8,
        "subtitleLineHeight": 19,
    },
    "axis": {
        "domain": False,
        "ticks": False,
        "grid": False,
        "labelColor": INK,
        "labelFontSize": LABEL_SIZE,
        "labelPadding": 12,
        "labelLimit": 0,
        "titleColor": MUTED,
        "titleFontSize": AXIS_SIZE,
        "titleFontWeight": "normal",
    },
    "axisX": {
        "labelAngle": 0,
        "labelFontSize": AXIS_SIZE,
        "labelPadding": 8,
        "labelOverlap": "greedy",
    },
    "legend": {
        "orient": "bottom",
        "offset": 14,
        "labelColor": INK,
        "labelFontSize": 10.5,
        "labelLimit": 0,
        "titleColor": INK,
        "titleFontSize": AXIS_SIZE,
        "titleFontWeight": "normal",
        "titleLimit": 0,
        "gradientLength": 196,
        "gradientThickness": 14,
        "symbolSize": 150,
        "symbolOpacity": 1,
        "symbolStrokeWidth": 1.2,
        "rowPadding": 5,
        "layout": {"bottom": {"anchor": "start", "direction": "horizontal", "margin": 40}},
    },
}
