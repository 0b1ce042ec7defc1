"""Numbers as every analysis words them: signs, both ends of an interval, and p-values."""

from typing import Protocol


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
