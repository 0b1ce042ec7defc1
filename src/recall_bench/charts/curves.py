"""Means over corpus size as a line with a band, broken wherever nothing was measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from recall_bench.analysis.report.views import Report
from recall_bench.charts.plane import Layer, Plane
from recall_bench.charts.words import named
from recall_bench.core.ranges import FULL
from recall_bench.statistics.estimate import Estimate

MANY = 40
"""With more checkpoints the line is drawn without a dot at each."""

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One checkpoint of a curve."""

    checkpoint: str
    days: float
    mean: Estimate | None


def days_by_checkpoint(report: Report) -> dict[str, int]:
    """How many days were told by each checkpoint, where that is known.

    `full` is planned without knowing how many days there are; the views of the run know.
    """
    planned = {each.label: each.days for heat in report.heatmaps for each in heat.columns}
    found = {each.checkpoint: each.days for each in report.degradation.mixed}
    found |= {each.checkpoint: each.days for each in report.hallucination.overall.moments}
    return {label: days for label, days in (planned | found).items() if days < FULL}


def curve(
    plane: Plane, steps: Iterable[Step], role: str, tell: Callable[[Estimate | None], str]
) -> list[Layer]:
    """The marks of one curve; `tell` puts a mean into words."""
    rows = [_row(step, tell) for step in sorted(steps, key=lambda each: each.days)]
    bands = stretches(rows, lambda row: row["low"] is not None)
    whole = stretches(rows, lambda row: row["y"] is not None)
    split = {"field": "stretch", "type": "nominal"}
    ends = [{**row, "y": row["low"], "y2": row["high"]} for row in joined(bands)]
    lone = [{**row, "y": row["low"], "y2": row["high"]} for row in alone(bands)]
    dots = [row for part in whole for row in part]
    tells = ("checkpoint", "days", "mean", "trials")
    is_crowded = len(dots) > MANY
    shown = alone(whole) if is_crowded else dots
    return [
        *plane.marks("area", f"{role}-band", ends, detail=split),
        *plane.marks("rule", f"{role}-interval", lone),
        *plane.marks("line", f"{role}-line", joined(whole), detail=split),
        *plane.marks("point", f"{role}-point", shown, tells=tells, mark={"size": 26}),
        # Tooltips want something to point at where there is no dot.
        *plane.marks(
            "point",
            f"{role}-point",
            dots if is_crowded else [],
            tells=tells,
            mark={"size": 40, "opacity": 0},
        ),
    ]


def stretches(rows: Sequence[Row], is_known: Callable[[Row], bool]) -> list[list[Row]]:
    """The rows in runs without a gap, each row with the number of its run."""
    found: list[list[Row]] = []
    was_known = False
    for row in rows:
        if is_known(row):
            if not was_known:
                found.append([])
            found[-1].append({**row, "stretch": len(found)})
        was_known = is_known(row)
    return found


def joined(parts: Iterable[Sequence[Row]]) -> list[Row]:
    """The rows of the runs that a line can be drawn through."""
    return [row for part in parts if len(part) > 1 for row in part]


def alone(parts: Iterable[Sequence[Row]]) -> list[Row]:
    """The rows that stand alone."""
    return [part[0] for part in parts if len(part) == 1]


def _row(step: Step, tell: Callable[[Estimate | None], str]) -> Row:
    mean = step.mean
    return {
        "x": step.days,
        "y": None if mean is None else mean.value,
        "low": None if mean is None else mean.low,
        "high": None if mean is None else mean.high,
        "checkpoint": named(step.checkpoint),
        "days": f"{step.days:,.0f}",
        "mean": tell(mean),
        "trials": 0 if mean is None else mean.trials,
    }
