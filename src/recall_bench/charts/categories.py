"""How each category is recalled as memory grows."""

from collections.abc import Sequence

from recall_bench.analysis.report.views import RunReport
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.curves import CurveStep, draw_curve, map_days
from recall_bench.charts.plane import (
    ChartPanel,
    ChartPlane,
    build_chart_spec,
    build_grid,
    build_quantity_axis,
)
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.estimates import Heatmap, HeatmapCell

_PANEL_COLUMNS = 4
_PANEL_WIDTH, _PANEL_HEIGHT = 158.0, 104.0
_ALL_CATEGORIES = "All categories"


def plot_categories(report: RunReport) -> Chart | None:
    """Small views side by side, all with the same axes; None where nothing was measured."""
    if not report.heatmaps:
        return None
    heatmap = report.heatmaps[0]
    days = map_days(report)
    curves = [
        (_ALL_CATEGORIES, _list_cell_steps(heatmap, heatmap.overall, days)),
        *(
            (words.format_slug(row.category), _list_cell_steps(heatmap, row.cells, days))
            for row in heatmap.rows
        ),
    ]
    drawn = [(name, steps) for name, steps in curves if any(step.mean for step in steps)]
    if not drawn:
        return None
    missing = [name for name, steps in curves if not any(step.mean for step in steps)]
    means = [step.mean for _, steps in drawn for step in steps]
    title = "Score by category over corpus size"
    notes = (
        (
            f"Mean points of {FULL_MARKS} at each checkpoint, with {words.format_level(means)} intervals; "
            "a line breaks where nothing was measured."
        ),
        _describe_absent(missing, heatmap, days),
    )
    last = max(step.days for _, steps in drawn for step in steps)
    return Chart(
        name="category-curves",
        section="categories",
        title=title,
        summary=_summarise_categories(drawn),
        spec=build_chart_spec(title, notes, build_grid(_build_panels(drawn, last), _PANEL_COLUMNS)),
        columns=("category", "checkpoint", "days", "mean", "low", "high", "trials"),
        rows=tuple(_build_line(name, step) for name, steps in drawn for step in steps),
    )


def _list_cell_steps(
    heatmap: Heatmap, cells: Sequence[HeatmapCell], days: dict[str, int]
) -> list[CurveStep]:
    return [
        CurveStep(checkpoint=column.label, days=days[column.label], mean=cell.mean)
        for column, cell in zip(heatmap.columns, cells, strict=True)
        if column.label in days
    ]


def _build_panels(drawn: Sequence[tuple[str, list[CurveStep]]], last: float) -> list[ChartPanel]:
    panels = []
    for number, (name, steps) in enumerate(drawn):
        is_last = number + _PANEL_COLUMNS >= len(drawn)
        plane = ChartPlane(
            build_quantity_axis(
                "Days of history" if is_last else None,
                0,
                last,
                ticks=3,
                has_grid=False,
                is_bare=not is_last,
            ),
            build_quantity_axis(
                None, 0, FULL_MARKS, ticks=(0, 2, 4, 6), is_bare=bool(number % _PANEL_COLUMNS)
            ),
        )
        role = "other" if name == _ALL_CATEGORIES else "score"
        layers = draw_curve(plane, steps, role, words.format_score)
        panels.append(
            ChartPanel(title=name, layers=layers, width=_PANEL_WIDTH, height=_PANEL_HEIGHT)
        )
    return panels


def _describe_absent(missing: Sequence[str], heatmap: Heatmap, days: dict[str, int]) -> str:
    unknown = [words.trim_name(each.label) for each in heatmap.columns if each.label not in days]
    said = f"Not measured: {words.join_names(missing, 12)}. " if missing else ""
    if unknown:
        said += f"Not drawn, as its days are not known: {words.join_names(unknown)}."
    return said.strip()


def _summarise_categories(drawn: Sequence[tuple[str, list[CurveStep]]]) -> str:
    known = [(name, [step for step in steps if step.mean is not None]) for name, steps in drawn]
    ends = [
        f"{name.lower()} from {words.format_score(steps[0].mean)} at {steps[0].days:,.0f} days "
        f"to {words.format_score(steps[-1].mean)} at {steps[-1].days:,.0f}"
        for name, steps in known
    ]
    return f"Mean score of {FULL_MARKS} with intervals: {'; '.join(ends)}."


def _build_line(name: str, step: CurveStep) -> tuple[object, ...]:
    return (name, words.trim_name(step.checkpoint), step.days, *words.list_figures(step.mean))
