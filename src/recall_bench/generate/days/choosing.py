"""On which days an arc is told."""

from collections.abc import Iterator
from datetime import date, timedelta

from recall_bench.datasets.story import Arc

_CADENCES = ((30, 2), (100, 3))
"""Arcs shorter than so many days are told every so many weekdays."""
_LONG_ARC_STEP = 5


def choose_arc_days(arc: Arc, epoch: date) -> frozenset[int]:
    """The days of an arc's turns, and weekdays between them at a cadence by its length."""
    length = arc.end_day - arc.start_day + 1
    every = next((step for limit, step in _CADENCES if length < limit), _LONG_ARC_STEP)
    fixed = {arc.start_day, arc.end_day, *(each.day for each in arc.directives)}
    fixed |= {day for day in (arc.wrong_day, arc.corrected_day) if day is not None}
    between = [day for day in range(arc.start_day, arc.end_day + 1) if not is_weekend(epoch, day)]
    first = _find_first_told_day(arc)
    return frozenset(day for day in fixed.union(between[::every]) if first <= day <= arc.end_day)


def _find_first_told_day(arc: Arc) -> int:
    """A correction has nothing to tell before its wrong belief or its first event."""
    if arc.corrected_day is None:
        return arc.start_day
    heard = [each.day for each in arc.directives]
    heard += [arc.wrong_day if arc.wrong_day is not None else arc.start_day]
    return max(arc.start_day, min(heard))


def is_tellable(arc: Arc, day: int) -> bool:
    """Whether there is anything of the arc to tell that day."""
    return _find_first_told_day(arc) <= day <= arc.end_day


def is_weekend(epoch: date, day: int) -> bool:
    """Whether a story day is a Saturday or a Sunday."""
    return (epoch + timedelta(days=day - 1)).weekday() >= 5


def find_untold_events(arc: Arc) -> Iterator[int]:
    """Days for which the arc has an event although it does not go on then."""
    return (each.day for each in arc.directives if not arc.is_active(each.day))
