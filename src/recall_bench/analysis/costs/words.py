"""Costs with their units, as texts, pages and charts all word them."""

from math import floor, log10
from typing import Final, Literal

from recall_bench.analysis.costs.views import Measure
from recall_bench.core.usage import Usage
from recall_bench.reporting.lines import NO_DATA

Unit = Literal["s", "tokens", "bytes", "$"]

UNITS: Final[dict[Measure, Unit]] = {
    Measure.INGEST: "s",
    Measure.QUERY_P50: "s",
    Measure.QUERY_P95: "s",
    Measure.TOKENS: "tokens",
    Measure.MONEY: "$",
    Measure.BYTES: "bytes",
}
"""What each measure is counted in."""

_EACH = {
    Measure.INGEST: " a day",
    Measure.TOKENS: " an answer",
    Measure.MONEY: " a thousand answers",
}

_UP = 0.9995
"""From this share of a unit on, three digits round up to it."""

_LARGER: Final[dict[Unit, tuple[tuple[float, str, float], ...]]] = {
    "s": ((_UP, "s", 1.0), (0.0, "ms", 1e-3)),
    "tokens": (
        (_UP * 1e6, "million tokens", 1e6),
        (1e4, "thousand tokens", 1e3),
        (0.0, "tokens", 1.0),
    ),
    "bytes": (
        (_UP * 1e9, "GB", 1e9),
        (_UP * 1e6, "MB", 1e6),
        (_UP * 1e3, "kB", 1e3),
        (0.0, "bytes", 1.0),
    ),
    "$": ((0.0, "$", 1.0),),
}
"""For a largest value from so much: the unit to show, and how much of the other it is."""


def in_words(measure: Measure, cost: float) -> str:
    """A cost with its unit, and what it is for."""
    return figure(cost, UNITS[measure]) + _EACH.get(measure, "")


def figure(value: float | None, unit: Unit) -> str:
    """With the unit that fits it."""
    if value is None:
        return NO_DATA
    if unit == "$":
        return f"${money(value)}"
    shown, factor = unit_of(unit, value)
    return f"{_three_digits(value / factor)} {shown}"


def unit_of(unit: Unit, largest: float) -> tuple[str, float]:
    """The unit to show figures of this size in, and how much of the other it is."""
    return next((shown, factor) for least, shown, factor in _LARGER[unit] if largest >= least)


def money(dollars: float) -> str:
    """To the cent; three digits of less than ten cents, which may be all there is."""
    if dollars and dollars < 0.1:
        return _three_digits(dollars)
    return f"{dollars:,.2f}"


def price(usage: Usage) -> float | None:
    """What it cost; None where some call has no price: what nobody can price is not free."""
    return None if usage.unpriced else usage.cost_usd


def _three_digits(number: float) -> str:
    """Never as a power of ten, and all digits of what has more than three before the point."""
    if number == 0:
        return "0"
    places = 2 - floor(log10(float(f"{number:.3g}")))
    shown = f"{number:,.{max(0, places)}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
