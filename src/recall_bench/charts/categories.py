"""How each category is recalled as memory grows."""

from collections.abc import Sequence

from recall_bench.analysis.report.views import Report
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.curves import Step, curve, days_by_checkpoint
from recall_bench.charts.plane import Panel, Plane, grid, quantity, whole
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.estimates import Cell, Heatmap

_COLUMNS = 4
_WIDTH, _HEIGHT = 158.0, 104.0
_ALL = "All categories"


def category_curves(report: Report) -> Chart | None:
    """Small views side by side, all with the same axes; None where nothing was measured."""
    if not report.heatmaps:
        return None
    heatmap = report.heatmaps[0]
    days = days_by_checkpoint(report)
    curves = [
        (_ALL, _steps(heatmap, heatmap.overall, days)),
        *((words.spelt(row.category), _steps(heatmap, row.cells, days)) for row in heatmap.rows),
    ]
    drawn = [(name, steps) for name, steps in curves if any(step.mean for step in steps)]
    if not drawn:
        return None
    missing = [name for name, steps in curves if not any(step.mean for step in steps)]
    means = [step.mean for _, steps in drawn for step in steps]
    title = "Score by category over corpus size"
    notes = (
        (
            f"Mean points of {FULL_MARKS} at each checkpoint, with {words.level(means)} intervals; "
            "a line breaks where nothing was measured."
        ),
        _absent(missing, heatmap, days),
    )
    last = max(step.days for _, steps in drawn for step in steps)
    return Chart(
        name="category-curves",
        section="categories",
        title=title,
        summary=_summary(drawn),
        spec=whole(title, notes, grid(_panels(drawn, last), _COLUMNS)),
        columns=("category", "checkpoint", "days", "mean", "low", "high", "trials"),
        rows=tuple(_line(name, step) for name, steps in drawn for step in steps),
    )


def _steps(heatmap: Heatmap, cells: Sequence[Cell], days: dict[str, int]) -> list[Step]:
    return [
        Step(checkpoint=column.label, days=days[column.label], mean=cell.mean)
        for column, cell in zip(heatmap.columns, cells, strict=True)
        if column.label in days
    ]


def _panels(drawn: Sequence[tuple[str, list[Step]]], last: float) -> list[Panel]:
    panels = []
    for number, (name, steps) in enumerate(drawn):
        is_last = number + _COLUMNS >= len(drawn)
        plane = Plane(
            quantity(
                "Days of history" if is_last else None,
                0,
                last,
                ticks=3,
                has_grid=False,
                is_bare=not is_last,
            ),
            quantity(None, 0, FULL_MARKS, ticks=(0, 2, 4, 6), is_bare=bool(number % _COLUMNS)),
        )
        role = "other" if name == _ALL else "score"
        layers = curve(plane, steps, role, words.score)
        panels.append(Panel(title=name, layers=layers, width=_WIDTH, height=_HEIGHT))
    return panels


def _absent(missing: Sequence[str], heatmap: Heatmap, days: dict[str, int]) -> str:
    unknown = [words.named(each.label) for each in heatmap.columns if each.label not in days]
    said = f"Not measured: {words.several(missing, 12)}. " if missing else ""
    if unknown:
        said += f"Not drawn, as its days are not known: {words.several(unknown)}."
    return said.strip()


def _summary(drawn: Sequence[tuple[str, list[Step]]]) -> str:
    known = [(name, [step for step in steps if step.mean is not None]) for name, steps in drawn]
    ends = [
        f"{name.lower()} from {words.score(steps[0].mean)} at {steps[0].days:,.0f} days "
        f"to {words.score(steps[-1].mean)} at {steps[-1].days:,.0f}"
        for name, steps in known
    ]
    return f"Mean score of {FULL_MARKS} with intervals: {'; '.join(ends)}."


def _line(name: str, step: Step) -> tuple[object, ...]:
    return (name, words.named(step.checkpoint), step.days, *words.figures(step.mean))
