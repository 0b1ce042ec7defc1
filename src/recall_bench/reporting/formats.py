"""How numbers are written in every report: estimates, intervals, p-values, rates, times, names."""

from typing import TYPE_CHECKING, Protocol

from recall_bench.core.plain_text import NO_DATA, clean_text, format_quantity
from recall_bench.core.verdict import JudgeCard
from recall_bench.metrics.scale import (
    FRACTION,
    OF_100,
    POINTS,
    SHARE,
    HasInterval,
    format_delta,
    format_number,
    format_seconds,
)

if TYPE_CHECKING:
    # Estimates need numpy, which a progress bar can do without.
    from recall_bench.metrics.estimate import Estimate
    from recall_bench.metrics.survival import HalfLife
    from recall_bench.metrics.trend import Coefficient, Prediction, Trend

__all__ = ["OF_100", "format_delta", "format_number", "format_seconds"]
SMALL_MARK = "!"
"""Marks a figure over so few questions that its interval is in doubt."""


class HasVersion(Protocol):
    """The card of a system, a judge or a reader."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def version(self) -> str:
        """Its declared version."""


def format_card(card: HasVersion, model: str | None = None) -> str:
    """The name and version of a card, with its model in brackets, and the reading of a judge."""
    words = f"{card.name} {card.version}" + (f" ({model})" if model else "")
    reading = card.reading if isinstance(card, JudgeCard) else None
    return words if reading is None else f"{words}, {reading}"


def format_interval(found: HasInterval, digits: int = 2, scale: float = 1) -> str | None:
    """Both ends of a difference with their signs; None where there is no interval."""
    if found.low is None or found.high is None:
        return None
    ends = (format_delta(end * scale, digits) for end in (found.low, found.high))
    return " to ".join(ends)


def format_range(found: HasInterval | None, *, scale: float = 1, digits: int = 1) -> str:
    """Both ends with a dash between them; empty where there is no interval."""
    if found is None or found.low is None or found.high is None:
        return ""
    return "–".join(format_number(end * scale, digits) for end in (found.low, found.high))


def format_bounds(
    found: HasInterval | None, *, scale: float = 1, digits: int = 2, unit: str = "", level: str = ""
) -> str:
    """Both ends in brackets after a space; empty where there is no interval."""
    if found is None or found.low is None or found.high is None:
        return ""
    low, high = (format_number(end * scale, digits) for end in (found.low, found.high))
    return f" ({level}{low} to {high}{unit})"


def format_p(p_value: float, *, sign: bool = False) -> str:
    """A p-value with two significant digits, `p = ` before it if wanted."""
    if p_value < 0.001:
        return "p < 0.001" if sign else "< 0.001"
    number = format_number(p_value, 3 if p_value < 0.1 else 2)
    return f"p = {number}" if sign else number


def format_percent(share: float | None) -> str:
    """A share of one in percent."""
    return NO_DATA if share is None else f"{format_number(share * 100, 1)} %"


def capitalise(words: str) -> str:
    """The words with a capital; the other letters stay, as in `token F1`."""
    return words[:1].upper() + words[1:]


def format_slug(slug: str) -> str:
    """A kebab-case name as words with a capital."""
    return capitalise(clean_text(slug).replace("-", " ").replace("_", " ").strip())


def format_sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    line = text.strip()
    return line[:1].upper() + line[1:] + ("" if line.endswith((".", "!", "?", "…")) else ".")


def format_score(marks: float | None, digits: int = 0) -> str:
    """Mean marks of 6 as points of 100, without an interval."""
    return NO_DATA if marks is None else format_number(marks * OF_100, digits)


def format_points(estimate: "Estimate | None", digits: int = 1) -> str:
    """Mean marks of 6 as points of 100, with the interval."""
    return POINTS.replace(unit="").format(estimate, digits)


def format_of_100(estimate: "Estimate | None", digits: int = 0) -> str:
    """Mean marks of 6 as points of 100, with `of 100` and the interval."""
    return POINTS.format(estimate, digits)


def format_share(estimate: "Estimate | None", digits: int = 1) -> str:
    """A share of one in percent with its interval."""
    return SHARE.format(estimate, digits)


def format_own_scale(estimate: "Estimate | None") -> str:
    """A figure from 0 to 1 as papers print it, with the interval."""
    return FRACTION.format(estimate)


def format_basis(estimate: "Estimate") -> str:
    """The questions and trials behind a figure, and how many are missing."""
    words = f"{format_quantity(estimate.questions, 'question')}, "
    words += format_quantity(estimate.trials, "trial")
    return words + (f", {estimate.missing:,} missing" if estimate.missing else "")


def format_count(estimate: "Estimate | None") -> str:
    """The number of questions, marked where it is small."""
    if estimate is None:
        return "0"
    return f"{estimate.questions:,}{SMALL_MARK if estimate.is_small else ''}"


_SLOPE_DAYS = 100


def format_slope(found: "Coefficient", *, scale: float, digits: int, unit: str) -> str:
    """The change in a hundred days, with unit and interval."""
    change = format_rise(found, scale=scale, digits=digits)
    value, _, ends = change.partition(" ")
    return f"{value}{unit} in {_SLOPE_DAYS} days{f' {ends}' if ends else ''}"


def format_score_trend(line: "Trend | None") -> str:
    """The change of a score of 6 in a hundred days, in points of 100."""
    if line is None:
        return "no trend: one corpus size"
    return format_slope(line.slope, scale=OF_100, digits=1, unit=" points of 100")


def format_rise(found: "Coefficient", *, scale: float, digits: int) -> str:
    """The change in a hundred days with its interval, without a unit."""
    ends = format_interval(found, digits, scale * _SLOPE_DAYS)
    change = format_delta(found.value * scale * _SLOPE_DAYS, digits)
    return change + ("" if ends is None else f" ({ends})")


def format_prediction(found: "Prediction", *, scale: float, digits: int, unit: str) -> str:
    """What a line predicts at one size, with its band; the band alone where it was clipped."""
    where = f"{unit} at {found.days:,.0f} days"
    if found.is_clipped and found.low is not None and found.high is not None:
        low, high = (format_number(end * scale, digits) for end in (found.low, found.high))
        return f"{low} to {high}{where}, cut at what is possible"
    value = format_number(found.value * scale, digits)
    return f"{value}{where}{format_bounds(found, scale=scale, digits=digits)}"


def format_half_life(found: "HalfLife", *, unit: str = "") -> str:
    """The age at which half the facts are lost, with its interval, as far as it is known."""
    beyond = f"beyond {found.followed:,.0f}"
    low = None if found.low is None else f"{found.low:,.0f}"
    if found.value is None:
        return f"{beyond}{unit}" + ("" if low is None else f" (from {low})")
    high = beyond if found.high is None else f"{found.high:,.0f}"
    ends = "no interval" if low is None else f"{low} to {high}"
    return f"{found.value:,.0f}{unit} ({ends})"


def format_duration(seconds: float) -> str:
    """`1h 02m 03s`, `2m 03s` or `3s`."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours}h {minutes:02}m {rest:02}s"
    return f"{minutes}m {rest:02}s" if minutes else f"{rest}s"


_DURATION_UNITS = ((3 * 86_400, 86_400, "d"), (3600, 3600, "h"), (60, 60, "min"), (1, 1, "s"))
"""From this many seconds on, in units of this many."""


def format_round_duration(seconds: float) -> str:
    """A duration to two figures in the unit that fits: `48 s`, `3.2 h`, `12 d`."""
    for least, size, unit in _DURATION_UNITS:
        if seconds >= least:
            count = seconds / size
            return f"{count:.1f} {unit}" if count < 9.95 else f"{count:,.0f} {unit}"
    return "< 1 s" if seconds > 0 else "0 s"
