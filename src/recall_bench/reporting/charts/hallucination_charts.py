"""Inventions by category, both rates over corpus size, and recall against invention."""

from collections.abc import Iterator, Sequence
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
from recall_bench.reporting.charts.chart_text import (
    format_change,
    format_level,
    format_rate,
    format_reason,
    format_share,
    format_share_interval,
    format_slug,
    list_figures,
    rename_duplicates,
    trim_name,
)
from recall_bench.reporting.charts.plane import (
    MANY_CHECKPOINTS,
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
_OUTLOOK_HEIGHT, _MEASURED_WIDTH, _BEYOND_WIDTH = 270.0, 420.0, 200.0
_PATH_WIDTH, _PATH_HEIGHT, _DOT_RADIUS = 620.0, 340.0, 5.0
_AXIS_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)

_Row = dict[str, object]


def _choose_top(shares: Sequence[float | None]) -> float:
    """The end of an axis of shares: the next twentieth above the largest."""
    most = max((share for share in shares if share is not None), default=0.0)
    return min(1.0, max(0.05, ceil(20 * most + 1e-9) / 20))


def plot_category_rates(views: HallucinationViews) -> Chart | None:
    """One bar a category, the likeliest to invent first."""
    names = rename_duplicates([format_slug(category.name) for category in views.categories])
    rates = {
        name: category.invention for name, category in zip(names, views.categories, strict=True)
    }
    if not any(rates.values()):
        return None
    ends = [end for rate in rates.values() if rate for end in (rate.value, rate.high)]
    plane = ChartPlane(
        build_quantity_axis(_RATE_TITLE, 0, _choose_top(ends), form=PERCENT_FORMAT, ticks=5),
        build_name_axis(list(rates)),
    )
    bars: list[_Row] = []
    labels: list[_Row] = []
    missing: list[_Row] = []
    for name, rate in rates.items():
        label = {"y": name, "text": format_rate(rate)}
        if rate is None:
            missing.append({"x": 0, **label})
            continue
        about = {"name": name, "rate": format_rate(rate), "trials": rate.trials}
        bars.append({"x": rate.low, "x2": rate.high, "y": name, "value": rate.value, **about})
        labels.append({"x": rate.value if rate.high is None else rate.high, **label})
    spans = [row for row in bars if row["x2"] is not None]
    lengths = [row | {"x": row["value"], "x2": 0} for row in bars]
    tells = ("name", "rate", "trials")
    size = {"height": {"band": 0.62}}
    layers = [
        *plane.draw_marks("bar", "invention-bar", lengths, tells=tells, mark=size),
        # A halo makes the interval visible on a bar of any colour.
        *plane.draw_marks("rule", "halo", spans),
        *plane.draw_marks("rule", "interval", spans, tells=tells),
        *plane.draw_text("label", labels, dx=8),
        *plane.draw_text("note", missing, dx=4),
    ]
    level = format_level(list(rates.values()))
    words = "; ".join(f"{name.lower()} {format_rate(rate)}" for name, rate in rates.items())
    return Chart(
        name="hallucination-by-category",
        section="hallucination",
        title="Invented, by category",
        summary=f"Answers that are invented, by category: {words}.",
        notes=(
            (
                f"Share of judged answers that are invented, with {level} intervals; leaks are "
                "counted apart. Negative recall and synthesis, which tempt most to invent, come "
                "first."
            ),
        ),
        body=build_view(layers, _BAR_STEP * len(rates)),
        columns=("category", "rate", "low", "high", "trials"),
        rows=tuple((name, *list_figures(rate)) for name, rate in rates.items()),
    )


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
    moments = [moment for moment in course.moments if moment.days < FULL]
    invented = [(moment, moment.invention) for moment in moments]
    leaked = [(moment, moment.leak) for moment in moments]
    for kind, word, axis, rates, trend in (
        ("hallucination", "Invented", _RATE_TITLE, invented, course.inventions),
        ("leaks", "Leaked", _LEAK_TITLE, leaked, course.leaks),
    ):
        title = f"{word}, over corpus size"
        yield _plot_curve(RateCurve(f"{kind}-over-size", title, axis, rates, trend))


def _plot_curve(curve: RateCurve) -> Chart | None:
    """Measured rates with their trend, and beside them its forecasts for larger sizes."""
    rows: list[_Row] = [
        {
            "x": moment.days,
            **place_value(None if rate is None else rate.value, rate),
            "checkpoint": trim_name(moment.checkpoint),
            "rate": format_rate(rate),
            "trials": 0 if rate is None else rate.trials,
        }
        for moment, rate in curve.rates
    ]
    measured = [row for row in rows if row["y"] is not None]
    if not measured:
        return None
    trend = curve.trend
    far, missing = ((), "") if trend is None else select_forecasts(trend)
    predictions = () if trend is None else trend.predictions
    predictions_drawn = [
        prediction for prediction in predictions if not prediction.is_beyond or prediction in far
    ]
    level = format_level([rate for _, rate in curve.rates])
    cut = "† the line or its band left what is possible there, and is cut at 0 or 100 %."
    return Chart(
        name=curve.name,
        section="hallucination",
        title=curve.title,
        summary=_summarise_curve(curve, far, missing),
        notes=(
            (
                f"Share at each checkpoint with {level} intervals, and a straight line by least "
                "squares over trials."
            ),
            cut if any(prediction.is_clipped for prediction in far) else "",
            format_sentence(missing) if missing else "",
        ),
        body=_build_views(curve, measured, predictions_drawn),
        columns=("size", "days", "rate", "low", "high", "kind"),
        rows=(
            *((r["checkpoint"], r["x"], r["y"], r["low"], r["high"], "measured") for r in rows),
            *(
                (_format_size(p), p.days, p.value, p.low, p.high, _describe_kind(p))
                for p in predictions_drawn
            ),
        ),
    )


def _build_views(
    curve: RateCurve, known: Sequence[_Row], shown: Sequence[Prediction]
) -> dict[str, object]:
    trend, far = curve.trend, [prediction for prediction in shown if prediction.is_beyond]
    highs = [row["high"] or row["y"] for row in known] + [
        prediction.high or prediction.value for prediction in shown
    ]
    top = _choose_top([float(str(high)) for high in highs])
    last = max(float(str(row["x"])) for row in known)
    plane = ChartPlane(
        build_quantity_axis("Days of history", 0, last, has_grid=False),
        build_quantity_axis(curve.axis, 0, top, form=PERCENT_FORMAT),
    )
    is_crowded = len(known) > MANY_CHECKPOINTS
    dot = {"size": 16, "opacity": 0.5} if is_crowded else {"size": 30}
    band: list[_Row] = []
    line: list[_Row] = []
    if trend is not None:
        band = [
            {"x": prediction.days, "y": prediction.low, "y2": prediction.high}
            for prediction in sorted(trend.predictions, key=lambda prediction: prediction.days)
            if not prediction.is_beyond and prediction.low is not None
        ]
        heights = {
            day: trend.intercept.value + trend.slope.value * day
            for day in (trend.first_day, trend.last_day)
        }
        line = [{"x": day, "y": min(1.0, max(0.0, y))} for day, y in heights.items()]
    tells = ("checkpoint", "rate", "trials")
    layers = [
        *plane.draw_marks("area", "invention-band", band),
        *plane.draw_intervals("invention-thin", [] if is_crowded else known),
        *plane.draw_marks("point", "invention-point", known, tells=tells, mark=dot),
        *plane.draw_marks("line", "invention-line", line),
    ]
    measured = ChartPanel(
        title="Measured", layers=layers, width=_MEASURED_WIDTH, height=_OUTLOOK_HEIGHT
    )
    return build_grid([measured, *([_build_beyond_panel(far, top)] if far else [])], 2, gap=26)


def _build_beyond_panel(far: Sequence[Prediction], top: float) -> ChartPanel:
    plane = ChartPlane(
        build_name_axis([_format_size(prediction) for prediction in far], title="Days of history"),
        build_quantity_axis(None, 0, top, form=PERCENT_FORMAT, has_grid=False, is_bare=True),
    )
    rows = [
        {
            "x": _format_size(prediction),
            **place_value(prediction.value, prediction),
            "rate": format_share_interval(prediction.value, prediction.low, prediction.high),
            "text": format_share(prediction.value) + (" †" if prediction.is_clipped else ""),
        }
        for prediction in far
    ]
    dot = {"size": 90, "shape": "diamond"}
    return ChartPanel(
        title="Beyond what was measured",
        layers=[
            *plane.draw_marks("rect", "beyond", [{"y": 0, "y2": top}]),
            *plane.draw_intervals("invention-beyond", rows),
            *plane.draw_marks("point", "invention-point", rows, tells=("rate",), mark=dot),
            *plane.draw_text("strong-label", rows, dx=9),
        ],
        width=_BEYOND_WIDTH,
        height=_OUTLOOK_HEIGHT,
    )


def _summarise_curve(curve: RateCurve, far: Sequence[Prediction], missing: str) -> str:
    trend = curve.trend
    if trend is None:
        return f"{curve.title}: measured at one corpus size only, so there is no line."
    at_start, start = "", find_start(trend)
    if start is not None:
        rate = format_share_interval(start.value, start.low, start.high)
        at_start = f"starts at {rate} and "
    change = format_change(trend.slope, scale=100, unit=" points of 100")
    words = [f"{curve.title}: it {at_start}changes by {change}."]
    for prediction in far:
        rate = format_share_interval(prediction.value, prediction.low, prediction.high)
        size = f"At {_format_size(prediction)} days, {_describe_kind(prediction)}"
        words.append(f"{size}, the line says {rate}.")
    return " ".join([*words, *([format_sentence(missing)] if missing else [])])


def _format_size(each: Prediction) -> str:
    return f"{each.days:,.0f}"


def _describe_kind(each: Prediction) -> str:
    where = "beyond what was measured" if each.is_beyond else "the line where it was measured"
    return where + (", cut at what is possible" if each.is_clipped else "")


_PathPoint = tuple[CheckpointRates, Estimate, Estimate]
"""A checkpoint with its recall and its rate of invention."""


def plot_recall_against_rate(course: RateCourse) -> Chart | None:
    """The path from the first checkpoint to the last; None for fewer than two."""
    path = [
        (moment, moment.recall, moment.invention)
        for moment in sorted(course.moments, key=lambda moment: moment.days)
        if moment.recall is not None and moment.invention is not None
    ]
    if len(path) < 2:
        return None
    first, last = path[0][0], path[-1][0]
    level = format_level([recall for _, recall, _ in path])
    return Chart(
        name="recall-against-hallucination",
        section="hallucination",
        title=f"Recall against invention: {course.pattern}",
        summary=(
            f"Pattern: {course.pattern}. From {trim_name(first.checkpoint)} to "
            f"{trim_name(last.checkpoint)} recall goes from {format_rate(first.recall)} to "
            f"{format_rate(last.recall)} and invention from {format_rate(first.invention)} to "
            f"{format_rate(last.invention)}."
        ),
        notes=(
            format_reason(course.reason),
            (
                "One point a checkpoint, from faint to strong as the corpus grows. Crosses at the "
                f"first and the last are {level} intervals."
            ),
        ),
        body=build_view(_draw_path(path), _PATH_HEIGHT),
        columns=(
            *("checkpoint", "days", "recall", "recall low", "recall high"),
            *("invented", "invented low", "invented high"),
        ),
        rows=tuple(
            (
                trim_name(moment.checkpoint),
                moment.days,
                *list_figures(recall)[:3],
                *list_figures(rate)[:3],
            )
            for moment, recall, rate in path
        ),
    )


def _draw_path(path: Sequence[_PathPoint]) -> list[ChartLayer]:
    left, right = _choose_ends([recall for _, recall, _ in path])
    bottom, top = _choose_ends([rate for _, _, rate in path])
    plane = ChartPlane(
        build_quantity_axis("Recall (% of the points for it)", left, right, form=PERCENT_FORMAT),
        build_quantity_axis(_RATE_TITLE, bottom, top, form=PERCENT_FORMAT),
    )

    def scale(recall: float, rate: float) -> tuple[float, float]:
        x = (recall - left) / (right - left) * _PATH_WIDTH
        return x, (top - rate) / (top - bottom) * _PATH_HEIGHT

    rows = [
        {
            "x": recall.value,
            "y": rate.value,
            "days": moment.days,
            "checkpoint": trim_name(moment.checkpoint, 16),
            "recall": format_rate(recall),
            "invented": format_rate(rate),
        }
        for moment, recall, rate in path
    ]
    crosses: list[_Row] = []
    uprights: list[_Row] = []
    spots = []
    taken = [bound_point(*scale(recall.value, rate.value), _DOT_RADIUS) for _, recall, rate in path]
    for word, (moment, recall, rate) in (("first", path[0]), ("last", path[-1])):
        x, y = scale(recall.value, rate.value)
        spots.append(LabelSpot(text=f"{word}: {trim_name(moment.checkpoint, 16)}", x=x, y=y))
        if recall.low is not None and recall.high is not None:
            crosses.append({"x": recall.low, "x2": recall.high, "y": rate.value})
            taken.append((scale(recall.low, 0)[0], y, scale(recall.high, 0)[0], y))
        if rate.low is not None and rate.high is not None:
            uprights.append({"x": recall.value, "y": rate.low, "y2": rate.high})
            taken.append((x, scale(0, rate.high)[1], x, scale(0, rate.low)[1]))
    size = {"size": 70 if len(rows) <= MANY_CHECKPOINTS else 34}
    days = {"field": "days", "type": "quantitative"}
    shade = {**days, "scale": {"range": "ramp"}, "legend": None}
    tells = ("checkpoint", "recall", "invented")
    layers = [
        *plane.draw_marks("line", "context", rows, order=days),
        *plane.draw_marks("rule", "score-thin", crosses),
        *plane.draw_marks("rule", "score-thin", uprights),
        *plane.draw_marks("point", "ramp-point", rows, tells=tells, mark=size, color=shade),
    ]
    # The labels of both ends stand on no point and no cross.
    places = arrange_labels(spots, width=_PATH_WIDTH, avoiding=taken)
    for row, spot, place in zip((rows[0], rows[-1]), spots, places, strict=True):
        text = {"x": row["x"], "y": row["y"], "text": spot.text}
        layers += plane.draw_text(
            "strong-label", [text], align=place.align, dx=place.dx, dy=place.dy
        )
    return layers


def _choose_ends(means: Sequence[Estimate]) -> tuple[float, float]:
    """Both ends of an axis: round shares around all points and intervals."""
    intervals = [end for mean in (means[0], means[-1]) for end in (mean.low, mean.high)]
    shares = [*(mean.value for mean in means), *(end for end in intervals if end is not None)]
    step = next(size for size in _AXIS_STEPS if max(shares) - min(shares) <= 8 * size)
    low, high = step * floor(min(shares) / step), step * ceil(max(shares) / step)
    if high <= low:
        low, high = (low - step, high) if low >= 1 else (low, low + step)
    return max(0.0, low), min(1.0, high)
