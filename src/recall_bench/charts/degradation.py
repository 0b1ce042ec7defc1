"""How scores change with corpus size: all questions asked, beside the same ones asked again."""

from collections.abc import Sequence

from recall_bench.analysis.degradation.views import CurvePoint, Degradation
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.curves import CurveStep, draw_curve
from recall_bench.charts.plane import (
    ChartLayer,
    ChartPlane,
    build_chart_spec,
    build_quantity_axis,
    build_view,
)
from recall_bench.core.ranges import FULL
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.statistics.trend import Trend

_COHORT_HEIGHT = 300.0
_LABEL_DISTANCE = 0.4
"""Points between two labels that can both be read."""


def plot_cohorts(views: Degradation) -> Chart | None:
    """Both curves in one view; None where nothing was measured."""
    mixed, fixed = _list_point_steps(views.mixed), _list_point_steps(views.fixed)
    if not any(step.mean for step in (*mixed, *fixed)):
        return None
    title = "Score over corpus size: every question, and the same questions again"
    means = [step.mean for step in (*mixed, *fixed)]
    notes = [
        (
            f"Mean points of {FULL_MARKS} with {words.format_level(means)} intervals. Mixed: all "
            "questions asked at a checkpoint, which change from one to the next."
        ),
        _describe_cohort(views),
    ]
    plane = ChartPlane(
        build_quantity_axis("Days of history", 0, max(step.days for step in (*mixed, *fixed))),
        build_quantity_axis(
            f"Mean score (of {FULL_MARKS} points)", 0, FULL_MARKS, ticks=range(FULL_MARKS + 1)
        ),
    )
    curves = [
        *draw_curve(plane, mixed, "score", words.format_score),
        *draw_curve(plane, fixed, "other", words.format_score),
    ]
    # No band lies on the other curve.
    layers = [*sorted(curves, key=_is_line), *_label_curves(plane, mixed, fixed)]
    return Chart(
        name="mixed-and-fixed-cohort",
        section="degradation",
        title=title,
        summary=_summarise_cohorts(views, mixed, fixed),
        spec=build_chart_spec(title, notes, build_view(layers, _COHORT_HEIGHT)),
        columns=("view", "checkpoint", "days", "mean", "low", "high", "trials"),
        rows=(*_build_lines("mixed", mixed), *_build_lines("fixed", fixed)),
    )


def _is_line(layer: ChartLayer) -> bool:
    mark = layer["mark"]
    return not (isinstance(mark, dict) and mark["type"] == "area")


def _list_point_steps(points: Sequence[CurvePoint]) -> list[CurveStep]:
    return [
        CurveStep(checkpoint=each.checkpoint, days=each.days, mean=each.mean)
        for each in points
        if each.days < FULL
    ]


def _label_curves(
    plane: ChartPlane, mixed: Sequence[CurveStep], fixed: Sequence[CurveStep]
) -> list[ChartLayer]:
    """The name of each curve at its end, moved apart where they would touch."""
    ends = [(role, _find_last(steps)) for role, steps in (("score", mixed), ("other", fixed))]
    known = [(role, *end) for role, end in ends if end is not None]
    known.sort(key=lambda each: each[2])
    heights = [height for _, _, height in known]
    are_beside = len({days for _, days, _ in known}) == 1
    if len(heights) == 2 and are_beside and heights[1] - heights[0] < _LABEL_DISTANCE:
        middle = min(max(sum(heights) / 2, _LABEL_DISTANCE), FULL_MARKS - _LABEL_DISTANCE)
        heights = [middle - _LABEL_DISTANCE / 2, middle + _LABEL_DISTANCE / 2]
    layers: list[ChartLayer] = []
    last = max(days for _, days, _ in known)
    for (role, days, _), height in zip(known, heights, strict=True):
        text = {"x": days, "y": height, "text": "mixed" if role == "score" else "fixed"}
        # A curve that ends early is named on the side where the other is not.
        dy = 0 if days == last else (-14 if height == heights[-1] else 14)
        layers += plane.draw_text(f"{role}-label", [text], dx=8, dy=dy)
    return layers


def _find_last(steps: Sequence[CurveStep]) -> tuple[float, float] | None:
    known = [(step.days, step.mean.value) for step in steps if step.mean is not None]
    return known[-1] if known else None


def _describe_cohort(views: Degradation) -> str:
    card = views.cohort
    if card is None:
        return f"No fixed view: {views.reason}" if views.reason else ""
    return (
        f"Fixed: the same {card.questions:,} questions of {card.personas} "
        f"{'persona' if card.personas == 1 else 'personas'} at {card.checkpoints} "
        f"{'checkpoint' if card.checkpoints == 1 else 'checkpoints'}, "
        f"{words.trim_name(card.first)} to {words.trim_name(card.last)}."
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
                f"{name}: from {words.format_score(known[0].mean)} at {known[0].days:,.0f} days to "
                f"{words.format_score(known[-1].mean)} at {known[-1].days:,.0f}{_format_trend(trend)}."
            )
    return " ".join(said)


def _format_trend(trend: Trend | None) -> str:
    if trend is None:
        return ""
    return f", {words.format_change(trend.slope, scale=1, unit=' points')}"


def _build_lines(view: str, steps: Sequence[CurveStep]) -> list[tuple[object, ...]]:
    return [
        (
            view,
            words.trim_name(step.checkpoint),
            step.days,
            *words.list_figures(step.mean),
        )
        for step in steps
    ]
