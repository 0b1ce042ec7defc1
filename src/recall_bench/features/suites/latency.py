"""Histograms of times: HdrHistogram, which keeps every value to three digits in little room."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from recall_bench.core.user_code import require_libraries

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

_LOWEST_US, _HIGHEST_US, _DIGITS = 1, 3_600_000_000, 3


def require_load_libraries() -> None:
    """UsageError, which says how to install them, if a library of the load suite is missing."""
    require_libraries("the load suite", "load", "hdrh.histogram", "psutil")


def make_histogram() -> "HdrHistogram":
    """Make an empty histogram of times from a microsecond to an hour, precise to 0.1 %."""
    require_load_libraries()
    from hdrh.histogram import HdrHistogram

    return HdrHistogram(_LOWEST_US, _HIGHEST_US, _DIGITS)


def to_microseconds(seconds: float) -> int:
    """Convert a time to a value that a histogram can record."""
    return min(_HIGHEST_US, max(_LOWEST_US, round(seconds * 1e6)))


def merge_histograms(encoded: Iterable[str]) -> "HdrHistogram":
    """Merge histograms that were recorded; empty if there are none."""
    merged = make_histogram()
    for text in encoded:
        merged.decode_and_add(text.encode())
    return merged


def find_percentile(histogram: "HdrHistogram", percent: float) -> float | None:
    """Return the time within which this percentage of cases lies, in seconds.

    None if there are so few cases that the slowest alone would decide it.
    """
    if histogram.get_total_count() * (100 - percent) < 100:
        return None
    return float(histogram.get_value_at_percentile(percent)) / 1e6
