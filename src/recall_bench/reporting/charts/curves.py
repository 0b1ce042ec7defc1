"""Means over corpus size as a line with a band, broken wherever nothing was measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from recall_bench.core.plan import FULL
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.charts.chart_text import trim_name
from recall_bench.reporting.charts.plane import (
    ChartLayer,
    ChartPlane,
    place_value,
    span_interval,
)
from recall_bench.reporting.run_report import RunReport

MANY_CHECKPOINTS = 40
"""With more checkpoints than this, a line has no dots."""

CurveRow = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveStep:
    """One checkpoint of a curve."""

    checkpoint: str
    days: float
    mean: Estimate | None


def map_days(report: RunReport) -> dict[str, int]:
    """The days fed by each checkpoint, where known.

    A plan does not know the days of `full`; the analyses of the run do.
    """
    planned = {each.label: each.days for heat in report.heatmaps for each in heat.columns}
    found = {each.checkpoint: each.days for each in report.degradation.mixed}
    found |= {each.checkpoint: each.days for each in report.hallucination.overall.moments}
    return {label: days for label, days in (planned | found).items() if days < FULL}


def draw_curve(
    plane: ChartPlane, steps: Iterable[CurveStep], role: str, tell: Callable[[Estimate | None], str]
) -> list[ChartLayer]:
    """The marks of one curve; `tell` formats a mean."""
    rows = [_build_row(step, tell) for step in sorted(steps, key=lambda each: each.days)]
    bands = split_at_gaps(rows, lambda row: row["low"] is not None)
    whole = split_at_gaps(rows, lambda row: row["y"] is not None)
    split = {"field": "stretch", "type": "nominal"}
    dots = [row for part in whole for row in part]
    tells = ("checkpoint", "days", "mean", "trials")
    is_crowded = len(dots) > MANY_CHECKPOINTS
    shown = list_isolates(whole) if is_crowded else dots
    return [
        *plane.draw_marks(
            "area", f"{role}-band", [*map(span_interval, join_lines(bands))], detail=split
        ),
        *plane.draw_intervals(f"{role}-interval", list_isolates(bands)),
        *plane.draw_marks("line", f"{role}-line", join_lines(whole), detail=split),
        *plane.draw_marks("point", f"{role}-point", shown, tells=tells, mark={"size": 26}),
        # Invisible points for tooltips, where there are no dots.
        *plane.draw_marks(
            "point",
            f"{role}-point",
            dots if is_crowded else [],
            tells=tells,
            mark={"size": 40, "opacity": 0},
        ),
    ]


def split_at_gaps(
    rows: Sequence[CurveRow], is_known: Callable[[CurveRow], bool]
) -> list[list[CurveRow]]:
    """The rows in stretches without a gap, each row with the number of its stretch."""
    found: list[list[CurveRow]] = []
    was_known = False
    for row in rows:
        if is_known(row):
            if not was_known:
                found.append([])
            found[-1].append({**row, "stretch": len(found)})
        was_known = is_known(row)
    return found


def join_lines(parts: Iterable[Sequence[CurveRow]]) -> list[CurveRow]:
    """The rows of the stretches that have a line."""
    return [row for part in parts if len(part) > 1 for row in part]


def list_isolates(parts: Iterable[Sequence[CurveRow]]) -> list[CurveRow]:
    """The rows of stretches of one."""
    return [part[0] for part in parts if len(part) == 1]


def _build_row(step: CurveStep, tell: Callable[[Estimate | None], str]) -> CurveRow:
    mean = step.mean
    return {
        "x": step.days,
        **place_value(None if mean is None else mean.value, mean),
        "checkpoint": trim_name(step.checkpoint),
        "days": f"{step.days:,.0f}",
        "mean": tell(mean),
        "trials": 0 if mean is None else mean.trials,
    }
