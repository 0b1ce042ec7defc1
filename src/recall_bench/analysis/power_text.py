"""What questions can show, for people."""

from collections.abc import Iterator

from recall_bench.analysis.planning import Ground, Needed, Power, Shown, fewest
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.lines import NO_DATA, fact, heading


def text_of(found: Power) -> str:
    """The answer, then both tables."""
    title = heading("Recall Bench · power", rule="═")
    return "\n".join([*title, "", *_facts(found), "", *_tables(found)])


def _facts(found: Power) -> Iterator[str]:
    ground = found.ground
    if found.needed is not None:
        yield from fact("Needed", _needed(found.needed))
    if found.shown is not None:
        yield from fact("Shown", _shown(found.shown, found.alpha))
    yield from fact("From", ground.source)
    yield from fact("Varies", _varies(ground))
    yield from fact("Asked", _asked(ground))
    yield from fact("Noticed", f"{found.power:.0%} of the time".replace("%", " %"))
    yield from fact("False alarms", f"{found.alpha:.0%} of the time".replace("%", " %"))


def _varies(ground: Ground) -> str:
    words = f"by {ground.spread.deviation:.2f} points from trial to trial (sd)"
    if ground.asks == 1:
        return words
    return f"{words}; differences on one question correlate by {ground.spread.correlation:.2f}"


def _asked(ground: Ground) -> str:
    if ground.asks == 1:
        return "each question once"
    return f"each question {ground.asks:.3g} times"


def _needed(needed: Needed) -> str:
    return (
        f"{needed.questions:,} different questions, to see a difference of {needed.difference:g} "
        f"in points of {FULL_MARKS}"
    )


def _shown(shown: Shown, alpha: float) -> str:
    if shown.questions < fewest(alpha):
        return f"no difference by {shown.questions} questions; it takes {fewest(alpha)} or more"
    if shown.difference is None:
        return f"no difference that is possible by {shown.questions:,} different questions"
    return (
        f"a difference of {shown.difference:.2f} in points of {FULL_MARKS}, or more, by "
        f"{shown.questions:,} different questions"
    )


def _tables(found: Power) -> Iterator[str]:
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
