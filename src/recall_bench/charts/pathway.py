"""Recall against hallucination: the path a system takes as memory grows."""

from collections.abc import Sequence
from math import ceil, floor

from recall_bench.analysis.hallucination.views import CheckpointRates, RateCourse
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.curves import MANY_CHECKPOINTS
from recall_bench.charts.labels import LabelBox, LabelSpot, arrange_labels
from recall_bench.charts.plane import (
    PERCENT_FORMAT,
    ChartLayer,
    ChartPlane,
    build_chart_spec,
    build_quantity_axis,
    build_view,
)

_PATH_WIDTH, _PATH_HEIGHT = 620.0, 340.0
_DOT_RADIUS = 5.0
_AXIS_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)

_AxisEnds = tuple[tuple[float, float], tuple[float, float]]
"""Where the axis of recall begins and ends, and that of hallucination."""


def plot_recall_against_rate(course: RateCourse) -> Chart | None:
    """A path from the first checkpoint to the last; None where fewer than two are known."""
    known = sorted(
        (each for each in course.moments if each.recall and each.hallucination),
        key=lambda each: each.days,
    )
    if len(known) < 2:
        return None
    title = f"Recall against hallucination: {course.pattern}"
    means = [each.recall for each in known]
    notes = (
        words.format_sentence(course.reason),
        (
            "One point a checkpoint, from faint to strong as the corpus grows. Crosses at the "
            f"first and the last are {words.format_level(means)} intervals."
        ),
    )
    return Chart(
        name="recall-against-hallucination",
        section="hallucination",
        title=title,
        summary=f"Pattern: {course.pattern}. {_summarise_path(known[0], known[-1])}",
        spec=build_chart_spec(title, notes, build_view(_draw_path(known), _PATH_HEIGHT)),
        columns=(
            *("checkpoint", "days", "recall", "recall low", "recall high"),
            *("hallucination", "hallucination low", "hallucination high"),
        ),
        rows=tuple(
            (
                words.trim_name(each.checkpoint),
                each.days,
                *words.list_figures(each.recall)[:3],
                *words.list_figures(each.hallucination)[:3],
            )
            for each in known
        ),
    )


def _summarise_path(first: CheckpointRates, last: CheckpointRates) -> str:
    return (
        f"From {words.trim_name(first.checkpoint)} to {words.trim_name(last.checkpoint)} recall goes from "
        f"{words.format_rate(first.recall)} to {words.format_rate(last.recall)} and hallucination from "
        f"{words.format_rate(first.hallucination)} to {words.format_rate(last.hallucination)}."
    )


def _draw_path(known: Sequence[CheckpointRates]) -> list[ChartLayer]:
    rows = [_build_point(each) for each in known]
    ends = [rows[0], rows[-1]]
    room = _choose_ends(rows, "x"), _choose_ends(rows, "y")
    plane = ChartPlane(
        build_quantity_axis("Recall (% of the points for it)", *room[0], form=PERCENT_FORMAT),
        build_quantity_axis(
            "Answers that hallucinate (% of judged)", *room[1], form=PERCENT_FORMAT
        ),
    )
    across = [row | {"x": row["x_low"], "x2": row["x_high"]} for row in ends if row["has_x"]]
    along = [row | {"y": row["y_low"], "y2": row["y_high"]} for row in ends if row["has_y"]]
    size = 70 if len(rows) <= MANY_CHECKPOINTS else 34
    shade = {
        "field": "days",
        "type": "quantitative",
        "scale": {"range": "ramp"},
        "legend": None,
    }
    tells = ("checkpoint", "recall", "hallucination")
    return [
        *plane.draw_marks("line", "context", rows, order={"field": "days", "type": "quantitative"}),
        *plane.draw_marks("rule", "score-thin", across),
        *plane.draw_marks("rule", "score-thin", along),
        *plane.draw_marks(
            "point", "ramp-point", rows, tells=tells, mark={"size": size}, color=shade
        ),
        *_label_ends(plane, rows, room),
    ]


def _label_ends(
    plane: ChartPlane, rows: Sequence[dict[str, object]], ends: _AxisEnds
) -> list[ChartLayer]:
    """The names of both ends, where they lie on no point and no cross."""
    first, last = rows[0], rows[-1]
    spots = [
        LabelSpot(
            text=f"{word}: {row['checkpoint']}",
            x=_scale_x(row["x"], ends),
            y=_scale_y(row["y"], ends),
        )
        for row, word in ((first, "first"), (last, "last"))
    ]
    taken = [_bound_dot(_scale_x(row["x"], ends), _scale_y(row["y"], ends)) for row in rows]
    for row, spot in ((first, spots[0]), (last, spots[1])):
        if row["has_x"]:
            taken.append(
                (_scale_x(row["x_low"], ends), spot.y, _scale_x(row["x_high"], ends), spot.y)
            )
        if row["has_y"]:
            taken.append(
                (spot.x, _scale_y(row["y_high"], ends), spot.x, _scale_y(row["y_low"], ends))
            )
    layers: list[ChartLayer] = []
    places = arrange_labels(spots, width=_PATH_WIDTH, avoiding=taken)
    for row, spot, place in zip((first, last), spots, places, strict=True):
        text = {"x": row["x"], "y": row["y"], "text": spot.text}
        layers += plane.draw_text(
            "strong-label", [text], align=place.align, dx=place.dx, dy=place.dy
        )
    return layers


def _scale_x(value: object, ends: _AxisEnds) -> float:
    low, high = ends[0]
    return (_read_number(value) - low) / (high - low) * _PATH_WIDTH


def _scale_y(value: object, ends: _AxisEnds) -> float:
    low, high = ends[1]
    return (high - _read_number(value)) / (high - low) * _PATH_HEIGHT


def _bound_dot(x: float, y: float) -> LabelBox:
    return x - _DOT_RADIUS, y - _DOT_RADIUS, x + _DOT_RADIUS, y + _DOT_RADIUS


def _choose_ends(rows: Sequence[dict[str, object]], axis: str) -> tuple[float, float]:
    """Both ends of an axis, at round shares around all points and the ends' intervals."""
    ends = [row[key] for row in (rows[0], rows[-1]) for key in (f"{axis}_low", f"{axis}_high")]
    found = [
        _read_number(each) for each in (*(row[axis] for row in rows), *ends) if each is not None
    ]
    step = next(each for each in _AXIS_STEPS if max(found) - min(found) <= 8 * each)
    low, high = step * floor(min(found) / step), step * ceil(max(found) / step)
    if high <= low:
        low, high = (low - step, high) if low >= 1 else (low, low + step)
    return max(0.0, low), min(1.0, high)


def _build_point(moment: CheckpointRates) -> dict[str, object]:
    recall, invented = moment.recall, moment.hallucination
    if recall is None or invented is None:
        raise ValueError(f"{moment.checkpoint}: has no point")
    return {
        "x": recall.value,
        "x_low": recall.low,
        "x_high": recall.high,
        "has_x": recall.low is not None,
        "y": invented.value,
        "y_low": invented.low,
        "y_high": invented.high,
        "has_y": invented.low is not None,
        "days": moment.days,
        "checkpoint": words.trim_name(moment.checkpoint, 16),
        "recall": words.format_rate(recall),
        "hallucination": words.format_rate(invented),
    }


def _read_number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
