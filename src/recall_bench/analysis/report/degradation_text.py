"""How memory degrades, for people."""

from collections.abc import Iterator

from recall_bench.analysis.degradation.views import Degradation, GroupSurvival, SurvivalGroup
from recall_bench.analysis.report.figures import format_half_life, format_slope
from recall_bench.reporting.lines import clean_text, format_fact
from recall_bench.statistics.trend import Trend

_GROUP_WIDTH = 34


def render_degradation(found: Degradation) -> Iterator[str]:
    """The mixed view beside the fixed one, then how long facts stay known."""
    yield from format_fact(
        "Mixed", f"{_format_trend(found.mixed_trend)}; the questions change as days go by"
    )
    if found.cohort is not None:
        card = found.cohort
        yield from format_fact(
            "Fixed",
            f"{_format_trend(found.fixed_trend)}; the same {card.questions:,} questions at each of "
            f"{card.checkpoints} checkpoints, {clean_text(card.first)} to {clean_text(card.last)}",
        )
    if found.reason is not None:
        yield from format_fact("Missing", found.reason)
    if found.survivals:
        yield from _render_survivals(found)
    for note in found.notes:
        yield from format_fact("Note", note)


def _render_survivals(found: Degradation) -> Iterator[str]:
    yield ""
    yield f"{'facts, once known':<{_GROUP_WIDTH}}{'facts':>7}{'lost':>7}  half-life, days"
    for each in found.survivals:
        yield _format_survival(each)
    yield from format_fact(
        "",
        f"lost: wrong {found.failures} times in a row · {found.never_known:,} never known, and "
        f"not counted · {found.unfollowed:,} asked too seldom after that to be followed",
    )


def _format_survival(each: GroupSurvival) -> str:
    name = "all" if each.by is SurvivalGroup.ALL else f"{each.by.value} {clean_text(each.name)}"
    found = each.survival
    half = format_half_life(found.half_life)
    return f"{name[: _GROUP_WIDTH - 1]:<{_GROUP_WIDTH}}{found.facts:>7,}{found.lost:>7,}  {half}"


def _format_trend(line: Trend | None) -> str:
    if line is None:
        return "no trend: one corpus size"
    return format_slope(line.slope, scale=1, digits=2, unit=" points of 6")
