"""Rules for a persona and its story: every problem is a sentence for the model.

A story of 1,000 days needs at least 5 projects, 2 incidents, 3 decisions, 2 learnings,
2 relationships and 4 corrections, and at most 22 arcs. A story of N days needs each count times the
cube root of N / 1000, rounded: short stories are denser, else a month would hold nothing to ask.

A quiet period is 10 to 15 days without any arc. A story of 120 days or more has one or two, and one
more for each 500 days beyond 1,000. In a shorter story an eighth is the longest gap.

A correction has two beliefs in order, and nothing may tell the second before its day. Titles and
descriptions are shown from an arc's first day on.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from recall_bench.core.scenario import PRINCIPAL
from recall_bench.features.personas.days.day_plan import is_open
from recall_bench.features.personas.pass_request import SLUG
from recall_bench.stories.persona_files import format_days
from recall_bench.stories.persona_story import ARC_TYPES, Arc, Persona, Session, Story
from recall_bench.text.text_values import (
    NUMBER,
    TextValue,
    collect_topics,
    find_claims,
    list_words,
    normalise_text,
    remove_values,
)

_REFERENCE_DAYS = 1000
_MIN_ARCS = {
    "project": 5,
    "incident": 2,
    "decision": 3,
    "learning": 2,
    "relationship": 2,
    "correction": 4,
}
_MAX_ARCS = 22
_SLACK = 4


def count_fewest_arcs(days: int) -> Mapping[str, int]:
    """The fewest arcs of each type; 0 for types that a short story can do without."""
    return {kind: _scale_count(count, days) for kind, count in _MIN_ARCS.items()}


def compute_arc_bounds(days: int) -> tuple[int, int]:
    """The fewest and the most arcs."""
    least = max(1, sum(count_fewest_arcs(days).values()))
    return least, max(_scale_count(_MAX_ARCS, days), least + _SLACK)


def count_fewest_with_directives(arcs: int) -> int:
    """How many of the arcs need directives: a third, rounded up."""
    return -(-arcs // 3)


def _scale_count(count: int, days: int) -> int:
    return int(count * (days / _REFERENCE_DAYS) ** (1 / 3) + 0.5)


MAX_CONCURRENT_ARCS = 4
SHORTEST_QUIET, LONGEST_QUIET = 10, 15
QUIET_FROM = 120
"""Stories from this length on have quiet periods."""

_USUAL_QUIET = 12


def count_most_quiet_periods(days: int) -> int:
    """How many quiet periods a story may have."""
    return max(2, days // 500) if days >= QUIET_FROM else 0


def check_pacing(story: Story, days: int) -> Iterator[str]:
    """Problems with concurrent arcs, gaps and quiet periods."""
    yield from _check_crowding(story, days)
    if not story.arcs:
        return
    spans = list(_find_empty_spans(story, days))
    yield from _check_edges(spans, days)
    holes = list(_check_holes(spans, days))
    yield from holes
    if days >= QUIET_FROM and not holes:
        yield from _check_quiet_periods(story, spans, days)


def _check_crowding(story: Story, days: int) -> Iterator[str]:
    crowds = {day: story.list_active_arcs(day) for day in range(1, days + 1)}
    for is_crowded, run in groupby(crowds, lambda day: len(crowds[day]) > MAX_CONCURRENT_ARCS):
        if not is_crowded:
            continue
        span = list(run)
        most = max(len(crowds[day]) for day in span)
        names = dict.fromkeys(name for day in span for name in crowds[day])
        yield (
            f"{'up to ' if len(names) > most else ''}{most} arcs are active at once on "
            f"{format_days(span)}: {', '.join(names)}; at most {MAX_CONCURRENT_ARCS} may be: "
            "shorten or move some"
        )


def _find_empty_spans(story: Story, days: int) -> Iterator[tuple[int, int]]:
    for is_active, run in groupby(range(1, days + 1), story.is_active):
        if not is_active:
            span = list(run)
            yield span[0], span[-1]


def _compute_longest_gap(days: int) -> int:
    return SHORTEST_QUIET - 1 if days >= QUIET_FROM else days // 8


def _check_edges(spans: list[tuple[int, int]], days: int) -> Iterator[str]:
    for first, last in spans:
        if last - first < _compute_longest_gap(days):
            continue
        if first == 1:
            yield f"nothing happens before day {last + 1}; let an arc start on day 1"
        elif last == days:
            yield f"nothing happens after day {first - 1}; let an arc end on day {days}"


def _check_holes(spans: list[tuple[int, int]], days: int) -> Iterator[str]:
    most = LONGEST_QUIET if days >= QUIET_FROM else _compute_longest_gap(days)
    for first, last in spans:
        if last - first + 1 > most and first > 1 and last < days:
            fewer = f"{SHORTEST_QUIET}–{most}" if days >= QUIET_FROM else f"at most {most}"
            yield (
                f"no arc is active on {format_days(range(first, last + 1))}; leave {fewer} days in "
                "a row without one: move or lengthen an arc"
            )


def _check_quiet_periods(story: Story, spans: list[tuple[int, int]], days: int) -> Iterator[str]:
    quiet = [
        (first, last)
        for first, last in spans
        if SHORTEST_QUIET <= last - first + 1 <= LONGEST_QUIET and first > 1 and last < days
    ]
    advice = f"leave {SHORTEST_QUIET}–{LONGEST_QUIET} days in a row without any arc"
    if not quiet:
        suggestion = _suggest_quiet_period(story, days)
        yield f"there is no quiet period: {advice}, once or twice{suggestion}"
    elif len(quiet) > count_most_quiet_periods(days):
        places = ", ".join(f"{first}–{last}" for first, last in quiet)
        yield (
            f"there are {len(quiet)} quiet periods, on days {places}; "
            f"{count_most_quiet_periods(days)} at most: fill one with an arc"
        )


def _suggest_quiet_period(story: Story, days: int) -> str:
    """A suggestion: the dozen days with the fewest arcs."""
    starts = range(days // 4, days - _USUAL_QUIET - days // 8)
    best = min(starts, key=lambda day: len(_find_touching_arcs(story, day)))
    names = ", ".join(arc.id for arc in _find_touching_arcs(story, best))
    last = best + _USUAL_QUIET - 1
    return f"; days {best}–{last} would do, if {names} kept clear of them" if names else ""


def _find_touching_arcs(story: Story, day: int) -> list[Arc]:
    last = day + _USUAL_QUIET - 1
    return [arc for arc in story.arcs if arc.start_day <= last and day <= arc.end_day]


def check_arc(persona: Persona, story: Story, arc: Arc, days: int) -> Iterator[str]:
    """Problems of one arc by itself."""
    if not SLUG.fullmatch(arc.id):
        yield f"arc id {arc.id!r}: use lower-case letters and digits, joined by hyphens"
    if arc.type not in ARC_TYPES:
        yield f"arc {arc.id}: its type {arc.type!r} is none of {', '.join(ARC_TYPES)}"
    yield from _check_days(arc, days)
    yield from _check_arc_sessions(story, arc)
    yield from _check_participants(persona, story, arc)


def list_people(persona: Persona) -> frozenset[str]:
    """The principal and the cast."""
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


def _check_arc_sessions(story: Story, arc: Arc) -> Iterator[str]:
    sessions = {session.id: session for session in story.sessions}
    primary = arc.primary_session
    if primary is None:
        yield f"arc {arc.id} has no primarySession; name one of {', '.join(sessions)}"
    elif primary in sessions:
        yield from _check_open_days(sessions[primary], arc)
    named = {primary, *arc.referenced_sessions, *arc.forbidden_sessions} - {None}
    for name in sorted(str(item) for item in named if item not in sessions):
        yield f"arc {arc.id}: there is no session {name}; there is {', '.join(sessions)}"
    if primary in sessions and sessions[primary].isolated and arc.referenced_sessions:
        yield (
            f"arc {arc.id}: it happens in {primary}, which is isolated, and is echoed in "
            f"{', '.join(arc.referenced_sessions)}; leave referencedSessions empty"
        )
    for name in arc.referenced_sessions:
        if name == primary:
            yield f"arc {arc.id}: {name} is its primarySession; do not reference it as well"
        elif name in sessions and not _is_overlapping(sessions[name], arc):
            yield f"arc {arc.id}: session {name} is closed on all its days; do not reference it"
    rooms = {primary, *arc.referenced_sessions}
    for name in arc.forbidden_sessions:
        if name in rooms:
            yield f"arc {arc.id}: it is told in {name}, which is one of its forbiddenSessions"


def _check_open_days(session: Session, arc: Arc) -> Iterator[str]:
    if not (is_open(session, arc.start_day) and is_open(session, arc.end_day)):
        hours = " ".join(
            f"{word} day {day}"
            for word, day in (("from", session.first_day), ("to", session.last_day))
            if day is not None
        )
        yield (
            f"arc {arc.id}: it goes on from day {arc.start_day} to day {arc.end_day}, and its "
            f"session {session.id} is open {hours}; fit one to the other"
        )


def _is_overlapping(session: Session, arc: Arc) -> bool:
    """Whether the session is open on any day of the arc."""
    first = max(session.first_day or 1, arc.start_day)
    last = arc.end_day if session.last_day is None else min(session.last_day, arc.end_day)
    return first <= last


def _check_participants(persona: Persona, story: Story, arc: Arc) -> Iterator[str]:
    people = list_people(persona)
    for name in arc.participants:
        if name not in people:
            yield f"arc {arc.id}: {name} is neither the principal nor in the cast; name only those"
    session = next((item for item in story.sessions if item.id == arc.primary_session), None)
    if session is None or not session.isolated:
        return
    for name in arc.participants:
        if name in people and name not in session.participants:
            yield (
                f"arc {arc.id}: {name} takes part, and does not sit in the isolated session "
                f"{session.id}; leave the name out of participants, the texts may keep it"
            )


_NEEDED = ("wrongDay", "correctedDay", "wrongBelief", "correctedBelief")


def check_corrections(story: Story) -> Iterator[str]:
    """Problems of corrections, and of arcs that reveal them too early."""
    for arc in story.arcs:
        if arc.type == "correction":
            yield from _check_course(arc)
            yield from _check_own_leaks(arc)
            yield from _check_other_leaks(arc, story)


def _check_course(arc: Arc) -> Iterator[str]:
    values = (arc.wrong_day, arc.corrected_day, arc.wrong_belief, arc.corrected_belief)
    for key, value in zip(_NEEDED, values, strict=True):
        if value is None:
            yield f"arc {arc.id} is a correction and has no {key}; add it"
    wrong, right = arc.wrong_day, arc.corrected_day
    if (
        wrong is not None
        and right is not None
        and not arc.start_day <= wrong < right <= arc.end_day
    ):
        yield (
            f"arc {arc.id}: startDay {arc.start_day} ≤ wrongDay {wrong} < correctedDay {right} ≤ "
            f"endDay {arc.end_day} does not hold; correct the days"
        )
    beliefs = [
        list_words(normalise_text(item))
        for item in (arc.wrong_belief, arc.corrected_belief)
        if item
    ]
    if len(beliefs) == 2 and beliefs[0] == beliefs[1]:
        yield f"arc {arc.id}: wrongBelief and correctedBelief say the same; let them differ"


def _check_own_leaks(arc: Arc) -> Iterator[str]:
    if not arc.corrected_belief:
        return
    for place, text in (
        ("title", arc.title),
        ("description", arc.description),
        *_list_early_texts(arc, arc),
    ):
        giveaway = _find_giveaway(arc, text)
        if giveaway is not None:
            yield (
                f"arc {arc.id}: its {place} gives away {giveaway}, which nobody knows before day "
                f"{arc.corrected_day}; take it out there"
            )


def _check_other_leaks(arc: Arc, story: Story) -> Iterator[str]:
    """Values of the corrected belief that another arc on the same topic tells too early."""
    about = _find_common_topics(arc)
    for other in story.arcs:
        if other.id == arc.id or arc.corrected_day is None or other.start_day >= arc.corrected_day:
            continue
        texts = (("title", other.title), ("description", other.description))
        for place, text in (*texts, *_list_early_texts(other, arc)):
            value = (
                next(iter(_find_corrected_values(arc, text)), None)
                if about & collect_topics(text)
                else None
            )
            if value is not None:
                yield (
                    f"arc {other.id}: its {place} tells {value.shown}, which {arc.id} brings on "
                    f"day {arc.corrected_day}; take it out there, or start the arc later"
                )


def _list_early_texts(arc: Arc, correction: Arc) -> Iterator[tuple[str, str]]:
    """The events of an arc before the correction."""
    for directive in arc.directives:
        if correction.corrected_day is not None and directive.day < correction.corrected_day:
            yield f"directive on day {directive.day}", directive.event


def _find_giveaway(arc: Arc, text: str) -> str | None:
    """What a text reveals of the corrected belief: a value, or all of it."""
    value = next(iter(_find_corrected_values(arc, text)), None)
    if value is not None:
        return value.shown
    belief = " ".join(list_words(normalise_text(arc.corrected_belief or "")))
    return (
        "the corrected belief"
        if f" {belief} " in f" {' '.join(list_words(normalise_text(text)))} "
        else None
    )


def _find_corrected_values(arc: Arc, text: str) -> list[TextValue]:
    """The exact values of a text that only the corrected belief has."""
    existing = {_make_value_key(atom) for atom in find_claims(arc.wrong_belief or "")}
    new = {
        _make_value_key(atom) for atom in find_claims(arc.corrected_belief or "") if atom.is_exact
    } - existing
    return [atom for atom in find_claims(text) if _make_value_key(atom) in new]


def _make_value_key(atom: TextValue) -> tuple[str, str]:
    """The same for all spellings of a value; a number keeps its unit."""
    return atom.kind, atom.value if atom.kind == NUMBER else atom.core


def _find_common_topics(arc: Arc) -> frozenset[str]:
    """The topics of both beliefs, or else of one belief and the title."""
    wrong, right = (
        collect_topics(remove_values(belief or ""))
        for belief in (arc.wrong_belief, arc.corrected_belief)
    )
    return wrong & right or (wrong | right) & collect_topics(arc.title)


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
    own = next((item for item in persona.sessions if item.id == PRINCIPAL), None)
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
    for stranger in (
        participant for participant in session.participants if participant not in people
    ):
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
    rooms = {arc.primary_session for arc in story.arcs}
    if days >= SECRETS_FROM and isolated and not rooms & set(isolated):
        yield (
            "no arc has an isolated session as its primarySession, so there is no secret to keep; "
            f"let at least one happen in {' or '.join(isolated)}"
        )
