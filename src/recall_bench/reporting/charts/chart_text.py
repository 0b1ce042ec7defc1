"""Texts of a chart: names that may be anything, and figures with their intervals."""

from collections.abc import Sequence

from recall_bench.core.plain_text import clean_text
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.trend import Coefficient
from recall_bench.reporting import formats
from recall_bench.reporting.charts.theme import NOTE_SIZE
from recall_bench.reporting.formats import OF_100, format_number, format_sentence, format_slope
from recall_bench.reporting.pictures import wrap_lines

MAX_NAME_LENGTH = 34
"""Longer names are cut; the longest of ours has 26 letters."""

_MAX_SENTENCE_LENGTH = 400
"""Twice the longest reason we give."""

_NO_INTERVAL = " (no interval)"

NOTE_WIDTH = 690.0
"""How wide explanations above a chart may be."""


def trim_name(text: str, letters: int = MAX_NAME_LENGTH) -> str:
    """A name on one line, without control characters, and cut if it is long."""
    line = " ".join(clean_text(text).split())
    return line if len(line) <= letters else line[: letters - 1].rstrip() + "…"


def format_slug(slug: str) -> str:
    """A kebab-case name as words, cut if it is long."""
    return trim_name(formats.format_slug(slug))


def rename_duplicates(names: Sequence[str]) -> list[str]:
    """The names, numbered where cutting made some equal: two bars must not become one."""
    unique: list[str] = []
    for name in names:
        other, number = name, 1
        while other in unique:
            number += 1
            other = f"{name} ({number})"
        unique.append(other)
    return unique


def wrap_notes(*notes: str, width: float = NOTE_WIDTH) -> list[str]:
    """Notes, broken to the width of a chart."""
    return [
        line for note in notes if note for line in wrap_lines(note, size=NOTE_SIZE, width=width)
    ]


def format_share(value: float) -> str:
    """A share of one in percent: tenths where they matter."""
    return f"{format_number(100 * value, _count_digits(value))} %"


def format_rate(estimate: Estimate | None) -> str:
    """A share with its interval in brackets."""
    if estimate is None:
        return "not judged"
    return format_share_interval(estimate.value, estimate.low, estimate.high)


def format_share_interval(value: float, low: float | None, high: float | None) -> str:
    """A share with both ends of its interval, if it has any."""
    digits = _count_digits(value or high or 0)
    return format_share(value) + format_span(low, high, scale=100, digits=digits)


def scale_score(estimate: Estimate | None) -> Estimate | None:
    """Mean marks of 6 as points of 100."""
    if estimate is None:
        return None
    low, high = (None if end is None else end * OF_100 for end in (estimate.low, estimate.high))
    return estimate.replace(value=estimate.value * OF_100, low=low, high=high)


def format_score(estimate: Estimate | None) -> str:
    """Points of 100 with their interval in brackets."""
    if estimate is None:
        return "not measured"
    return format_number(estimate.value, 0) + format_span(estimate.low, estimate.high)


def format_span(low: float | None, high: float | None, *, scale: float = 1, digits: int = 0) -> str:
    """Both ends of an interval in brackets, if there are any."""
    if low is None or high is None:
        return _NO_INTERVAL
    ends = [format_number(end * scale, digits) for end in (low, high)]
    between = " to " if ends[0].startswith("-") else "–"
    return f" ({between.join(ends)})"


def format_change(found: Coefficient, *, scale: float, unit: str) -> str:
    """The change in a hundred days, with its interval."""
    change = format_slope(found, scale=scale, digits=2, unit=unit)
    return change if found.low is not None else f"{change}{_NO_INTERVAL}"


def list_figures(found: Estimate | None) -> tuple[object, ...]:
    """A figure, both ends of its interval and how many trials it is over, for a table."""
    if found is None:
        return (None, None, None, 0)
    return (found.value, found.low, found.high, found.trials)


def format_level(estimates: Sequence[Estimate | None]) -> str:
    """The level of the intervals, as `95 %`."""
    levels = {estimate.level for estimate in estimates if estimate is not None}
    return " and ".join(f"{format_number(100 * level, 0)} %" for level in sorted(levels)) or "95 %"


def format_reason(text: str) -> str:
    """A reason as a sentence of limited length."""
    return format_sentence(trim_name(text, _MAX_SENTENCE_LENGTH))


def _count_digits(value: float) -> int:
    """Digits after the point of a share in percent."""
    return 1 if 0 < abs(100 * value) < 9.95 else 0
