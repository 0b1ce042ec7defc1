"""Hallucination over corpus size: what was measured, the line through it, and where it leads."""

from collections.abc import Sequence

from recall_bench.analysis.hallucination.views import Course
from recall_bench.charts import words
from recall_bench.charts.bars import top_share
from recall_bench.charts.chart import Chart
from recall_bench.charts.curves import MANY
from recall_bench.charts.plane import PERCENT, Layer, Panel, Plane, grid, names, quantity, whole
from recall_bench.core.ranges import FULL
from recall_bench.statistics.trend import Prediction, Trend

_HEIGHT, _MEASURED, _FAR = 270.0, 420.0, 200.0


def rate_over_size(course: Course) -> Chart | None:
    """Measured rates with their line, and beside them what the line says of sizes not seen."""
    rows = [_measured(course, n) for n, each in enumerate(course.moments) if each.days < FULL]
    known = [row for row in rows if row["y"] is not None]
    if not known:
        return None
    trend = course.hallucination
    far = [] if trend is None else [each for each in trend.predictions if each.is_beyond]
    title = "Hallucination over corpus size"
    return Chart(
        name="hallucination-over-size",
        section="hallucination",
        title=title,
        summary=_summary(trend, far),
        spec=whole(title, _notes(course, far), _views(known, trend, far)),
        columns=("size", "days", "rate", "low", "high", "kind"),
        rows=(
            *(
                (row["checkpoint"], row["x"], row["y"], row["low"], row["high"], "measured")
                for row in rows
            ),
            *(
                (_size(each), each.days, each.value, each.low, each.high, _kind(each))
                for each in (() if trend is None else trend.predictions)
            ),
        ),
    )


def _measured(course: Course, number: int) -> dict[str, object]:
    moment = course.moments[number]
    rate = moment.hallucination
    return {
        "x": moment.days,
        "y": None if rate is None else rate.value,
        "low": None if rate is None else rate.low,
        "high": None if rate is None else rate.high,
        "checkpoint": words.named(moment.checkpoint),
        "rate": words.rate(rate),
        "trials": 0 if rate is None else rate.trials,
    }


def _views(
    known: Sequence[dict[str, object]], trend: Trend | None, far: Sequence[Prediction]
) -> dict[str, object]:
    said = () if trend is None else trend.predictions
    highs = [row["high"] or row["y"] for row in known] + [each.high or each.value for each in said]
    top = top_share([float(str(each)) for each in highs])
    rates = quantity("Answers that hallucinate (% of judged)", 0, top, form=PERCENT)
    last = max(float(str(row["x"])) for row in known)
    plane = Plane(quantity("Days of history", 0, last, has_grid=False), rates)
    panels = [
        Panel(
            title="Measured",
            layers=[*_band(plane, trend), *_points(plane, known), *_line(plane, trend)],
            width=_MEASURED,
            height=_HEIGHT,
        )
    ]
    if far:
        panels.append(_far(far, top))
    return grid(panels, 2, gap=26)


def _points(plane: Plane, known: Sequence[dict[str, object]]) -> list[Layer]:
    spans = [row | {"y": row["low"], "y2": row["high"]} for row in known if row["low"] is not None]
    tells = ("checkpoint", "rate", "trials")
    is_crowded = len(known) > MANY
    dot = {"size": 16, "opacity": 0.5} if is_crowded else {"size": 30}
    return [
        *plane.marks("rule", "invention-thin", [] if is_crowded else spans),
        *plane.marks("point", "invention-point", known, tells=tells, mark=dot),
    ]


def _line(plane: Plane, trend: Trend | None) -> list[Layer]:
    """The line, as far as anything was measured."""
    if trend is None:
        return []
    ends = [
        {"x": day, "y": min(1.0, max(0.0, trend.intercept.value + trend.slope.value * day))}
        for day in (trend.first_day, trend.last_day)
    ]
    return plane.marks("line", "invention-line", ends)


def _band(plane: Plane, trend: Trend | None) -> list[Layer]:
    """The band of the line, where it was asked for among the sizes measured."""
    if trend is None:
        return []
    band = [
        {"x": each.days, "y": each.low, "y2": each.high}
        for each in sorted(trend.predictions, key=lambda each: each.days)
        if not each.is_beyond and each.low is not None
    ]
    return plane.marks("area", "invention-band", band)


def _far(far: Sequence[Prediction], top: float) -> Panel:
    order = [_size(each) for each in far]
    plane = Plane(
        names(order, title="Days of history"),
        quantity(None, 0, top, form=PERCENT, has_grid=False, is_bare=True),
    )
    rows = [
        {"x": _size(each), "y": each.value, "low": each.low, "high": each.high, "rate": _rate(each)}
        for each in far
    ]
    spans = [row | {"y": row["low"], "y2": row["high"]} for row in rows if row["low"] is not None]
    said = [{"x": _size(each), "y": each.value, "text": _short(each)} for each in far]
    ground = [{"y": 0, "y2": top}]
    return Panel(
        title="Beyond what was measured",
        layers=[
            *plane.marks("rect", "beyond", ground),
            *plane.marks("rule", "invention-beyond", spans),
            *plane.marks(
                "point",
                "invention-point",
                rows,
                tells=("rate",),
                mark={"size": 90, "shape": "diamond"},
            ),
            *plane.words("strong-label", said, dx=9),
        ],
        width=_FAR,
        height=_HEIGHT,
    )


def _short(each: Prediction) -> str:
    return words.share(each.value) + (" †" if each.is_clipped else "")


def _notes(course: Course, far: Sequence[Prediction]) -> list[str]:
    shown = words.level([each.hallucination for each in course.moments])
    notes = [
        (
            f"Share of judged answers at each checkpoint with {shown} intervals, and a straight "
            "line by least squares over trials."
        ),
    ]
    if any(each.is_clipped for each in far):
        notes.append(
            "† the line or its band left what is possible there, and is cut at 0 or 100 %."
        )
    return notes


def _summary(trend: Trend | None, far: Sequence[Prediction]) -> str:
    if trend is None:
        return "Hallucination was measured at one corpus size only, so there is no line."
    start = trend.intercept
    said = (
        f"Hallucination starts at {words.share_with(start.value, start.low, start.high)} and "
        f"changes by {words.change(trend.slope, scale=100, unit=' points of 100')}."
    )
    for each in far:
        said += f" At {_size(each)} days, {_kind(each)}, the line says {_rate(each)}."
    return said


def _rate(each: Prediction) -> str:
    return words.share_with(each.value, each.low, each.high)


def _size(each: Prediction) -> str:
    return f"{each.days:,.0f}"


def _kind(each: Prediction) -> str:
    where = "beyond what was measured" if each.is_beyond else "the line where it was measured"
    return where + (", cut at what is possible" if each.is_clipped else "")
