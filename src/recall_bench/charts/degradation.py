"""How scores change with corpus size: all questions asked, beside the same ones asked again."""

from collections.abc import Sequence

from recall_bench.analysis.degradation.views import CurvePoint, Degradation
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.curves import Step, curve
from recall_bench.charts.plane import Layer, Plane, quantity, single, whole
from recall_bench.core.ranges import FULL
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.statistics.trend import Trend

_HEIGHT = 300.0
_APART = 0.4
"""Points between two labels that can both be read."""


def mixed_and_fixed(views: Degradation) -> Chart | None:
    """Both curves in one view; None where nothing was measured."""
    mixed, fixed = _steps(views.mixed), _steps(views.fixed)
    if not any(step.mean for step in (*mixed, *fixed)):
        return None
    title = "Score over corpus size: every question, and the same questions again"
    means = [step.mean for step in (*mixed, *fixed)]
    notes = [
        (
            f"Mean points of {FULL_MARKS} with {words.level(means)} intervals. Mixed: all "
            "questions asked at a checkpoint, which change from one to the next."
        ),
        _cohort(views),
    ]
    plane = Plane(
        quantity("Days of history", 0, max(step.days for step in (*mixed, *fixed))),
        quantity(
            f"Mean score (of {FULL_MARKS} points)", 0, FULL_MARKS, ticks=range(FULL_MARKS + 1)
        ),
    )
    curves = [
        *curve(plane, mixed, "score", words.score),
        *curve(plane, fixed, "other", words.score),
    ]
    # No band lies on the other curve.
    layers = [*sorted(curves, key=_is_line), *_names(plane, mixed, fixed)]
    return Chart(
        name="mixed-and-fixed-cohort",
        section="degradation",
        title=title,
        summary=_summary(views, mixed, fixed),
        spec=whole(title, notes, single(layers, _HEIGHT)),
        columns=("view", "checkpoint", "days", "mean", "low", "high", "trials"),
        rows=(*_lines("mixed", mixed), *_lines("fixed", fixed)),
    )


def _is_line(layer: Layer) -> bool:
    mark = layer["mark"]
    return not (isinstance(mark, dict) and mark["type"] == "area")


def _steps(points: Sequence[CurvePoint]) -> list[Step]:
    return [
        Step(checkpoint=each.checkpoint, days=each.days, mean=each.mean)
        for each in points
        if each.days < FULL
    ]


def _names(plane: Plane, mixed: Sequence[Step], fixed: Sequence[Step]) -> list[Layer]:
    """The name of each curve at its end, moved apart where they would touch."""
    ends = [(role, _end(steps)) for role, steps in (("score", mixed), ("other", fixed))]
    known = [(role, *end) for role, end in ends if end is not None]
    known.sort(key=lambda each: each[2])
    heights = [height for _, _, height in known]
    are_beside = len({days for _, days, _ in known}) == 1
    if len(heights) == 2 and are_beside and heights[1] - heights[0] < _APART:
        middle = min(max(sum(heights) / 2, _APART), FULL_MARKS - _APART)
        heights = [middle - _APART / 2, middle + _APART / 2]
    layers: list[Layer] = []
    last = max(days for _, days, _ in known)
    for (role, days, _), height in zip(known, heights, strict=True):
        text = {"x": days, "y": height, "text": "mixed" if role == "score" else "fixed"}
        # A curve that ends early is named on the side where the other is not.
        dy = 0 if days == last else (-14 if height == heights[-1] else 14)
        layers += plane.words(f"{role}-label", [text], dx=8, dy=dy)
    return layers


def _end(steps: Sequence[Step]) -> tuple[float, float] | None:
    known = [(step.days, step.mean.value) for step in steps if step.mean is not None]
    return known[-1] if known else None


def _cohort(views: Degradation) -> str:
    card = views.cohort
    if card is None:
        return f"No fixed view: {views.reason}" if views.reason else ""
    return (
        f"Fixed: the same {card.questions:,} questions of {card.personas} "
        f"{'persona' if card.personas == 1 else 'personas'} at {card.checkpoints} "
        f"{'checkpoint' if card.checkpoints == 1 else 'checkpoints'}, "
        f"{words.named(card.first)} to {words.named(card.last)}."
    )


def _summary(views: Degradation, mixed: Sequence[Step], fixed: Sequence[Step]) -> str:
    said = []
    for name, steps, trend in (
        ("Every question asked", mixed, views.mixed_trend),
        ("The same questions again", fixed, views.fixed_trend),
    ):
        known = [step for step in steps if step.mean is not None]
        if known:
            said.append(
                f"{name}: from {words.score(known[0].mean)} at {known[0].days:,.0f} days to "
                f"{words.score(known[-1].mean)} at {known[-1].days:,.0f}{_slope(trend)}."
            )
    return " ".join(said)


def _slope(trend: Trend | None) -> str:
    if trend is None:
        return ""
    return f", {words.change(trend.slope, scale=1, unit=' points')}"


def _lines(view: str, steps: Sequence[Step]) -> list[tuple[object, ...]]:
    return [
        (
            view,
            words.named(step.checkpoint),
            step.days,
            *words.figures(step.mean),
        )
        for step in steps
    ]
