"""Recall against hallucination: the path a system takes as memory grows."""

from collections.abc import Sequence
from math import ceil, floor

from recall_bench.analysis.hallucination.views import Course, Moment
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.curves import MANY
from recall_bench.charts.labels import Box, Spot, placed
from recall_bench.charts.plane import PERCENT, Layer, Plane, quantity, single, whole

_WIDTH, _HEIGHT = 620.0, 340.0
_DOT = 5.0
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)

_Ends = tuple[tuple[float, float], tuple[float, float]]
"""Where the axis of recall begins and ends, and that of hallucination."""


def recall_against_rate(course: Course) -> Chart | None:
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
        words.sentence(course.reason),
        (
            "One point a checkpoint, from faint to strong as the corpus grows. Crosses at the "
            f"first and the last are {words.level(means)} intervals."
        ),
    )
    return Chart(
        name="recall-against-hallucination",
        section="hallucination",
        title=title,
        summary=f"Pattern: {course.pattern}. {_summary(known[0], known[-1])}",
        spec=whole(title, notes, single(_path(known), _HEIGHT)),
        columns=(
            *("checkpoint", "days", "recall", "recall low", "recall high"),
            *("hallucination", "hallucination low", "hallucination high"),
        ),
        rows=tuple(
            (
                words.named(each.checkpoint),
                each.days,
                *words.figures(each.recall)[:3],
                *words.figures(each.hallucination)[:3],
            )
            for each in known
        ),
    )


def _summary(first: Moment, last: Moment) -> str:
    return (
        f"From {words.named(first.checkpoint)} to {words.named(last.checkpoint)} recall goes from "
        f"{words.rate(first.recall)} to {words.rate(last.recall)} and hallucination from "
        f"{words.rate(first.hallucination)} to {words.rate(last.hallucination)}."
    )


def _path(known: Sequence[Moment]) -> list[Layer]:
    rows = [_point(each) for each in known]
    ends = [rows[0], rows[-1]]
    room = _room(rows, "x"), _room(rows, "y")
    plane = Plane(
        quantity("Recall (% of the points for it)", *room[0], form=PERCENT),
        quantity("Answers that hallucinate (% of judged)", *room[1], form=PERCENT),
    )
    across = [row | {"x": row["x_low"], "x2": row["x_high"]} for row in ends if row["has_x"]]
    along = [row | {"y": row["y_low"], "y2": row["y_high"]} for row in ends if row["has_y"]]
    size = 70 if len(rows) <= MANY else 34
    shade = {
        "field": "days",
        "type": "quantitative",
        "scale": {"range": "ramp"},
        "legend": None,
    }
    tells = ("checkpoint", "recall", "hallucination")
    return [
        *plane.marks("line", "context", rows, order={"field": "days", "type": "quantitative"}),
        *plane.marks("rule", "score-thin", across),
        *plane.marks("rule", "score-thin", along),
        *plane.marks("point", "ramp-point", rows, tells=tells, mark={"size": size}, color=shade),
        *_end_words(plane, rows, room),
    ]


def _end_words(plane: Plane, rows: Sequence[dict[str, object]], ends: _Ends) -> list[Layer]:
    """The names of both ends, where they lie on no point and no cross."""
    first, last = rows[0], rows[-1]
    spots = [
        Spot(text=f"{word}: {row['checkpoint']}", x=_along(row["x"], ends), y=_down(row["y"], ends))
        for row, word in ((first, "first"), (last, "last"))
    ]
    taken = [_box(_along(row["x"], ends), _down(row["y"], ends)) for row in rows]
    for row, spot in ((first, spots[0]), (last, spots[1])):
        if row["has_x"]:
            taken.append((_along(row["x_low"], ends), spot.y, _along(row["x_high"], ends), spot.y))
        if row["has_y"]:
            taken.append((spot.x, _down(row["y_high"], ends), spot.x, _down(row["y_low"], ends)))
    layers: list[Layer] = []
    places = placed(spots, width=_WIDTH, avoiding=taken)
    for row, spot, place in zip((first, last), spots, places, strict=True):
        text = {"x": row["x"], "y": row["y"], "text": spot.text}
        layers += plane.words("strong-label", [text], align=place.align, dx=place.dx, dy=place.dy)
    return layers


def _along(value: object, ends: _Ends) -> float:
    low, high = ends[0]
    return (_number(value) - low) / (high - low) * _WIDTH


def _down(value: object, ends: _Ends) -> float:
    low, high = ends[1]
    return (high - _number(value)) / (high - low) * _HEIGHT


def _box(x: float, y: float) -> Box:
    return x - _DOT, y - _DOT, x + _DOT, y + _DOT


def _room(rows: Sequence[dict[str, object]], axis: str) -> tuple[float, float]:
    """Both ends of an axis, at round shares around all points and the ends' intervals."""
    ends = [row[key] for row in (rows[0], rows[-1]) for key in (f"{axis}_low", f"{axis}_high")]
    found = [_number(each) for each in (*(row[axis] for row in rows), *ends) if each is not None]
    step = next(each for each in _STEPS if max(found) - min(found) <= 8 * each)
    low, high = step * floor(min(found) / step), step * ceil(max(found) / step)
    if high <= low:
        low, high = (low - step, high) if low >= 1 else (low, low + step)
    return max(0.0, low), min(1.0, high)


def _point(moment: Moment) -> dict[str, object]:
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
        "checkpoint": words.named(moment.checkpoint, 16),
        "recall": words.rate(recall),
        "hallucination": words.rate(invented),
    }


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
