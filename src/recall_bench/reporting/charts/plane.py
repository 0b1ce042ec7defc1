"""The parts of a chart as Vega-Lite layers: axes, marks, panels and placed labels."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal

from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.scale import HasInterval
from recall_bench.reporting.charts.chart_text import trim_name, wrap_notes
from recall_bench.reporting.charts.theme import LABEL_SIZE
from recall_bench.reporting.pictures import VEGA_LITE_SCHEMA, estimate_width


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A Vega-Lite chart, with its figures as words and as a table.

    It names no colours and fonts: those come from `build_config`.
    """

    name: str
    """The stem of its file: unique in a report, in kebab-case."""
    section: str
    """The section of the report that shows it."""
    title: str
    summary: str
    """The text alternative: what it says, in a sentence or two with figures."""
    notes: tuple[str, ...]
    """What to know of it; empty ones do not count."""
    body: dict[str, object]
    """Its views, without a title. The `width` is `"container"` for one view; several panels have
    fixed widths and are scaled together."""
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    """The same figures as a table; None where nothing was measured."""

    @property
    def is_grid(self) -> bool:
        """Whether it has several panels, which need the whole width."""
        return "concat" in self.body

    @property
    def spec(self) -> dict[str, object]:
        """The whole chart with title and notes."""
        title = {"text": wrap_notes(self.title, width=560.0), "subtitle": wrap_notes(*self.notes)}
        return {"$schema": VEGA_LITE_SCHEMA, "title": title, **self.body}


ChartLayer = dict[str, object]
MarkValues = Sequence[Mapping[str, object]]

_TOLERANCE = 1 - 1e-9
"""Equal up to rounding."""

PERCENT_FORMAT, NUMBER_FORMAT = ".1~%", ",.6~r"
"""Formats that do not round: without digits, Vega takes those of its own ticks, and a label would
not be at its value."""


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
    """A quantitative axis; a bare one has a grid and no labels."""
    axis: dict[str, object] = {"title": title, "grid": has_grid}
    axis |= {"tickCount": ticks} if isinstance(ticks, int) else {"values": list(ticks)}
    if form is not None:
        axis["format"] = form
    if is_bare:
        # Invisible labels take room, so that panels are aligned.
        axis |= {"labelOpacity": 0, "title": None}
    scale: dict[str, object] = {"domain": [least, most], "nice": False}
    scale |= {"type": "log"} if is_log else {"zero": False}
    return {"type": "quantitative", "scale": scale, "axis": axis}


def list_ticks(most: float, steps: int) -> list[float]:
    """Round numbers from 0 to at least `most`, in about `steps` steps."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / steps
    size = 10.0 ** floor(log10(rough))
    step = next(
        size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * _TOLERANCE
    )
    return [round(step * n, 12) for n in range(ceil(most / step * _TOLERANCE) + 1)]


def list_decades(least: float, most: float) -> list[float]:
    """The powers of ten from below the least to above the most."""
    return [10.0**n for n in range(floor(log10(least)), ceil(log10(most) * _TOLERANCE) + 1)]


def build_name_axis(order: Sequence[str], *, title: str | None = None) -> dict[str, object]:
    """A nominal axis in this order."""
    axis = {"title": title, "grid": False, "labelAngle": 0}
    return {"type": "nominal", "sort": None, "scale": {"domain": list(order)}, "axis": axis}


def place_value(value: float | None, found: HasInterval | None) -> dict[str, object]:
    """A value and both ends of its interval, as far as there are any."""
    low, high = (None, None) if found is None else (found.low, found.high)
    return {"y": value, "low": low, "high": high}


def span_interval(row: Mapping[str, object]) -> dict[str, object]:
    """The row as a mark from `low` to `high`."""
    return {**row, "y": row["low"], "y2": row["high"]}


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

        Values are placed by `x` and `y`, and by `x2` and `y2` if the first has them. `tells` are
        the fields of the tooltip.
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
        """Texts at points; each value has its `text`."""
        mark = {"align": align, "dx": dx, "dy": dy}
        text = {"field": "text", "type": "nominal"}
        return self.draw_marks("text", style, values, mark=mark, text=text)

    def draw_intervals(self, style: str, rows: MarkValues) -> list[ChartLayer]:
        """A line from `low` to `high` for each row that has an interval."""
        spans = [span_interval(row) for row in rows if row["low"] is not None]
        return self.draw_marks("rule", style, spans)


def build_view(layers: Sequence[ChartLayer], height: float) -> dict[str, object]:
    """One view that fills its container."""
    return {"width": "container", "height": height, "layer": list(layers)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPanel:
    """One of several small views."""

    title: str
    note: str = ""
    layers: Sequence[ChartLayer]
    width: float
    height: float


def build_grid(panels: Sequence[ChartPanel], columns: int, *, gap: float = 18) -> dict[str, object]:
    """Small views in rows and aligned columns, each with its title in small type."""
    views = []
    for panel in panels:
        title: dict[str, object] = {"text": panel.title, "style": "panel-title", "fontSize": 12}
        title |= {"offset": 6, "frame": "group"}
        if panel.note:
            title |= {"subtitle": panel.note, "subtitleFontSize": 11, "subtitlePadding": 2}
        size = {"width": panel.width, "height": panel.height}
        views.append({"title": title, **size, "layer": list(panel.layers)})
    return {
        "concat": views,
        "columns": columns,
        "align": "all",
        "bounds": "flush",
        "spacing": {"row": 66 if any(panel.note for panel in panels) else 52, "column": gap},
    }


MANY_CHECKPOINTS = 40
"""With more checkpoints than this, a line has no dots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveStep:
    """One checkpoint of a curve."""

    checkpoint: str
    days: float
    mean: Estimate | None


def draw_curve(
    plane: ChartPlane, steps: Iterable[CurveStep], role: str, tell: Callable[[Estimate | None], str]
) -> list[ChartLayer]:
    """Means over corpus size as a line with a band; `tell` formats a mean."""
    rows = [
        {
            "x": step.days,
            **place_value(None if step.mean is None else step.mean.value, step.mean),
            "checkpoint": trim_name(step.checkpoint),
            "days": f"{step.days:,.0f}",
            "mean": tell(step.mean),
            "trials": 0 if step.mean is None else step.mean.trials,
        }
        for step in sorted(steps, key=lambda step: step.days)
    ]
    return draw_rows(plane, rows, role, tells=("checkpoint", "days", "mean", "trials"))


def draw_rows(
    plane: ChartPlane, rows: MarkValues, role: str, tells: Sequence[str]
) -> list[ChartLayer]:
    """A line with a band, broken wherever nothing was measured."""
    bands, stretches = _split_at_gaps(rows, "low"), _split_at_gaps(rows, "y")
    dots = [row for stretch in stretches for row in stretch]
    detail = {"field": "stretch", "type": "nominal"}
    is_crowded = len(dots) > MANY_CHECKPOINTS
    areas = [span_interval(row) for band in bands if len(band) > 1 for row in band]
    lines = [row for stretch in stretches if len(stretch) > 1 for row in stretch]
    isolates = [stretch[0] for stretch in stretches if len(stretch) == 1]
    points = isolates if is_crowded else dots
    # Invisible points for tooltips, where there are no dots.
    unseen = {"size": 40, "opacity": 0}
    return [
        *plane.draw_marks("area", f"{role}-band", areas, detail=detail),
        *plane.draw_intervals(f"{role}-interval", [band[0] for band in bands if len(band) == 1]),
        *plane.draw_marks("line", f"{role}-line", lines, detail=detail),
        *plane.draw_marks("point", f"{role}-point", points, tells=tells, mark={"size": 26}),
        *plane.draw_marks(
            "point", f"{role}-point", dots if is_crowded else [], tells=tells, mark=unseen
        ),
    ]


def _split_at_gaps(rows: MarkValues, field: str) -> list[list[Mapping[str, object]]]:
    """The rows in stretches that have the field, each row with the number of its stretch."""
    stretches: list[list[Mapping[str, object]]] = []
    was_known = False
    for row in rows:
        is_known = row[field] is not None
        if is_known and not was_known:
            stretches.append([])
        if is_known:
            stretches[-1].append({**row, "stretch": len(stretches)})
        was_known = is_known
    return stretches


_LABEL_OFFSET, _POINT_RADIUS = 9.0, 6.0
_HALF_LINE = 8.0
"""Half the height of a line of text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSpot:
    """A point, from the top left corner of the drawing, and its label."""

    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPlace:
    """The place of a label, relative to its point."""

    align: Literal["left", "right"]
    dx: float
    dy: float


LabelBox = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def arrange_labels(
    spots: Sequence[LabelSpot], *, width: float, avoiding: Sequence[LabelBox] = ()
) -> tuple[LabelPlace, ...]:
    """The first free place for each label.

    If none is free, the first within the width.
    """
    taken = [*(bound_point(spot.x, spot.y, _POINT_RADIUS) for spot in spots), *avoiding]
    places = []
    for spot in spots:
        within = [
            (place, box)
            for place, box in _list_places(spot)
            if box[0] >= -_LABEL_OFFSET and box[2] <= width + _LABEL_OFFSET
        ]
        choices = within or list(_list_places(spot))
        free = [
            choice for choice in choices if not any(_is_touching(choice[1], box) for box in taken)
        ]
        place, box = (free or choices)[0]
        taken.append(box)
        places.append(place)
    return tuple(places)


def _list_places(spot: LabelSpot) -> Iterator[tuple[LabelPlace, LabelBox]]:
    room = estimate_width(spot.text, LABEL_SIZE)
    for dy in (-10.0, 12.0, -24.0, 26.0, -38.0, 40.0):
        top, bottom = spot.y + dy - _HALF_LINE, spot.y + dy + _HALF_LINE
        right, left = spot.x + _LABEL_OFFSET, spot.x - _LABEL_OFFSET
        beside = LabelPlace(align="left", dx=_LABEL_OFFSET, dy=dy)
        yield beside, (right, top, right + room, bottom)
        before = LabelPlace(align="right", dx=-_LABEL_OFFSET, dy=dy)
        yield before, (left - room, top, left, bottom)


def bound_point(x: float, y: float, radius: float) -> LabelBox:
    """The box of a point."""
    return x - radius, y - radius, x + radius, y + radius


def _is_touching(one: LabelBox, other: LabelBox) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
