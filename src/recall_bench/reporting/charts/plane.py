"""One picture of a report, before it has colours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal

from recall_bench.reporting.charts.chart_text import wrap_notes
from recall_bench.reporting.charts.theme import LABEL_SIZE
from recall_bench.reporting.pictures import VEGA_LITE_SCHEMA, estimate_width


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A Vega-Lite chart, with its figures as words and as a table.

    The specification names no colour and no font: those come from `config_of`. Its `width` is
    `"container"` where it has one view; charts of several panels have panels of fixed widths, and
    are scaled as a whole. Its `title` repeats the title, with the notes of the chart below it.
    """

    name: str
    """The stem of its file: kebab-case, and no other chart of a report has it."""
    section: str
    """`categories`, `hallucination`, `degradation`, `attribution` or `costs`."""
    title: str
    summary: str
    """The text alternative: what it says, in a sentence or two with figures."""
    spec: dict[str, object]
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    """The same figures as a table; None where nothing was measured."""


ChartLayer = dict[str, object]
MarkValues = Sequence[Mapping[str, object]]

_TOLERANCE = 1 - 1e-9
"""Less than a rounding apart is equal."""

PERCENT_FORMAT, NUMBER_FORMAT = ".1~%", ",.6~r"
"""Formats that show a tick as it is. One without its digits gets those of ticks we did not ask for,
and rounds: a label would stand where its value is not."""


def build_quantity_axis(
    title: str | None,
    least: float,
    most: float,
    *,
    form: str | None = None,
    ticks: int | Sequence[float] = 5,
    has_grid: bool = True,
    is_log: bool = False,
    is_bare: bool = False,
) -> dict[str, object]:
    """An axis over numbers, from the least to the most; a bare one has a grid and no labels."""
    axis: dict[str, object] = {"title": title, "grid": has_grid}
    axis |= {"tickCount": ticks} if isinstance(ticks, int) else {"values": list(ticks)}
    if form is not None:
        axis["format"] = form
    if is_bare:
        # Unseen labels take the room that seen ones do, so that panels line up.
        axis |= {"labelOpacity": 0, "title": None}
    scale: dict[str, object] = {"domain": [least, most], "nice": False}
    scale |= {"type": "log"} if is_log else {"zero": False}
    return {"type": "quantitative", "scale": scale, "axis": axis}


def list_ticks(most: float, steps: int) -> list[float]:
    """Round numbers from 0 in about so many steps, the last no less than the most."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / steps
    size = 10.0 ** floor(log10(rough))
    step = next(size * each for each in (1, 2, 2.5, 5, 10) if size * each >= rough * _TOLERANCE)
    return [round(step * n, 12) for n in range(ceil(most / step * _TOLERANCE) + 1)]


def list_decades(least: float, most: float) -> list[float]:
    """The powers of ten from below the least to above the most."""
    return [10.0**n for n in range(floor(log10(least)), ceil(log10(most) * _TOLERANCE) + 1)]


def build_name_axis(
    order: Sequence[str], *, title: str | None = None, is_bare: bool = False
) -> dict[str, object]:
    """An axis over names, in this order."""
    axis: dict[str, object] = {"title": title, "grid": False, "labelAngle": 0}
    if is_bare:
        axis |= {"labels": False}
    return {"type": "nominal", "sort": None, "scale": {"domain": list(order)}, "axis": axis}


@dataclass(frozen=True, slots=True)
class ChartPlane:
    """Two axes that all marks of a view share."""

    x: Mapping[str, object]
    y: Mapping[str, object]

    def draw_marks(
        self,
        kind: str,
        style: str,
        values: MarkValues,
        *,
        tells: Sequence[str] = (),
        mark: Mapping[str, object] | None = None,
        **channels: object,
    ) -> list[ChartLayer]:
        """One layer, or none where there is nothing to draw.

        Values are placed by `x` and `y`, and `x2` and `y2` where the first of them has one. `tells`
        are the fields a tooltip names, each under its own name.
        """
        if not values:
            return []
        encoding: dict[str, object] = {
            axis: {**place, "field": axis}
            for axis, place in (("x", self.x), ("y", self.y))
            if axis in values[0]
        }
        encoding |= {end: {"field": end} for end in ("x2", "y2") if end in values[0]}
        if tells:
            encoding["tooltip"] = [{"field": field, "type": "nominal"} for field in tells]
        return [
            {
                "data": {"values": list(values)},
                "mark": {"type": kind, "style": style, **(mark or {})},
                "encoding": encoding | channels,
            }
        ]

    def draw_text(
        self, style: str, values: MarkValues, *, align: str = "left", dx: float = 0, dy: float = 0
    ) -> list[ChartLayer]:
        """Words at points, each value with its `text`."""
        mark = {"align": align, "dx": dx, "dy": dy}
        text = {"field": "text", "type": "nominal"}
        return self.draw_marks("text", style, values, mark=mark, text=text)


def build_chart_spec(
    title: str, notes: Sequence[str], body: Mapping[str, object]
) -> dict[str, object]:
    """A finished chart: its heading, what explains it, and its views."""
    return {
        "$schema": VEGA_LITE_SCHEMA,
        "title": {"text": wrap_notes(title, width=560.0), "subtitle": wrap_notes(*notes)},
        **body,
    }


def build_view(layers: Sequence[ChartLayer], height: float) -> dict[str, object]:
    """One view as wide as there is room."""
    return {"width": "container", "height": height, "layer": list(layers)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPanel:
    """One of several small views."""

    title: str
    note: str = ""
    layers: Sequence[ChartLayer]
    width: float
    height: float

    def build_view(self) -> dict[str, object]:
        """The view, its title in small type."""
        title: dict[str, object] = {
            "text": self.title,
            "style": "panel-title",
            "fontSize": 12,
            "offset": 6,
            "frame": "group",
        }
        if self.note:
            title |= {"subtitle": self.note, "subtitleFontSize": 11, "subtitlePadding": 2}
        return {
            "title": title,
            "width": self.width,
            "height": self.height,
            "layer": list(self.layers),
        }


def build_grid(panels: Sequence[ChartPanel], columns: int, *, gap: float = 18) -> dict[str, object]:
    """Small views in rows; those of one column lie below one another."""
    return {
        "concat": [panel.build_view() for panel in panels],
        "columns": columns,
        "align": "all",
        "bounds": "flush",
        "spacing": {"row": 66 if any(panel.note for panel in panels) else 52, "column": gap},
    }


_LABEL_OFFSET, _POINT_RADIUS = 9.0, 6.0
_HALF_LINE = 8.0
"""Half the height of a line of words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSpot:
    """A point, in points of the drawing from its top left corner, and what to write beside it."""

    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPlace:
    """Where the words go, seen from their point."""

    align: Literal["left", "right"]
    dx: float
    dy: float


LabelBox = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def arrange_labels(
    spots: Sequence[LabelSpot], *, width: float, avoiding: Sequence[LabelBox] = ()
) -> tuple[LabelPlace, ...]:
    """A place for the words of each spot, the first where they touch nothing.

    Where all are taken it is the first within the width.
    """
    taken = [
        (s.x - _POINT_RADIUS, s.y - _POINT_RADIUS, s.x + _POINT_RADIUS, s.y + _POINT_RADIUS)
        for s in spots
    ]
    taken += avoiding
    found = []
    for spot in spots:
        within = [
            (place, box)
            for place, box in _list_places(spot)
            if box[0] >= -_LABEL_OFFSET and box[2] <= width + _LABEL_OFFSET
        ]
        choices = within or list(_list_places(spot))
        free = [each for each in choices if not any(_is_touching(each[1], box) for box in taken)]
        place, box = (free or choices)[0]
        taken.append(box)
        found.append(place)
    return tuple(found)


def _list_places(spot: LabelSpot) -> Iterator[tuple[LabelPlace, LabelBox]]:
    room = estimate_width(spot.text, LABEL_SIZE)
    for dy in (-10.0, 12.0, -24.0, 26.0, -38.0, 40.0):
        middle = spot.y + dy
        yield (
            LabelPlace(align="left", dx=_LABEL_OFFSET, dy=dy),
            (
                spot.x + _LABEL_OFFSET,
                middle - _HALF_LINE,
                spot.x + _LABEL_OFFSET + room,
                middle + _HALF_LINE,
            ),
        )
        yield (
            LabelPlace(align="right", dx=-_LABEL_OFFSET, dy=dy),
            (
                spot.x - _LABEL_OFFSET - room,
                middle - _HALF_LINE,
                spot.x - _LABEL_OFFSET,
                middle + _HALF_LINE,
            ),
        )


def _is_touching(one: LabelBox, other: LabelBox) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
