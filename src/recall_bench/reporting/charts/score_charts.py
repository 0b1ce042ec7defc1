"""Scores over corpus size: by category, and of mixed and fixed questions."""

from collections.abc import Sequence
from typing import NamedTuple

from recall_bench.core.plain_text import format_quantity, join_words
from recall_bench.core.plan import FULL
from recall_bench.engine.runs.rows import RowTable
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.trend import Trend
from recall_bench.reporting.analyses.degradation import CurvePoint, Degradation
from recall_bench.reporting.charts import chart_text
from recall_bench.reporting.charts.curves import CurveStep, draw_curve, map_days
from recall_bench.reporting.charts.plane import (
    Chart,
    ChartLayer,
    ChartPanel,
    ChartPlane,
    build_grid,
    build_quantity_axis,
    build_view,
)
from recall_bench.reporting.formats import OF_100, format_number
from recall_bench.reporting.run_report import RunReport

_PANEL_COLUMNS = 4
_PANEL_WIDTH, _PANEL_HEIGHT = 158.0, 104.0
_ALL_CATEGORIES = "All categories"
_BEST = 100.0
_TICKS = (0, 20, 40, 60, 80, 100)


class CategoryCurve(NamedTuple):
    """One category over corpus size, in points of 100."""

    name: str
    steps: list[CurveStep]
    bounds: ScoreRange | None

    @property
    def is_measured(self) -> bool:
        """Whether any checkpoint has a mean."""
        return any(step.mean for step in self.steps)


def plot_categories(report: RunReport) -> Chart | None:
    """Small views with the same axes; None if nothing was measured."""
    if not report.heatmaps:
        return None
    heatmap = report.heatmaps[0]
    days = map_days(report)
    curves = [
        CategoryCurve(
            _ALL_CATEGORIES if row is heatmap.total else chart_text.format_slug(row.name),
            _list_cell_steps(heatmap, row.cells, days),
            row.bounds,
        )
        for row in (heatmap.total, *heatmap.categories)
    ]
    drawn = [curve for curve in curves if curve.is_measured]
    if not drawn:
        return None
    missing = [curve.name for curve in curves if not curve.is_measured]
    means = [step.mean for curve in drawn for step in curve.steps]
    title = "Score by category over corpus size"
    notes = (
        (
            f"Points of 100 at each checkpoint, with {chart_text.format_level(means)} intervals; a "
            "line breaks where nothing was measured."
            + (" Dashed: silence below, the ceiling above." if heatmap.total.bounds else "")
        ),
        _describe_absent(missing, heatmap, days),
    )
    last = max(step.days for curve in drawn for step in curve.steps)
    return Chart(
        name="category-curves",
        section="scores",
        title=title,
        summary=_summarise_categories(drawn),
        notes=tuple(notes),
        body=build_grid(_build_panels(drawn, last), _PANEL_COLUMNS),
        columns=("category", "checkpoint", "days", "mean", "low", "high", "trials"),
        rows=tuple(_build_row(curve.name, step) for curve in drawn for step in curve.steps),
    )


def _list_cell_steps(
    heatmap: RowTable, cells: Sequence[Estimate | None], days: dict[str, int]
) -> list[CurveStep]:
    return [
        CurveStep(
            checkpoint=column.label,
            days=days[column.label],
            mean=chart_text.scale_score(mean),
        )
        for column, mean in zip(heatmap.columns, cells, strict=True)
        if column.label in days
    ]


def _build_panels(drawn: Sequence[CategoryCurve], last: float) -> list[ChartPanel]:
    panels = []
    for number, (name, steps, bounds) in enumerate(drawn):
        is_low = number + _PANEL_COLUMNS >= len(drawn)
        plane = ChartPlane(
            build_quantity_axis(
                "Days of history", 0, last, ticks=3, has_grid=False, is_bare=not is_low
            ),
            build_quantity_axis(
                None, 0, _BEST, ticks=(0, 25, 50, 75, 100), is_bare=bool(number % _PANEL_COLUMNS)
            ),
        )
        role = "other" if name == _ALL_CATEGORIES else "score"
        layers = [
            *_draw_bounds(plane, bounds),
            *draw_curve(plane, steps, role, chart_text.format_score),
        ]
        panels.append(
            ChartPanel(title=name, layers=layers, width=_PANEL_WIDTH, height=_PANEL_HEIGHT)
        )
    return panels


def _draw_bounds(plane: ChartPlane, bounds: ScoreRange | None) -> list[ChartLayer]:
    """Silence and ceiling as lines over the whole width."""
    found = [] if bounds is None else [("silence", bounds.floor), ("ceiling", bounds.ceiling)]
    lines = [
        {"y": marks * OF_100, "bound": f"{name} {format_number(marks * OF_100, 0)}"}
        for name, marks in found
        if marks is not None
    ]
    return plane.draw_marks("rule", "reference", lines, tells=("bound",))


def _describe_absent(missing: Sequence[str], heatmap: RowTable, days: dict[str, int]) -> str:
    unknown = [
        chart_text.trim_name(each.label) for each in heatmap.columns if each.label not in days
    ]
    said = f"Not measured: {join_words(missing, 12)}. " if missing else ""
    if unknown:
        said += f"Not drawn, as its days are not known: {join_words(unknown, 4)}."
    return said.strip()


def _summarise_categories(drawn: Sequence[CategoryCurve]) -> str:
    known = [(name, [step for step in steps if step.mean is not None]) for name, steps, _ in drawn]
    ends = [
        f"{name.lower()} from {chart_text.format_score(steps[0].mean)} at {steps[0].days:,.0f} "
        f"days to {chart_text.format_score(steps[-1].mean)} at {steps[-1].days:,.0f}"
        for name, steps in known
    ]
    return f"Score in points of 100 with intervals: {'; '.join(ends)}."


def _build_row(name: str, step: CurveStep) -> tuple[object, ...]:
    checkpoint = chart_text.trim_name(step.checkpoint)
    return (name, checkpoint, step.days, *chart_text.list_figures(step.mean))


_COHORT_HEIGHT = 300.0
_LABEL_DISTANCE = 7.0
"""The least distance of two labels, in points of a score."""


def plot_cohorts(views: Degradation) -> Chart | None:
    """Both curves in one view; None if nothing was measured."""
    mixed, fixed = _list_point_steps(views.mixed), _list_point_steps(views.fixed)
    if not any(step.mean for step in (*mixed, *fixed)):
        return None
    title = "Score over corpus size: every question, and the same questions again"
    means = [step.mean for step in (*mixed, *fixed)]
    notes = [
        (
            f"Points of 100 with {chart_text.format_level(means)} intervals. Mixed: "
            "all questions asked at a checkpoint, which change from one to the next."
        ),
        _describe_cohort(views),
    ]
    plane = ChartPlane(
        build_quantity_axis("Days of history", 0, max(step.days for step in (*mixed, *fixed))),
        build_quantity_axis("Score (points of 100)", 0, _BEST, ticks=_TICKS),
    )
    curves = [
        *draw_curve(plane, mixed, "score", chart_text.format_score),
        *draw_curve(plane, fixed, "other", chart_text.format_score),
    ]
    # All bands below all curves.
    layers = [*sorted(curves, key=_is_line), *_label_curves(plane, mixed, fixed)]
    return Chart(
        name="mixed-and-fixed-cohort",
        section="degradation",
        title=title,
        summary=_summarise_cohorts(views, mixed, fixed),
        notes=tuple(notes),
        body=build_view(layers, _COHORT_HEIGHT),
        columns=("view", "checkpoint", "days", "mean", "low", "high", "trials"),
        rows=(
            *(_build_row("mixed", step) for step in mixed),
            *(_build_row("fixed", step) for step in fixed),
        ),
    )


def _is_line(layer: ChartLayer) -> bool:
    mark = layer["mark"]
    return not (isinstance(mark, dict) and mark["type"] == "area")


def _list_point_steps(points: Sequence[CurvePoint]) -> list[CurveStep]:
    return [
        CurveStep(
            checkpoint=each.checkpoint, days=each.days, mean=chart_text.scale_score(each.mean)
        )
        for each in points
        if each.days < FULL
    ]


def _label_curves(
    plane: ChartPlane, mixed: Sequence[CurveStep], fixed: Sequence[CurveStep]
) -> list[ChartLayer]:
    """The name of each curve at its end, moved apart where names would touch."""
    known = []
    for role, steps in (("score", mixed), ("other", fixed)):
        ends = [(role, step.days, step.mean.value) for step in steps if step.mean is not None]
        known += ends[-1:]
    known.sort(key=lambda each: each[2])
    heights = [height for _, _, height in known]
    are_beside = len({days for _, days, _ in known}) == 1
    if len(heights) == 2 and are_beside and heights[1] - heights[0] < _LABEL_DISTANCE:
        middle = min(max(sum(heights) / 2, _LABEL_DISTANCE), _BEST - _LABEL_DISTANCE)
        heights = [middle - _LABEL_DISTANCE / 2, middle + _LABEL_DISTANCE / 2]
    layers: list[ChartLayer] = []
    last = max(days for _, days, _ in known)
    for (role, days, _), height in zip(known, heights, strict=True):
        text = {"x": days, "y": height, "text": "mixed" if role == "score" else "fixed"}
        # The name of a curve that ends early stands away from the other curve.
        dy = 0 if days == last else (-14 if height == heights[-1] else 14)
        layers += plane.draw_text(f"{role}-label", [text], dx=8, dy=dy)
    return layers


def _describe_cohort(views: Degradation) -> str:
    card = views.cohort
    if card is None:
        return f"No fixed view: {views.reason}" if views.reason else ""
    return (
        f"Fixed: the same {card.questions:,} questions of "
        f"{format_quantity(card.personas, 'persona')} at "
        f"{format_quantity(card.checkpoints, 'checkpoint')}, "
        f"{chart_text.trim_name(card.first)} to {chart_text.trim_name(card.last)}."
    )


def _summarise_cohorts(
    views: Degradation, mixed: Sequence[CurveStep], fixed: Sequence[CurveStep]
) -> str:
    said = []
    for name, steps, trend in (
        ("Every question asked", mixed, views.mixed_trend),
        ("The same questions again", fixed, views.fixed_trend),
    ):
        known = [step for step in steps if step.mean is not None]
        if known:
            said.append(
                f"{name}: from {chart_text.format_score(known[0].mean)} at {known[0].days:,.0f} "
                f"days to {chart_text.format_score(known[-1].mean)} at "
                f"{known[-1].days:,.0f}{_format_trend(trend)}."
            )
    return " ".join(said)


def _format_trend(trend: Trend | None) -> str:
    if trend is None:
        return ""
    return f", {chart_text.format_change(trend.slope, scale=OF_100, unit=' points of 100')}"
