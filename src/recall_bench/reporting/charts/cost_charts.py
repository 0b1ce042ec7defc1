"""Costs over corpus size, one panel a measure, and scores against costs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from recall_bench.core.plain_text import join_words
from recall_bench.core.plan import FULL
from recall_bench.core.usage import Usage
from recall_bench.reporting.analyses.costs import (
    MEASURE_UNITS,
    Contender,
    CostMeasure,
    CostPoint,
    CostUnit,
    Pareto,
    RunCosts,
    choose_unit,
    format_amount,
    format_cost,
    price_usage,
)
from recall_bench.reporting.charts import chart_text
from recall_bench.reporting.charts.curves import (
    MANY_CHECKPOINTS,
    CurveRow,
    join_lines,
    list_isolates,
    split_at_gaps,
)
from recall_bench.reporting.charts.plane import (
    NUMBER_FORMAT,
    Chart,
    ChartLayer,
    ChartPanel,
    ChartPlane,
    LabelBox,
    LabelSpot,
    arrange_labels,
    build_grid,
    build_quantity_axis,
    build_view,
    list_decades,
    list_ticks,
    place_value,
)

_PANEL_COLUMNS = 3
_PANEL_WIDTH, _PANEL_HEIGHT = 208.0, 118.0

LOG_RATIO = 1000.0
"""From this ratio of the largest to the smallest value, the scale is logarithmic."""


_PointReader = Callable[[CostPoint], float | None]


@dataclass(frozen=True, slots=True)
class _PanelMeasure:
    name: str
    unit: CostUnit
    of: _PointReader


def _list_model_measures(name: str, stage: str) -> Iterator[_PanelMeasure]:
    """The tokens and the price of models in one stage."""

    def read(kind: Callable[[Usage], float | None]) -> _PointReader:
        def read_point(point: CostPoint) -> float | None:
            usage: Usage | None = getattr(point, stage)
            return None if usage is None else kind(usage)

        return read_point

    yield _PanelMeasure(f"{name}, in", "tokens", read(lambda usage: usage.input_tokens))
    yield _PanelMeasure(f"{name}, out", "tokens", read(lambda usage: usage.output_tokens))
    yield _PanelMeasure(f"{name}, price", "$", read(price_usage))


_PANEL_MEASURES = (
    _PanelMeasure("Feeding, a day", "s", lambda point: point.ingest_s_a_day),
    _PanelMeasure("Query, median", "s", lambda point: point.query_p50_s),
    _PanelMeasure("Query, 95th percentile", "s", lambda point: point.query_p95_s),
    _PanelMeasure("Passages, an answer", "tokens", lambda point: point.delivered_tokens),
    _PanelMeasure("Index", "bytes", lambda point: point.index_bytes),
    *_list_model_measures("Models fed", "ingest_usage"),
    *_list_model_measures("Models asked", "query_usage"),
)

_MODEL_MEASURES = tuple(each.name for each in _PANEL_MEASURES if each.name.startswith("Models"))

_Series = tuple[_PanelMeasure, list[float | None]]


def plot_costs(costs: RunCosts) -> Chart | None:
    """Small views with an axis each; None if no cost is known."""
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
            "where the cost is unknown."
        ),
        _list_measures("Not known", [each for each in series if each not in known]),
        _list_measures("Nothing spent", [each for each in known if each not in drawn]),
    ]
    return Chart(
        name="costs-over-size",
        section="costs",
        title=title,
        summary=_summarise_costs(points, drawn),
        notes=tuple(notes),
        body=build_grid(_build_panels(points, drawn), _PANEL_COLUMNS, gap=44),
        columns=("checkpoint", "days", *(f"{each.name} ({each.unit})" for each, _ in known)),
        rows=tuple(
            (
                chart_text.trim_name(point.checkpoint),
                point.days,
                *(values[n] for _, values in known),
            )
            for n, point in enumerate(points)
        ),
    )


def _list_measures(what: str, series: Sequence[_Series]) -> str:
    names = [measure.name for measure, _ in series]
    if set(_MODEL_MEASURES) <= set(names):
        names = [*(name for name in names if name not in _MODEL_MEASURES), "models"]
    return f"{what}: {'; '.join(names).lower()}." if names else ""


def is_log(values: Sequence[float]) -> bool:
    """Whether only a logarithmic scale shows all values."""
    return min(values) > 0 and max(values) / min(values) >= LOG_RATIO


def _build_panels(points: Sequence[CostPoint], drawn: Sequence[_Series]) -> list[ChartPanel]:
    last = max(point.days for point in points)
    panels = []
    for number, (measure, values) in enumerate(drawn):
        is_low = number + _PANEL_COLUMNS >= len(drawn)
        days = build_quantity_axis(
            "Days of history", 0, last, ticks=3, has_grid=False, is_bare=not is_low
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
            "checkpoint": chart_text.trim_name(point.checkpoint),
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
            f"{measure.name.lower()} {format_amount(least, measure.unit)} at {first.days:,} days "
            f"and {format_amount(most, measure.unit)} at {last.days:,}"
        )
    return "What it takes: " + "; ".join(said) + "."


_PARETO_WIDTH, _PARETO_HEIGHT = 620.0, 320.0
_MEASURE_NAMES = {
    CostMeasure.INGEST: ("feeding time", "Feeding time a day"),
    CostMeasure.QUERY_P50: ("median query time", "Median query time"),
    CostMeasure.QUERY_P95: ("query time at the 95th percentile", "Query time, 95th percentile"),
    CostMeasure.TOKENS: ("tokens an answer", "For one answer"),
    CostMeasure.MONEY: ("money", "For 1,000 answers"),
    CostMeasure.BYTES: ("index size", "Index size"),
}


def plot_pareto(pareto: Pareto) -> Chart | None:
    """One point a run, and the frontier of the runs that none dominates.

    None if no run costs anything.
    """
    pareto = _scale_scores(pareto)
    if not any(each.cost for each in pareto.contenders):
        return None
    spoken, axis = _MEASURE_NAMES[pareto.measure]
    unit = MEASURE_UNITS[pareto.measure]
    title = f"Score against {spoken}"
    level = chart_text.format_level([each.score for each in pareto.contenders])
    notes = [
        (f"Points of 100 with {level} intervals. The line joins the highest scores at each cost.")
    ]
    beaten = [each for each in pareto.contenders if each.dominated_by]
    if beaten:
        notes.append(f"Dominated, in grey: {'; '.join(_describe_loser(each) for each in beaten)}.")
    if doubtful := _list_doubtful(pareto):
        notes.append(f"{_IN_DOUBT}: {'; '.join(doubtful)}.")
    if pareto.unknown:
        unknown = [chart_text.trim_name(name) for name in pareto.unknown]
        notes.append(f"Cost not known: {join_words(unknown, 6)}.")
    return Chart(
        name=f"score-against-{pareto.measure}",
        section="costs",
        title=title,
        summary=_summarise_pareto(pareto),
        notes=tuple(notes),
        body=build_view(_draw_pareto(pareto, axis), _PARETO_HEIGHT),
        columns=("run", f"cost ({unit})", "score", "low", "high", "dominated by"),
        rows=tuple(
            (
                chart_text.trim_name(each.name),
                each.cost,
                *chart_text.list_figures(each.score)[:3],
                ", ".join(chart_text.trim_name(name) for name in each.dominated_by),
            )
            for each in pareto.contenders
        ),
    )


def _scale_scores(pareto: Pareto) -> Pareto:
    """The same with scores in points of 100."""
    return pareto.replace(
        contenders=tuple(
            each
            if (score := chart_text.scale_score(each.score)) is None
            else each.replace(score=score)
            for each in pareto.contenders
        )
    )


def _draw_pareto(pareto: Pareto, axis: str) -> list[ChartLayer]:
    runs = pareto.contenders
    shown, factor = choose_unit(MEASURE_UNITS[pareto.measure], max(each.cost for each in runs))
    costs = [each.cost / factor for each in runs]
    logarithmic = is_log(costs)
    ticks = list_decades(min(costs), max(costs)) if logarithmic else list_ticks(max(costs), 5)
    least, most = ticks[0], ticks[-1]
    scale = f"{axis} ({shown}{', log scale' if logarithmic else ''})"
    plane = ChartPlane(
        build_quantity_axis(
            scale, least, most, is_log=logarithmic, ticks=ticks, form=NUMBER_FORMAT
        ),
        build_quantity_axis("Score (points of 100)", 0, 100, ticks=(0, 20, 40, 60, 80, 100)),
    )
    rows = [
        {
            "x": cost,
            **place_value(each.score.value, each.score),
            "run": chart_text.trim_name(each.name),
            "score": chart_text.format_score(each.score),
            "cost": format_cost(pareto.measure, each.cost),
            "dominated by": ", ".join(chart_text.trim_name(name) for name in each.dominated_by)
            or "none",
        }
        for each, cost in zip(runs, costs, strict=True)
    ]
    best = [row for row, each in zip(rows, runs, strict=True) if not each.dominated_by]
    line = [row for row, each in zip(rows, runs, strict=True) if not _is_beaten(each)]
    beaten = [row for row, each in zip(rows, runs, strict=True) if each.dominated_by]
    tells = ("run", "score", "cost", "dominated by")
    return [
        *plane.draw_marks("line", "score-thin", line, mark={"interpolate": "step-after"}),
        *plane.draw_intervals("dimmed-interval", beaten),
        *plane.draw_intervals("score-interval", best),
        *plane.draw_marks("point", "dimmed", beaten, tells=tells, mark={"size": 80}),
        *plane.draw_marks("point", "score-point", best, tells=tells, mark={"size": 90}),
        *_draw_labels(plane, rows, (least, most), is_log=logarithmic),
    ]


def _describe_loser(each: Contender) -> str:
    betters = [chart_text.trim_name(name) for name in each.dominated_by]
    return f"{chart_text.trim_name(each.name)} by {join_words(betters, 4)}"


_IN_DOUBT = "Not distinguishable in score at no higher cost"


def _list_doubtful(pareto: Pareto) -> list[str]:
    return [
        f"{chart_text.trim_name(each.name)} from "
        f"{join_words([chart_text.trim_name(name) for name in each.in_doubt], 4)}"
        for each in pareto.contenders
        if each.in_doubt and not each.dominated_by
    ]


def _is_beaten(each: Contender) -> bool:
    return bool(each.dominated_by or each.in_doubt)


def _draw_labels(
    plane: ChartPlane, rows: Sequence[dict[str, object]], ends: tuple[float, float], *, is_log: bool
) -> list[ChartLayer]:
    """The name of each run beside its point, not on another point or the line."""
    low, high = ends
    spots = []
    for row in rows:
        x, y = float(str(row["x"])), float(str(row["y"]))
        part = log(x / low) / log(high / low) if is_log else (x - low) / (high - low)
        spots.append(
            LabelSpot(
                text=str(row["run"]),
                x=part * _PARETO_WIDTH,
                y=(1 - y / 100) * _PARETO_HEIGHT,
            )
        )
    best = [spot for spot, row in zip(spots, rows, strict=True) if row["dominated by"] == "none"]
    layers: list[ChartLayer] = []
    for row, place in zip(
        rows,
        arrange_labels(spots, width=_PARETO_WIDTH, avoiding=_list_step_boxes(best)),
        strict=True,
    ):
        style = "label" if row["dominated by"] == "none" else "note"
        text = {"x": row["x"], "y": row["y"], "text": row["run"]}
        layers += plane.draw_text(style, [text], align=place.align, dx=place.dx, dy=place.dy)
    return layers


def _list_step_boxes(best: Sequence[LabelSpot]) -> list[LabelBox]:
    """The boxes of the line through these spots."""
    boxes = []
    for one, other in pairwise(best):
        boxes.append((one.x, one.y, other.x, one.y))
        boxes.append((other.x, min(one.y, other.y), other.x, max(one.y, other.y)))
    return boxes


def _summarise_pareto(pareto: Pareto) -> str:
    said = [
        f"{chart_text.trim_name(each.name)} scores {chart_text.format_score(each.score)} for "
        f"{format_cost(pareto.measure, each.cost)}"
        for each in pareto.contenders
    ]
    beaten = [_describe_loser(each) for each in pareto.contenders if each.dominated_by]
    words = "; ".join(said) + (f". Dominated: {'; '.join(beaten)}." if beaten else ".")
    doubtful = _list_doubtful(pareto)
    return f"{words} {_IN_DOUBT}: {'; '.join(doubtful)}." if doubtful else words
