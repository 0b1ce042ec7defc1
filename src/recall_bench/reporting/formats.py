"""Numbers as every analysis words them: signs, both ends of an interval, and p-values."""

from typing import Protocol

from recall_bench.core.plain_text import NO_DATA
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.survival import HalfLife
from recall_bench.metrics.trend import Coefficient, Prediction


class HasInterval(Protocol):
    """A figure that may have an interval."""

    @property
    def low(self) -> float | None:
        """None where there is no interval."""

    @property
    def high(self) -> float | None:
        """None where there is no interval."""


def format_number(number: float, digits: int) -> str:
    """To so many digits; nothing has no sign."""
    shown = f"{number:.{digits}f}"
    return shown if shown.strip("-0.") else f"{0:.{digits}f}"


def format_delta(number: float, digits: int = 2) -> str:
    """With its sign, and without one where it rounds to nothing."""
    shown = f"{number:+.{digits}f}"
    return shown if shown.strip("+-0.") else f"{0:.{digits}f}"


def format_interval(found: HasInterval, digits: int = 2, scale: float = 1) -> str | None:
    """Both ends with their signs; None where there is no interval."""
    if found.low is None or found.high is None:
        return None
    return (
        f"{format_delta(found.low * scale, digits)} to {format_delta(found.high * scale, digits)}"
    )


def format_p(p_value: float, *, sign: bool = False) -> str:
    """As people write it: two digits, and no more zeros than anybody reads."""
    if p_value < 0.001:
        return "p < 0.001" if sign else "< 0.001"
    shown = f"{p_value:.3f}" if p_value < 0.1 else f"{p_value:.2f}"
    return f"p = {shown}" if sign else shown


def format_quantity(count: int, noun: str) -> str:
    """A count with its noun in the singular or plural."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


SMALL_MARK = "!"
"""Marks a figure over so few questions that its interval is in doubt."""


def format_points(estimate: Estimate | None) -> str:
    """A mean of six points with its interval."""
    return _format_estimate(estimate, 1, 2, "")


def format_share(estimate: Estimate | None) -> str:
    """A share of one, in percent, with its interval."""
    return _format_estimate(estimate, 100, 1, " %")


def format_basis(estimate: Estimate) -> str:
    """How many questions and trials stand behind a figure, and how many are missing."""
    words = f"{format_quantity(estimate.questions, 'question')}, "
    words += format_quantity(estimate.trials, "trial")
    return words + (f", {estimate.missing:,} missing" if estimate.missing else "")


def format_count(estimate: Estimate | None) -> str:
    """The number of questions, marked where it is small."""
    if estimate is None:
        return "0"
    return f"{estimate.questions:,}{SMALL_MARK if estimate.is_small else ''}"


def format_slope(
    found: Coefficient, *, scale: float, digits: int, unit: str, days: int = 100
) -> str:
    """What each hundred days change, with its interval."""
    change = format_rise(found, scale=scale, digits=digits, days=days)
    value, _, ends = change.partition(" ")
    return f"{value}{unit} in {days} days{f' {ends}' if ends else ''}"


def format_rise(found: Coefficient, *, scale: float, digits: int, days: int = 100) -> str:
    """The same without its unit."""
    ends = format_interval(found, digits, scale * days)
    return format_delta(found.value * scale * days, digits) + ("" if ends is None else f" ({ends})")


def format_prediction(found: Prediction, *, scale: float, digits: int, unit: str) -> str:
    """What a line says at one size, with its band; the band alone where it left the possible."""
    where = f"{unit} at {found.days:,.0f} days"
    if found.is_clipped and found.low is not None and found.high is not None:
        low, high = (format_number(end * scale, digits) for end in (found.low, found.high))
        return f"{low} to {high}{where}, cut at what is possible"
    value = format_number(found.value * scale, digits)
    return f"{value}{where}{_format_ends(found.low, found.high, scale, digits)}"


def format_half_life(found: HalfLife, *, unit: str = "") -> str:
    """The age at which half the facts are lost, with its interval, as far as they were followed."""
    beyond = f"beyond {found.followed:,.0f}"
    low = None if found.low is None else f"{found.low:,.0f}"
    if found.value is None:
        return f"{beyond}{unit}" + ("" if low is None else f" (from {low})")
    high = beyond if found.high is None else f"{found.high:,.0f}"
    ends = "no interval" if low is None else f"{low} to {high}"
    return f"{found.value:,.0f}{unit} ({ends})"


def format_of_six(estimate: Estimate | None) -> str:
    """A mean of six points, said to be one."""
    return NO_DATA if estimate is None else f"{format_points(estimate)} of {FULL_MARKS}"


def _format_estimate(estimate: Estimate | None, scale: float, digits: int, unit: str) -> str:
    if estimate is None:
        return NO_DATA
    ends = _format_ends(estimate.low, estimate.high, scale, digits)
    return f"{format_number(estimate.value * scale, digits)}{unit}{ends}"


def _format_ends(low: float | None, high: float | None, scale: float, digits: int) -> str:
    if low is None or high is None:
        return ""
    return f" ({format_number(low * scale, digits)} to {format_number(high * scale, digits)})"
