"""How a story goes along: never too much at once, and sometimes nothing.

A quiet period is 10 to 15 days in a row without any arc. A story of 120 days or more has one or
two, and may have one more for each 500 days beyond 1,000; it has no longer stretch without an arc,
and starts and ends with less than ten such days. A shorter story needs none, and an eighth of it is
the longest stretch without an arc.
"""

from collections.abc import Iterator
from itertools import groupby

from recall_bench.datasets.days import format_days
from recall_bench.datasets.story import Arc, Story

MAX_CONCURRENT_ARCS = 4
SHORTEST_QUIET, LONGEST_QUIET = 10, 15
QUIET_FROM = 120
"""A story this long has quiet periods."""

_USUAL_QUIET = 12


def count_most_quiet_periods(days: int) -> int:
    """How many quiet periods a story may have."""
    return max(2, days // 500) if days >= QUIET_FROM else 0


def check_pacing(story: Story, days: int) -> Iterator[str]:
    """Days with too many arcs, days with none, and quiet periods that are not there."""
    yield from _check_crowding(story, days)
    if not story.arcs:
        return
    spans = list(_find_empty_spans(story, days))
    yield from _check_edges(spans, days)
    holes = list(_check_holes(spans, days))
    yield from holes
    if days >= QUIET_FROM and not holes:
        yield from _check_quiet_periods(story, spans, days)


def _check_crowding(story: Story, days: int) -> Iterator[str]:
    crowds = {day: story.list_active_arcs(day) for day in range(1, days + 1)}
    for is_crowded, run in groupby(crowds, lambda day: len(crowds[day]) > MAX_CONCURRENT_ARCS):
        if not is_crowded:
            continue
        span = list(run)
        most = max(len(crowds[day]) for day in span)
        names = dict.fromkeys(name for day in span for name in crowds[day])
        yield (
            f"{'up to ' if len(names) > most else ''}{most} arcs are active at once on "
            f"{format_days(span)}: {', '.join(names)}; at most {MAX_CONCURRENT_ARCS} may be: shorten or move "
            "some"
        )


def _find_empty_spans(story: Story, days: int) -> Iterator[tuple[int, int]]:
    for is_active, run in groupby(range(1, days + 1), story.is_active):
        if not is_active:
            span = list(run)
            yield span[0], span[-1]


def _compute_longest_gap(days: int) -> int:
    return SHORTEST_QUIET - 1 if days >= QUIET_FROM else days // 8


def _check_edges(spans: list[tuple[int, int]], days: int) -> Iterator[str]:
    for first, last in spans:
        if last - first < _compute_longest_gap(days):
            continue
        if first == 1:
            yield f"nothing happens before day {last + 1}; let an arc start on day 1"
        elif last == days:
            yield f"nothing happens after day {first - 1}; let an arc end on day {days}"


def _check_holes(spans: list[tuple[int, int]], days: int) -> Iterator[str]:
    most = LONGEST_QUIET if days >= QUIET_FROM else _compute_longest_gap(days)
    for first, last in spans:
        if last - first + 1 > most and first > 1 and last < days:
            fewer = f"{SHORTEST_QUIET}–{most}" if days >= QUIET_FROM else f"at most {most}"
            yield (
                f"no arc is active on {format_days(range(first, last + 1))}; leave {fewer} days in a "
                "row without one: move or lengthen an arc"
            )


def _check_quiet_periods(story: Story, spans: list[tuple[int, int]], days: int) -> Iterator[str]:
    quiet = [
        (first, last)
        for first, last in spans
        if SHORTEST_QUIET <= last - first + 1 <= LONGEST_QUIET and first > 1 and last < days
    ]
    wanted = f"leave {SHORTEST_QUIET}–{LONGEST_QUIET} days in a row without any arc"
    if not quiet:
        yield f"there is no quiet period: {wanted}, once or twice{_suggest_quiet_period(story, days)}"
    elif len(quiet) > count_most_quiet_periods(days):
        places = ", ".join(f"{first}–{last}" for first, last in quiet)
        yield (
            f"there are {len(quiet)} quiet periods, on days {places}; {count_most_quiet_periods(days)} at most: "
            "fill one with an arc"
        )


def _suggest_quiet_period(story: Story, days: int) -> str:
    """Where a quiet period would cost least: the dozen days that the fewest arcs touch."""
    starts = range(days // 4, days - _USUAL_QUIET - days // 8)
    best = min(starts, key=lambda day: len(_find_touching_arcs(story, day)))
    names = ", ".join(arc.id for arc in _find_touching_arcs(story, best))
    last = best + _USUAL_QUIET - 1
    return f"; days {best}–{last} would do, if {names} kept clear of them" if names else ""


def _find_touching_arcs(story: Story, day: int) -> list[Arc]:
    last = day + _USUAL_QUIET - 1
    return [arc for arc in story.arcs if arc.start_day <= last and day <= arc.end_day]
