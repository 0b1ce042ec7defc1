"""Which days of a story are told, in which sessions, and which arcs in each.

The plan follows from the story alone. Whatever part of it a run is asked for, the part is the
same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from recall_bench.core.history import compute_story_date
from recall_bench.core.question import PRINCIPAL
from recall_bench.datasets.days import format_days
from recall_bench.datasets.identity import Persona, Session
from recall_bench.datasets.story import Arc, Story
from recall_bench.errors import BenchError, Problems, UsageError
from recall_bench.generate.days.choosing import (
    choose_arc_days,
    find_untold_events,
    is_tellable,
    is_weekend,
)
from recall_bench.generate.days.pacing import DayDensity, is_echo_day, measure_density
from recall_bench.generate.days.rooms import (
    find_home_session,
    find_isolated_sessions,
    is_open,
    is_secret,
    list_sessions,
)


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
