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
from collections.abc import Iterator, Mapping
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
MAX_CONCURRENT_ARCS = 4
SHORTEST_QUIET, LONGEST_QUIET = 10, 15
QUIET_FROM = 120
"""Stories from this length on have quiet periods."""
_USUAL_QUIET = 12
SECRETS_FROM = 30
"""Stories from this length on need an arc in an isolated session, if there is one."""
MIN_CAST = 3
_ABSURD_FACTOR = 4
"""Stories with this many times the maximum of arcs are not checked arc by arc."""
_SPELLING = "use lower-case letters and digits, joined by hyphens"


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


def count_most_quiet_periods(days: int) -> int:
    """How many quiet periods a story may have."""
    return max(2, days // 500) if days >= QUIET_FROM else 0


def _scale_count(count: int, days: int) -> int:
    return int(count * (days / _REFERENCE_DAYS) ** (1 / 3) + 0.5)


def check_persona(persona: Persona) -> tuple[str, ...]:
    """The problems of a persona."""
    people = _list_people(persona)
    return (
        *_check_people(persona),
        *_check_sessions(persona),
        *(problem for session in persona.sessions for problem in _check_session(session, people)),
    )


def _check_people(persona: Persona) -> Iterator[str]:
    if persona.team_size < 1:
        yield f"team_size is {persona.team_size}; a team has at least 1 member"
    if persona.principal is None:
        yield "there is no principal; say whom the agent serves, with name and role"
    others = [m for m in persona.cast if not persona.principal or m.name != persona.principal.name]
    if len(others) < MIN_CAST:
        yield f"the cast has {len(others)} members beside the principal; name at least {MIN_CAST}"
    named = {
        "cast members": [member.name for member in persona.cast],
        "projects": [project.id for project in persona.projects],
    }
    for what, names in named.items():
        for name, times in Counter(names).items():
            if times > 1:
                yield f"{times} {what} are called {name}; keep one"
    for project in persona.projects:
        if not SLUG.fullmatch(project.id):
            yield f"project id {project.id!r}: {_SPELLING}"


def _check_sessions(persona: Persona) -> Iterator[str]:
    sessions, served = persona.sessions, persona.principal
    own = next((session for session in sessions if session.id == PRINCIPAL), None)
    if own is None:
        yield f"there is no session {PRINCIPAL}; add it: kind 1to1, with the principal alone"
    elif served is not None and own.participants != (served.name,):
        yield f"session {PRINCIPAL}: its only participant is {served.name}"
    isolated = [session for session in sessions if session.isolated]
    if not any(topic.strip() for session in isolated for topic in session.sensitive_topics):
        yield (
            "no isolated session has sensitive_topics; mark at least one group session with "
            "isolated: true and list what must not be heard elsewhere"
        )
    if not any(session.kind == "group" and not session.isolated for session in sessions):
        yield "there is no group session that is not isolated; add one where the team talks"
    outside = {
        name for session in sessions if not session.isolated for name in session.participants
    }
    for session in isolated:
        if not outside - set(session.participants):
            yield (
                f"session {session.id}: everybody who talks to the agent elsewhere sits in it, so "
                "there is nobody to keep its secrets from; leave somebody out"
            )


def _check_session(session: Session, people: frozenset[str]) -> Iterator[str]:
    name = f"session {session.id}"
    if not SLUG.fullmatch(session.id):
        yield f"session id {session.id!r}: {_SPELLING}"
    if not session.participants:
        yield f"{name} has no participants; name them"
    for stranger in session.participants:
        if stranger not in people:
            yield (f"{name}: {stranger} is neither the principal nor in the cast; name only those")
    if session.isolated and session.shared:
        yield f"{name} is both isolated and shared; keep one"
    if session.isolated and session.id == PRINCIPAL:
        yield f"{name} must not be isolated; the principal may know everything"
    first, last = session.first_day, session.last_day
    if (first is not None and first < 1) or (last is not None and last < (first or 1)):
        yield f"{name}: firstDay {first} and lastDay {last} are no span of days; correct them"


def _list_people(persona: Persona) -> frozenset[str]:
    """The principal and the cast."""
    own = (persona.principal.name,) if persona.principal else ()
    return frozenset((*own, *(member.name for member in persona.cast)))


def check_story(persona: Persona, story: Story, days: int) -> tuple[str, ...]:
    """The problems of a story of this length."""
    if len(story.arcs) > _ABSURD_FACTOR * compute_arc_bounds(days)[1]:
        # Arcs are compared pairwise, which would take too long.
        return tuple(_check_counts(story, days))
    names = Counter(arc.id for arc in story.arcs)
    return (
        *(f"{n} arcs are called {name}; rename all but one" for name, n in names.items() if n > 1),
        *(problem for arc in story.arcs for problem in _check_arc(persona, story, arc, days)),
        *(
            problem
            for arc in story.arcs
            if arc.type == "correction"
            for problem in _check_correction(arc, story)
        ),
        *_check_opening_days(story, days),
        *_check_counts(story, days),
        *_check_pacing(story, days),
    )


def _check_arc(persona: Persona, story: Story, arc: Arc, days: int) -> Iterator[str]:
    """Problems of one arc by itself."""
    if not SLUG.fullmatch(arc.id):
        yield f"arc id {arc.id!r}: {_SPELLING}"
    if arc.type not in ARC_TYPES:
        yield f"arc {arc.id}: its type {arc.type!r} is none of {', '.join(ARC_TYPES)}"
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
    yield from _check_arc_sessions(story, arc)
    people = _list_people(persona)
    home = next((session for session in story.sessions if session.id == arc.primary_session), None)
    for name in arc.participants:
        if name not in people:
            yield f"arc {arc.id}: {name} is neither the principal nor in the cast; name only those"
        elif home is not None and home.isolated and name not in home.participants:
            yield (
                f"arc {arc.id}: {name} takes part, and does not sit in the isolated session "
                f"{home.id}; leave the name out of participants, the texts may keep it"
            )


def _check_arc_sessions(story: Story, arc: Arc) -> Iterator[str]:
    sessions = {session.id: session for session in story.sessions}
    primary = arc.primary_session
    home = sessions.get(primary or "")
    if primary is None:
        yield f"arc {arc.id} has no primarySession; name one of {', '.join(sessions)}"
    elif home and not (is_open(home, arc.start_day) and is_open(home, arc.end_day)):
        bounds = (("from", home.first_day), ("to", home.last_day))
        hours = " ".join(f"{word} day {day}" for word, day in bounds if day is not None)
        yield (
            f"arc {arc.id}: it goes on from day {arc.start_day} to day {arc.end_day}, and its "
            f"session {home.id} is open {hours}; fit one to the other"
        )
    named = {primary, *arc.referenced_sessions, *arc.forbidden_sessions} - {None}
    for name in sorted(str(item) for item in named if item not in sessions):
        yield f"arc {arc.id}: there is no session {name}; there is {', '.join(sessions)}"
    if home and home.isolated and arc.referenced_sessions:
        yield (
            f"arc {arc.id}: it happens in {primary}, which is isolated, and is echoed in "
            f"{', '.join(arc.referenced_sessions)}; leave referencedSessions empty"
        )
    for name in arc.referenced_sessions:
        other = sessions.get(name)
        last = arc.end_day if other is None else min(other.last_day or arc.end_day, arc.end_day)
        if name == primary:
            yield f"arc {arc.id}: {name} is its primarySession; do not reference it as well"
        elif other and max(other.first_day or 1, arc.start_day) > last:
            yield f"arc {arc.id}: session {name} is closed on all its days; do not reference it"
    for name in arc.forbidden_sessions:
        if name in {primary, *arc.referenced_sessions}:
            yield f"arc {arc.id}: it is told in {name}, which is one of its forbiddenSessions"


def _check_correction(arc: Arc, story: Story) -> Iterator[str]:
    """Problems of a correction, and of arcs that reveal it too early."""
    needed = {
        "wrongDay": arc.wrong_day,
        "correctedDay": arc.corrected_day,
        "wrongBelief": arc.wrong_belief,
        "correctedBelief": arc.corrected_belief,
    }
    for key, value in needed.items():
        if value is None:
            yield f"arc {arc.id} is a correction and has no {key}; add it"
    wrong, right = arc.wrong_day, arc.corrected_day
    is_dated = wrong is not None and right is not None
    if is_dated and not arc.start_day <= wrong < right <= arc.end_day:  # type: ignore[operator]
        yield (
            f"arc {arc.id}: startDay {arc.start_day} ≤ wrongDay {wrong} < correctedDay {right} ≤ "
            f"endDay {arc.end_day} does not hold; correct the days"
        )
    if arc.wrong_belief and arc.corrected_belief:
        beliefs = (arc.wrong_belief, arc.corrected_belief)
        if len({tuple(list_words(normalise_text(belief))) for belief in beliefs}) == 1:
            yield f"arc {arc.id}: wrongBelief and correctedBelief say the same; let them differ"
    if arc.corrected_belief:
        yield from _check_leaks(arc, arc.corrected_belief, story)


def _check_leaks(arc: Arc, corrected: str, story: Story) -> Iterator[str]:
    """Texts that tell what a correction brings before its day."""
    right = arc.corrected_day
    belief = f" {' '.join(list_words(normalise_text(corrected)))} "
    for place, text in _list_early_texts(arc, arc):
        giveaway = next((value.shown for value in _find_corrected_values(arc, text)), None)
        if giveaway is None and belief in f" {' '.join(list_words(normalise_text(text)))} ":
            giveaway = "the corrected belief"
        if giveaway is not None:
            yield (
                f"arc {arc.id}: its {place} gives away {giveaway}, which nobody knows before day "
                f"{right}; take it out there"
            )
    topics = [
        collect_topics(remove_values(text or ""))
        for text in (arc.wrong_belief, arc.corrected_belief)
    ]
    about = topics[0] & topics[1] or (topics[0] | topics[1]) & collect_topics(arc.title)
    for other in story.arcs:
        if other.id == arc.id or right is None or other.start_day >= right:
            continue
        for place, text in _list_early_texts(other, arc):
            values = _find_corrected_values(arc, text) if about & collect_topics(text) else []
            for value in values[:1]:
                yield (
                    f"arc {other.id}: its {place} tells {value.shown}, which {arc.id} brings on "
                    f"day {right}; take it out there, or start the arc later"
                )


def _list_early_texts(arc: Arc, correction: Arc) -> Iterator[tuple[str, str]]:
    """The texts of an arc that are told before the correction."""
    yield "title", arc.title
    yield "description", arc.description
    for directive in arc.directives:
        if correction.corrected_day is not None and directive.day < correction.corrected_day:
            yield f"directive on day {directive.day}", directive.event


def _find_corrected_values(arc: Arc, text: str) -> list[TextValue]:
    """The exact values of a text that only the corrected belief has."""

    def make_key(value: TextValue) -> tuple[str, str]:
        # The same for all spellings of a value; a number keeps its unit.
        return value.kind, value.value if value.kind == NUMBER else value.core

    existing = {make_key(value) for value in find_claims(arc.wrong_belief or "")}
    right = [value for value in find_claims(arc.corrected_belief or "") if value.is_exact]
    new = {make_key(value) for value in right} - existing
    return [value for value in find_claims(text) if make_key(value) in new]


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
    isolated = [session.id for session in story.sessions if session.isolated]
    rooms = {arc.primary_session for arc in story.arcs}
    if days >= SECRETS_FROM and isolated and not rooms & set(isolated):
        yield (
            "no arc has an isolated session as its primarySession, so there is no secret to keep; "
            f"let at least one happen in {' or '.join(isolated)}"
        )


def _check_pacing(story: Story, days: int) -> Iterator[str]:
    """Problems with concurrent arcs, gaps and quiet periods."""
    active = {day: story.list_active_arcs(day) for day in range(1, days + 1)}
    for is_crowded, run in groupby(active, lambda day: len(active[day]) > MAX_CONCURRENT_ARCS):
        if is_crowded:
            span = list(run)
            most = max(len(active[day]) for day in span)
            names = dict.fromkeys(name for day in span for name in active[day])
            yield (
                f"{'up to ' if len(names) > most else ''}{most} arcs are active at once on "
                f"{format_days(span)}: {', '.join(names)}; at most {MAX_CONCURRENT_ARCS} may be: "
                "shorten or move some"
            )
    if not story.arcs:
        return
    empty = [
        (span[0], span[-1])
        for is_active, run in groupby(active, lambda day: bool(active[day]))
        if not is_active and (span := list(run))
    ]
    is_long = days >= QUIET_FROM
    longest = SHORTEST_QUIET - 1 if is_long else days // 8
    for first, last in empty:
        if last - first >= longest and first == 1:
            yield f"nothing happens before day {last + 1}; let an arc start on day 1"
        elif last - first >= longest and last == days:
            yield f"nothing happens after day {first - 1}; let an arc end on day {days}"
    most = LONGEST_QUIET if is_long else longest
    inner = [(first, last) for first, last in empty if first > 1 and last < days]
    holes = [(first, last) for first, last in inner if last - first + 1 > most]
    fewer = f"{SHORTEST_QUIET}–{most}" if is_long else f"at most {most}"
    for first, last in holes:
        yield (
            f"no arc is active on {format_days(range(first, last + 1))}; leave {fewer} days in "
            "a row without one: move or lengthen an arc"
        )
    if is_long and not holes:
        quiet = [(first, last) for first, last in inner if last - first + 1 >= SHORTEST_QUIET]
        yield from _check_quiet_periods(story, quiet, days)


def _check_quiet_periods(story: Story, quiet: list[tuple[int, int]], days: int) -> Iterator[str]:
    most = count_most_quiet_periods(days)
    if len(quiet) > most:
        places = ", ".join(f"{first}–{last}" for first, last in quiet)
        yield (
            f"there are {len(quiet)} quiet periods, on days {places}; {most} at most: fill one "
            "with an arc"
        )
    if quiet:
        return

    def list_touching(day: int) -> list[Arc]:
        last = day + _USUAL_QUIET - 1
        return [arc for arc in story.arcs if arc.start_day <= last and day <= arc.end_day]

    # The dozen days with the fewest arcs are suggested.
    starts = range(days // 4, days - _USUAL_QUIET - days // 8)
    best = min(starts, key=lambda day: len(list_touching(day)))
    names = ", ".join(arc.id for arc in list_touching(best))
    last = best + _USUAL_QUIET - 1
    hint = f"; days {best}–{last} would do, if {names} kept clear of them" if names else ""
    yield (
        f"there is no quiet period: leave {SHORTEST_QUIET}–{LONGEST_QUIET} days in a row without "
        f"any arc, once or twice{hint}"
    )
