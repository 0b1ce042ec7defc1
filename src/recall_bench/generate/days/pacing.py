"""How far an arc is, how full a day is, and on which days other sessions hear of an arc."""

from collections.abc import Collection
from enum import StrEnum

from recall_bench.datasets.story import Arc

_ECHO_EVERY = 14
_BUSY_ARCS = 3
_BUSY_DIRECTIVES = 2


class ArcPhase(StrEnum):
    """How far an arc is."""

    EARLY = "early"
    MID = "mid"
    LATE = "late"
    CONCLUDING = "concluding"


class DayDensity(StrEnum):
    """How full a day is."""

    QUIET = "quiet"
    NORMAL = "normal"
    BUSY = "busy"
    DENSE = "dense"


def compute_phase(day_in_arc: int, length: int) -> ArcPhase:
    """How far an arc of this length is on its so many-th day; an arc of no length is amid."""
    if length <= 0:
        return ArcPhase.MID
    share = day_in_arc / length
    if share < 0.15:
        return ArcPhase.EARLY
    if share <= 0.75:
        return ArcPhase.MID
    return ArcPhase.LATE if share <= 0.90 else ArcPhase.CONCLUDING


def find_phase(arc: Arc, day: int) -> ArcPhase:
    """How far the arc is on a story day."""
    return compute_phase(day - arc.start_day + 1, arc.end_day - arc.start_day + 1)


def measure_density(arcs: Collection[Arc], day: int, *, is_weekend: bool) -> DayDensity:
    """How full the day is on which these arcs are told."""
    has_incident = any(arc.type == "incident" for arc in arcs)
    directives = sum(each.day == day for arc in arcs for each in arc.directives)
    if not arcs or (is_weekend and not has_incident):
        return DayDensity.QUIET
    if any(arc.corrected_day == day for arc in arcs):
        return DayDensity.DENSE
    if directives >= _BUSY_DIRECTIVES and len(arcs) >= _BUSY_ARCS:
        return DayDensity.DENSE
    if has_incident or directives or len(arcs) >= _BUSY_ARCS:
        return DayDensity.BUSY
    turns = any(arc.start_day == day or find_phase(arc, day) is ArcPhase.CONCLUDING for arc in arcs)
    return DayDensity.BUSY if turns else DayDensity.NORMAL


def is_turning(arc: Arc, day: int) -> bool:
    """Whether something happens in the arc on this very day."""
    fixed = {arc.start_day, arc.end_day, arc.wrong_day, arc.corrected_day}
    return day in fixed or any(each.day == day for each in arc.directives)


def is_echo_day(arc: Arc, day: int) -> bool:
    """Whether the sessions that only hear of the arc do so that day: at turns, and fortnightly."""
    if not arc.referenced_sessions:
        return False
    past = day - arc.start_day
    return is_turning(arc, day) or (past > 0 and past % _ECHO_EVERY == 0)
