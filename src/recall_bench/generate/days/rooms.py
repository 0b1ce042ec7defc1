"""The sessions of a story: which are open, and what of an arc may be heard in them."""

from recall_bench.core.question import PRINCIPAL
from recall_bench.datasets.identity import Persona, Session
from recall_bench.datasets.story import Arc, Story


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
