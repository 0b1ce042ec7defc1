"""Rates as bars with their intervals, one a name."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from recall_bench.charts import words
from recall_bench.charts.plane import (
    PERCENT_FORMAT,
    ChartLayer,
    ChartPlane,
    build_name_axis,
    build_quantity_axis,
)
from recall_bench.statistics.estimate import Estimate

_BAR_STEP = 26.0
"""The height of one bar and the gap below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateBar:
    """One rate and what is said beside it."""

    name: str
    rate: Estimate | None
    said: str
    is_first: bool
    """Whether it is drawn in full strength."""


def choose_top(shares: Sequence[float | None]) -> float:
    """Where an axis of shares ends: the next twentieth above the largest, with room for words."""
    most = max((each for each in shares if each is not None), default=0.0)
    return min(1.0, max(0.05, ceil(20 * most + 1e-9) / 20))


def draw_rate_bars(bars: Sequence[RateBar], title: str) -> tuple[list[ChartLayer], float]:
    """The layers of horizontal bars, and how high they are together."""
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
        # An interval is inked like words: on a bar of any colour it needs an edge to be seen.
        *plane.draw_marks("rule", "halo", spans),
        *plane.draw_marks("rule", "interval", spans, tells=tells),
        *plane.draw_text("label", list_bar_labels(bars), dx=8),
        *plane.draw_text("note", list_missing_labels(bars), dx=4),
    ]
    return layers, _BAR_STEP * len(bars)


def list_bar_labels(bars: Sequence[RateBar]) -> list[dict[str, object]]:
    """What is said at the end of each bar or its interval."""
    return [
        {"x": _find_end(bar.rate), "y": bar.name, "text": bar.said}
        for bar in bars
        if bar.rate is not None
    ]


def list_missing_labels(bars: Sequence[RateBar]) -> list[dict[str, object]]:
    """What is said where there is no bar."""
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
        "rate": words.format_rate(rate),
        "trials": rate.trials,
        "is_first": bar.is_first,
    }
