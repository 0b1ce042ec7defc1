"""What a run took as memory grew: one panel for each measure that is known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from recall_bench.analysis.costs.views import CostPoint, Costs
from recall_bench.analysis.costs.words import Unit, figure, price, unit_of
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.curves import MANY, Row, alone, joined, stretches
from recall_bench.charts.plane import (
    NUMBER,
    Layer,
    Panel,
    Plane,
    decades,
    grid,
    quantity,
    ticks_to,
    whole,
)
from recall_bench.core.ranges import FULL
from recall_bench.core.usage import Usage

_COLUMNS = 3
_WIDTH, _HEIGHT = 208.0, 118.0

FAR_APART = 1000.0
"""With the largest so many times the smallest, the small ones lie on the axis: the scale is log."""


_Asked = Callable[[CostPoint], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measure:
    name: str
    unit: Unit
    of: _Asked


def _feeding(kind: Callable[[Usage], float | None]) -> _Asked:
    return lambda point: None if point.ingest_usage is None else kind(point.ingest_usage)


def _answering(kind: Callable[[Usage], float | None]) -> _Asked:
    return lambda point: None if point.query_usage is None else kind(point.query_usage)


_MEASURES = (
    _Measure(name="Feeding, a day", unit="s", of=lambda point: point.ingest_s_a_day),
    _Measure(name="Query, median", unit="s", of=lambda point: point.query_p50_s),
    _Measure(name="Query, 95th percentile", unit="s", of=lambda point: point.query_p95_s),
    _Measure(name="Passages, an answer", unit="tokens", of=lambda point: point.delivered_tokens),
    _Measure(name="Index", unit="bytes", of=lambda point: point.index_bytes),
    _Measure(name="Models fed, in", unit="tokens", of=_feeding(lambda each: each.input_tokens)),
    _Measure(name="Models fed, out", unit="tokens", of=_feeding(lambda each: each.output_tokens)),
    _Measure(name="Models fed, price", unit="$", of=_feeding(price)),
    _Measure(name="Models asked, in", unit="tokens", of=_answering(lambda each: each.input_tokens)),
    _Measure(
        name="Models asked, out", unit="tokens", of=_answering(lambda each: each.output_tokens)
    ),
    _Measure(name="Models asked, price", unit="$", of=_answering(price)),
)

_MODELS = tuple(each.name for each in _MEASURES if each.name.startswith("Models"))

_Series = tuple[_Measure, list[float | None]]


def costs_over_size(costs: Costs) -> Chart | None:
    """Small views, each with an axis of its own; None where nobody says what anything took."""
    points = [each for each in costs.points if each.days < FULL]
    series = [(each, [each.of(point) for point in points]) for each in _MEASURES]
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
        _listed("Not known", [each for each in series if each not in known]),
        _listed("Nothing spent", [each for each in known if each not in drawn]),
    ]
    return Chart(
        name="costs-over-size",
        section="costs",
        title=title,
        summary=_summary(points, drawn),
        spec=whole(title, notes, grid(_panels(points, drawn), _COLUMNS, gap=44)),
        columns=("checkpoint", "days", *(f"{each.name} ({each.unit})" for each, _ in known)),
        rows=tuple(
            (words.named(point.checkpoint), point.days, *(values[n] for _, values in known))
            for n, point in enumerate(points)
        ),
    )


def _listed(what: str, series: Sequence[_Series]) -> str:
    names = [measure.name for measure, _ in series]
    if set(_MODELS) <= set(names):
        names = [*(name for name in names if name not in _MODELS), "models"]
    return f"{what}: {'; '.join(names).lower()}." if names else ""


def is_log(values: Sequence[float]) -> bool:
    """Whether only a logarithmic scale shows all of them."""
    return min(values) > 0 and max(values) / min(values) >= FAR_APART


def _panels(points: Sequence[CostPoint], drawn: Sequence[_Series]) -> list[Panel]:
    last = max(point.days for point in points)
    panels = []
    for number, (measure, values) in enumerate(drawn):
        is_low = number + _COLUMNS >= len(drawn)
        days = quantity(
            "Days of history" if is_low else None,
            0,
            last,
            ticks=3,
            has_grid=False,
            is_bare=not is_low,
        )
        panels.append(_panel(measure, list(zip(points, values, strict=True)), days))
    return panels


def _panel(
    measure: _Measure,
    pairs: Sequence[tuple[CostPoint, float | None]],
    days: Mapping[str, object],
) -> Panel:
    found = [value for _, value in pairs if value is not None]
    shown, factor = unit_of(measure.unit, max(found))
    low, high = min(found) / factor, max(found) / factor
    logarithmic = is_log(found)
    ticks = decades(low, high) if logarithmic else ticks_to(high, 3)
    plane = Plane(
        days, quantity(None, ticks[0], ticks[-1], ticks=ticks, form=NUMBER, is_log=logarithmic)
    )
    rows = [
        {
            "x": point.days,
            "y": None if value is None else value / factor,
            "checkpoint": words.named(point.checkpoint),
            "cost": "" if value is None else figure(value, measure.unit),
        }
        for point, value in pairs
    ]
    title = f"{measure.name} ({shown}{', log scale' if logarithmic else ''})"
    return Panel(title=title, layers=_curve(plane, rows), width=_WIDTH, height=_HEIGHT)


def _curve(plane: Plane, rows: Sequence[Row]) -> list[Layer]:
    parts = stretches(rows, lambda row: row["y"] is not None)
    dots = [row for part in parts for row in part]
    detail = {"field": "stretch", "type": "nominal"}
    seen = dots if len(dots) <= MANY else alone(parts)
    unseen = {"size": 40, "opacity": 0}
    tells = ("checkpoint", "cost")
    return [
        *plane.marks("line", "score-line", joined(parts), detail=detail),
        *plane.marks("point", "score-point", seen, mark={"size": 26}),
        *plane.marks("point", "score-point", dots, tells=tells, mark=unseen),
    ]


def _summary(points: Sequence[CostPoint], drawn: Sequence[_Series]) -> str:
    said = []
    for measure, values in drawn:
        found = [
            (point, value) for point, value in zip(points, values, strict=True) if value is not None
        ]
        (first, least), (last, most) = found[0], found[-1]
        said.append(
            f"{measure.name.lower()} {figure(least, measure.unit)} at {first.days:,} days and "
            f"{figure(most, measure.unit)} at {last.days:,}"
        )
    return "What it takes: " + "; ".join(said) + "."
