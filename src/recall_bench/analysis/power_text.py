"""What questions can show, for people."""

from collections.abc import Iterator

from recall_bench.analysis.planning import (
    DetectableDifference,
    PowerBasis,
    PowerReport,
    QuestionsNeeded,
    count_fewest,
)
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.lines import NO_DATA, format_fact, format_heading


def render_power(found: PowerReport) -> str:
    """The answer, then both tables."""
    title = format_heading("Recall Bench · power", rule="═")
    return "\n".join([*title, "", *_render_facts(found), "", *_render_tables(found)])


def _render_facts(found: PowerReport) -> Iterator[str]:
    ground = found.ground
    if found.needed is not None:
        yield from format_fact("Needed", _describe_requirement(found.needed))
    if found.shown is not None:
        yield from format_fact("Shown", _describe_detectable(found.shown, found.alpha))
    yield from format_fact("From", ground.source)
    yield from format_fact("Varies", _describe_spread(ground))
    yield from format_fact("Asked", _describe_asks(ground))
    yield from format_fact("Noticed", f"{found.power:.0%} of the time".replace("%", " %"))
    yield from format_fact("False alarms", f"{found.alpha:.0%} of the time".replace("%", " %"))


def _describe_spread(ground: PowerBasis) -> str:
    words = f"by {ground.spread.deviation:.2f} points from trial to trial (sd)"
    if ground.asks == 1:
        return words
    return f"{words}; differences on one question correlate by {ground.spread.correlation:.2f}"


def _describe_asks(ground: PowerBasis) -> str:
    if ground.asks == 1:
        return "each question once"
    return f"each question {ground.asks:.3g} times"


def _describe_requirement(needed: QuestionsNeeded) -> str:
    return (
        f"{needed.questions:,} different questions, to see a difference of {needed.difference:g} "
        f"in points of {FULL_MARKS}"
    )


def _describe_detectable(shown: DetectableDifference, alpha: float) -> str:
    if shown.questions < count_fewest(alpha):
        return (
            f"no difference by {shown.questions} questions; it takes {count_fewest(alpha)} or more"
        )
    if shown.difference is None:
        return f"no difference that is possible by {shown.questions:,} different questions"
    return (
        f"a difference of {shown.difference:.2f} in points of {FULL_MARKS}, or more, by "
        f"{shown.questions:,} different questions"
    )


def _render_tables(found: PowerReport) -> Iterator[str]:
    yield f"{'difference':>10}{'takes questions':>19}{'':8}{'questions':>9}{'show':>11}"
    rows = max(len(found.differences), len(found.sizes))
    for place in range(rows):
        left = right = ""
        if place < len(found.differences):
            needed = found.differences[place]
            left = f"{needed.difference:>10.2f}{needed.questions:>19,}"
        if place < len(found.sizes):
            shown = found.sizes[place]
            smallest = NO_DATA if shown.difference is None else f"{shown.difference:.2f}"
            right = f"{shown.questions:>9,}{smallest:>11}"
        yield f"{left:29}{'':8}{right}".rstrip()
