"""How far an arc is, how full a day is, and on which days other sessions hear of an arc."""

from collections.abc import Collection
from enum import StrEnum

from recall_bench.datasets.story import Arc

_ECHO_EVERY = 14
_MANY_ARCS = 3
_MANY_DIRECTIVES = 2


class Phase(StrEnum):
    """How far an arc is."""

    EARLY = "early"
    MID = "mid"
    LATE = "late"
    CONCLUDING = "concluding"


class Density(StrEnum):
    """How full a day is."""

    QUIET = "quiet"
    NORMAL = "normal"
    BUSY = "busy"
    DENSE = "dense"


def phase(day_in_arc: int, length: int) -> Phase:
    """How far an arc of this length is on its so many-th day; an arc of no length is amid."""
    if length <= 0:
        return Phase.MID
    share = day_in_arc / length
    if share < 0.15:
        return Phase.EARLY
    if share <= 0.75:
        return Phase.MID
    return Phase.LATE if share <= 0.90 else Phase.CONCLUDING


def phase_of(arc: Arc, day: int) -> Phase:
    """How far the arc is on a story day."""
    return phase(day - arc.start_day + 1, arc.end_day - arc.start_day + 1)


def density(arcs: Collection[Arc], day: int, *, is_weekend: bool) -> Density:
    """How full the day is on which these arcs are told."""
    has_incident = any(arc.type == "incident" for arc in arcs)
    directives = sum(each.day == day for arc in arcs for each in arc.directives)
    if not arcs or (is_weekend and not has_incident):
        return Density.QUIET
    if any(arc.corrected_day == day for arc in arcs):
        return Density.DENSE
    if directives >= _MANY_DIRECTIVES and len(arcs) >= _MANY_ARCS:
        return Density.DENSE
    if has_incident or directives or len(arcs) >= _MANY_ARCS:
        return Density.BUSY
    turns = any(arc.start_day == day or phase_of(arc, day) is Phase.CONCLUDING for arc in arcs)
    return Density.BUSY if turns else Density.NORMAL


def is_turning(arc: Arc, day: int) -> bool:
    """Whether something happens in the arc on this very day."""
    fixed = {arc.start_day, arc.end_day, arc.wrong_day, arc.corrected_day}
    return day in fixed or any(each.day == day for each in arc.directives)


def is_echoed(arc: Arc, day: int) -> bool:
    """Whether the sessions that only hear of the arc do so that day: at turns, and fortnightly."""
    if not arc.referenced_sessions:
        return False
    past = day - arc.start_day
    return is_turning(arc, day) or (past > 0 and past % _ECHO_EVERY == 0)
