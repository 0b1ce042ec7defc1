"""Scores over corpus size: by category, and of mixed and fixed questions."""

from collections.abc import Sequence
from typing import NamedTuple

from recall_bench.core.plain_text import format_quantity, join_words
from recall_bench.core.plan import FULL
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.reporting.analyses.degradation import CurvePoint, Degradation
from recall_bench.reporting.charts.chart_text import (
    format_change,
    format_level,
    format_score,
    format_slug,
    list_figures,
    scale_score,
    trim_name,
)
from recall_bench.reporting.charts.plane import (
    Chart,
    ChartLayer,
    ChartPanel,
    ChartPlane,
    CurveStep,
    build_grid,
    build_quantity_axis,
    build_view,
    draw_curve,
)
from recall_bench.reporting.formats import OF_100, format_number
from recall_bench.reporting.run_report import RunReport

_PANEL_COLUMNS = 4
_PANEL_WIDTH, _PANEL_HEIGHT, _COHORT_HEIGHT = 158.0, 104.0, 300.0
_ALL_CATEGORIES = "All categories"
_BEST = 100.0
_LABEL_DISTANCE = 7.0
"""The least distance of two labels, in points of a score."""


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
    heatmap, days = report.heatmaps[0], _map_days(report)
    curves = [
        CategoryCurve(
            _ALL_CATEGORIES if row is heatmap.total else format_slug(row.name),
            [
                CurveStep(checkpoint=column.label, days=days[column.label], mean=scale_score(mean))
                for column, mean in zip(heatmap.columns, row.cells, strict=True)
                if column.label in days
            ],
            row.bounds,
        )
        for row in (heatmap.total, *heatmap.categories)
    ]
    measured = [curve for curve in curves if curve.is_measured]
    if not measured:
        return None
    level = format_level([step.mean for curve in measured for step in curve.steps])
    absent = [curve.name for curve in curves if not curve.is_measured]
    unknown = [trim_name(column.label) for column in heatmap.columns if column.label not in days]
    ends = []
    for name, steps, _ in measured:
        means = [step for step in steps if step.mean is not None]
        ends.append(
            f"{name.lower()} from {format_score(means[0].mean)} at {means[0].days:,.0f} days to "
            f"{format_score(means[-1].mean)} at {means[-1].days:,.0f}"
        )
    last = max(step.days for curve in measured for step in curve.steps)
    return Chart(
        name="category-curves",
        section="scores",
        title="Score by category over corpus size",
        summary=f"Score in points of 100 with intervals: {'; '.join(ends)}.",
        notes=(
            f"Points of 100 at each checkpoint, with {level} intervals; a line breaks where "
            "nothing was measured."
            + (" Dashed: silence below, the ceiling above." if heatmap.total.bounds else ""),
            f"Not measured: {join_words(absent, 12)}." if absent else "",
            f"Not drawn, as its days are not known: {join_words(unknown, 4)}." if unknown else "",
        ),
        body=build_grid(_build_panels(measured, last), _PANEL_COLUMNS),
        columns=("category", "checkpoint", "days", "mean", "low", "high", "trials"),
        rows=tuple(_list_cells(curve.name, step) for curve in measured for step in curve.steps),
    )


def _map_days(report: RunReport) -> dict[str, int]:
    """The days fed by each checkpoint, where known.

    A plan does not know the days of `full`; the analyses of the run do.
    """
    days = {column.label: column.days for table in report.heatmaps for column in table.columns}
    days |= {point.checkpoint: point.days for point in report.degradation.mixed}
    days |= {moment.checkpoint: moment.days for moment in report.hallucination.overall.moments}
    return {label: count for label, count in days.items() if count < FULL}


def _build_panels(curves: Sequence[CategoryCurve], last: float) -> list[ChartPanel]:
    panels = []
    for number, (name, steps, bounds) in enumerate(curves):
        is_low = number + _PANEL_COLUMNS >= len(curves)
        plane = ChartPlane(
            build_quantity_axis(
                "Days of history", 0, last, ticks=3, has_grid=False, is_bare=not is_low
            ),
            build_quantity_axis(
                None, 0, _BEST, ticks=(0, 25, 50, 75, 100), is_bare=bool(number % _PANEL_COLUMNS)
            ),
        )
        ends = {} if bounds is None else {"silence": bounds.floor, "ceiling": bounds.ceiling}
        lines = [
            {"y": marks * OF_100, "bound": f"{bound} {format_number(marks * OF_100, 0)}"}
            for bound, marks in ends.items()
            if marks is not None
        ]
        role = "other" if name == _ALL_CATEGORIES else "score"
        layers = [
            *plane.draw_marks("rule", "reference", lines, tells=("bound",)),
            *draw_curve(plane, steps, role, format_score),
        ]
        panels.append(
            ChartPanel(title=name, layers=layers, width=_PANEL_WIDTH, height=_PANEL_HEIGHT)
        )
    return panels


def _list_cells(name: str, step: CurveStep) -> tuple[object, ...]:
    return (name, trim_name(step.checkpoint), step.days, *list_figures(step.mean))


def plot_cohorts(views: Degradation) -> Chart | None:
    """Both curves in one view; None if nothing was measured."""
    mixed, fixed = _list_steps(views.mixed), _list_steps(views.fixed)
    level = format_level([step.mean for step in (*mixed, *fixed)])
    if not any(step.mean for step in (*mixed, *fixed)):
        return None
    card, cohort = views.cohort, f"No fixed view: {views.reason}" if views.reason else ""
    if card is not None:
        cohort = (
            f"Fixed: the same {card.questions:,} questions of "
            f"{format_quantity(card.personas, 'persona')} at "
            f"{format_quantity(card.checkpoints, 'checkpoint')}, {trim_name(card.first)} to "
            f"{trim_name(card.last)}."
        )
    plane = ChartPlane(
        build_quantity_axis("Days of history", 0, max(step.days for step in (*mixed, *fixed))),
        build_quantity_axis("Score (points of 100)", 0, _BEST, ticks=(0, 20, 40, 60, 80, 100)),
    )
    curves = [
        *draw_curve(plane, mixed, "score", format_score),
        *draw_curve(plane, fixed, "other", format_score),
    ]
    words = []
    for name, steps, trend in (
        ("Every question asked", mixed, views.mixed_trend),
        ("The same questions again", fixed, views.fixed_trend),
    ):
        if means := [step for step in steps if step.mean is not None]:
            unit = " points of 100"
            slope = None if trend is None else format_change(trend.slope, scale=OF_100, unit=unit)
            words.append(
                f"{name}: from {format_score(means[0].mean)} at {means[0].days:,.0f} days to "
                f"{format_score(means[-1].mean)} at {means[-1].days:,.0f}"
                f"{'' if slope is None else f', {slope}'}."
            )
    # All bands below all curves.
    bands = [layer for layer in curves if "-band" in str(layer["mark"])]
    lines = [layer for layer in curves if layer not in bands]
    return Chart(
        name="mixed-and-fixed-cohort",
        section="degradation",
        title="Score over corpus size: every question, and the same questions again",
        summary=" ".join(words),
        notes=(
            (
                f"Points of 100 with {level} intervals. Mixed: all questions asked at a "
                "checkpoint, which change from one to the next."
            ),
            cohort,
        ),
        body=build_view([*bands, *lines, *_label_curves(plane, mixed, fixed)], _COHORT_HEIGHT),
        columns=("view", "checkpoint", "days", "mean", "low", "high", "trials"),
        rows=(
            *(_list_cells("mixed", step) for step in mixed),
            *(_list_cells("fixed", step) for step in fixed),
        ),
    )


def _list_steps(points: Sequence[CurvePoint]) -> list[CurveStep]:
    return [
        CurveStep(checkpoint=point.checkpoint, days=point.days, mean=scale_score(point.mean))
        for point in points
        if point.days < FULL
    ]


def _label_curves(
    plane: ChartPlane, mixed: Sequence[CurveStep], fixed: Sequence[CurveStep]
) -> list[ChartLayer]:
    """The name of each curve at its end, moved apart where names would touch."""
    ends = []
    for role, steps in (("score", mixed), ("other", fixed)):
        points = [(role, step.days, step.mean.value) for step in steps if step.mean is not None]
        ends += points[-1:]
    ends.sort(key=lambda end: end[2])
    heights = [height for _, _, height in ends]
    are_beside = len({days for _, days, _ in ends}) == 1
    if len(heights) == 2 and are_beside and heights[1] - heights[0] < _LABEL_DISTANCE:
        middle = min(max(sum(heights) / 2, _LABEL_DISTANCE), _BEST - _LABEL_DISTANCE)
        heights = [middle - _LABEL_DISTANCE / 2, middle + _LABEL_DISTANCE / 2]
    layers: list[ChartLayer] = []
    last = max(days for _, days, _ in ends)
    for (role, days, _), height in zip(ends, heights, strict=True):
        text = {"x": days, "y": height, "text": "mixed" if role == "score" else "fixed"}
        # The name of a curve that ends early stands away from the other curve.
        dy = 0 if days == last else (-14 if height == heights[-1] else 14)
        layers += plane.draw_text(f"{role}-label", [text], dx=8, dy=dy)
    return layers
