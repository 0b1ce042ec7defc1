"""Grids of coloured cells as Vega-Lite views: what heatmaps and the matrix overview are made of.

Vega-Lite places everything: cells are marks on band scales, names are axes, colours have legends.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.heatmap.colours import (
    DASH,
    INK,
    MUTED,
    NO_DATA_FILL,
    NOT_YET,
    NOT_YET_BORDER,
    SMALL_HEIGHT,
    ColourScale,
    choose_ink,
    colour_rate,
    colour_score,
)
from recall_bench.reporting.pictures import FONT, VEGA_LITE_SCHEMA, estimate_width

View = dict[str, object]
Channels = Mapping[str, object]

MEAN_SIZE, DETAIL_SIZE = 12.5, 9.5
TITLE_SIZE, LABEL_SIZE, AXIS_SIZE, NOTICE_SIZE = 21.0, 13.0, 11.5, 14.0
NARROWEST_TEXT: Final = 25.0
"""Cells narrower than this hold no text."""

SIDE_WIDTH: Final = 58.0
"""The width of a column beside the cells."""

_STOPS = 24
"""Colours between which a scale is drawn in straight lines."""
_TEXT_MARGIN = 6.0
_NOTICE_HEIGHT, _NOTICE_LINE = 28.0, 18.0
_BOX = "M-1.1,-0.8H1.1V0.8H-1.1Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class GridStyle:
    """The size of all cells of a picture."""

    cell: float
    row: float
    detail_lines: int
    """Lines below each mean; 0 where cells hold no text at all."""

    @property
    def gap(self) -> float:
        """The space between two cells."""
        return 2.0 if self.detail_lines else min(1.0, self.cell / 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """One cell, with what is written into it."""

    row: str
    column: str
    value: float | None
    """None where nothing was measured."""
    fill: str | None
    """The colour of the value, which decides between dark and light text."""
    mean: str = ""
    details: Sequence[str] = ()
    is_small: bool = False
    """Whether it is over so few questions that its interval is in doubt."""
    is_early: bool = False
    """Whether there is no question yet, where nothing was measured."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideColumn:
    """Figures without a colour, to the right of the cells."""

    head: str
    """Stands above the figures; empty where a view above has it."""
    figures: Mapping[str, str]
    """By row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LegendKey:
    """One line of the legend: a small cell and what it means."""

    label: str
    fill: str = "#ffffff"
    stroke: str = "#ffffff"
    shape: str = _BOX


@dataclass(frozen=True, slots=True, kw_only=True)
class ColourLegend:
    """The colours of a scale, with the values that are named below them."""

    title: str
    scale: Channels
    ticks: Sequence[float]


def build_score_scale(
    scale: ColourScale = ColourScale.STANDARD, *, best: float = FULL_MARKS
) -> Channels:
    """The colours of means from 0 to the best."""
    shares = [stop / _STOPS for stop in range(_STOPS + 1)]
    return {
        "domain": [best * share for share in shares],
        "range": [colour_score(share, 1, scale) for share in shares],
    }


def build_rate_scale(scale: ColourScale = ColourScale.STANDARD, *, best: float = 100.0) -> Channels:
    """The colours of rates from 0 to the best: small ones are told apart better."""
    shares = [(stop / _STOPS) ** 2 for stop in range(_STOPS + 1)]
    return {
        "type": "sqrt",
        "domain": [best * share for share in shares],
        "range": [colour_rate(share, scale) for share in shares],
    }


def is_fitting(texts: Iterable[str], cell: float) -> bool:
    """Whether all these details fit into cells of this width."""
    return all(estimate_width(text, DETAIL_SIZE) <= cell - _TEXT_MARGIN for text in texts)


def select_labels(labels: Sequence[str], cell: float) -> list[str]:
    """The axis labels that have room, evenly spaced, the last among them."""
    widest = max((estimate_width(label, AXIS_SIZE) for label in labels), default=0.0)
    every = max(1, ceil((widest + 10) / cell))
    return list(labels)[::-1][::every][::-1]


def build_grid(
    cells: Iterable[GridCell],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    style: GridStyle,
    scale: Channels,
    x_axis: Channels | None = None,
    y_axis: Channels | None = None,
    side: Sequence[SideColumn] = (),
) -> View:
    """One view: a coloured cell with its text for each row and column, and columns beside them."""
    across, down = style.gap / style.cell, style.gap / style.row
    x = _build_band("column", columns, across)
    y = _build_band("row", rows, down)
    return {
        "data": {"values": [_encode_cell(cell) for cell in cells]},
        "width": {"step": style.cell},
        "height": {"step": style.row},
        "encoding": {"x": {**x, "axis": x_axis}, "y": {**y, "axis": y_axis}},
        "layer": [
            *_draw_gaps(style),
            *_draw_values(style, scale),
            *_draw_text(style, x, y),
            *_draw_side(side, len(columns) * style.cell, y),
        ],
    }


def build_notice(lines: Sequence[str], colour: str, width: float) -> View:
    """A bar with a warning in it."""
    text = {
        "type": "text",
        "text": list(lines),
        "align": "left",
        "baseline": "middle",
        "fontSize": NOTICE_SIZE,
        "fontWeight": "bold",
        "lineHeight": _NOTICE_LINE,
        "color": choose_ink(colour),
        "aria": False,
    }
    return {
        "data": {"values": [{}]},
        "width": width,
        "height": _NOTICE_HEIGHT + _NOTICE_LINE * (len(lines) - 1),
        "layer": [
            {"mark": {"type": "rect", "cornerRadius": 4, "color": colour, "aria": False}},
            {
                "mark": text,
                "encoding": {"x": {"value": 12}, "y": {"value": _NOTICE_HEIGHT / 2}},
            },
        ],
    }


def build_legend(colours: Sequence[ColourLegend], keys: Sequence[LegendKey]) -> View:
    """The legends of a picture, as a view without marks."""
    unseen = {"type": "point", "opacity": 0, "aria": False}
    layers: list[View] = [
        {
            "mark": unseen,
            "encoding": {
                "fill": {
                    "field": "unseen",
                    "type": "quantitative",
                    "scale": each.scale,
                    "legend": {"title": each.title, "values": list(each.ticks)},
                }
            },
        }
        for each in colours
    ]
    ranges = {
        "fill": [key.fill for key in keys],
        "stroke": [key.stroke for key in keys],
        "shape": [key.shape for key in keys],
    }
    if keys:
        labels = [key.label for key in keys]
        channels = {
            channel: {
                "field": "key",
                "type": "nominal",
                "scale": {"domain": labels, "range": values},
                "legend": {"title": None, "columns": 1, "labelFontSize": AXIS_SIZE},
            }
            for channel, values in ranges.items()
        }
        layers.append({"mark": unseen, "encoding": channels})
    return {
        "data": {"values": [{}]},
        "width": 1,
        "height": 1,
        "layer": layers,
        "resolve": {"scale": dict.fromkeys(ranges, "independent")},
    }


def make_small_key(label: str, fill: str, *, has_text: bool) -> LegendKey:
    """The key of cells over few questions: without a corner, or of half the height."""
    cut = "M-1.1,-0.8H0.3L1.1,0V0.8H-1.1Z"
    half = "M-1.1,-0.4H1.1V0.4H-1.1Z"
    return LegendKey(label=label, fill=fill, stroke=fill, shape=cut if has_text else half)


EMPTY_KEY: Final = LegendKey(
    label="not measured",
    fill=NO_DATA_FILL,
    stroke=NO_DATA_FILL,
    # The dash is a hole: it runs round the other way.
    shape=f"{_BOX}M-0.5,-0.16V0.16H0.5V-0.16Z",
)
EARLY_KEY: Final = LegendKey(label="no question eligible yet", fill=NOT_YET, stroke=NOT_YET_BORDER)


def build_picture(
    title: Sequence[str], subtitle: Sequence[str], description: str, views: Sequence[View]
) -> View:
    """The whole chart, its views below each other."""
    channels = ("x", "y", "fill", "stroke", "shape")
    return {
        "$schema": VEGA_LITE_SCHEMA,
        "description": description,
        "background": "#ffffff",
        "padding": 28,
        "title": {"text": list(title), "subtitle": list(subtitle)},
        "config": _CONFIG,
        "vconcat": list(views),
        "spacing": 12,
        "resolve": {"scale": dict.fromkeys(channels, "independent")},
    }


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


def _build_band(field: str, names: Sequence[str], padding: float) -> View:
    scale = {"domain": list(names), "paddingInner": padding, "paddingOuter": padding / 2}
    return {"field": field, "type": "nominal", "scale": scale}


def _encode_cell(cell: GridCell) -> View:
    found: View = {"row": cell.row, "column": cell.column, "description": cell.description}
    if cell.value is None or cell.fill is None:
        return {**found, "state": "early" if cell.is_early else "empty"}
    return {
        **found,
        "value": cell.value,
        "ink": choose_ink(cell.fill),
        "mean": cell.mean,
        "details": list(cell.details),
        "is_small": cell.is_small,
    }


_DESCRIBED: Final[Channels] = {"description": {"field": "description", "type": "nominal"}}
_MEASURED = "isValid(datum.value)"


def _draw_gaps(style: GridStyle) -> list[View]:
    """Cells that were not measured: grey with a dash, or pale where there was no question yet."""
    radius = 2 if style.detail_lines else 0
    early = {"type": "rect", "cornerRadius": radius, "fill": NOT_YET, "stroke": NOT_YET_BORDER}
    early["strokeWidth"] = 1 if style.detail_lines else 0
    # Grey alone looks like a score to some eyes.
    dash = {"type": "tick", "orient": "horizontal", "thickness": 1.6, "color": DASH, "aria": False}
    dash["size"] = min(10.0, style.cell / 2)
    empty = {"type": "rect", "cornerRadius": radius, "fill": NO_DATA_FILL}
    return [
        _draw("datum.state === 'early'", early, _DESCRIBED),
        _draw("datum.state === 'empty'", empty, _DESCRIBED),
        _draw("datum.state === 'empty'", dash, {}),
    ]


def _draw_values(style: GridStyle, scale: Channels) -> list[View]:
    fill = {"field": "value", "type": "quantitative", "scale": scale, "legend": None}
    channels = {"fill": fill, **_DESCRIBED}
    if style.detail_lines:
        return [_draw(_MEASURED, {"type": "rect", "cornerRadius": 2}, channels)]
    slim = {"type": "rect", "height": {"band": SMALL_HEIGHT}}
    return [
        _draw(f"{_MEASURED} && !datum.is_small", {"type": "rect"}, channels),
        _draw(f"{_MEASURED} && datum.is_small", slim, channels),
    ]


def _draw_text(style: GridStyle, x: View, y: View) -> list[View]:
    """The mean, what stands below it, and a corner where there are few questions."""
    if not style.detail_lines:
        return []
    top = -6.0 * style.detail_lines
    colour = {"color": {"field": "ink", "type": "nominal", "scale": None}}
    text = {"type": "text", "baseline": "middle", "aria": False}
    mean = {**text, "fontSize": MEAN_SIZE, "fontWeight": "bold", "dy": top}
    details = {**text, "fontSize": DETAIL_SIZE, "lineHeight": 11.5, "dy": top + 14}
    corner = {
        "type": "point",
        "shape": "M-2,0L0,0L0,2Z",
        "size": max(4.5, min(8.0, style.cell / 8)) ** 2,
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


def _draw_side(side: Sequence[SideColumn], width: float, y: View) -> list[View]:
    """Columns of figures at the right, each below its head."""
    text = {"type": "text", "align": "right", "baseline": "middle", "aria": False, "color": INK}
    layers: list[View] = []
    for place, column in enumerate(side, start=1):
        x = {"value": width + place * SIDE_WIDTH}
        values = [{"row": row, "figure": figure} for row, figure in column.figures.items()]
        layers.append(
            {
                "data": {"values": values},
                "mark": {**text, "fontSize": MEAN_SIZE},
                "encoding": {"x": x, "y": y, "text": {"field": "figure"}},
            }
        )
        if column.head:
            layers.append(
                {
                    "data": {"values": [{"head": column.head}]},
                    "mark": {**text, "fontSize": AXIS_SIZE, "color": MUTED},
                    "encoding": {"x": x, "y": {"value": -9}, "text": {"field": "head"}},
                }
            )
    return layers


def _draw(test: str, mark: Channels, channels: Channels) -> View:
    return {"transform": [{"filter": test}], "mark": mark, "encoding": channels}
