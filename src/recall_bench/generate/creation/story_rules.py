"""Rules for a persona and its story as a whole.

Every problem is a precise sentence for the model, so that it can correct just that.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from recall_bench.core.scenario import PRINCIPAL
from recall_bench.datasets.persona_story import Persona, Session, Story
from recall_bench.generate.creation.arc_rules import (
    check_arc,
    check_corrections,
    check_pacing,
    compute_arc_bounds,
    count_fewest_arcs,
    count_fewest_with_directives,
    list_people,
)
from recall_bench.generate.pass_request import SLUG

MIN_CAST = 3

_ABSURD_FACTOR = 4
"""Stories with this many times the maximum of arcs are not checked arc by arc."""

SECRETS_FROM = 30
"""Stories from this length on need an arc in an isolated session, if there is one."""


def check_persona(persona: Persona) -> tuple[str, ...]:
    """The problems of a persona."""
    return (*_check_people(persona), *_check_sessions(persona), *_check_secrets(persona))


def check_story(persona: Persona, story: Story, days: int) -> tuple[str, ...]:
    """The problems of a story of this length."""
    if len(story.arcs) > _ABSURD_FACTOR * compute_arc_bounds(days)[1]:
        # Arcs are compared pairwise, which would take too long.
        return tuple(_check_counts(story, days))
    names = Counter(arc.id for arc in story.arcs)
    return (
        *(f"{n} arcs are called {name}; rename all but one" for name, n in names.items() if n > 1),
        *(problem for arc in story.arcs for problem in check_arc(persona, story, arc, days)),
        *check_corrections(story),
        *_check_opening_days(story, days),
        *_check_counts(story, days),
        *_check_secret_arcs(story, days),
        *check_pacing(story, days),
    )


def _check_people(persona: Persona) -> Iterator[str]:
    if persona.team_size < 1:
        yield f"team_size is {persona.team_size}; a team has at least 1 member"
    if persona.principal is None:
        yield "there is no principal; say whom the agent serves, with name and role"
    others = [m for m in persona.cast if not persona.principal or m.name != persona.principal.name]
    if len(others) < MIN_CAST:
        yield (f"the cast has {len(others)} members beside the principal; name at least {MIN_CAST}")
    yield from _check_unique("cast members", (member.name for member in persona.cast))
    yield from _check_unique("projects", (project.id for project in persona.projects))
    for project in persona.projects:
        if not SLUG.fullmatch(project.id):
            yield f"project id {project.id!r}: {_SPELLING}"


_SPELLING = "use lower-case letters and digits, joined by hyphens"


def _check_sessions(persona: Persona) -> Iterator[str]:
    own = next((each for each in persona.sessions if each.id == PRINCIPAL), None)
    if own is None:
        yield f"there is no session {PRINCIPAL}; add it: kind 1to1, with the principal alone"
    elif persona.principal is not None and own.participants != (persona.principal.name,):
        yield f"session {PRINCIPAL}: its only participant is {persona.principal.name}"
    people = list_people(persona)
    for session in persona.sessions:
        yield from _check_session(session, people)


def _check_session(session: Session, people: frozenset[str]) -> Iterator[str]:
    name = f"session {session.id}"
    if not SLUG.fullmatch(session.id):
        yield f"session id {session.id!r}: {_SPELLING}"
    if not session.participants:
        yield f"{name} has no participants; name them"
    for stranger in (each for each in session.participants if each not in people):
        yield f"{name}: {stranger} is neither the principal nor in the cast; name only those"
    if session.isolated and session.shared:
        yield f"{name} is both isolated and shared; keep one"
    if session.isolated and session.id == PRINCIPAL:
        yield f"{name} must not be isolated; the principal may know everything"
    first, last = session.first_day, session.last_day
    if (first is not None and first < 1) or (last is not None and last < (first or 1)):
        yield f"{name}: firstDay {first} and lastDay {last} are no span of days; correct them"


def _check_secrets(persona: Persona) -> Iterator[str]:
    isolated = [session for session in persona.sessions if session.isolated]
    if not any(topic.strip() for session in isolated for topic in session.sensitive_topics):
        yield (
            "no isolated session has sensitive_topics; mark at least one group session with "
            "isolated: true and list what must not be heard elsewhere"
        )
    if not any(s.kind == "group" and not s.isolated for s in persona.sessions):
        yield "there is no group session that is not isolated; add one where the team talks"
    for closed in isolated:
        outside = {
            person
            for session in persona.sessions
            if not session.isolated
            for person in session.participants
        }
        if not outside - set(closed.participants):
            yield (
                f"session {closed.id}: everybody who talks to the agent elsewhere sits in it, so "
                "there is nobody to keep its secrets from; leave somebody out"
            )


def _check_unique(what: str, names: Iterable[str]) -> Iterator[str]:
    for name, times in Counter(names).items():
        if times > 1:
            yield f"{times} {what} are called {name}; keep one"


def _check_opening_days(story: Story, days: int) -> Iterator[str]:
    for session in story.sessions:
        first, last = session.first_day, session.last_day
        if first is not None and not 1 <= first <= days:
            yield f"session {session.id}: firstDay {first} is none of the days 1–{days}"
        if last is not None and last < (first or 1):
            yield f"session {session.id}: lastDay {last} comes before its first day"
        if session.id == PRINCIPAL and (first or last):
            yield f"session {PRINCIPAL} is always open; give it no firstDay or lastDay"


def _check_counts(story: Story, days: int) -> Iterator[str]:
    least, most = compute_arc_bounds(days)
    if not least <= len(story.arcs) <= most:
        yield f"there are {len(story.arcs)} arcs; a story of {days} days has {least} to {most}"
    there = Counter(arc.type for arc in story.arcs)
    for kind, needed in count_fewest_arcs(days).items():
        if there[kind] < needed:
            yield f"arcs of type {kind}: there are {there[kind]}; write at least {needed}"
    with_directives = sum(bool(arc.directives) for arc in story.arcs)
    needed = count_fewest_with_directives(len(story.arcs))
    if with_directives < needed:
        yield (
            f"{with_directives} arcs have directives; give some to at least {needed}, each with "
            "what happens on a certain day"
        )


def _check_secret_arcs(story: Story, days: int) -> Iterator[str]:
    isolated = [session.id for session in story.sessions if session.isolated]
    told = {arc.primary_session for arc in story.arcs}
    if days >= SECRETS_FROM and isolated and not told & set(isolated):
        yield (
            "no arc has an isolated session as its primarySession, so there is no secret to keep; "
            f"let at least one happen in {' or '.join(isolated)}"
        )
