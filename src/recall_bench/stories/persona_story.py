"""Parses `persona.yaml`, the persona, and `arcs-<suffix>.yaml`, its stories.

Unknown keys belong to other programs and are ignored.
"""

from datetime import date
from pathlib import Path

from recall_bench.core.errors import BenchError, Malformed, UsageError
from recall_bench.core.record import Record
from recall_bench.core.yaml12 import Document, read_document
from recall_bench.stories.persona_files import DEFAULT_ARCS, Layout
from recall_bench.stories.yaml_fields import Fields, describe_value, raise_problems

_KEYS = {
    name: name.split("_")[0] + "".join(part.capitalize() for part in name.split("_")[1:])
    for name in (
        "first_day last_day shared_knowledge start_day end_day primary_session "
        "referenced_sessions forbidden_sessions wrong_day corrected_day wrong_belief "
        "corrected_belief"
    ).split()
}
"""The keys of the files where they differ from our names: `firstDay` for `first_day`."""


class Project(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Something the persona works on."""

    id: str
    name: str
    description: str = ""


class Principal(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The person an agent serves."""

    name: str
    role: str
    profile: str | None = None


class CastMember(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A person or agent that the agent works with."""

    name: str
    role: str
    kind: str
    """`human` or `agent`."""


class Session(Record, frozen=True, kw_only=True, omit_defaults=True, rename=_KEYS):
    """One conversation context, with its own participants and secrets."""

    id: str
    kind: str
    """`1to1` or `group`."""
    participants: tuple[str, ...] = ()
    isolated: bool = False
    """Whether its content must not be disclosed elsewhere."""
    shared: bool = False
    first_day: int | None = None
    last_day: int | None = None
    """The days on which it is open; None is unbounded."""
    sensitive_topics: tuple[str, ...] = ()


class Persona(Record, frozen=True, kw_only=True, omit_defaults=True, rename=_KEYS):
    """An agent: its character, its principal and its sessions."""

    id: str
    name: str
    role: str
    domain: str
    company: str | None = None
    institution: str | None = None
    team_size: int
    epoch: date | None = None
    """The calendar date of story day 1, unless a story sets its own."""
    language: str | None = None
    """The language of the days; English if none is named."""
    profile: str
    communication_style: str
    principal: Principal | None = None
    cast: tuple[CastMember, ...] = ()
    sessions: tuple[Session, ...] = ()
    projects: tuple[Project, ...] = ()
    shared_knowledge: tuple[str, ...] = ()
    """Knowledge that every session may mention."""

    @property
    def affiliation(self) -> str | None:
        """The institution, else the company."""
        return self.institution or self.company


def read_persona(folder: Path) -> Persona:
    """Read the persona of this folder; UsageError if there is none, DataError if malformed."""
    layout = Layout(folder, DEFAULT_ARCS)
    if not layout.persona_file.is_file():
        raise UsageError(f"{layout.name(layout.persona_file)} does not exist; check the path")
    problems: list[BenchError] = []
    document = read_document(layout.persona_file, name=layout.name(layout.persona_file))
    persona = parse_persona(document, problems)
    raise_problems(problems)
    assert persona is not None  # noqa: S101 - nothing was noted, so there is one
    return persona


def parse_persona(document: Document, problems: list[BenchError]) -> Persona | None:
    """Return the persona of a document, or None after collecting its problems."""
    if not isinstance(document.content, dict):
        what = describe_value(document.content)
        problems.append(Malformed(document.name, f"holds {what}; write a mapping of the fields"))
        return None
    fields = Fields(document, (), "the persona", problems)
    persona = fields.read_record(
        Persona,
        principal=_parse_principal,
        cast=lambda each: tuple(map(_parse_cast_member, each.read_parts("cast", "cast member"))),
        sessions=_parse_sessions,
        projects=lambda each: tuple(map(_parse_project, each.read_parts("projects", "project"))),
    )
    return persona if fields.is_sound else None


def _parse_project(fields: Fields) -> Project:
    return fields.read_record(
        Project, description=lambda each: each.read_optional_text("description") or ""
    )


def _parse_principal(persona: Fields) -> Principal | None:
    fields = persona.read_part("principal", "the principal")
    return None if fields is None else fields.read_record(Principal)


def _parse_cast_member(fields: Fields) -> CastMember:
    member = fields.read_record(
        CastMember, kind=lambda each: each.read_optional_choice("kind", ("human", "agent")) or ""
    )
    usual = "agent" if member.name.startswith("@") else "human"
    return member if member.kind else member.replace(kind=usual)


def _parse_sessions(persona: Fields) -> tuple[Session, ...]:
    sessions: dict[str, Session] = {}
    for fields in persona.read_parts("sessions", "session"):
        session = fields.read_record(
            Session, kind=lambda each: each.read_choice("kind", ("1to1", "group"))
        )
        if session.id in sessions:
            fields.note(f"two sessions are named {session.id}; rename one", "id")
        sessions[session.id] = session
    return tuple(sessions.values())


EPOCH = date(2024, 1, 1)
"""The default date of story day 1."""

ARC_TYPES = ("project", "incident", "decision", "learning", "relationship", "correction")


class Directive(Record, frozen=True, kw_only=True):
    """An event that must happen on a given day."""

    day: int
    event: str


class Arc(Record, frozen=True, kw_only=True, omit_defaults=True, rename=_KEYS):
    """One plot line of the story, from its first day to its last."""

    id: str
    type: str
    title: str
    description: str
    start_day: int
    end_day: int
    primary_session: str | None = None
    referenced_sessions: tuple[str, ...] = ()
    forbidden_sessions: tuple[str, ...] = ()
    participants: tuple[str, ...] = ()
    wrong_day: int | None = None
    corrected_day: int | None = None
    wrong_belief: str | None = None
    corrected_belief: str | None = None
    directives: tuple[Directive, ...] = ()

    def is_active(self, day: int) -> bool:
        """Whether the day is within the arc; both ends count."""
        return self.start_day <= day <= self.end_day


class Story(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The arcs of one persona, the date of day 1, and its sessions."""

    epoch: date
    sessions: tuple[Session, ...]
    arcs: tuple[Arc, ...]
    has_gaps: bool = False
    """Whether missing days are intended even if an arc is active."""

    def list_active_arcs(self, day: int) -> tuple[str, ...]:
        """List the ids of the arcs of a day, in file order."""
        return tuple(arc.id for arc in self.arcs if arc.is_active(day))

    def is_active(self, day: int) -> bool:
        """Whether any arc is active on that day."""
        return any(arc.is_active(day) for arc in self.arcs)

    @property
    def last_day(self) -> int:
        """The last day of any arc."""
        return max(arc.end_day for arc in self.arcs)


def read_story(folder: Path, arcs: str) -> Story:
    """Read the story of this arcs file; UsageError if there is none, DataError if malformed."""
    layout = Layout(folder, arcs)
    persona = read_persona(folder)
    if not layout.arcs_file.is_file():
        raise UsageError(f"{layout.name(layout.arcs_file)} does not exist; check the name")
    problems: list[BenchError] = []
    document = read_document(layout.arcs_file, name=layout.name(layout.arcs_file))
    story = parse_story(document, persona, problems, [])
    raise_problems(problems)
    assert story is not None  # noqa: S101 - nothing was noted, so there is one
    return story


def parse_story(
    document: Document, persona: Persona | None, problems: list[BenchError], warnings: list[str]
) -> Story | None:
    """Return the story of a document, or None after collecting its problems.

    The persona's sessions and epoch are the defaults.
    """
    if not isinstance(document.content, dict):
        what = describe_value(document.content)
        problems.append(
            Malformed(document.name, f"holds {what}; write a mapping with a list named arcs")
        )
        return None
    fields = Fields(document, (), "the story", problems)
    epoch = fields.read_optional_date("epoch") or (persona and persona.epoch) or EPOCH
    if "epoch" in document.content and document.content["epoch"] is None:
        warnings.append(f"{document.name}: the epoch is empty, so day 1 is {epoch}")
    sessions = _merge_sessions(persona.sessions if persona else (), fields, warnings)
    has_gaps = fields.read_flag("gaps")
    arcs = tuple(_parse_arcs(fields, warnings))
    last = max((arc.end_day for arc in arcs), default=1)
    if last > (date.max - epoch).days:
        fields.note(f"its day {last} is no date any more, counted from {epoch}; correct either")
    if not fields.is_sound:
        return None
    return Story(epoch=epoch, sessions=sessions, arcs=arcs, has_gaps=has_gaps)


def _merge_sessions(
    declared: tuple[Session, ...], story: Fields, warnings: list[str]
) -> tuple[Session, ...]:
    """Return the persona's sessions; the story may set the days on which they are open."""
    merged = {session.id: session for session in declared}
    for fields in story.read_parts("sessions", "session"):
        name = fields.read_text("id")
        first_day = fields.read_optional_int("firstDay")
        last_day = fields.read_optional_int("lastDay")
        if name in merged:
            merged[name] = merged[name].replace(first_day=first_day, last_day=last_day)
        elif declared and name:
            warnings.append(
                f"{fields.locate()}: session {name} is not one of the persona's and is ignored"
            )
    return tuple(merged.values())


def _parse_arcs(story: Fields, warnings: list[str]) -> list[Arc]:
    if not story.has("arcs"):
        story.note("the story has no list named arcs; add one")
        return []
    arcs: list[Arc] = []
    names: set[str] = set()
    for fields in story.read_parts("arcs", "arc"):
        arc = _parse_arc(fields, warnings)
        if arc is not None and arc.id in names:
            warnings.append(f"{fields.locate()}: two arcs are named {arc.id}; rename one")
        if arc is not None:
            names.add(arc.id)
            arcs.append(arc)
    if not arcs and story.is_sound:
        story.note("the list named arcs is empty; add at least one arc", "arcs")
    return arcs


def _parse_arc(fields: Fields, warnings: list[str]) -> Arc | None:
    arc = fields.read_record(
        Arc,
        type=lambda each: each.read_choice("type", ARC_TYPES),
        start_day=lambda each: _parse_day(each, "startDay"),
        end_day=lambda each: _parse_day(each, "endDay"),
        directives=lambda each: tuple(
            part.read_record(Directive)
            for part in each.read_parts("directives", f"directive of {each.subject},")
        ),
    )
    if not fields.is_sound:
        return None
    if arc.start_day > arc.end_day:
        fields.note(
            f"{fields.subject} ends on day {arc.end_day}, before it starts on day "
            f"{arc.start_day}; swap or correct the two",
            "endDay",
        )
    if arc.type == "correction":
        for key in ("wrongDay", "correctedDay"):
            if not fields.has(key):
                fields.note(f"{fields.subject} is a correction and has no {key}; add the day")
        warnings.extend(
            f"{fields.locate()}: {fields.subject} is a correction and has no {key}"
            for key in ("wrongBelief", "correctedBelief")
            if not fields.has(key)
        )
    return arc if fields.is_sound else None


def _parse_day(fields: Fields, key: str) -> int:
    before = len(fields.problems)
    day = fields.read_int(key)
    if day < 1 and len(fields.problems) == before:
        fields.note(f"{key} of {fields.subject} is {day}; the first story day is 1", key)
    return day
