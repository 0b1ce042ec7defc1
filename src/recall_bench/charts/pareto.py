"""Score against cost: which runs are worth what they take."""

from collections.abc import Sequence
from itertools import pairwise
from math import log

from recall_bench.analysis.costs.views import Contender, Measure, Pareto
from recall_bench.analysis.costs.words import UNITS, in_words, unit_of
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.costs import is_log
from recall_bench.charts.labels import Box, Spot, placed
from recall_bench.charts.plane import (
    NUMBER,
    Layer,
    Plane,
    decades,
    quantity,
    single,
    ticks_to,
    whole,
)
from recall_bench.core.verdict import FULL_MARKS

_WIDTH, _HEIGHT = 620.0, 320.0
_NAMES = {
    Measure.INGEST: ("feeding time", "Feeding time a day"),
    Measure.QUERY_P50: ("median query time", "Median query time"),
    Measure.QUERY_P95: ("query time at the 95th percentile", "Query time, 95th percentile"),
    Measure.TOKENS: ("tokens an answer", "For one answer"),
    Measure.MONEY: ("money", "For 1,000 answers"),
    Measure.BYTES: ("index size", "Index size"),
}


def pareto_chart(pareto: Pareto) -> Chart | None:
    """One point a run, the frontier drawn through those that nothing beats.

    None where no run costs anything: then a score is all there is to see.
    """
    if not any(each.cost for each in pareto.contenders):
        return None
    spoken, axis = _NAMES[pareto.measure]
    title = f"Score against {spoken}"
    level = words.level([each.score for each in pareto.contenders])
    notes = [
        (
            f"Mean points of {FULL_MARKS} with {level} intervals. The line joins the runs "
            "that none dominates."
        )
    ]
    beaten = [each for each in pareto.contenders if each.dominated_by]
    if beaten:
        notes.append(f"Dominated, in grey: {'; '.join(_beaten(each) for each in beaten)}.")
    if pareto.unknown:
        unknown = [words.named(name) for name in pareto.unknown]
        notes.append(f"Cost not known: {words.several(unknown, 6)}.")
    return Chart(
        name=f"score-against-{pareto.measure}",
        section="costs",
        title=title,
        summary=_summary(pareto),
        spec=whole(title, notes, single(_layers(pareto, axis), _HEIGHT)),
        columns=("run", f"cost ({UNITS[pareto.measure]})", "score", "low", "high", "dominated by"),
        rows=tuple(
            (
                words.named(each.name),
                each.cost,
                each.score.value,
                each.score.low,
                each.score.high,
                ", ".join(words.named(name) for name in each.dominated_by),
            )
            for each in pareto.contenders
        ),
    )


def _layers(pareto: Pareto, axis: str) -> list[Layer]:
    runs = pareto.contenders
    shown, factor = unit_of(UNITS[pareto.measure], max(each.cost for each in runs))
    costs = [each.cost / factor for each in runs]
    logarithmic = is_log(costs)
    ticks = decades(min(costs), max(costs)) if logarithmic else ticks_to(max(costs), 5)
    least, most = ticks[0], ticks[-1]
    scale = f"{axis} ({shown}{', log scale' if logarithmic else ''})"
    plane = Plane(
        quantity(scale, least, most, is_log=logarithmic, ticks=ticks, form=NUMBER),
        quantity(
            f"Mean score (of {FULL_MARKS} points)", 0, FULL_MARKS, ticks=range(FULL_MARKS + 1)
        ),
    )
    rows = [_row(pareto.measure, each, cost) for each, cost in zip(runs, costs, strict=True)]
    best = [row for row, each in zip(rows, runs, strict=True) if not each.dominated_by]
    beaten = [row for row, each in zip(rows, runs, strict=True) if each.dominated_by]
    tells = ("run", "score", "cost", "dominated by")
    return [
        *plane.marks("line", "score-thin", best, mark={"interpolate": "step-after"}),
        *plane.marks("rule", "dimmed-interval", _spans(beaten)),
        *plane.marks("rule", "score-interval", _spans(best)),
        *plane.marks("point", "dimmed", beaten, tells=tells, mark={"size": 80}),
        *plane.marks("point", "score-point", best, tells=tells, mark={"size": 90}),
        *_labels(plane, rows, (least, most), is_log=logarithmic),
    ]


def _beaten(each: Contender) -> str:
    betters = [words.named(name) for name in each.dominated_by]
    is_doubtful = set(each.dominated_by) <= set(each.in_doubt)
    chance = " (their intervals overlap: compare tells)" if is_doubtful else ""
    return f"{words.named(each.name)} by {words.several(betters)}{chance}"


def _spans(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    return [row | {"y": row["low"], "y2": row["high"]} for row in rows if row["low"] is not None]


def _row(measure: Measure, each: Contender, cost: float) -> dict[str, object]:
    return {
        "x": cost,
        "y": each.score.value,
        "low": each.score.low,
        "high": each.score.high,
        "run": words.named(each.name),
        "score": words.score(each.score),
        "cost": in_words(measure, each.cost),
        "dominated by": ", ".join(words.named(name) for name in each.dominated_by) or "none",
    }


def _labels(
    plane: Plane, rows: Sequence[dict[str, object]], ends: tuple[float, float], *, is_log: bool
) -> list[Layer]:
    """Each run's name beside its point, where it lies on no other and not on the line."""
    low, high = ends
    spots = []
    for row in rows:
        x, y = float(str(row["x"])), float(str(row["y"]))
        part = log(x / low) / log(high / low) if is_log else (x - low) / (high - low)
        spots.append(Spot(text=str(row["run"]), x=part * _WIDTH, y=(1 - y / FULL_MARKS) * _HEIGHT))
    best = [spot for spot, row in zip(spots, rows, strict=True) if row["dominated by"] == "none"]
    layers: list[Layer] = []
    for row, place in zip(rows, placed(spots, width=_WIDTH, avoiding=_steps(best)), strict=True):
        style = "label" if row["dominated by"] == "none" else "note"
        text = {"x": row["x"], "y": row["y"], "text": row["run"]}
        layers += plane.words(style, [text], align=place.align, dx=place.dx, dy=place.dy)
    return layers


def _steps(best: Sequence[Spot]) -> list[Box]:
    """Where the line through these spots runs."""
    boxes = []
    for one, other in pairwise(best):
        boxes.append((one.x, one.y, other.x, one.y))
        boxes.append((other.x, min(one.y, other.y), other.x, max(one.y, other.y)))
    return boxes


def _summary(pareto: Pareto) -> str:
    said = [
        f"{words.named(each.name)} scores {words.score(each.score)} for "
        f"{in_words(pareto.measure, each.cost)}"
        for each in pareto.contenders
    ]
    beaten = [_beaten(each) for each in pareto.contenders if each.dominated_by]
    return "; ".join(said) + (f". Dominated: {'; '.join(beaten)}." if beaten else ".")
