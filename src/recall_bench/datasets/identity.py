"""Who a persona is: `persona.yaml`. Keys unknown here are for other programs and ignored."""

from datetime import date
from pathlib import Path

from recall_bench.core.record import Record
from recall_bench.datasets.fields import Fields, describe_value, raise_problems
from recall_bench.datasets.layout import DEFAULT_ARCS, Layout
from recall_bench.errors import BenchError, Malformed, UsageError
from recall_bench.yaml12 import Document, read_document


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
    """Somebody the agent works with."""

    name: str
    role: str
    kind: str
    """`human` or `agent`."""


class Session(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One conversation context, with its own people and its own secrets."""

    id: str
    kind: str
    """`1to1` or `group`."""
    participants: tuple[str, ...] = ()
    isolated: bool = False
    """What is said here stays here."""
    shared: bool = False
    first_day: int | None = None
    last_day: int | None = None
    """The days it is open; None is without bound."""
    sensitive_topics: tuple[str, ...] = ()


class Persona(Record, frozen=True, kw_only=True, omit_defaults=True):
    """An agent: its name and character, whom it serves, and where it talks to whom."""

    id: str
    name: str
    role: str
    domain: str
    team_size: int
    profile: str
    communication_style: str
    company: str | None = None
    institution: str | None = None
    epoch: date | None = None
    """The calendar date of story day 1, unless a story sets its own."""
    projects: tuple[Project, ...] = ()
    principal: Principal | None = None
    cast: tuple[CastMember, ...] = ()
    sessions: tuple[Session, ...] = ()
    shared_knowledge: tuple[str, ...] = ()
    """What any session may mention."""

    @property
    def affiliation(self) -> str | None:
        """The institution, else the company."""
        return self.institution or self.company


def read_persona(folder: Path) -> Persona:
    """The persona of this folder; UsageError if there is none, DataError if it is malformed."""
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
    """The persona a document describes, or None with what is wrong with it noted."""
    if not isinstance(document.content, dict):
        what = describe_value(document.content)
        problems.append(Malformed(document.name, f"holds {what}; write a mapping of the fields"))
        return None
    fields = Fields(document, (), "the persona", problems)
    persona = Persona(
        id=fields.read_text("id"),
        name=fields.read_text("name"),
        role=fields.read_text("role"),
        domain=fields.read_text("domain"),
        team_size=fields.read_int("team_size"),
        profile=fields.read_text("profile"),
        communication_style=fields.read_text("communication_style"),
        company=fields.read_optional_text("company"),
        institution=fields.read_optional_text("institution"),
        epoch=fields.read_optional_date("epoch"),
        projects=tuple(_parse_project(part) for part in fields.read_parts("projects", "project")),
        principal=_parse_principal(fields.read_part("principal", "the principal")),
        cast=tuple(_parse_cast_member(part) for part in fields.read_parts("cast", "cast member")),
        sessions=_parse_sessions(fields),
        shared_knowledge=fields.read_texts("sharedKnowledge"),
    )
    return persona if fields.is_sound else None


def _parse_project(fields: Fields) -> Project:
    return Project(
        id=fields.read_text("id"),
        name=fields.read_text("name"),
        description=fields.read_optional_text("description") or "",
    )


def _parse_principal(fields: Fields | None) -> Principal | None:
    if fields is None:
        return None
    return Principal(
        name=fields.read_text("name"),
        role=fields.read_text("role"),
        profile=fields.read_optional_text("profile"),
    )


def _parse_cast_member(fields: Fields) -> CastMember:
    name = fields.read_text("name")
    usual = "agent" if name.startswith("@") else "human"
    kind = fields.read_optional_choice("kind", ("human", "agent")) or usual
    return CastMember(name=name, role=fields.read_text("role"), kind=kind)


def _parse_sessions(persona: Fields) -> tuple[Session, ...]:
    found: dict[str, Session] = {}
    for fields in persona.read_parts("sessions", "session"):
        session = Session(
            id=fields.read_text("id"),
            kind=fields.read_choice("kind", ("1to1", "group")),
            participants=fields.read_texts("participants"),
            isolated=fields.read_flag("isolated"),
            shared=fields.read_flag("shared"),
            first_day=fields.read_optional_int("firstDay"),
            last_day=fields.read_optional_int("lastDay"),
            sensitive_topics=fields.read_texts("sensitive_topics"),
        )
        if session.id in found:
            fields.note(f"two sessions are called {session.id}; rename one", "id")
        found[session.id] = session
    return tuple(found.values())
