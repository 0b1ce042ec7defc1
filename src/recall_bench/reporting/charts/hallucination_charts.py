"""Hallucination by category and persona, over corpus size, and against recall."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from recall_bench.core.plan import FULL
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.trend import Prediction, Trend
from recall_bench.reporting.analyses.hallucination import (
    CheckpointRates,
    HallucinationViews,
    RateCourse,
)
from recall_bench.reporting.charts import chart_text
from recall_bench.reporting.charts.curves import MANY_CHECKPOINTS
from recall_bench.reporting.charts.plane import (
    PERCENT_FORMAT,
    Chart,
    ChartLayer,
    ChartPanel,
    ChartPlane,
    LabelBox,
    LabelSpot,
    arrange_labels,
    build_chart_spec,
    build_grid,
    build_name_axis,
    build_quantity_axis,
    build_view,
)

_BAR_STEP = 26.0
"""The height of one bar and the gap below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateBar:
    """One rate and the text beside it."""

    name: str
    rate: Estimate | None
    said: str
    is_first: bool
    """Whether it is drawn in full colour."""


def choose_top(shares: Sequence[float | None]) -> float:
    """The end of an axis of shares: the next twentieth above the largest."""
    most = max((each for each in shares if each is not None), default=0.0)
    return min(1.0, max(0.05, ceil(20 * most + 1e-9) / 20))


def draw_rate_bars(bars: Sequence[RateBar], title: str) -> tuple[list[ChartLayer], float]:
    """The layers of horizontal bars, and their total height."""
    ends = [each for bar in bars if bar.rate for each in (bar.rate.value, bar.rate.high)]
    plane = ChartPlane(
        build_quantity_axis(title, 0, choose_top(ends), form=PERCENT_FORMAT, ticks=5),
        build_name_axis([bar.name for bar in bars]),
    )
    shown = [_build_bar_row(bar, bar.rate) for bar in bars if bar.rate is not None]
    spans = [row for row in shown if row["x2"] is not None]
    tells = ("name", "rate", "trials")
    size = {"height": {"band": 0.62}}
    strong = [row | {"x": row["value"], "x2": 0} for row in shown if row["is_first"]]
    pale = [row | {"x": row["value"], "x2": 0} for row in shown if not row["is_first"]]
    layers = [
        *plane.draw_marks("bar", "invention-bar", strong, tells=tells, mark=size),
        *plane.draw_marks("bar", "invention-pale-bar", pale, tells=tells, mark=size),
        # A halo makes the interval visible on a bar of any colour.
        *plane.draw_marks("rule", "halo", spans),
        *plane.draw_marks("rule", "interval", spans, tells=tells),
        *plane.draw_text("label", list_bar_labels(bars), dx=8),
        *plane.draw_text("note", list_missing_labels(bars), dx=4),
    ]
    return layers, _BAR_STEP * len(bars)


def list_bar_labels(bars: Sequence[RateBar]) -> list[dict[str, object]]:
    """The texts at the ends of the bars."""
    return [
        {"x": _find_end(bar.rate), "y": bar.name, "text": bar.said}
        for bar in bars
        if bar.rate is not None
    ]


def list_missing_labels(bars: Sequence[RateBar]) -> list[dict[str, object]]:
    """The texts where there is no bar."""
    return [{"x": 0, "y": bar.name, "text": bar.said} for bar in bars if bar.rate is None]


def _find_end(rate: Estimate) -> float:
    return rate.value if rate.high is None else rate.high


def _build_bar_row(bar: RateBar, rate: Estimate) -> dict[str, object]:
    return {
        "x": rate.low,
        "x2": rate.high,
        "y": bar.name,
        "value": rate.value,
        "name": bar.name,
        "rate": chart_text.format_rate(rate),
        "trials": rate.trials,
        "is_first": bar.is_first,
    }


def plot_category_rates(views: HallucinationViews) -> Chart | None:
    """One bar a category, the likeliest to hallucinate first."""
    if not any(each.rate for each in views.categories):
        return None
    title = "Hallucination by category"
    names = chart_text.rename_duplicates(
        [chart_text.format_slug(each.name) for each in views.categories]
    )
    bars = [
        RateBar(
            name=name,
            rate=each.rate,
            said=chart_text.format_rate(each.rate),
            is_first=True,
        )
        for name, each in zip(names, views.categories, strict=True)
    ]
    notes = (
        (
            "Share of judged answers that state something made up, with "
            f"{chart_text.format_level([bar.rate for bar in bars])} intervals. Negative recall and "
            "synthesis, which tempt most to invent, come first."
        ),
    )
    layers, height = draw_rate_bars(bars, "Answers that hallucinate (% of judged)")
    return Chart(
        name="hallucination-by-category",
        section="hallucination",
        title=title,
        summary=_summarise_bars("Answers that hallucinate, by category", bars),
        spec=build_chart_spec(title, notes, build_view(layers, height)),
        columns=("category", "rate", "low", "high", "trials"),
        rows=tuple((bar.name, *chart_text.list_figures(bar.rate)) for bar in bars),
    )


def plot_persona_rates(views: HallucinationViews) -> Chart | None:
    """One bar a persona, with the pattern of each."""
    if not any(each.rate for each in views.personas):
        return None
    title = "Hallucination by persona"
    courses = [views.overall, *views.personas]
    names = chart_text.rename_duplicates(
        [chart_text.trim_name(each.name or "All personas") for each in courses]
    )
    bars = [
        RateBar(
            name=name,
            rate=each.rate,
            said=f"{chart_text.format_rate(each.rate)} · {each.pattern}",
            is_first=each.name is None,
        )
        for name, each in zip(names, courses, strict=True)
    ]
    notes = (
        (
            f"Share of judged answers, with {chart_text.format_level([bar.rate for bar in bars])} "
            "intervals, and what happens to it while recall changes with corpus size."
        ),
    )
    layers, height = draw_rate_bars(bars, "Answers that hallucinate (% of judged)")
    return Chart(
        name="hallucination-by-persona",
        section="hallucination",
        title=title,
        summary=_summarise_bars("Answers that hallucinate, by persona", bars),
        spec=build_chart_spec(title, notes, build_view(layers, height)),
        columns=("persona", "rate", "low", "high", "trials", "pattern"),
        rows=tuple(
            (bar.name, *chart_text.list_figures(bar.rate), str(each.pattern))
            for bar, each in zip(bars, courses, strict=True)
        ),
    )


def _summarise_bars(what: str, bars: Sequence[RateBar]) -> str:
    return f"{what}: " + "; ".join(f"{bar.name.lower()} {bar.said}" for bar in bars) + "."


_OUTLOOK_HEIGHT, _MEASURED_WIDTH, _BEYOND_WIDTH = 270.0, 420.0, 200.0


def plot_rate_over_size(course: RateCourse) -> Chart | None:
    """Measured rates with their trend, and beside them its predictions for larger sizes."""
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
        "checkpoint": chart_text.trim_name(moment.checkpoint),
        "rate": chart_text.format_rate(rate),
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
    """The trend line within the measured sizes."""
    if trend is None:
        return []
    ends = [
        {"x": day, "y": min(1.0, max(0.0, trend.intercept.value + trend.slope.value * day))}
        for day in (trend.first_day, trend.last_day)
    ]
    return plane.draw_marks("line", "invention-line", ends)


def _draw_band(plane: ChartPlane, trend: Trend | None) -> list[ChartLayer]:
    """The band of the trend within the measured sizes."""
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
    return chart_text.format_share(each.value) + (" †" if each.is_clipped else "")


def _list_outlook_notes(course: RateCourse, far: Sequence[Prediction]) -> list[str]:
    shown = chart_text.format_level([each.hallucination for each in course.moments])
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
        "Hallucination starts at "
        f"{chart_text.format_share_interval(start.value, start.low, start.high)} and "
        f"changes by {chart_text.format_change(trend.slope, scale=100, unit=' points of 100')}."
    )
    for each in far:
        size, rate = _format_size(each), _format_rate(each)
        said += f" At {size} days, {_describe_kind(each)}, the line says {rate}."
    return said


def _format_rate(each: Prediction) -> str:
    return chart_text.format_share_interval(each.value, each.low, each.high)


def _format_size(each: Prediction) -> str:
    return f"{each.days:,.0f}"


def _describe_kind(each: Prediction) -> str:
    where = "beyond what was measured" if each.is_beyond else "the line where it was measured"
    return where + (", cut at what is possible" if each.is_clipped else "")


_PATH_WIDTH, _PATH_HEIGHT = 620.0, 340.0
_DOT_RADIUS = 5.0
_AXIS_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)

_AxisEnds = tuple[tuple[float, float], tuple[float, float]]
"""Both ends of the axes of recall and hallucination."""


def plot_recall_against_rate(course: RateCourse) -> Chart | None:
    """The path from the first checkpoint to the last; None for fewer than two."""
    known = sorted(
        (each for each in course.moments if each.recall and each.hallucination),
        key=lambda each: each.days,
    )
    if len(known) < 2:
        return None
    title = f"Recall against hallucination: {course.pattern}"
    means = [each.recall for each in known]
    notes = (
        chart_text.format_reason(course.reason),
        (
            "One point a checkpoint, from faint to strong as the corpus grows. Crosses at the "
            f"first and the last are {chart_text.format_level(means)} intervals."
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
                chart_text.trim_name(each.checkpoint),
                each.days,
                *chart_text.list_figures(each.recall)[:3],
                *chart_text.list_figures(each.hallucination)[:3],
            )
            for each in known
        ),
    )


def _summarise_path(first: CheckpointRates, last: CheckpointRates) -> str:
    return (
        f"From {chart_text.trim_name(first.checkpoint)} to {chart_text.trim_name(last.checkpoint)} "
        f"recall goes from {chart_text.format_rate(first.recall)} to "
        f"{chart_text.format_rate(last.recall)} and hallucination from "
        f"{chart_text.format_rate(first.hallucination)} to "
        f"{chart_text.format_rate(last.hallucination)}."
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
    """The labels of both ends, placed on no point and no cross."""
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
    """Both ends of an axis: round shares around all points and intervals."""
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
        "checkpoint": chart_text.trim_name(moment.checkpoint, 16),
        "recall": chart_text.format_rate(recall),
        "hallucination": chart_text.format_rate(invented),
    }


def _read_number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
