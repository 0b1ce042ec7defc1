"""Which days of a story are told, in which sessions, and which arcs in each.

The plan follows from the story alone. Whatever part of it a run is asked for, the part is the
same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from recall_bench.core.history import story_day
from recall_bench.core.question import PRINCIPAL
from recall_bench.datasets.days import spelled
from recall_bench.datasets.identity import Persona, Session
from recall_bench.datasets.story import Arc, Story
from recall_bench.errors import BenchError, Problems, UsageError
from recall_bench.generate.days.choosing import is_heard, is_weekend, told_days, untold
from recall_bench.generate.days.pacing import Density, density, is_echoed
from recall_bench.generate.days.rooms import home, is_open, is_secret, isolated_in, sessions_of


class Kind(StrEnum):
    """Why a day is told."""

    ARC = "arc"
    """An arc's own choice of days falls on it."""
    GAP = "gap"
    """It fills a week, or a story that does not say it has gaps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What one session tells of on one day."""

    session: Session
    density: Density
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
    kind: Kind
    density: Density
    """How full it is, by all arcs told."""
    tellings: tuple[Telling, ...]

    @property
    def unit(self) -> str:
        """As logs and people name it."""
        return f"day {self.day}"

    @property
    def arcs(self) -> tuple[str, ...]:
        """The ids of the arcs it tells, those only heard of left out."""
        return tuple(dict.fromkeys(arc.id for told in self.tellings for arc in told.arcs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All days of a story that are told, in order."""

    sessions: tuple[Session, ...]
    days: tuple[PlannedDay, ...]
    notes: tuple[str, ...]
    """What the story asks for that no day can tell."""


def plan_days(persona: Persona, story: Story) -> Plan:
    """The days of a story; Problems if it cannot be told."""
    planner = _Planner(persona, story)
    found: list[PlannedDay] = []
    for day in range(1, story.last_day + 1):
        planned = planner.planned(day, len(found))
        if planned is not None:
            found.append(planned)
    if problems := planner.problems():
        raise Problems(problems)
    return Plan(sessions=planner.sessions, days=tuple(found), notes=tuple(planner.notes()))


class _Planner:
    """Goes through a story day by day."""

    def __init__(self, persona: Persona, story: Story) -> None:
        self._story = story
        self.sessions = sessions_of(persona, story)
        self._by_id = {session.id: session for session in self.sessions}
        self._isolated = isolated_in(self.sessions)
        self._chosen = {arc: told_days(arc, story.epoch) for arc in story.arcs}
        self._last_told: dict[Arc, int] = {}
        self._shut: list[int] = []
        self._unfit: list[BenchError] = [
            UsageError(
                f"{arc.id}: its primarySession is {arc.primary_session}, which persona.yaml does "
                f"not declare; declare it, or choose {' or '.join(self._by_id)}"
            )
            for arc in story.arcs
            if home(arc) not in self._by_id
        ]
        self._unfit += [
            UsageError(
                f"the session {name!r} cannot head a day, for its id holds blanks; rename it"
            )
            for name in self._by_id
            if name.split() != [name]
        ]

    def planned(self, day: int, place: int) -> PlannedDay | None:
        """What is told that day; None if it is a quiet day or falls between the told ones."""
        heard = [arc for arc in self._story.arcs if self._can_tell(arc, day)]
        told = [arc for arc in heard if day in self._chosen[arc]]
        kind = Kind.ARC if told else Kind.GAP
        weekend = is_weekend(self._story.epoch, day)
        if not told and not self._is_filled(day, weekend=weekend):
            return None
        if not told and heard:
            told = [min(heard, key=lambda arc: self._last_told.get(arc, 0))]
        tellings = tuple(self._tellings(told, day)) or tuple(self._routine(day))
        if not tellings:
            return None
        self._last_told.update(dict.fromkeys(told, day))
        return PlannedDay(
            place=place,
            day=day,
            at=story_day(self._story.epoch, day).date(),
            kind=kind,
            density=density(told, day, is_weekend=weekend),
            tellings=tellings,
        )

    def problems(self) -> list[BenchError]:
        """Why the story cannot be told."""
        found = [*self._unfit]
        if self._shut and not found:
            found.append(
                UsageError(
                    f"{spelled(self._shut)}: an arc goes on and no session is open; widen firstDay "
                    "and lastDay of one, or say `gaps: true` in the story"
                )
            )
        return found

    def notes(self) -> Iterator[str]:
        """The events that are told on no day, and the sessions that nobody declared."""
        for arc in self._story.arcs:
            if outside := sorted(untold(arc)):
                yield f"{arc.id}: its events of {spelled(outside)} lie outside it; none tells them"
            room = self._by_id.get(home(arc))
            events = {each.day for each in arc.directives if arc.is_active(each.day)}
            if room and (shut := sorted(day for day in events if not is_open(room, day))):
                yield (
                    f"{arc.id}: its events of {spelled(shut)} fall on days when {room.id} is "
                    "closed; none tells them"
                )
            if strange := [name for name in arc.referenced_sessions if name not in self._by_id]:
                yield (
                    f"{arc.id}: referencedSessions names {', '.join(strange)}, which persona.yaml "
                    "does not declare; left out"
                )

    def _can_tell(self, arc: Arc, day: int) -> bool:
        """An arc whose own session is closed is told nowhere: its matter stays in that room."""
        room = self._by_id.get(home(arc))
        return room is not None and is_heard(arc, day) and is_open(room, day)

    def _is_filled(self, day: int, *, weekend: bool) -> bool:
        """Whether a day of no arc's choice is told all the same, unless it is quiet.

        A week is filled up to five weekdays, so with all it has. A story that does not say it has
        gaps needs every day on which an arc goes on.
        """
        return not (self._story.has_gaps and weekend) and self._story.is_active(day)

    def _tellings(self, told: Sequence[Arc], day: int) -> Iterator[Telling]:
        for session in self.sessions:
            own = tuple(arc for arc in told if home(arc) == session.id)
            echoes = tuple(
                arc
                for arc in told
                if session.id in arc.referenced_sessions
                and home(arc) != session.id
                and is_echoed(arc, day)
                and not is_secret(arc, session, self._isolated)
            )
            if (own or echoes) and is_open(session, day):
                weekend = is_weekend(self._story.epoch, day)
                yield Telling(
                    session=session,
                    density=density(own, day, is_weekend=weekend),
                    arcs=own,
                    echoes=echoes,
                )

    def _routine(self, day: int) -> Iterator[Telling]:
        """A day that must be told although no arc can be: the principal's, or any open room's."""
        if self._story.has_gaps:
            return
        rooms = [session for session in self.sessions if is_open(session, day)]
        rooms.sort(key=lambda session: (session.id != PRINCIPAL, session.isolated))
        if rooms:
            yield Telling(session=rooms[0], density=Density.QUIET)
        else:
            self._shut.append(day)
