"""The rule that tells a memory that loses what it knew from one that makes up what it lost.

Recall *falls* where the whole 95 % interval of its slope is below zero; hallucination *rises* where
the whole interval of its slope is above zero. Then

* pathological: recall falls and hallucination rises;
* inventing: hallucination rises, and recall does not fall;
* healthy: recall falls, hallucination does not rise, and the upper end of its slope is less than
  half of what recall loses: most of what is lost is not made up, whatever chance did;
* unknown: recall falls, hallucination does not rise, and its upper end is not as low as that;
* steady: neither falls nor rises. That is "not shown", and never "shown not to".

The chance that steady data are called anything else is that of two intervals each missing on one
side: about one in twenty.
"""

from typing import Final

from recall_bench.analysis.figures import format_delta
from recall_bench.analysis.hallucination.views import HallucinationPattern
from recall_bench.statistics.estimate import Estimate
from recall_bench.statistics.trend import Coefficient, Trend

MAX_FABRICATED_SHARE: Final = 0.5
"""A loss of which more than this share may be made up is not called healthy."""

_LEVEL_CHANGE = 1e-9
"""A line that changes less than this over all its days is level."""


def detect_pattern(
    recall: Trend | None, hallucination: Trend | None, rate: Estimate | None
) -> tuple[HallucinationPattern, str]:
    """Which pattern two lines over the same sizes show, and why, in a sentence."""
    if rate is None:
        return HallucinationPattern.UNKNOWN, "no answer was judged"
    if recall is None or hallucination is None:
        return HallucinationPattern.UNKNOWN, "there are not two corpus sizes to compare"
    if recall.slope.high is None or hallucination.slope.low is None:
        return (
            HallucinationPattern.UNKNOWN,
            "so few questions were asked that the slopes have no interval",
        )
    if _is_changing(recall, below=True):
        return _explain_falling(recall, hallucination)
    if _is_changing(hallucination, below=False):
        return HallucinationPattern.INVENTING, (
            f"hallucination rises, {_format_slope(hallucination.slope)}, and recall is not shown to "
            f"fall, {_format_slope(recall.slope, unit='')}"
        )
    return HallucinationPattern.STEADY, (
        f"recall is not shown to fall, {_format_slope(recall.slope)}, nor hallucination to rise, "
        f"{_format_slope(hallucination.slope, unit='')}; any change within these bounds fits the data"
    )


def _explain_falling(recall: Trend, hallucination: Trend) -> tuple[HallucinationPattern, str]:
    """Recall falls; whether hallucination rises with it, or is known not to."""
    fall, rise = -recall.slope.value, hallucination.slope.value
    lost, made_up = _format_slope(recall.slope), _format_slope(hallucination.slope, unit="")
    if _is_changing(hallucination, below=False):
        return HallucinationPattern.PATHOLOGICAL, (
            f"recall falls, {lost}, and hallucination rises, {made_up}: "
            f"{100 * rise / fall:.0f} made up for every 100 points lost"
        )
    # The steepest rise that the data leave possible.
    possible = max(hallucination.slope.high or 0.0, 0.0)
    told = f"recall falls, {lost}, and hallucination is not shown to rise, {made_up}"
    share = f"{100 * possible / fall:.0f} made up for every 100 points lost"
    if possible < MAX_FABRICATED_SHARE * fall:
        return HallucinationPattern.HEALTHY, f"{told}: at most {share}, by the fall as measured"
    return HallucinationPattern.UNKNOWN, (
        f"{told}; but up to {share} would fit the data as well, and from {100 * MAX_FABRICATED_SHARE:.0f} on that "
        "is not called healthy: ask more questions"
    )


def _is_changing(line: Trend, *, below: bool) -> bool:
    """Whether the whole interval of the slope is on that side of zero."""
    span = line.last_day - line.first_day
    end = line.slope.high if below else line.slope.low
    if end is None:
        return False
    return end * span < -_LEVEL_CHANGE if below else end * span > _LEVEL_CHANGE


def _format_slope(slope: Coefficient, *, unit: str = " points of 100 in 100 days") -> str:
    """What a hundred days change, in points of a hundred, with its interval."""
    low, high = slope.low or 0.0, slope.high or 0.0
    value, *ends = (format_delta(1e4 * each) for each in (slope.value, low, high))
    return f"{value}{unit} ({ends[0]} to {ends[1]})"
