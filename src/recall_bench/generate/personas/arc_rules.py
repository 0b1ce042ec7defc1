"""What must hold of every arc: its days, its rooms and its people."""

from collections.abc import Iterator

from recall_bench.datasets.identity import Persona, Session
from recall_bench.datasets.story import ARC_TYPES, Arc, Story
from recall_bench.generate.personas.request import SLUG


def check_arc(persona: Persona, story: Story, arc: Arc, days: int) -> Iterator[str]:
    """What is wrong with one arc, whatever the others do."""
    if not SLUG.fullmatch(arc.id):
        yield f"arc id {arc.id!r}: use lower-case letters and digits, joined by hyphens"
    if arc.type not in ARC_TYPES:
        yield f"arc {arc.id}: its type {arc.type!r} is none of {', '.join(ARC_TYPES)}"
    yield from _check_days(arc, days)
    yield from _check_sessions(story, arc)
    yield from _check_participants(persona, story, arc)


def list_people(persona: Persona) -> frozenset[str]:
    """Everybody who can take part in anything."""
    own = (persona.principal.name,) if persona.principal else ()
    return frozenset((*own, *(member.name for member in persona.cast)))


def _check_days(arc: Arc, days: int) -> Iterator[str]:
    if arc.start_day < 1:
        yield f"arc {arc.id}: startDay {arc.start_day} is no story day; the first is 1"
    if arc.end_day < arc.start_day:
        yield f"arc {arc.id}: it ends on day {arc.end_day}, before it starts on {arc.start_day}"
    for key, day in (("startDay", arc.start_day), ("endDay", arc.end_day)):
        if day > days:
            yield f"arc {arc.id}: {key} {day} lies beyond day {days}, the last of the story"
    for directive in arc.directives:
        if not arc.is_active(directive.day):
            yield (
                f"arc {arc.id}: its directive on day {directive.day} lies outside days "
                f"{arc.start_day}–{arc.end_day}; move it"
            )


def _check_sessions(story: Story, arc: Arc) -> Iterator[str]:
    rooms = {session.id: session for session in story.sessions}
    primary = arc.primary_session
    if primary is None:
        yield f"arc {arc.id} has no primarySession; name one of {', '.join(rooms)}"
    elif primary in rooms:
        yield from _check_open_days(rooms[primary], arc)
    named = {primary, *arc.referenced_sessions, *arc.forbidden_sessions} - {None}
    for name in sorted(str(each) for each in named if each not in rooms):
        yield f"arc {arc.id}: there is no session {name}; there is {', '.join(rooms)}"
    if primary in rooms and rooms[primary].isolated and arc.referenced_sessions:
        yield (
            f"arc {arc.id}: it happens in {primary}, which is isolated, and is echoed in "
            f"{', '.join(arc.referenced_sessions)}; leave referencedSessions empty"
        )
    for name in arc.referenced_sessions:
        if name == primary:
            yield f"arc {arc.id}: {name} is its primarySession; do not reference it as well"
        elif name in rooms and not _is_overlapping(rooms[name], arc):
            yield f"arc {arc.id}: session {name} is closed on all its days; do not reference it"
    told = {primary, *arc.referenced_sessions}
    for name in arc.forbidden_sessions:
        if name in told:
            yield f"arc {arc.id}: it is told in {name}, which is one of its forbiddenSessions"


def _check_open_days(session: Session, arc: Arc) -> Iterator[str]:
    if not (_is_session_open(session, arc.start_day) and _is_session_open(session, arc.end_day)):
        hours = " ".join(
            f"{word} day {day}"
            for word, day in (("from", session.first_day), ("to", session.last_day))
            if day is not None
        )
        yield (
            f"arc {arc.id}: it goes on from day {arc.start_day} to day {arc.end_day}, and its "
            f"session {session.id} is open {hours}; fit one to the other"
        )


def _is_session_open(session: Session, day: int) -> bool:
    return (session.first_day or 1) <= day and (session.last_day is None or day <= session.last_day)


def _is_overlapping(session: Session, arc: Arc) -> bool:
    """Whether the session is open on any day of the arc, which may be said to last for ever."""
    first = max(session.first_day or 1, arc.start_day)
    last = arc.end_day if session.last_day is None else min(session.last_day, arc.end_day)
    return first <= last


def _check_participants(persona: Persona, story: Story, arc: Arc) -> Iterator[str]:
    people = list_people(persona)
    for name in arc.participants:
        if name not in people:
            yield f"arc {arc.id}: {name} is neither the principal nor in the cast; name only those"
    room = next((each for each in story.sessions if each.id == arc.primary_session), None)
    if room is None or not room.isolated:
        return
    for name in arc.participants:
        if name in people and name not in room.participants:
            yield (
                f"arc {arc.id}: {name} takes part, and does not sit in the isolated session "
                f"{room.id}; leave the name out"
            )
