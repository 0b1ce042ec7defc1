"""Rates as bars with their intervals, one a name."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from recall_bench.charts import words
from recall_bench.charts.plane import PERCENT, Layer, Plane, names, quantity
from recall_bench.statistics.estimate import Estimate

_STEP = 26.0
"""The height of one bar and the gap below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One rate and what is said beside it."""

    name: str
    rate: Estimate | None
    said: str
    is_first: bool
    """Whether it is drawn in full strength."""


def top_share(shares: Sequence[float | None]) -> float:
    """Where an axis of shares ends: the next twentieth above the largest, with room for words."""
    most = max((each for each in shares if each is not None), default=0.0)
    return min(1.0, max(0.05, ceil(20 * most + 1e-9) / 20))


def rate_bars(bars: Sequence[Bar], title: str) -> tuple[list[Layer], float]:
    """The layers of horizontal bars, and how high they are together."""
    ends = [each for bar in bars if bar.rate for each in (bar.rate.value, bar.rate.high)]
    plane = Plane(
        quantity(title, 0, top_share(ends), form=PERCENT, ticks=5),
        names([bar.name for bar in bars]),
    )
    shown = [_row(bar, bar.rate) for bar in bars if bar.rate is not None]
    spans = [row for row in shown if row["x2"] is not None]
    tells = ("name", "rate", "trials")
    size = {"height": {"band": 0.62}}
    strong = [row | {"x": row["value"], "x2": 0} for row in shown if row["is_first"]]
    pale = [row | {"x": row["value"], "x2": 0} for row in shown if not row["is_first"]]
    layers = [
        *plane.marks("bar", "invention-bar", strong, tells=tells, mark=size),
        *plane.marks("bar", "invention-pale-bar", pale, tells=tells, mark=size),
        # An interval is inked like words: on a bar of any colour it needs an edge to be seen.
        *plane.marks("rule", "halo", spans),
        *plane.marks("rule", "interval", spans, tells=tells),
        *plane.words("label", shown_words(bars), dx=8),
        *plane.words("note", unknown_words(bars), dx=4),
    ]
    return layers, _STEP * len(bars)


def shown_words(bars: Sequence[Bar]) -> list[dict[str, object]]:
    """What is said at the end of each bar or its interval."""
    return [
        {"x": _end(bar.rate), "y": bar.name, "text": bar.said}
        for bar in bars
        if bar.rate is not None
    ]


def unknown_words(bars: Sequence[Bar]) -> list[dict[str, object]]:
    """What is said where there is no bar."""
    return [{"x": 0, "y": bar.name, "text": bar.said} for bar in bars if bar.rate is None]


def _end(rate: Estimate) -> float:
    return rate.value if rate.high is None else rate.high


def _row(bar: Bar, rate: Estimate) -> dict[str, object]:
    return {
        "x": rate.low,
        "x2": rate.high,
        "y": bar.name,
        "value": rate.value,
        "name": bar.name,
        "rate": words.rate(rate),
        "trials": rate.trials,
        "is_first": bar.is_first,
    }
