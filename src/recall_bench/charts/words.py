"""Words of a chart: names that may be anything, and figures with their intervals."""

from collections.abc import Sequence

from recall_bench.analysis.figures import rounded
from recall_bench.analysis.report.figures import slope
from recall_bench.charts.theme import SMALL
from recall_bench.reporting.heatmap.canvas import wrapped
from recall_bench.reporting.lines import plain
from recall_bench.statistics.estimate import Estimate
from recall_bench.statistics.trend import Coefficient

NAME_LETTERS = 34
"""Names are cut after so many letters: the longest of ours has 26."""

_SENTENCE_LETTERS = 400
"""Twice the longest reason we give."""

_NO_INTERVAL = " (no interval)"

NOTE_WIDTH = 690.0
"""How wide explanations above a chart may be."""


def named(text: str, letters: int = NAME_LETTERS) -> str:
    """A name on one line, without what no picture can hold, and not too long."""
    line = " ".join(plain(text).split())
    return line if len(line) <= letters else line[: letters - 1].rstrip() + "…"


def spelt(slug: str) -> str:
    """A kebab-case name as words."""
    words = named(slug.replace("-", " ").replace("_", " "))
    return words[:1].upper() + words[1:]


def distinct(names: Sequence[str]) -> list[str]:
    """The names, numbered where cutting made some the same: two bars must not become one."""
    found: list[str] = []
    for name in names:
        other, number = name, 1
        while other in found:
            number += 1
            other = f"{name} ({number})"
        found.append(other)
    return found


def lines(*notes: str, width: float = NOTE_WIDTH) -> list[str]:
    """Explanations, each broken to the width of a chart."""
    return [line for note in notes if note for line in wrapped(plain(note), SMALL, width)]


def share(value: float) -> str:
    """A share of one in percent: tenths where they matter."""
    return f"{rounded(100 * value, _tenths(value))} %"


def rate(estimate: Estimate | None) -> str:
    """A share with its interval in brackets."""
    if estimate is None:
        return "not judged"
    return share_with(estimate.value, estimate.low, estimate.high)


def share_with(value: float, low: float | None, high: float | None) -> str:
    """A share with both ends of its interval, if it has any."""
    digits = _tenths(value or high or 0)
    return share(value) + span(low, high, scale=100, digits=digits)


def score(estimate: Estimate | None) -> str:
    """Points with their interval in brackets."""
    if estimate is None:
        return "not measured"
    return f"{estimate.value:.2f}" + span(estimate.low, estimate.high, digits=2)


def span(low: float | None, high: float | None, *, scale: float = 1, digits: int = 0) -> str:
    """Both ends of an interval in brackets, if there are any."""
    if low is None or high is None:
        return _NO_INTERVAL
    ends = [rounded(each * scale, digits) for each in (low, high)]
    between = " to " if ends[0].startswith("-") else "–"
    return f" ({between.join(ends)})"


def change(found: Coefficient, *, scale: float, unit: str) -> str:
    """What each hundred days change, with its interval."""
    said = slope(found, scale=scale, digits=2, unit=unit)
    return said if found.low is not None else f"{said}{_NO_INTERVAL}"


def figures(found: Estimate | None) -> tuple[object, ...]:
    """A figure, both ends of its interval and how many trials it is over, for a table."""
    if found is None:
        return (None, None, None, 0)
    return (found.value, found.low, found.high, found.trials)


def level(estimates: Sequence[Estimate | None]) -> str:
    """How often the intervals hold the truth, in words."""
    found = {each.level for each in estimates if each is not None}
    return " and ".join(f"{each:.0%}".replace("%", " %") for each in sorted(found)) or "95 %"


def sentence(text: str) -> str:
    """The words as a sentence of their own."""
    line = named(text, _SENTENCE_LETTERS)
    ended = line if not line or line[-1] in ".!?…" else f"{line}."
    return ended[:1].upper() + ended[1:]


def several(names: Sequence[str], most: int = 4) -> str:
    """Names as a list in words, the rest counted."""
    shown = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def _tenths(value: float) -> int:
    """Digits after the point of a share in percent."""
    return 1 if 0 < abs(100 * value) < 9.95 else 0
