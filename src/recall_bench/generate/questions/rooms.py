"""Who sits in which session, and therefore who may know what."""

from recall_bench.core.question import PRINCIPAL
from recall_bench.datasets.identity import Persona, Session
from recall_bench.datasets.story import Story


class SessionMembers:
    """The sessions of a story and the people in them."""

    def __init__(self, persona: Persona, story: Story) -> None:
        self._sessions = {session.id: session for session in story.sessions}
        self._people = {session.id: frozenset(session.participants) for session in story.sessions}
        if PRINCIPAL not in self._people and persona.principal is not None:
            self._people[PRINCIPAL] = frozenset({persona.principal.name})

    @property
    def names(self) -> tuple[str, ...]:
        """Where something can be asked from."""
        return tuple(dict.fromkeys((PRINCIPAL, *self._sessions)))

    @property
    def isolated(self) -> tuple[Session, ...]:
        """The sessions whose talk stays with them, in the persona's order."""
        return tuple(session for session in self._sessions.values() if session.isolated)

    @property
    def has_groups(self) -> bool:
        """Whether several people talk anywhere."""
        return any(session.kind == "group" for session in self._sessions.values())

    def is_visible_to(self, asker: str, session: str) -> bool:
        """Whether everybody in the asking session may be told what was said in the other."""
        room = self._sessions.get(session)
        if room is None or not room.isolated or asker == session:
            return True
        asking = self._people.get(asker, frozenset())
        return bool(asking) and asking <= self._people[session]

    def find_outside_sessions(self, session: str) -> tuple[str, ...]:
        """Sessions in which somebody sits who may not know what the session says."""
        inside = self._people[session]
        return tuple(
            name
            for name in self.names
            if name != session and self._people.get(name, frozenset()) - inside
        )

    def find_askers(self, session: str, day: int) -> tuple[str, ...]:
        """The strangers that can ask on a day; those that keep nothing to themselves, if any.

        A secret usually leaks where people talk openly.
        """
        closed = {each.id for each in self.isolated}
        found = [name for name in self.find_outside_sessions(session) if self._is_open(name, day)]
        return tuple(name for name in found if name not in closed) or tuple(found)

    def _is_open(self, name: str, day: int) -> bool:
        room = self._sessions.get(name)
        if room is None:
            return True
        return (room.first_day or 1) <= day and (room.last_day is None or day <= room.last_day)
