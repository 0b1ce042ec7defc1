"""Hallucination over corpus size: what was measured, the line through it, and where it leads."""

from collections.abc import Sequence

from recall_bench.analysis.hallucination.views import RateCourse
from recall_bench.charts import words
from recall_bench.charts.bars import choose_top
from recall_bench.charts.chart import Chart
from recall_bench.charts.curves import MANY_CHECKPOINTS
from recall_bench.charts.plane import (
    PERCENT_FORMAT,
    ChartLayer,
    ChartPanel,
    ChartPlane,
    build_chart_spec,
    build_grid,
    build_name_axis,
    build_quantity_axis,
)
from recall_bench.core.ranges import FULL
from recall_bench.statistics.trend import Prediction, Trend

_OUTLOOK_HEIGHT, _MEASURED_WIDTH, _BEYOND_WIDTH = 270.0, 420.0, 200.0


def plot_rate_over_size(course: RateCourse) -> Chart | None:
    """Measured rates with their line, and beside them what the line says of sizes not seen."""
    rows = [
        _build_measured_row(course, n) for n, each in enumerate(course.moments) if each.days < FULL
    ]
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
        summary=_summarise_outlook(trend, far),
        spec=build_chart_spec(
            title, _list_outlook_notes(course, far), _build_views(known, trend, far)
        ),
        columns=("size", "days", "rate", "low", "high", "kind"),
        rows=(
            *(
                (row["checkpoint"], row["x"], row["y"], row["low"], row["high"], "measured")
                for row in rows
            ),
            *(
                (
                    _format_size(each),
                    each.days,
                    each.value,
                    each.low,
                    each.high,
                    _describe_kind(each),
                )
                for each in (() if trend is None else trend.predictions)
            ),
        ),
    )


def _build_measured_row(course: RateCourse, number: int) -> dict[str, object]:
    moment = course.moments[number]
    rate = moment.hallucination
    return {
        "x": moment.days,
        "y": None if rate is None else rate.value,
        "low": None if rate is None else rate.low,
        "high": None if rate is None else rate.high,
        "checkpoint": words.trim_name(moment.checkpoint),
        "rate": words.format_rate(rate),
        "trials": 0 if rate is None else rate.trials,
    }


def _build_views(
    known: Sequence[dict[str, object]], trend: Trend | None, far: Sequence[Prediction]
) -> dict[str, object]:
    said = () if trend is None else trend.predictions
    highs = [row["high"] or row["y"] for row in known] + [each.high or each.value for each in said]
    top = choose_top([float(str(each)) for each in highs])
    rates = build_quantity_axis(
        "Answers that hallucinate (% of judged)", 0, top, form=PERCENT_FORMAT
    )
    last = max(float(str(row["x"])) for row in known)
    plane = ChartPlane(build_quantity_axis("Days of history", 0, last, has_grid=False), rates)
    panels = [
        ChartPanel(
            title="Measured",
            layers=[
                *_draw_band(plane, trend),
                *_draw_points(plane, known),
                *_draw_line(plane, trend),
            ],
            width=_MEASURED_WIDTH,
            height=_OUTLOOK_HEIGHT,
        )
    ]
    if far:
        panels.append(_build_beyond_panel(far, top))
    return build_grid(panels, 2, gap=26)


def _draw_points(plane: ChartPlane, known: Sequence[dict[str, object]]) -> list[ChartLayer]:
    spans = [row | {"y": row["low"], "y2": row["high"]} for row in known if row["low"] is not None]
    tells = ("checkpoint", "rate", "trials")
    is_crowded = len(known) > MANY_CHECKPOINTS
    dot = {"size": 16, "opacity": 0.5} if is_crowded else {"size": 30}
    return [
        *plane.draw_marks("rule", "invention-thin", [] if is_crowded else spans),
        *plane.draw_marks("point", "invention-point", known, tells=tells, mark=dot),
    ]


def _draw_line(plane: ChartPlane, trend: Trend | None) -> list[ChartLayer]:
    """The line, as far as anything was measured."""
    if trend is None:
        return []
    ends = [
        {"x": day, "y": min(1.0, max(0.0, trend.intercept.value + trend.slope.value * day))}
        for day in (trend.first_day, trend.last_day)
    ]
    return plane.draw_marks("line", "invention-line", ends)


def _draw_band(plane: ChartPlane, trend: Trend | None) -> list[ChartLayer]:
    """The band of the line, where it was asked for among the sizes measured."""
    if trend is None:
        return []
    band = [
        {"x": each.days, "y": each.low, "y2": each.high}
        for each in sorted(trend.predictions, key=lambda each: each.days)
        if not each.is_beyond and each.low is not None
    ]
    return plane.draw_marks("area", "invention-band", band)


def _build_beyond_panel(far: Sequence[Prediction], top: float) -> ChartPanel:
    order = [_format_size(each) for each in far]
    plane = ChartPlane(
        build_name_axis(order, title="Days of history"),
        build_quantity_axis(None, 0, top, form=PERCENT_FORMAT, has_grid=False, is_bare=True),
    )
    rows = [
        {
            "x": _format_size(each),
            "y": each.value,
            "low": each.low,
            "high": each.high,
            "rate": _format_rate(each),
        }
        for each in far
    ]
    spans = [row | {"y": row["low"], "y2": row["high"]} for row in rows if row["low"] is not None]
    said = [{"x": _format_size(each), "y": each.value, "text": _format_short(each)} for each in far]
    ground = [{"y": 0, "y2": top}]
    return ChartPanel(
        title="Beyond what was measured",
        layers=[
            *plane.draw_marks("rect", "beyond", ground),
            *plane.draw_marks("rule", "invention-beyond", spans),
            *plane.draw_marks(
                "point",
                "invention-point",
                rows,
                tells=("rate",),
                mark={"size": 90, "shape": "diamond"},
            ),
            *plane.draw_text("strong-label", said, dx=9),
        ],
        width=_BEYOND_WIDTH,
        height=_OUTLOOK_HEIGHT,
    )


def _format_short(each: Prediction) -> str:
    return words.format_share(each.value) + (" †" if each.is_clipped else "")


def _list_outlook_notes(course: RateCourse, far: Sequence[Prediction]) -> list[str]:
    shown = words.format_level([each.hallucination for each in course.moments])
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


def _summarise_outlook(trend: Trend | None, far: Sequence[Prediction]) -> str:
    if trend is None:
        return "Hallucination was measured at one corpus size only, so there is no line."
    start = trend.intercept
    said = (
        f"Hallucination starts at {words.format_share_interval(start.value, start.low, start.high)} and "
        f"changes by {words.format_change(trend.slope, scale=100, unit=' points of 100')}."
    )
    for each in far:
        said += f" At {_format_size(each)} days, {_describe_kind(each)}, the line says {_format_rate(each)}."
    return said


def _format_rate(each: Prediction) -> str:
    return words.format_share_interval(each.value, each.low, each.high)


def _format_size(each: Prediction) -> str:
    return f"{each.days:,.0f}"


def _describe_kind(each: Prediction) -> str:
    where = "beyond what was measured" if each.is_beyond else "the line where it was measured"
    return where + (", cut at what is possible" if each.is_clipped else "")
