"""The plan of a story's days: which are written, in which sessions, and which arcs each tells.

It depends on the story alone, so that every run gets the same plan.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from recall_bench.core.errors import BenchError, Problems, UsageError
from recall_bench.core.scenario import PRINCIPAL, compute_story_date
from recall_bench.stories.persona_files import format_days
from recall_bench.stories.persona_story import Arc, Persona, Session, Story


def list_sessions(persona: Persona, story: Story) -> tuple[Session, ...]:
    """The story's sessions, the principal's first.

    A session `principal` is added if an arc needs it and the persona does not declare it.
    """
    results = {session.id: session for session in story.sessions}
    needed = {find_home_session(arc) for arc in story.arcs}
    if PRINCIPAL not in results and (PRINCIPAL in needed or not results):
        served = (persona.principal.name,) if persona.principal else ()
        results[PRINCIPAL] = Session(id=PRINCIPAL, kind="1to1", participants=served)
    return tuple(sorted(results.values(), key=lambda session: session.id != PRINCIPAL))


def find_home_session(arc: Arc) -> str:
    """The session an arc belongs to."""
    return arc.primary_session or PRINCIPAL


def is_open(session: Session, day: int) -> bool:
    """Whether the session exists on that day."""
    first, last = session.first_day or 1, session.last_day
    return first <= day and (last is None or day <= last)


def is_secret(arc: Arc, session: Session, isolated: frozenset[str]) -> bool:
    """Whether the session must never learn of the arc."""
    at_home = find_home_session(arc) == session.id
    return not at_home and (
        find_home_session(arc) in isolated or session.id in arc.forbidden_sessions
    )


def find_isolated_sessions(sessions: tuple[Session, ...]) -> frozenset[str]:
    """The ids of the isolated sessions."""
    return frozenset(session.id for session in sessions if session.isolated)


_ECHO_EVERY = 14
_BUSY_ARCS = 3
_BUSY_DIRECTIVES = 2


class ArcPhase(StrEnum):
    """The progress of an arc."""

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
    """The phase of an arc on one of its days; MID for an arc without length."""
    if length <= 0:
        return ArcPhase.MID
    share = day_in_arc / length
    if share < 0.15:
        return ArcPhase.EARLY
    if share <= 0.75:
        return ArcPhase.MID
    return ArcPhase.LATE if share <= 0.90 else ArcPhase.CONCLUDING


def find_phase(arc: Arc, day: int) -> ArcPhase:
    """The phase of an arc on a story day."""
    return compute_phase(day - arc.start_day + 1, arc.end_day - arc.start_day + 1)


def measure_density(arcs: Collection[Arc], day: int, *, is_weekend: bool) -> DayDensity:
    """How full a day with these arcs is."""
    has_incident = any(arc.type == "incident" for arc in arcs)
    directives = sum(directive.day == day for arc in arcs for directive in arc.directives)
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
    """Whether the arc has an event on that day."""
    fixed = {arc.start_day, arc.end_day, arc.wrong_day, arc.corrected_day}
    return day in fixed or any(directive.day == day for directive in arc.directives)


def has_news(arc: Arc, day: int) -> bool:
    """Whether the story says what happens in the arc on that day."""
    turns = {arc.wrong_day, arc.corrected_day}
    return day in turns or any(directive.day == day for directive in arc.directives)


def is_echo_day(arc: Arc, day: int) -> bool:
    """Whether other sessions mention the arc that day: at its events, and every two weeks."""
    if not arc.referenced_sessions:
        return False
    past = day - arc.start_day
    return is_turning(arc, day) or (past > 0 and past % _ECHO_EVERY == 0)


_CADENCES = ((30, 2), (100, 3))
"""Arcs shorter than the first number of days are written every second-number weekdays."""
_LONG_ARC_STEP = 5


def choose_arc_days(arc: Arc, epoch: date) -> frozenset[int]:
    """The days of an arc's events, and weekdays between them at a step by its length."""
    length = arc.end_day - arc.start_day + 1
    every = next((step for limit, step in _CADENCES if length < limit), _LONG_ARC_STEP)
    fixed = {arc.start_day, arc.end_day, *(directive.day for directive in arc.directives)}
    fixed |= {day for day in (arc.wrong_day, arc.corrected_day) if day is not None}
    between = [day for day in range(arc.start_day, arc.end_day + 1) if not is_weekend(epoch, day)]
    first = _find_first_told_day(arc)
    return frozenset(day for day in fixed.union(between[::every]) if first <= day <= arc.end_day)


def _find_first_told_day(arc: Arc) -> int:
    """A correction starts with its wrong belief or its first event."""
    if arc.corrected_day is None:
        return arc.start_day
    days = [directive.day for directive in arc.directives]
    days += [arc.wrong_day if arc.wrong_day is not None else arc.start_day]
    return max(arc.start_day, min(days))


def is_tellable(arc: Arc, day: int) -> bool:
    """Whether the arc can be written on that day."""
    return _find_first_told_day(arc) <= day <= arc.end_day


def is_weekend(epoch: date, day: int) -> bool:
    """Whether a story day is a Saturday or a Sunday."""
    return (epoch + timedelta(days=day - 1)).weekday() >= 5


class DayKind(StrEnum):
    """Why a day is written."""

    ARC = "arc"
    """An arc chose it."""
    GAP = "gap"
    """It fills a week, or a story without gaps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """What one session tells on one day."""

    session: Session
    density: DayDensity
    """By its own arcs."""
    arcs: tuple[Arc, ...] = ()
    """Arcs that belong to the session."""
    echoes: tuple[Arc, ...] = ()
    """Arcs of other sessions that it mentions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDay:
    """A day to be written."""

    place: int
    """Its index among the planned days."""
    day: int
    at: date
    kind: DayKind
    density: DayDensity
    """By all arcs of the day."""
    session_plans: tuple[SessionPlan, ...]

    @property
    def unit(self) -> str:
        """The name of the day in logs and messages."""
        return f"day {self.day}"

    @property
    def arcs(self) -> tuple[str, ...]:
        """The ids of its arcs, without those only mentioned."""
        return tuple(dict.fromkeys(arc.id for plan in self.session_plans for arc in plan.arcs))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPlan:
    """All days of a story to be written, in order."""

    sessions: tuple[Session, ...]
    days: tuple[PlannedDay, ...]
    notes: tuple[str, ...]
    """Parts of the story that no day can tell."""


def plan_story(persona: Persona, story: Story) -> StoryPlan:
    """The plan of a story; Problems if it cannot be written."""
    planner = _StoryPlanner(persona, story)
    days: list[PlannedDay] = []
    for day in range(1, story.last_day + 1):
        planned = planner.plan_day(day, len(days))
        if planned is not None:
            days.append(planned)
    if problems := planner.list_problems():
        raise Problems(problems)
    return StoryPlan(sessions=planner.sessions, days=tuple(days), notes=tuple(planner.list_notes()))


class _StoryPlanner:
    """Plans a story day by day."""

    def __init__(self, persona: Persona, story: Story) -> None:
        self._story = story
        self.sessions = list_sessions(persona, story)
        self._by_id = {session.id: session for session in self.sessions}
        self._isolated = find_isolated_sessions(self.sessions)
        self._chosen = {arc: choose_arc_days(arc, story.epoch) for arc in story.arcs}
        self._last_days: dict[Arc, int] = {}
        self._closed_days: list[int] = []

    def plan_day(self, day: int, place: int) -> PlannedDay | None:
        """The plan of a day; None if nothing is written."""
        story, weekend = self._story, is_weekend(self._story.epoch, day)
        # An arc is written only while its own session is open.
        tellable = [
            arc
            for arc in story.arcs
            if (home := self._by_id.get(find_home_session(arc))) is not None
            and is_tellable(arc, day)
            and is_open(home, day)
        ]
        chosen = [arc for arc in tellable if day in self._chosen[arc]]
        kind = DayKind.ARC if chosen else DayKind.GAP
        # All weekdays are written. A story without gaps needs every day on which an arc is active.
        if not chosen and ((story.has_gaps and weekend) or not story.is_active(day)):
            return None
        if not chosen and tellable:
            chosen = [min(tellable, key=lambda arc: self._last_days.get(arc, 0))]
        session_plans = tuple(self._plan_sessions(chosen, day)) or tuple(self._plan_routine(day))
        if not session_plans:
            return None
        self._last_days.update(dict.fromkeys(chosen, day))
        return PlannedDay(
            place=place,
            day=day,
            at=compute_story_date(story.epoch, day).date(),
            kind=kind,
            density=measure_density(chosen, day, is_weekend=weekend),
            session_plans=session_plans,
        )

    def list_problems(self) -> list[BenchError]:
        """The reasons why the story cannot be written."""
        problems: list[BenchError] = [
            UsageError(
                f"{arc.id}: its primarySession is {arc.primary_session}, which persona.yaml does "
                f"not declare; declare it, or choose {' or '.join(self._by_id)}"
            )
            for arc in self._story.arcs
            if find_home_session(arc) not in self._by_id
        ]
        problems += [
            UsageError(
                f"the session {name!r} cannot head a day, for its id holds blanks; rename it"
            )
            for name in self._by_id
            if name.split() != [name]
        ]
        if self._closed_days and not problems:
            problems.append(
                UsageError(
                    f"{format_days(self._closed_days)}: an arc is active and no session is open; "
                    "widen firstDay and lastDay of one, or say `gaps: true` in the story"
                )
            )
        return problems

    def list_notes(self) -> Iterator[str]:
        """Events that no day tells, and undeclared sessions."""
        for arc in self._story.arcs:
            home = self._by_id.get(find_home_session(arc))
            events = {directive.day for directive in arc.directives}
            outside = sorted(day for day in events if not arc.is_active(day))
            if outside:
                yield (
                    f"{arc.id}: its events of {format_days(outside)} lie outside it; they are not "
                    "written"
                )
            closed = [
                day for day in sorted(events.difference(outside)) if home and not is_open(home, day)
            ]
            if home and closed:
                yield (
                    f"{arc.id}: its events of {format_days(closed)} fall on days when "
                    f"{home.id} is closed; they are not written"
                )
            if unknown := [name for name in arc.referenced_sessions if name not in self._by_id]:
                yield (
                    f"{arc.id}: referencedSessions names {', '.join(unknown)}, which persona.yaml "
                    "does not declare; left out"
                )

    def _plan_sessions(self, chosen: Sequence[Arc], day: int) -> Iterator[SessionPlan]:
        weekend = is_weekend(self._story.epoch, day)
        for session in self.sessions:
            own = tuple(arc for arc in chosen if find_home_session(arc) == session.id)
            echoes = tuple(
                arc
                for arc in chosen
                if session.id in arc.referenced_sessions
                and arc not in own
                and is_echo_day(arc, day)
                and not is_secret(arc, session, self._isolated)
            )
            if (own or echoes) and is_open(session, day):
                density = measure_density(own, day, is_weekend=weekend)
                yield SessionPlan(session=session, density=density, arcs=own, echoes=echoes)

    def _plan_routine(self, day: int) -> Iterator[SessionPlan]:
        """A day without arcs in a story without gaps: the principal's session, or any open one."""
        if self._story.has_gaps:
            return
        open_sessions = [session for session in self.sessions if is_open(session, day)]
        open_sessions.sort(key=lambda session: (session.id != PRINCIPAL, session.isolated))
        if open_sessions:
            yield SessionPlan(session=open_sessions[0], density=DayDensity.QUIET)
        else:
            self._closed_days.append(day)
