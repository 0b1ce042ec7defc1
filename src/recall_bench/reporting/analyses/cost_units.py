"""Formats of costs with their units, for texts, pages and charts."""

from math import floor, log10
from typing import Final, Literal

from recall_bench.core.plain_text import NO_DATA
from recall_bench.core.usage import Usage
from recall_bench.reporting.analyses.costs import CostMeasure

CostUnit = Literal["s", "tokens", "bytes", "$"]

MEASURE_UNITS: Final[dict[CostMeasure, CostUnit]] = {
    CostMeasure.INGEST: "s",
    CostMeasure.QUERY_P50: "s",
    CostMeasure.QUERY_P95: "s",
    CostMeasure.TOKENS: "tokens",
    CostMeasure.MONEY: "$",
    CostMeasure.BYTES: "bytes",
}
"""The unit of each measure."""

_PER = {
    CostMeasure.INGEST: " a day",
    CostMeasure.TOKENS: " an answer",
    CostMeasure.MONEY: " a thousand answers",
}

_ROUND_UP = 0.9995
"""With three digits, a value of at least this share of a unit is shown as one unit."""

_UNIT_STEPS: Final[dict[CostUnit, tuple[tuple[float, str, float], ...]]] = {
    "s": ((_ROUND_UP, "s", 1.0), (0.0, "ms", 1e-3)),
    "tokens": (
        (_ROUND_UP * 1e6, "million tokens", 1e6),
        (1e4, "thousand tokens", 1e3),
        (0.0, "tokens", 1.0),
    ),
    "bytes": (
        (_ROUND_UP * 1e9, "GB", 1e9),
        (_ROUND_UP * 1e6, "MB", 1e6),
        (_ROUND_UP * 1e3, "kB", 1e3),
        (0.0, "bytes", 1.0),
    ),
    "$": ((0.0, "$", 1.0),),
}
"""(minimum, unit, size): the unit to show if the largest value is at least the minimum."""


def format_cost(measure: CostMeasure, cost: float) -> str:
    """A cost with its unit and basis, as `3 ms a day`."""
    return format_amount(cost, MEASURE_UNITS[measure]) + _PER.get(measure, "")


def format_amount(value: float | None, unit: CostUnit) -> str:
    """An amount in the unit that fits."""
    if value is None:
        return NO_DATA
    if unit == "$":
        return f"${format_money(value)}"
    shown, factor = choose_unit(unit, value)
    return f"{_format_digits(value / factor)} {shown}"


def choose_unit(unit: CostUnit, largest: float) -> tuple[str, float]:
    """The unit that fits the largest amount, and its size."""
    return next((shown, factor) for least, shown, factor in _UNIT_STEPS[unit] if largest >= least)


def format_money(dollars: float) -> str:
    """Dollars to the cent; amounts below ten cents with three digits."""
    if dollars and dollars < 0.1:
        return _format_digits(dollars)
    return f"{dollars:,.2f}"


def price_usage(usage: Usage) -> float | None:
    """The cost in dollars; None if the price of a call is unknown."""
    return None if usage.unpriced else usage.cost_usd


def _format_digits(number: float) -> str:
    """Three significant digits, never as a power of ten; all digits before the point."""
    if number == 0:
        return "0"
    places = 2 - floor(log10(float(f"{number:.3g}")))
    shown = f"{number:,.{max(0, places)}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
