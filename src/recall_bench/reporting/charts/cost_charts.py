"""Costs over corpus size, one panel a measure, and scores against costs."""

from collections.abc import Callable, Sequence
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
from recall_bench.reporting.charts.chart_text import (
    format_level,
    format_score,
    list_figures,
    scale_score,
    trim_name,
)
from recall_bench.reporting.charts.plane import (
    NUMBER_FORMAT,
    Chart,
    ChartLayer,
    ChartPanel,
    ChartPlane,
    LabelSpot,
    arrange_labels,
    build_grid,
    build_quantity_axis,
    build_view,
    draw_rows,
    list_decades,
    list_ticks,
    place_value,
)

_PANEL_COLUMNS = 3
_PANEL_WIDTH, _PANEL_HEIGHT = 208.0, 118.0
_PARETO_WIDTH, _PARETO_HEIGHT = 620.0, 320.0
LOG_RATIO = 1000.0
"""From this ratio of the largest to the smallest value, the scale is logarithmic."""

_Reader = Callable[[CostPoint], float | None]


def _read_usage(stage: str, kind: Callable[[Usage], float | None]) -> _Reader:
    def read_point(point: CostPoint) -> float | None:
        usage: Usage | None = getattr(point, stage)
        return None if usage is None else kind(usage)

    return read_point


_PANEL_MEASURES: dict[str, tuple[CostUnit, _Reader]] = {
    "Feeding, a day": ("s", lambda point: point.ingest_s_a_day),
    "Query, median": ("s", lambda point: point.query_p50_s),
    "Query, 95th percentile": ("s", lambda point: point.query_p95_s),
    "Passages, an answer": ("tokens", lambda point: point.delivered_tokens),
    "Index": ("bytes", lambda point: point.index_bytes),
}
for _name, _stage in (("Models fed", "ingest_usage"), ("Models asked", "query_usage")):
    _PANEL_MEASURES |= {
        f"{_name}, in": ("tokens", _read_usage(_stage, lambda usage: usage.input_tokens)),
        f"{_name}, out": ("tokens", _read_usage(_stage, lambda usage: usage.output_tokens)),
        f"{_name}, price": ("$", _read_usage(_stage, price_usage)),
    }

_Values = list[float | None]


def plot_costs(costs: RunCosts) -> Chart | None:
    """Small views with an axis each; None if no cost is known."""
    points = [point for point in costs.points if point.days < FULL]
    series: dict[str, _Values] = {
        name: [reader(point) for point in points] for name, (_, reader) in _PANEL_MEASURES.items()
    }
    measured = [name for name, values in series.items() if any(v is not None for v in values)]
    spent = [name for name in measured if any(series[name])]
    if not spent:
        return None
    words = []
    for name in spent:
        unit = _PANEL_MEASURES[name][0]
        ends = [
            (point.days, value)
            for point, value in zip(points, series[name], strict=True)
            if value is not None
        ]
        (first, least), (last, most) = ends[0], ends[-1]
        words.append(
            f"{name.lower()} {format_amount(least, unit)} at {first:,} days and "
            f"{format_amount(most, unit)} at {last:,}"
        )
    panels = []
    for number, name in enumerate(spent):
        is_low = number + _PANEL_COLUMNS >= len(spent)
        last = max(point.days for point in points)
        days = build_quantity_axis(
            "Days of history", 0, last, ticks=3, has_grid=False, is_bare=not is_low
        )
        panels.append(_build_panel(name, points, series[name], days))
    return Chart(
        name="costs-over-size",
        section="costs",
        title="What it takes over corpus size",
        summary=f"What it takes: {'; '.join(words)}.",
        notes=(
            (
                "At each checkpoint, all personas together. Each panel has its own axis; a line "
                "breaks where the cost is unknown."
            ),
            _list_measures("Not known", [name for name in series if name not in measured]),
            _list_measures("Nothing spent", [name for name in measured if name not in spent]),
        ),
        body=build_grid(panels, _PANEL_COLUMNS, gap=44),
        columns=(
            "checkpoint",
            "days",
            *(f"{name} ({_PANEL_MEASURES[name][0]})" for name in measured),
        ),
        rows=tuple(
            (trim_name(point.checkpoint), point.days, *(series[name][place] for name in measured))
            for place, point in enumerate(points)
        ),
    )


def _list_measures(what: str, names: Sequence[str]) -> str:
    models = [name for name in _PANEL_MEASURES if name.startswith("Models")]
    if set(models) <= set(names):
        names = [*(name for name in names if name not in models), "models"]
    return f"{what}: {'; '.join(names).lower()}." if names else ""


def is_log(values: Sequence[float]) -> bool:
    """Whether only a logarithmic scale shows all values."""
    return min(values) > 0 and max(values) / min(values) >= LOG_RATIO


def _build_panel(
    name: str, points: Sequence[CostPoint], values: _Values, days: dict[str, object]
) -> ChartPanel:
    unit, amounts = _PANEL_MEASURES[name][0], [value for value in values if value is not None]
    unit_name, factor = choose_unit(unit, max(amounts))
    low, high = min(amounts) / factor, max(amounts) / factor
    ticks = list_decades(low, high) if is_log(amounts) else list_ticks(high, 3)
    ends = ticks[0], ticks[-1]
    axis = build_quantity_axis(None, *ends, ticks=ticks, form=NUMBER_FORMAT, is_log=is_log(amounts))
    rows = [
        {
            "x": point.days,
            "y": None if value is None else value / factor,
            "low": None,
            "checkpoint": trim_name(point.checkpoint),
            "cost": "" if value is None else format_amount(value, unit),
        }
        for point, value in zip(points, values, strict=True)
    ]
    return ChartPanel(
        title=f"{name} ({unit_name}{', log scale' if is_log(amounts) else ''})",
        layers=draw_rows(ChartPlane(days, axis), rows, "score", ("checkpoint", "cost")),
        width=_PANEL_WIDTH,
        height=_PANEL_HEIGHT,
    )


_MEASURE_NAMES = {
    CostMeasure.INGEST: ("feeding time", "Feeding time a day"),
    CostMeasure.QUERY_P50: ("median query time", "Median query time"),
    CostMeasure.QUERY_P95: ("query time at the 95th percentile", "Query time, 95th percentile"),
    CostMeasure.TOKENS: ("tokens an answer", "For one answer"),
    CostMeasure.MONEY: ("money", "For 1,000 answers"),
    CostMeasure.BYTES: ("index size", "Index size"),
}
_IN_DOUBT = "Not distinguishable in score at no higher cost"


def plot_pareto(pareto: Pareto) -> Chart | None:
    """One point a run, and the frontier of the runs that none dominates.

    None if no run costs anything.
    """
    runs = [
        run if (score := scale_score(run.score)) is None else run.replace(score=score)
        for run in pareto.contenders
    ]
    if not any(run.cost for run in runs):
        return None
    spoken, axis = _MEASURE_NAMES[pareto.measure]
    beaten = [f"{trim_name(run.name)} by {_join(run.dominated_by)}" for run in runs]
    beaten = [words for words, run in zip(beaten, runs, strict=True) if run.dominated_by]
    doubtful = [
        f"{trim_name(run.name)} from {_join(run.in_doubt)}"
        for run in runs
        if run.in_doubt and not run.dominated_by
    ]
    said = "; ".join(
        f"{trim_name(run.name)} scores {format_score(run.score)} for "
        f"{format_cost(pareto.measure, run.cost)}"
        for run in runs
    )
    level = format_level([run.score for run in runs])
    return Chart(
        name=f"score-against-{pareto.measure}",
        section="costs",
        title=f"Score against {spoken}",
        summary=f"{said}."
        + (f" Dominated: {'; '.join(beaten)}." if beaten else "")
        + (f" {_IN_DOUBT}: {'; '.join(doubtful)}." if doubtful else ""),
        notes=(
            (
                f"Points of 100 with {level} intervals. The line joins the highest scores at each "
                "cost."
            ),
            f"Dominated, in grey: {'; '.join(beaten)}." if beaten else "",
            f"{_IN_DOUBT}: {'; '.join(doubtful)}." if doubtful else "",
            f"Cost not known: {_join(pareto.unknown, 6)}." if pareto.unknown else "",
        ),
        body=build_view(_draw_pareto(pareto.measure, runs, axis), _PARETO_HEIGHT),
        columns=(
            *("run", f"cost ({MEASURE_UNITS[pareto.measure]})"),
            *("score", "low", "high", "dominated by"),
        ),
        rows=tuple(
            (
                trim_name(run.name),
                run.cost,
                *list_figures(run.score)[:3],
                ", ".join(map(trim_name, run.dominated_by)),
            )
            for run in runs
        ),
    )


def _join(names: Sequence[str], most: int = 4) -> str:
    return join_words(map(trim_name, names), most)


def _draw_pareto(measure: CostMeasure, runs: Sequence[Contender], axis: str) -> list[ChartLayer]:
    unit_name, factor = choose_unit(MEASURE_UNITS[measure], max(run.cost for run in runs))
    costs = [run.cost / factor for run in runs]
    logarithmic = is_log(costs)
    ticks = list_decades(min(costs), max(costs)) if logarithmic else list_ticks(max(costs), 5)
    low, high = ticks[0], ticks[-1]
    title = f"{axis} ({unit_name}{', log scale' if logarithmic else ''})"
    scores = (0, 20, 40, 60, 80, 100)
    plane = ChartPlane(
        build_quantity_axis(title, low, high, is_log=logarithmic, ticks=ticks, form=NUMBER_FORMAT),
        build_quantity_axis("Score (points of 100)", 0, 100, ticks=scores),
    )
    rows: list[dict[str, object]] = []
    spots = []
    for run, cost in zip(runs, costs, strict=True):
        name = trim_name(run.name)
        rows.append(
            {
                "x": cost,
                **place_value(run.score.value, run.score),
                "run": name,
                "score": format_score(run.score),
                "cost": format_cost(measure, run.cost),
                "dominated by": ", ".join(map(trim_name, run.dominated_by)) or "none",
            }
        )
        part = log(cost / low) / log(high / low) if logarithmic else (cost - low) / (high - low)
        y = (1 - run.score.value / 100) * _PARETO_HEIGHT
        spots.append(LabelSpot(text=name, x=part * _PARETO_WIDTH, y=y))
    is_best = [not run.dominated_by for run in runs]
    best = [row for row, best in zip(rows, is_best, strict=True) if best]
    beaten = [row for row, best in zip(rows, is_best, strict=True) if not best]
    line = [
        row for row, run in zip(rows, runs, strict=True) if not (run.dominated_by or run.in_doubt)
    ]
    tells = ("run", "score", "cost", "dominated by")
    layers = [
        *plane.draw_marks("line", "score-thin", line, mark={"interpolate": "step-after"}),
        *plane.draw_intervals("dimmed-interval", beaten),
        *plane.draw_intervals("score-interval", best),
        *plane.draw_marks("point", "dimmed", beaten, tells=tells, mark={"size": 80}),
        *plane.draw_marks("point", "score-point", best, tells=tells, mark={"size": 90}),
    ]
    # The name of each run stands beside its point, not on another point or the line.
    steps = []
    for one, other in pairwise(spot for spot, best in zip(spots, is_best, strict=True) if best):
        steps.append((one.x, one.y, other.x, one.y))
        steps.append((other.x, min(one.y, other.y), other.x, max(one.y, other.y)))
    places = arrange_labels(spots, width=_PARETO_WIDTH, avoiding=steps)
    for row, is_label, place in zip(rows, is_best, places, strict=True):
        text = {"x": row["x"], "y": row["y"], "text": row["run"]}
        style = "label" if is_label else "note"
        layers += plane.draw_text(style, [text], align=place.align, dx=place.dx, dy=place.dy)
    return layers
