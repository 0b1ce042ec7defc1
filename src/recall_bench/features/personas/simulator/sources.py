"""What a world is drawn from: `persona.yaml`, and `matters.yaml` with the trade's everyday work."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from recall_bench.core.errors import BenchError, Malformed, Problems, UsageError
from recall_bench.core.random_stream import RandomStream
from recall_bench.core.record import Record
from recall_bench.core.scenario import ATTRIBUTION, DECISION, PRINCIPAL
from recall_bench.core.yaml12 import Document, read_document
from recall_bench.features.personas.simulator.cast import build_renaming, rename_texts
from recall_bench.features.personas.simulator.values import find_bounds_fault

PERSONA_FILE, MATTERS_FILE = "persona.yaml", "matters.yaml"

Level = Literal["off", "quiet", "normal", "busy", "dense"]
"""How much happens on a day."""

USUAL_WEEK: tuple[Level, ...] = ("normal",) * 5 + ("quiet", "off")

Options = str | list[str]
"""Texts to choose from; `@name` is a list under `words`, or a group of the cast."""

T = TypeVar("T")


class _OwnSource(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"not_": "not"}
):
    """Part of our own file: an unknown key is an error."""


class _PublicSource(msgspec.Struct, frozen=True, kw_only=True):
    """Part of the public format: unknown keys belong to other programs."""


class AttributeSource(_OwnSource, frozen=True, kw_only=True):
    """An attribute of a kind of matter: which values it has, and who may know them."""

    number: list[float] | None = None
    money: list[float] | None = None
    percent: list[float] | None = None
    time: list[str | int] | None = None
    date: list[int] | None = None
    """Fewest and most days after the day on which the value is drawn."""
    person: Options | None = None
    """Groups of the cast."""
    choice: Options | None = None
    code: str | None = None
    """A shape: `#` is a digit, `?` a capital."""
    unit: str = ""
    currency: str = "$"
    label: str | None = None
    """What sentences call it; None for its key."""
    not_: list[str] = []
    """Attributes that hold another person."""
    category: Literal["decision-tracking", "group-session-attribution"] | None = None
    link: str | None = None
    """The key of a question under `links` that joins matters with the same value."""
    session: str | None = None
    """Where it is told, if not in the session of its matter."""
    revises: bool = False
    """Whether the value may change."""
    secret: bool = False
    """Whether no other session may know it; its own session is isolated."""

    @property
    def kind(self) -> str:
        """The kind of value; "" if none is given."""
        return next((kind for kind in KINDS if getattr(self, kind) is not None), "")


_MOST_SHARE = 1000
KINDS = ("number", "money", "percent", "time", "date", "person", "choice", "code")
BOUNDED = ("number", "money", "percent", "time", "date")


class MatterKind(_OwnSource, frozen=True, kw_only=True):
    """A recurring kind of work."""

    id: str
    name: str
    """With `{n}`, a running number from `first` on."""
    first: int = 1
    called: str
    """Another way to name it, with its topics and `{began}`."""
    plural: str = ""
    """What questions over a month call it."""
    topics: dict[str, Options] = {}
    session: str
    share: float = 1.0
    attributes: dict[str, AttributeSource]
    events: dict[str, str] = {}
    """What may happen, and the attribute with the person who reports it."""


class Matters(_OwnSource, frozen=True, kw_only=True):
    """The everyday work of a trade."""

    kinds: list[MatterKind]
    words: dict[str, list[str]] = {}
    links: dict[str, str] = {}


class CastEntry(_PublicSource, frozen=True, kw_only=True):
    """A person of the cast."""

    name: str
    role: str
    groups: list[str] = []
    pronoun: str = "they"


class SimulatedSession(_PublicSource, frozen=True, kw_only=True):
    """One conversation context."""

    id: str
    participants: list[str] = []
    isolated: bool = False


class SimulatedPersona(_PublicSource, frozen=True, kw_only=True):
    """The persona, as far as the simulator needs it."""

    id: str
    name: str
    epoch: str
    principal: CastEntry | None = None
    sessions: list[SimulatedSession]
    cast: list[CastEntry]
    week: tuple[Level, Level, Level, Level, Level, Level, Level] = USUAL_WEEK  # type: ignore[assignment]
    dates: Literal["day-first", "month-first", "iso"] = "day-first"
    alternatives: dict[str, list[str]] = {}


class WorldOptions(Record, frozen=True, kw_only=True):
    """Everything besides the sources that determines the bytes of a world."""

    days: int = 1000
    seed: int = 0
    density: float = 1.0
    """How much happens a day, relative to the usual."""


class WorldSources(msgspec.Struct, frozen=True, kw_only=True):
    """Persona and matters with their final names, and persona.yaml as a document."""

    persona: SimulatedPersona
    matters: Matters
    persona_file: Mapping[str, Any]

    @property
    def epoch(self) -> date:
        """The date of story day 1."""
        return date.fromisoformat(self.persona.epoch)

    def change_persona(self, **changes: object) -> "WorldSources":
        """The same with other keys in persona.yaml."""
        raw = {**self.persona_file, **changes}
        return msgspec.structs.replace(
            self, persona=msgspec.convert(raw, SimulatedPersona), persona_file=raw
        )


def read_sources(folder: Path, seed: int = 0) -> WorldSources:
    """Read both files with the names and the epoch of a seed; seed 0 is as authored.

    UsageError if one is missing; Malformed or Problems if one is wrong.
    """
    for name in (PERSONA_FILE, MATTERS_FILE):
        if not (folder / name).is_file():
            raise UsageError(
                f"{folder.name} has no {name}, so it cannot be simulated; "
                f"a world needs {PERSONA_FILE} and {MATTERS_FILE}"
            )
    documents = [
        read_document(folder / name, name=f"{folder.name}/{name}")
        for name in (PERSONA_FILE, MATTERS_FILE)
    ]
    persona = _convert_document(documents[0], SimulatedPersona)
    matters = _convert_document(documents[1], Matters)
    try:
        epoch = date.fromisoformat(persona.epoch)
    except ValueError:
        raise Malformed(
            documents[0].describe_place("epoch"),
            f"the epoch {persona.epoch!r} is not a date; write year-month-day",
        ) from None
    problems: list[BenchError] = [
        Malformed(documents[1].name, problem) for problem in _find_problems(persona, matters)
    ]
    if problems:
        raise Problems(problems)
    content = documents[0].content
    raw = dict(content) if isinstance(content, dict) else {}
    sources = WorldSources(persona=persona, matters=matters, persona_file=raw)
    if seed == 0:
        return sources
    principal = [persona.principal] if persona.principal else []
    rename = build_renaming(
        {person.name: person.pronoun for person in [*principal, *persona.cast]},
        persona.alternatives,
        repr(raw) + repr(matters),
        RandomStream(seed, "names", persona.id),
    )
    # About whole years: what is told of tax seasons and flu winters keeps its season.
    chance = RandomStream(seed, "epoch", persona.id)
    weeks = 52 * chance.draw_between(1, 9) + chance.draw_between(-2, 2)
    return _rename(sources, rename).change_persona(
        epoch=date.fromordinal(epoch.toordinal() + 7 * weeks).isoformat()
    )


def _rename(sources: WorldSources, rename: Callable[[str], str]) -> WorldSources:
    raw = rename_texts(sources.persona_file, rename)
    return WorldSources(
        persona=msgspec.convert(raw, SimulatedPersona),
        matters=msgspec.convert(
            rename_texts(msgspec.to_builtins(sources.matters), rename), Matters
        ),
        persona_file=raw,
    )


def _convert_document(document: Document, shape: type[T]) -> T:
    """The content of a file as a record; Malformed, with the line, if it does not fit."""
    try:
        return msgspec.convert(document.content, shape)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        keys = [
            int(index) if index else key
            for key, index in re.findall(r"\.([^.\[\]`]+)|\[(\d+)\]", path)
        ]
        where = ".".join(map(str, keys))
        raise Malformed(
            document.describe_place(*keys),
            f"{problem}{f' (in {where})' if where else ''}; correct it",
        ) from None


def _find_problems(persona: SimulatedPersona, matters: Matters) -> Iterator[str]:
    """Everything that would keep a world from being drawn."""
    sessions = {session.id: session for session in persona.sessions}
    groups = {group for person in persona.cast for group in person.groups}
    if PRINCIPAL not in sessions:
        yield f"persona.yaml declares no session {PRINCIPAL}; add it"
    if not matters.kinds:
        yield "it has no kinds; add one"
    for name, texts in matters.words.items():
        if not texts:
            yield f"the list {name} is empty; add words"
    for kind in matters.kinds:
        yield from _check_kind(kind, matters, sessions, groups)


def _check_kind(
    kind: MatterKind,
    matters: Matters,
    sessions: Mapping[str, SimulatedSession],
    groups: set[str],
) -> Iterator[str]:
    if kind.session not in sessions:
        yield f"{kind.id}: the session {kind.session} is not in persona.yaml; correct it"
    if "{n}" not in kind.name:
        yield f"{kind.id}: its name holds no {{n}}, so that all would have one name; add it"
    if not 0 < kind.share <= _MOST_SHARE:
        yield f"{kind.id}: its share is {kind.share}; write a number above 0"
    for hole in re.findall(r"\{(\w*)\}", f"{kind.name} {kind.called}"):
        if hole not in kind.topics and hole not in {"began", "n"}:
            yield f"{kind.id} holds {{{hole}}}, which nothing defines; add it to its topics"
    for topic, options in kind.topics.items():
        yield from _check_options(f"{kind.id}, {topic}", options, matters, groups)
    for event, role in kind.events.items():
        if role not in kind.attributes or kind.attributes[role].kind != "person":
            yield f"{kind.id}: {event} is reported by {role}, which is no person of it"
    for name, attribute in kind.attributes.items():
        where = f"{kind.id}, {name}"
        yield from _check_attribute(where, kind, attribute, matters, groups)
        home = sessions.get(attribute.session or kind.session)
        if attribute.session is not None and home is None:
            yield f"{where}: the session {attribute.session} is not in persona.yaml; correct it"
        if attribute.secret and home is not None and not home.isolated:
            yield f"{where} is secret, and its session {home.id} is not isolated"


def _check_attribute(
    where: str, kind: MatterKind, attribute: AttributeSource, matters: Matters, groups: set[str]
) -> Iterator[str]:
    if not attribute.kind:
        yield f"{where} has no kind; give it one, such as number or choice"
    for name in BOUNDED:
        bounds = getattr(attribute, name)
        if bounds is not None and (fault := find_bounds_fault(name, bounds)) is not None:
            yield f"{where}: {name} {fault}"
    if attribute.person is not None:
        named = [attribute.person] if isinstance(attribute.person, str) else attribute.person
        for group in named:
            if group not in groups:
                yield f"{where} is a person of {group}, and no one in the cast is"
    if attribute.choice is not None:
        yield from _check_options(where, attribute.choice, matters, set())
    for other in attribute.not_:
        if other not in kind.attributes:
            yield f"{where} is not {other}, which is not there"
    if attribute.link is not None and attribute.link not in matters.links:
        yield f"{where} has the link {attribute.link}, which has no question under links"
    if attribute.category not in (None, DECISION, ATTRIBUTION):
        yield f"{where}: its category is {attribute.category}"


def _check_options(
    where: str, options: Options, matters: Matters, groups: set[str]
) -> Iterator[str]:
    if isinstance(options, str):
        if options.removeprefix("@") not in matters.words.keys() | groups:
            yield f"{where} chooses from {options}, which is no list under words; add it"
    elif not options:
        yield f"{where} has nothing to choose from; add texts"
