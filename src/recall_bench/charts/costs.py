"""What a run took as memory grew: one panel for each measure that is known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from recall_bench.analysis.costs.views import CostPoint, RunCosts
from recall_bench.analysis.costs.words import CostUnit, choose_unit, format_amount, price_usage
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.curves import (
    MANY_CHECKPOINTS,
    CurveRow,
    join_lines,
    list_isolates,
    split_at_gaps,
)
from recall_bench.charts.plane import (
    NUMBER_FORMAT,
    ChartLayer,
    ChartPanel,
    ChartPlane,
    build_chart_spec,
    build_grid,
    build_quantity_axis,
    list_decades,
    list_ticks,
)
from recall_bench.core.ranges import FULL
from recall_bench.core.usage import Usage

_PANEL_COLUMNS = 3
_PANEL_WIDTH, _PANEL_HEIGHT = 208.0, 118.0

LOG_RATIO = 1000.0
"""With the largest so many times the smallest, the small ones lie on the axis: the scale is log."""


_PointReader = Callable[[CostPoint], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PanelMeasure:
    name: str
    unit: CostUnit
    of: _PointReader


def _read_ingest(kind: Callable[[Usage], float | None]) -> _PointReader:
    return lambda point: None if point.ingest_usage is None else kind(point.ingest_usage)


def _read_query(kind: Callable[[Usage], float | None]) -> _PointReader:
    return lambda point: None if point.query_usage is None else kind(point.query_usage)


_PANEL_MEASURES = (
    _PanelMeasure(name="Feeding, a day", unit="s", of=lambda point: point.ingest_s_a_day),
    _PanelMeasure(name="Query, median", unit="s", of=lambda point: point.query_p50_s),
    _PanelMeasure(name="Query, 95th percentile", unit="s", of=lambda point: point.query_p95_s),
    _PanelMeasure(
        name="Passages, an answer", unit="tokens", of=lambda point: point.delivered_tokens
    ),
    _PanelMeasure(name="Index", unit="bytes", of=lambda point: point.index_bytes),
    _PanelMeasure(
        name="Models fed, in", unit="tokens", of=_read_ingest(lambda each: each.input_tokens)
    ),
    _PanelMeasure(
        name="Models fed, out", unit="tokens", of=_read_ingest(lambda each: each.output_tokens)
    ),
    _PanelMeasure(name="Models fed, price", unit="$", of=_read_ingest(price_usage)),
    _PanelMeasure(
        name="Models asked, in", unit="tokens", of=_read_query(lambda each: each.input_tokens)
    ),
    _PanelMeasure(
        name="Models asked, out", unit="tokens", of=_read_query(lambda each: each.output_tokens)
    ),
    _PanelMeasure(name="Models asked, price", unit="$", of=_read_query(price_usage)),
)

_MODEL_MEASURES = tuple(each.name for each in _PANEL_MEASURES if each.name.startswith("Models"))

_Series = tuple[_PanelMeasure, list[float | None]]


def plot_costs(costs: RunCosts) -> Chart | None:
    """Small views, each with an axis of its own; None where nobody says what anything took."""
    points = [each for each in costs.points if each.days < FULL]
    series = [(each, [each.of(point) for point in points]) for each in _PANEL_MEASURES]
    known = [each for each in series if any(value is not None for value in each[1])]
    drawn = [each for each in known if any(each[1])]
    if not drawn:
        return None
    title = "What it takes over corpus size"
    notes = [
        (
            "At each checkpoint, all personas together. Each panel has its own axis; a line breaks "
            "where nobody says."
        ),
        _list_measures("Not known", [each for each in series if each not in known]),
        _list_measures("Nothing spent", [each for each in known if each not in drawn]),
    ]
    return Chart(
        name="costs-over-size",
        section="costs",
        title=title,
        summary=_summarise_costs(points, drawn),
        spec=build_chart_spec(
            title, notes, build_grid(_build_panels(points, drawn), _PANEL_COLUMNS, gap=44)
        ),
        columns=("checkpoint", "days", *(f"{each.name} ({each.unit})" for each, _ in known)),
        rows=tuple(
            (words.trim_name(point.checkpoint), point.days, *(values[n] for _, values in known))
            for n, point in enumerate(points)
        ),
    )


def _list_measures(what: str, series: Sequence[_Series]) -> str:
    names = [measure.name for measure, _ in series]
    if set(_MODEL_MEASURES) <= set(names):
        names = [*(name for name in names if name not in _MODEL_MEASURES), "models"]
    return f"{what}: {'; '.join(names).lower()}." if names else ""


def is_log(values: Sequence[float]) -> bool:
    """Whether only a logarithmic scale shows all of them."""
    return min(values) > 0 and max(values) / min(values) >= LOG_RATIO


def _build_panels(points: Sequence[CostPoint], drawn: Sequence[_Series]) -> list[ChartPanel]:
    last = max(point.days for point in points)
    panels = []
    for number, (measure, values) in enumerate(drawn):
        is_low = number + _PANEL_COLUMNS >= len(drawn)
        days = build_quantity_axis(
            "Days of history" if is_low else None,
            0,
            last,
            ticks=3,
            has_grid=False,
            is_bare=not is_low,
        )
        panels.append(_build_panel(measure, list(zip(points, values, strict=True)), days))
    return panels


def _build_panel(
    measure: _PanelMeasure,
    pairs: Sequence[tuple[CostPoint, float | None]],
    days: Mapping[str, object],
) -> ChartPanel:
    found = [value for _, value in pairs if value is not None]
    shown, factor = choose_unit(measure.unit, max(found))
    low, high = min(found) / factor, max(found) / factor
    logarithmic = is_log(found)
    ticks = list_decades(low, high) if logarithmic else list_ticks(high, 3)
    plane = ChartPlane(
        days,
        build_quantity_axis(
            None, ticks[0], ticks[-1], ticks=ticks, form=NUMBER_FORMAT, is_log=logarithmic
        ),
    )
    rows = [
        {
            "x": point.days,
            "y": None if value is None else value / factor,
            "checkpoint": words.trim_name(point.checkpoint),
            "cost": "" if value is None else format_amount(value, measure.unit),
        }
        for point, value in pairs
    ]
    title = f"{measure.name} ({shown}{', log scale' if logarithmic else ''})"
    return ChartPanel(
        title=title, layers=_draw_cost_curve(plane, rows), width=_PANEL_WIDTH, height=_PANEL_HEIGHT
    )


def _draw_cost_curve(plane: ChartPlane, rows: Sequence[CurveRow]) -> list[ChartLayer]:
    parts = split_at_gaps(rows, lambda row: row["y"] is not None)
    dots = [row for part in parts for row in part]
    detail = {"field": "stretch", "type": "nominal"}
    seen = dots if len(dots) <= MANY_CHECKPOINTS else list_isolates(parts)
    unseen = {"size": 40, "opacity": 0}
    tells = ("checkpoint", "cost")
    return [
        *plane.draw_marks("line", "score-line", join_lines(parts), detail=detail),
        *plane.draw_marks("point", "score-point", seen, mark={"size": 26}),
        *plane.draw_marks("point", "score-point", dots, tells=tells, mark=unseen),
    ]


def _summarise_costs(points: Sequence[CostPoint], drawn: Sequence[_Series]) -> str:
    said = []
    for measure, values in drawn:
        found = [
            (point, value) for point, value in zip(points, values, strict=True) if value is not None
        ]
        (first, least), (last, most) = found[0], found[-1]
        said.append(
            f"{measure.name.lower()} {format_amount(least, measure.unit)} at {first.days:,} days and "
            f"{format_amount(most, measure.unit)} at {last.days:,}"
        )
    return "What it takes: " + "; ".join(said) + "."
