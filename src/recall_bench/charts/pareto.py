"""Score against cost: which runs are worth what they take."""

from collections.abc import Sequence
from itertools import pairwise
from math import log

from recall_bench.analysis.costs.views import Contender, CostMeasure, Pareto
from recall_bench.analysis.costs.words import MEASURE_UNITS, choose_unit, format_cost
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.costs import is_log
from recall_bench.charts.labels import LabelBox, LabelSpot, arrange_labels
from recall_bench.charts.plane import (
    NUMBER_FORMAT,
    ChartLayer,
    ChartPlane,
    build_chart_spec,
    build_quantity_axis,
    build_view,
    list_decades,
    list_ticks,
)
from recall_bench.core.verdict import FULL_MARKS

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
    """One point a run, the frontier drawn through those that nothing beats.

    None where no run costs anything: then a score is all there is to see.
    """
    if not any(each.cost for each in pareto.contenders):
        return None
    spoken, axis = _MEASURE_NAMES[pareto.measure]
    title = f"Score against {spoken}"
    level = words.format_level([each.score for each in pareto.contenders])
    notes = [
        (
            f"Mean points of {FULL_MARKS} with {level} intervals. The line joins the runs "
            "that none dominates."
        )
    ]
    beaten = [each for each in pareto.contenders if each.dominated_by]
    if beaten:
        notes.append(f"Dominated, in grey: {'; '.join(_describe_loser(each) for each in beaten)}.")
    if pareto.unknown:
        unknown = [words.trim_name(name) for name in pareto.unknown]
        notes.append(f"Cost not known: {words.join_names(unknown, 6)}.")
    return Chart(
        name=f"score-against-{pareto.measure}",
        section="costs",
        title=title,
        summary=_summarise_pareto(pareto),
        spec=build_chart_spec(title, notes, build_view(_draw_pareto(pareto, axis), _PARETO_HEIGHT)),
        columns=(
            "run",
            f"cost ({MEASURE_UNITS[pareto.measure]})",
            "score",
            "low",
            "high",
            "dominated by",
        ),
        rows=tuple(
            (
                words.trim_name(each.name),
                each.cost,
                each.score.value,
                each.score.low,
                each.score.high,
                ", ".join(words.trim_name(name) for name in each.dominated_by),
            )
            for each in pareto.contenders
        ),
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
        build_quantity_axis(
            f"Mean score (of {FULL_MARKS} points)", 0, FULL_MARKS, ticks=range(FULL_MARKS + 1)
        ),
    )
    rows = [
        _build_pareto_row(pareto.measure, each, cost)
        for each, cost in zip(runs, costs, strict=True)
    ]
    best = [row for row, each in zip(rows, runs, strict=True) if not each.dominated_by]
    beaten = [row for row, each in zip(rows, runs, strict=True) if each.dominated_by]
    tells = ("run", "score", "cost", "dominated by")
    return [
        *plane.draw_marks("line", "score-thin", best, mark={"interpolate": "step-after"}),
        *plane.draw_marks("rule", "dimmed-interval", _list_spans(beaten)),
        *plane.draw_marks("rule", "score-interval", _list_spans(best)),
        *plane.draw_marks("point", "dimmed", beaten, tells=tells, mark={"size": 80}),
        *plane.draw_marks("point", "score-point", best, tells=tells, mark={"size": 90}),
        *_draw_labels(plane, rows, (least, most), is_log=logarithmic),
    ]


def _describe_loser(each: Contender) -> str:
    betters = [words.trim_name(name) for name in each.dominated_by]
    is_doubtful = set(each.dominated_by) <= set(each.in_doubt)
    chance = " (their intervals overlap: compare tells)" if is_doubtful else ""
    return f"{words.trim_name(each.name)} by {words.join_names(betters)}{chance}"


def _list_spans(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    return [row | {"y": row["low"], "y2": row["high"]} for row in rows if row["low"] is not None]


def _build_pareto_row(measure: CostMeasure, each: Contender, cost: float) -> dict[str, object]:
    return {
        "x": cost,
        "y": each.score.value,
        "low": each.score.low,
        "high": each.score.high,
        "run": words.trim_name(each.name),
        "score": words.format_score(each.score),
        "cost": format_cost(measure, each.cost),
        "dominated by": ", ".join(words.trim_name(name) for name in each.dominated_by) or "none",
    }


def _draw_labels(
    plane: ChartPlane, rows: Sequence[dict[str, object]], ends: tuple[float, float], *, is_log: bool
) -> list[ChartLayer]:
    """Each run's name beside its point, where it lies on no other and not on the line."""
    low, high = ends
    spots = []
    for row in rows:
        x, y = float(str(row["x"])), float(str(row["y"]))
        part = log(x / low) / log(high / low) if is_log else (x - low) / (high - low)
        spots.append(
            LabelSpot(
                text=str(row["run"]),
                x=part * _PARETO_WIDTH,
                y=(1 - y / FULL_MARKS) * _PARETO_HEIGHT,
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
    """Where the line through these spots runs."""
    boxes = []
    for one, other in pairwise(best):
        boxes.append((one.x, one.y, other.x, one.y))
        boxes.append((other.x, min(one.y, other.y), other.x, max(one.y, other.y)))
    return boxes


def _summarise_pareto(pareto: Pareto) -> str:
    said = [
        f"{words.trim_name(each.name)} scores {words.format_score(each.score)} for "
        f"{format_cost(pareto.measure, each.cost)}"
        for each in pareto.contenders
    ]
    beaten = [_describe_loser(each) for each in pareto.contenders if each.dominated_by]
    return "; ".join(said) + (f". Dominated: {'; '.join(beaten)}." if beaten else ".")
