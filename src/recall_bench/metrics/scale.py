"""Scales: how a figure is printed, which end is better, and which colours it has.

Every output asks the scale of a row, and none knows a row by its name.
"""

from collections.abc import Callable
from enum import StrEnum
from math import copysign, floor, isfinite
from typing import TYPE_CHECKING, Final, Protocol

from recall_bench.core.plain_text import NO_DATA
from recall_bench.core.record import ComputedRecord
from recall_bench.core.usage import format_round_dollars
from recall_bench.core.verdict import FULL_MARKS

if TYPE_CHECKING:
    # Estimates need numpy, which a progress bar can do without.
    from recall_bench.metrics.estimate import Estimate

OF_100: Final = 100 / FULL_MARKS
"""What one mark is worth on the scale that people see: marks are of 6, scores of 100."""
_NEAR_HALF = 1e-6
"""What is this close to a half of the last digit is a half: sums of floats are not exact."""


class HasInterval(Protocol):
    """A figure that may have an interval."""

    @property
    def low(self) -> float | None:
        """None where there is no interval."""

    @property
    def high(self) -> float | None:
        """None where there is no interval."""


def format_number(number: float, digits: int) -> str:
    """The number with these digits after the point, halves away from zero; no sign on a zero.

    `fixed` in `dom.js` rounds the same way, so that page and terminal show the same figures.
    """
    return format_delta(number, digits).removeprefix("+")


def format_delta(number: float, digits: int = 2) -> str:
    """The number as `format_number` rounds it, with its sign; no sign on a zero."""
    if not isfinite(number):
        return f"{number:+}"
    size = 10**digits
    rounded = floor(abs(number) * size + 0.5 + _NEAR_HALF) / size
    return f"{copysign(rounded, number):+.{digits}f}" if rounded else f"{0:.{digits}f}"


def format_seconds(seconds: float | None) -> str:
    """A time in the unit that fits: `0.9 ms`, `331 ms`, `2.5 s`, `12 min`."""
    if seconds is None:
        return NO_DATA
    if seconds >= 600:
        return f"{seconds / 60:,.0f} min"
    if seconds >= 0.9995:
        return f"{format_number(seconds, 1)} s"
    count = 1000 * seconds
    if 0 < count < 0.1:
        return f"{count:.2g} ms"
    return f"{format_number(count, 1 if count < 99.95 else 0)} ms"


class ColourRamp(StrEnum):
    """The colours between the two ends of a scale."""

    SCORE = "score"
    """From bad to good, in even steps."""
    RATE = "rate"
    """From pale to deep; small values differ more than large ones."""


class Scale(ComputedRecord, frozen=True, kw_only=True):
    """What the numbers of a row are, and how they are shown."""

    name: str
    """As result files name it."""
    unit: str = ""
    """What stands behind a number where there is room: ` %`, ` of 100`."""
    head: str = ""
    """What the numbers are, as the head of a table says it; empty where each has its unit."""
    factor: float = 1.0
    """What one is worth in the numbers that people see."""
    file_factor: float = 1.0
    """What one is worth in result files."""
    best: float | None = None
    """The highest value, if there is one. The lowest is 0."""
    is_higher_better: bool = True
    ramp: ColourRamp = ColourRamp.SCORE

    @property
    def _writer(self) -> Callable[[float | None], str] | None:
        """Writes a value with a unit that depends on its size."""
        return _WRITERS.get(self.name)

    @property
    def limits(self) -> tuple[float, float] | None:
        """The lowest and highest value; None if there is no highest."""
        return None if self.best is None else (0.0, self.best)

    def format_short(self, value: float | None) -> str:
        """The value in a narrow cell: whole points, a tenth of a percent below ten."""
        if value is None:
            return NO_DATA
        if self._writer is not None:
            return self._writer(value)
        number = value * self.factor
        unit = self.unit if self.unit == _PERCENT else ""
        return f"{format_number(number, self._choose_digits(number))}{unit}"

    def format_value(self, value: float | None, digits: int | None = None) -> str:
        """The value with its unit, in a sentence."""
        if value is None:
            return NO_DATA
        if self._writer is not None:
            return self._writer(value)
        digits = self._exact_digits if digits is None else digits
        return f"{format_number(value * self.factor, digits)}{self.unit}"

    def format_range(self, interval: HasInterval | None) -> str:
        """Both ends with a dash between them, in a narrow cell; empty where there are none."""
        if interval is None or interval.low is None or interval.high is None:
            return ""
        ends = interval.low, interval.high
        if self._writer is not None:
            return "–".join(map(self._writer, ends))
        digits = self._choose_digits(interval.high * self.factor)
        return "–".join(format_number(end * self.factor, digits) for end in ends)

    def format_bounds(self, interval: HasInterval | None, digits: int | None = None) -> str:
        """`65.0 to 83.1`, in a sentence; empty where there is no interval."""
        if interval is None or interval.low is None or interval.high is None:
            return ""
        ends = interval.low, interval.high
        if self._writer is not None:
            return " to ".join(map(self._writer, ends))
        digits = self._exact_digits if digits is None else digits
        low, high = (format_number(end * self.factor, digits) for end in ends)
        return f"{low} to {high}{self.unit if self.unit == _PERCENT else ''}"

    def format(self, estimate: "Estimate | None", digits: int | None = None) -> str:
        """The value with its unit, and the interval in brackets."""
        if estimate is None:
            return NO_DATA
        ends = self.format_bounds(estimate, digits).removesuffix(_PERCENT)
        return f"{self.format_value(estimate.value, digits)}{f' ({ends})' if ends else ''}"

    def compute_shade(self, value: float, highest: float | None = None) -> float:
        """Where a value lies on the ramp, from 0 to 1.

        `highest` is that of the row, for a scale without an end of its own.
        """
        best = self.best if self.best is not None else highest
        share = value / best if best else 0.0
        return max(0.0, min(1.0, share))

    @property
    def _exact_digits(self) -> int:
        return 3 if self.factor == 1 else 1

    def _choose_digits(self, shown: float) -> int:
        if self.factor == 1:
            return 3
        return 1 if self.ramp is ColourRamp.RATE and 0 < shown < 9.95 else 0


_PERCENT = " %"
POINTS: Final = Scale(
    name="points", unit=" of 100", head="points of 100", factor=OF_100, best=float(FULL_MARKS)
)
"""Mean marks of 6, shown as points of 100."""
SHARE: Final = Scale(
    name="share",
    unit=_PERCENT,
    head="%",
    factor=100.0,
    file_factor=100.0,
    best=1.0,
    is_higher_better=False,
    ramp=ColourRamp.RATE,
)
"""A share of something that is better avoided."""
FRACTION: Final = Scale(name="fraction", best=1.0)
"""From 0 to 1, as papers print it."""
SECONDS: Final = Scale(name="seconds", is_higher_better=False, ramp=ColourRamp.RATE)
DOLLARS: Final = Scale(name="dollars", is_higher_better=False, ramp=ColourRamp.RATE)
SCALES: Final = {scale.name: scale for scale in (POINTS, SHARE, FRACTION, SECONDS, DOLLARS)}
_WRITERS: Final[dict[str, Callable[[float | None], str]]] = {
    SECONDS.name: format_seconds,
    DOLLARS.name: lambda usd: NO_DATA if usd is None else format_round_dollars(usd),
}
