"""How memory degrades, for people."""

from collections.abc import Iterator

from recall_bench.analysis.degradation.views import By, Degradation, Survived
from recall_bench.analysis.report.figures import half_life, slope
from recall_bench.reporting.lines import fact, plain
from recall_bench.statistics.trend import Trend

_NAME = 34


def degradation_lines(found: Degradation) -> Iterator[str]:
    """The mixed view beside the fixed one, then how long facts stay known."""
    yield from fact("Mixed", f"{_trend(found.mixed_trend)}; the questions change as days go by")
    if found.cohort is not None:
        card = found.cohort
        yield from fact(
            "Fixed",
            f"{_trend(found.fixed_trend)}; the same {card.questions:,} questions at each of "
            f"{card.checkpoints} checkpoints, {plain(card.first)} to {plain(card.last)}",
        )
    if found.reason is not None:
        yield from fact("Missing", found.reason)
    if found.survivals:
        yield from _survivals(found)
    for note in found.notes:
        yield from fact("Note", note)


def _survivals(found: Degradation) -> Iterator[str]:
    yield ""
    yield f"{'facts, once known':<{_NAME}}{'facts':>7}{'lost':>7}  half-life, days"
    for each in found.survivals:
        yield _row(each)
    yield from fact(
        "",
        f"lost: wrong {found.failures} times in a row · {found.never_known:,} never known, and "
        f"not counted · {found.unfollowed:,} asked too seldom after that to be followed",
    )


def _row(each: Survived) -> str:
    name = "all" if each.by is By.ALL else f"{each.by.value} {plain(each.name)}"
    found = each.survival
    half = half_life(found.half_life)
    return f"{name[: _NAME - 1]:<{_NAME}}{found.facts:>7,}{found.lost:>7,}  {half}"


def _trend(line: Trend | None) -> str:
    if line is None:
        return "no trend: one corpus size"
    return slope(line.slope, scale=1, digits=2, unit=" points of 6")
