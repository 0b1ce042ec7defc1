"""Inventions by category, both rates over corpus size, and recall against invention."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import NamedTuple

from recall_bench.core.plan import FULL
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.trend import Prediction, Trend
from recall_bench.reporting.analyses.hallucination import (
    CheckpointRates,
    HallucinationViews,
    RateCourse,
    find_start,
    select_forecasts,
)
from recall_bench.reporting.charts import chart_text
from recall_bench.reporting.charts.curves import MANY_CHECKPOINTS
from recall_bench.reporting.charts.plane import (
    PERCENT_FORMAT,
    Chart,
    ChartLayer,
    ChartPanel,
    ChartPlane,
    LabelSpot,
    arrange_labels,
    bound_point,
    build_grid,
    build_name_axis,
    build_quantity_axis,
    build_view,
    place_value,
)
from recall_bench.reporting.formats import format_sentence

_RATE_TITLE = "Answers that are invented (% of judged)"
_LEAK_TITLE = "Answers that leak (% of those that could)"
_BAR_STEP = 26.0
"""The height of one bar and the gap below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateBar:
    """One rate and the text beside it."""

    name: str
    rate: Estimate | None
    said: str

    @property
    def label(self) -> dict[str, object]:
        """Its text, in its row."""
        return {"y": self.name, "text": self.said}


def choose_top(shares: Sequence[float | None]) -> float:
    """The end of an axis of shares: the next twentieth above the largest."""
    most = max((each for each in shares if each is not None), default=0.0)
    return min(1.0, max(0.05, ceil(20 * most + 1e-9) / 20))


def _draw_bars(bars: Sequence[RateBar]) -> list[ChartLayer]:
    most = [each for bar in bars if bar.rate for each in (bar.rate.value, bar.rate.high)]
    plane = ChartPlane(
        build_quantity_axis(_RATE_TITLE, 0, choose_top(most), form=PERCENT_FORMAT, ticks=5),
        build_name_axis([bar.name for bar in bars]),
    )
    shown = [_build_bar_row(bar, bar.rate) for bar in bars if bar.rate is not None]
    spans = [row for row in shown if row["x2"] is not None]
    tells = ("name", "rate", "trials")
    size = {"height": {"band": 0.62}}
    lengths = [row | {"x": row["value"], "x2": 0} for row in shown]
    ends = [
        {"x": bar.rate.value if bar.rate.high is None else bar.rate.high, **bar.label}
        for bar in bars
        if bar.rate is not None
    ]
    missing = [{"x": 0, **bar.label} for bar in bars if bar.rate is None]
    return [
        *plane.draw_marks("bar", "invention-bar", lengths, tells=tells, mark=size),
        # A halo makes the interval visible on a bar of any colour.
        *plane.draw_marks("rule", "halo", spans),
        *plane.draw_marks("rule", "interval", spans, tells=tells),
        *plane.draw_text("label", ends, dx=8),
        *plane.draw_text("note", missing, dx=4),
    ]


def _build_bar_row(bar: RateBar, rate: Estimate) -> dict[str, object]:
    return {
        "x": rate.low,
        "x2": rate.high,
        "y": bar.name,
        "value": rate.value,
        "name": bar.name,
        "rate": chart_text.format_rate(rate),
        "trials": rate.trials,
    }


def plot_category_rates(views: HallucinationViews) -> Chart | None:
    """One bar a category, the likeliest to invent first."""
    names = chart_text.rename_duplicates(
        [chart_text.format_slug(each.name) for each in views.categories]
    )
    bars = [
        RateBar(
            name=name,
            rate=each.invention,
            said=chart_text.format_rate(each.invention),
        )
        for name, each in zip(names, views.categories, strict=True)
    ]
    if not any(bar.rate for bar in bars):
        return None
    level = chart_text.format_level([bar.rate for bar in bars])
    note = (
        f"Share of judged answers that are invented, with {level} intervals; leaks are counted "
        "apart. Negative recall and synthesis, which tempt most to invent, come first."
    )
    title = "Invented, by category"
    words = "; ".join(f"{bar.name.lower()} {bar.said}" for bar in bars)
    body = build_view(_draw_bars(bars), _BAR_STEP * len(bars))
    return Chart(
        name="hallucination-by-category",
        section="hallucination",
        title=title,
        summary=f"Answers that are invented, by category: {words}.",
        notes=(note,),
        body=body,
        columns=("category", "rate", "low", "high", "trials"),
        rows=tuple((bar.name, *chart_text.list_figures(bar.rate)) for bar in bars),
    )


_OUTLOOK_HEIGHT, _MEASURED_WIDTH, _BEYOND_WIDTH = 270.0, 420.0, 200.0


class RateCurve(NamedTuple):
    """One rate over corpus size."""

    name: str
    """Of the chart."""
    title: str
    axis: str
    rates: Sequence[tuple[CheckpointRates, Estimate | None]]
    trend: Trend | None


def plot_rates_over_size(course: RateCourse) -> Iterator[Chart | None]:
    """Inventions and leaks, each with its trend; None where nothing was measured."""
    moments = [each for each in course.moments if each.days < FULL]
    inventions = [(each, each.invention) for each in moments]
    leaks = [(each, each.leak) for each in moments]
    yield _plot_curve(
        RateCurve(
            "hallucination-over-size",
            "Invented, over corpus size",
            _RATE_TITLE,
            inventions,
            course.inventions,
        )
    )
    yield _plot_curve(
        RateCurve("leaks-over-size", "Leaked, over corpus size", _LEAK_TITLE, leaks, course.leaks)
    )


def _plot_curve(curve: RateCurve) -> Chart | None:
    """Measured rates with their trend, and beside them its forecasts for larger sizes."""
    rows = [_build_measured_row(*each) for each in curve.rates]
    known = [row for row in rows if row["y"] is not None]
    if not known:
        return None
    trend = curve.trend
    far, missing = ((), "") if trend is None else select_forecasts(trend)
    shown = [
        each
        for each in (() if trend is None else trend.predictions)
        if not each.is_beyond or each in far
    ]
    return Chart(
        name=curve.name,
        section="hallucination",
        title=curve.title,
        summary=_summarise_outlook(curve, far, missing),
        notes=tuple(_list_outlook_notes(curve, far, missing)),
        body=_build_views(curve, known, shown),
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
                for each in shown
            ),
        ),
    )


def _build_measured_row(moment: CheckpointRates, rate: Estimate | None) -> dict[str, object]:
    return {
        "x": moment.days,
        **place_value(None if rate is None else rate.value, rate),
        "checkpoint": chart_text.trim_name(moment.checkpoint),
        "rate": chart_text.format_rate(rate),
        "trials": 0 if rate is None else rate.trials,
    }


def _build_views(
    curve: RateCurve, known: Sequence[dict[str, object]], shown: Sequence[Prediction]
) -> dict[str, object]:
    trend, far = curve.trend, [each for each in shown if each.is_beyond]
    highs = [row["high"] or row["y"] for row in known] + [each.high or each.value for each in shown]
    top = choose_top([float(str(each)) for each in highs])
    rates = build_quantity_axis(curve.axis, 0, top, form=PERCENT_FORMAT)
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
    tells = ("checkpoint", "rate", "trials")
    is_crowded = len(known) > MANY_CHECKPOINTS
    dot = {"size": 16, "opacity": 0.5} if is_crowded else {"size": 30}
    return [
        *plane.draw_intervals("invention-thin", [] if is_crowded else known),
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
            **place_value(each.value, each),
            "rate": _format_rate(each),
        }
        for each in far
    ]
    said = [
        {
            "x": _format_size(each),
            "y": each.value,
            "text": chart_text.format_share(each.value) + (" †" if each.is_clipped else ""),
        }
        for each in far
    ]
    return ChartPanel(
        title="Beyond what was measured",
        layers=[
            *plane.draw_marks("rect", "beyond", [{"y": 0, "y2": top}]),
            *plane.draw_intervals("invention-beyond", rows),
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


def _list_outlook_notes(curve: RateCurve, far: Sequence[Prediction], missing: str) -> list[str]:
    level = chart_text.format_level([rate for _, rate in curve.rates])
    notes = [
        (
            f"Share at each checkpoint with {level} intervals, and a straight line by least "
            f"squares "
            "over trials."
        ),
    ]
    if any(each.is_clipped for each in far):
        notes.append(
            "† the line or its band left what is possible there, and is cut at 0 or 100 %."
        )
    return [*notes, format_sentence(missing)] if missing else notes


def _summarise_outlook(curve: RateCurve, far: Sequence[Prediction], missing: str) -> str:
    trend = curve.trend
    if trend is None:
        return f"{curve.title}: measured at one corpus size only, so there is no line."
    start = find_start(trend)
    at_start = (
        ""
        if start is None
        else "starts at "
        f"{chart_text.format_share_interval(start.value, start.low, start.high)} and "
    )
    change = chart_text.format_change(trend.slope, scale=100, unit=" points of 100")
    said = f"{curve.title}: it {at_start}changes by {change}."
    for each in far:
        size, rate = _format_size(each), _format_rate(each)
        said += f" At {size} days, {_describe_kind(each)}, the line says {rate}."
    return f"{said} {format_sentence(missing)}" if missing else said


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

_PathPoint = tuple[CheckpointRates, Estimate, Estimate]
"""A checkpoint with its recall and its rate of invention."""
_AxisEnds = tuple[float, float]


def plot_recall_against_rate(course: RateCourse) -> Chart | None:
    """The path from the first checkpoint to the last; None for fewer than two."""
    known = [
        (each, each.recall, each.invention)
        for each in sorted(course.moments, key=lambda each: each.days)
        if each.recall is not None and each.invention is not None
    ]
    if len(known) < 2:
        return None
    title = f"Recall against invention: {course.pattern}"
    means = [recall for _, recall, _ in known]
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
        summary=f"Pattern: {course.pattern}. {_summarise_path(known[0][0], known[-1][0])}",
        notes=tuple(notes),
        body=build_view(_draw_path(known), _PATH_HEIGHT),
        columns=(
            *("checkpoint", "days", "recall", "recall low", "recall high"),
            *("invented", "invented low", "invented high"),
        ),
        rows=tuple(
            (
                chart_text.trim_name(each.checkpoint),
                each.days,
                *chart_text.list_figures(recall)[:3],
                *chart_text.list_figures(rate)[:3],
            )
            for each, recall, rate in known
        ),
    )


def _summarise_path(first: CheckpointRates, last: CheckpointRates) -> str:
    return (
        f"From {chart_text.trim_name(first.checkpoint)} to {chart_text.trim_name(last.checkpoint)} "
        f"recall goes from {chart_text.format_rate(first.recall)} to "
        f"{chart_text.format_rate(last.recall)} and invention from "
        f"{chart_text.format_rate(first.invention)} to "
        f"{chart_text.format_rate(last.invention)}."
    )


def _draw_path(known: Sequence[_PathPoint]) -> list[ChartLayer]:
    ends = [known[0], known[-1]]
    across = _choose_ends([recall for _, recall, _ in known])
    along = _choose_ends([rate for _, _, rate in known])
    plane = ChartPlane(
        build_quantity_axis("Recall (% of the points for it)", *across, form=PERCENT_FORMAT),
        build_quantity_axis(_RATE_TITLE, *along, form=PERCENT_FORMAT),
    )
    rows = [
        {
            "x": recall.value,
            "y": rate.value,
            "days": moment.days,
            "checkpoint": _trim_checkpoint(moment),
            "recall": chart_text.format_rate(recall),
            "invented": chart_text.format_rate(rate),
        }
        for moment, recall, rate in known
    ]
    recalls = [
        {"x": recall.low, "x2": recall.high, "y": rate.value}
        for _, recall, rate in ends
        if recall.low is not None
    ]
    rates = [
        {"x": recall.value, "y": rate.low, "y2": rate.high}
        for _, recall, rate in ends
        if rate.low is not None
    ]
    size = 70 if len(rows) <= MANY_CHECKPOINTS else 34
    days = {"field": "days", "type": "quantitative"}
    shade = {**days, "scale": {"range": "ramp"}, "legend": None}
    tells = ("checkpoint", "recall", "invented")
    return [
        *plane.draw_marks("line", "context", rows, order=days),
        *plane.draw_marks("rule", "score-thin", recalls),
        *plane.draw_marks("rule", "score-thin", rates),
        *plane.draw_marks(
            "point", "ramp-point", rows, tells=tells, mark={"size": size}, color=shade
        ),
        *_label_ends(plane, known, across, along),
    ]


def _label_ends(
    plane: ChartPlane, known: Sequence[_PathPoint], across: _AxisEnds, along: _AxisEnds
) -> list[ChartLayer]:
    """The labels of both ends, placed on no point and no cross."""

    def scale_x(recall: float) -> float:
        return (recall - across[0]) / (across[1] - across[0]) * _PATH_WIDTH

    def scale_y(rate: float) -> float:
        return (along[1] - rate) / (along[1] - along[0]) * _PATH_HEIGHT

    taken = [
        bound_point(scale_x(recall.value), scale_y(rate.value), _DOT_RADIUS)
        for _, recall, rate in known
    ]
    spots = []
    for word, (moment, recall, rate) in (("first", known[0]), ("last", known[-1])):
        x, y = scale_x(recall.value), scale_y(rate.value)
        spots.append(LabelSpot(text=f"{word}: {_trim_checkpoint(moment)}", x=x, y=y))
        if recall.low is not None and recall.high is not None:
            taken.append((scale_x(recall.low), y, scale_x(recall.high), y))
        if rate.low is not None and rate.high is not None:
            taken.append((x, scale_y(rate.high), x, scale_y(rate.low)))
    layers: list[ChartLayer] = []
    places = arrange_labels(spots, width=_PATH_WIDTH, avoiding=taken)
    for (_, recall, rate), spot, place in zip((known[0], known[-1]), spots, places, strict=True):
        text = {"x": recall.value, "y": rate.value, "text": spot.text}
        layers += plane.draw_text(
            "strong-label", [text], align=place.align, dx=place.dx, dy=place.dy
        )
    return layers


def _trim_checkpoint(moment: CheckpointRates) -> str:
    return chart_text.trim_name(moment.checkpoint, 16)


def _choose_ends(means: Sequence[Estimate]) -> _AxisEnds:
    """Both ends of an axis: round shares around all points and intervals."""
    intervals = [each for mean in (means[0], means[-1]) for each in (mean.low, mean.high)]
    found = [*(mean.value for mean in means), *(each for each in intervals if each is not None)]
    step = next(each for each in _AXIS_STEPS if max(found) - min(found) <= 8 * each)
    low, high = step * floor(min(found) / step), step * ceil(max(found) / step)
    if high <= low:
        low, high = (low - step, high) if low >= 1 else (low, low + step)
    return max(0.0, low), min(1.0, high)
