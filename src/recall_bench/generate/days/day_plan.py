"""The sessions of a story: which are open, and what of an arc may be heard in them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from recall_bench.core.errors import BenchError, Problems, UsageError
from recall_bench.core.scenario import PRINCIPAL, compute_story_date
from recall_bench.datasets.persona_files import format_days
from recall_bench.datasets.persona_story import Arc, Persona, Session, Story


def list_sessions(persona: Persona, story: Story) -> tuple[Session, ...]:
    """The story's sessions as a day has them: the principal's first, then as declared.

    Where the persona declares none called `principal` and an arc needs one, there is one.
    """
    found = {session.id: session for session in story.sessions}
    needed = {find_home_session(arc) for arc in story.arcs}
    if PRINCIPAL not in found and (PRINCIPAL in needed or not found):
        served = (persona.principal.name,) if persona.principal else ()
        found[PRINCIPAL] = Session(id=PRINCIPAL, kind="1to1", participants=served)
    return tuple(sorted(found.values(), key=lambda session: session.id != PRINCIPAL))


def find_home_session(arc: Arc) -> str:
    """The session an arc belongs to."""
    return arc.primary_session or PRINCIPAL


def is_open(session: Session, day: int) -> bool:
    """Whether anything can be said in the session that day."""
    first, last = session.first_day or 1, session.last_day
    return first <= day and (last is None or day <= last)


def is_secret(arc: Arc, session: Session, isolated: frozenset[str]) -> bool:
    """Whether nothing of the arc may ever be heard in the session."""
    at_home = find_home_session(arc) == session.id
    return not at_home and (
        find_home_session(arc) in isolated or session.id in arc.forbidden_sessions
    )


def find_isolated_sessions(sessions: tuple[Session, ...]) -> frozenset[str]:
    """The sessions whose content stays there."""
    return frozenset(session.id for session in sessions if session.isolated)


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


class DayKind(StrEnum):
    """Why a day is told."""

    ARC = "arc"
    """An arc's own choice of days falls on it."""
    GAP = "gap"
    """It fills a week, or a story that does not say it has gaps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """What one session tells of on one day."""

    session: Session
    density: DayDensity
    """How full its day is, by its own arcs."""
    arcs: tuple[Arc, ...] = ()
    """Those that belong to it."""
    echoes: tuple[Arc, ...] = ()
    """Those it only hears of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDay:
    """One day that is to be told."""

    place: int
    """Its place among the days that are told, from 0."""
    day: int
    at: date
    kind: DayKind
    density: DayDensity
    """How full it is, by all arcs told."""
    tellings: tuple[SessionPlan, ...]

    @property
    def unit(self) -> str:
        """As logs and people name it."""
        return f"day {self.day}"

    @property
    def arcs(self) -> tuple[str, ...]:
        """The ids of the arcs it tells, those only heard of left out."""
        return tuple(dict.fromkeys(arc.id for told in self.tellings for arc in told.arcs))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPlan:
    """All days of a story that are told, in order."""

    sessions: tuple[Session, ...]
    days: tuple[PlannedDay, ...]
    notes: tuple[str, ...]
    """What the story asks for that no day can tell."""


def plan_story(persona: Persona, story: Story) -> StoryPlan:
    """The days of a story; Problems if it cannot be told."""
    planner = _StoryPlanner(persona, story)
    found: list[PlannedDay] = []
    for day in range(1, story.last_day + 1):
        planned = planner.plan_day(day, len(found))
        if planned is not None:
            found.append(planned)
    if problems := planner.list_problems():
        raise Problems(problems)
    return StoryPlan(
        sessions=planner.sessions, days=tuple(found), notes=tuple(planner.list_notes())
    )


class _StoryPlanner:
    """Goes through a story day by day."""

    def __init__(self, persona: Persona, story: Story) -> None:
        self._story = story
        self.sessions = list_sessions(persona, story)
        self._by_id = {session.id: session for session in self.sessions}
        self._isolated = find_isolated_sessions(self.sessions)
        self._chosen = {arc: choose_arc_days(arc, story.epoch) for arc in story.arcs}
        self._last_told: dict[Arc, int] = {}
        self._shut: list[int] = []
        self._unfit: list[BenchError] = [
            UsageError(
                f"{arc.id}: its primarySession is {arc.primary_session}, which persona.yaml does "
                f"not declare; declare it, or choose {' or '.join(self._by_id)}"
            )
            for arc in story.arcs
            if find_home_session(arc) not in self._by_id
        ]
        self._unfit += [
            UsageError(
                f"the session {name!r} cannot head a day, for its id holds blanks; rename it"
            )
            for name in self._by_id
            if name.split() != [name]
        ]

    def plan_day(self, day: int, place: int) -> PlannedDay | None:
        """What is told that day; None if it is a quiet day or falls between the told ones."""
        heard = [arc for arc in self._story.arcs if self._is_arc_tellable(arc, day)]
        told = [arc for arc in heard if day in self._chosen[arc]]
        kind = DayKind.ARC if told else DayKind.GAP
        weekend = is_weekend(self._story.epoch, day)
        if not told and not self._is_filler_day(day, weekend=weekend):
            return None
        if not told and heard:
            told = [min(heard, key=lambda arc: self._last_told.get(arc, 0))]
        tellings = tuple(self._plan_sessions(told, day)) or tuple(self._plan_routine(day))
        if not tellings:
            return None
        self._last_told.update(dict.fromkeys(told, day))
        return PlannedDay(
            place=place,
            day=day,
            at=compute_story_date(self._story.epoch, day).date(),
            kind=kind,
            density=measure_density(told, day, is_weekend=weekend),
            tellings=tellings,
        )

    def list_problems(self) -> list[BenchError]:
        """Why the story cannot be told."""
        found = [*self._unfit]
        if self._shut and not found:
            found.append(
                UsageError(
                    f"{format_days(self._shut)}: an arc goes on and no session is open; widen firstDay "
                    "and lastDay of one, or say `gaps: true` in the story"
                )
            )
        return found

    def list_notes(self) -> Iterator[str]:
        """The events that are told on no day, and the sessions that nobody declared."""
        for arc in self._story.arcs:
            if outside := sorted(find_untold_events(arc)):
                yield f"{arc.id}: its events of {format_days(outside)} lie outside it; none tells them"
            room = self._by_id.get(find_home_session(arc))
            events = {each.day for each in arc.directives if arc.is_active(each.day)}
            if room and (shut := sorted(day for day in events if not is_open(room, day))):
                yield (
                    f"{arc.id}: its events of {format_days(shut)} fall on days when {room.id} is "
                    "closed; none tells them"
                )
            if strange := [name for name in arc.referenced_sessions if name not in self._by_id]:
                yield (
                    f"{arc.id}: referencedSessions names {', '.join(strange)}, which persona.yaml "
                    "does not declare; left out"
                )

    def _is_arc_tellable(self, arc: Arc, day: int) -> bool:
        """An arc whose own session is closed is told nowhere: its matter stays in that room."""
        room = self._by_id.get(find_home_session(arc))
        return room is not None and is_tellable(arc, day) and is_open(room, day)

    def _is_filler_day(self, day: int, *, weekend: bool) -> bool:
        """Whether a day of no arc's choice is told all the same, unless it is quiet.

        A week is filled up to five weekdays, so with all it has. A story that does not say it has
        gaps needs every day on which an arc goes on.
        """
        return not (self._story.has_gaps and weekend) and self._story.is_active(day)

    def _plan_sessions(self, told: Sequence[Arc], day: int) -> Iterator[SessionPlan]:
        for session in self.sessions:
            own = tuple(arc for arc in told if find_home_session(arc) == session.id)
            echoes = tuple(
                arc
                for arc in told
                if session.id in arc.referenced_sessions
                and find_home_session(arc) != session.id
                and is_echo_day(arc, day)
                and not is_secret(arc, session, self._isolated)
            )
            if (own or echoes) and is_open(session, day):
                weekend = is_weekend(self._story.epoch, day)
                yield SessionPlan(
                    session=session,
                    density=measure_density(own, day, is_weekend=weekend),
                    arcs=own,
                    echoes=echoes,
                )

    def _plan_routine(self, day: int) -> Iterator[SessionPlan]:
        """A day that must be told although no arc can be: the principal's, or any open room's."""
        if self._story.has_gaps:
            return
        rooms = [session for session in self.sessions if is_open(session, day)]
        rooms.sort(key=lambda session: (session.id != PRINCIPAL, session.isolated))
        if rooms:
            yield SessionPlan(session=rooms[0], density=DayDensity.QUIET)
        else:
            self._shut.append(day)
