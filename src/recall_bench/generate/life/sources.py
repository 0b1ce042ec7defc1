"""The source files of a life edition as records: story, entities, threads, small talk."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.yaml12 import Document, Key, read_document
from recall_bench.generate.world.cast import Cast
from recall_bench.generate.world.sources import (
    AuthoredStory,
    CastEntry,
    Variants,
    WorldPersona,
    convert_document,
)

MANNERS = ("set", "announced", "passing", "misreported", "corrected", "restored")
"""The manners in which the state of an attribute is stated."""

_FOLDER = re.compile(r"life-(\d+)d")


class _LifeRecord(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"not_": "not", "if_": "if"},
):
    """Part of our own files: an unknown key is an error."""


class LifeStory(_LifeRecord, frozen=True, kw_only=True):
    """story.yaml: the calendar, and more people."""

    epoch: str
    days: int = 1000
    off: list[int] = msgspec.field(default_factory=lambda: [5, 6])
    quiet: float = 0.06
    dates: Literal["day-first", "month-first"] = "day-first"
    holidays: list[str] = []
    absences: list[tuple[int, int]] = []
    cast: list[CastEntry] = []
    alternatives: dict[str, list[str]] = {}


class LifeValue(_LifeRecord, frozen=True, kw_only=True):
    """How a value is drawn; its kind is the key that is given."""

    number: list[float] | None = None
    money: list[float] | None = None
    percent: list[float] | None = None
    time: list[str | int] | None = None
    date: list[int] | None = None
    person: str | list[str] | None = None
    choice: list[str] | None = None
    code: str | None = None
    entity: str | None = None
    unit: str = ""
    currency: str = "$"
    not_: list[str] = []

    def find_kinds(self) -> list[str]:
        """The kinds that are given; exactly one is right."""
        return [kind for kind in VALUE_KINDS if getattr(self, kind) is not None]

    @property
    def kind(self) -> str:
        """Its kind; "" if none is given."""
        return next(iter(self.find_kinds()), "")

    def list_groups(self) -> list[str]:
        """The groups of the cast that it draws from."""
        return [self.person] if isinstance(self.person, str) else list(self.person or ())


VALUE_KINDS = ("number", "money", "percent", "time", "date", "person", "choice", "code", "entity")
COMPARABLE = frozenset({"number", "money", "percent", "time", "date"})


class StateWordings(_LifeRecord, frozen=True, kw_only=True):
    """How the states of an attribute are stated, by manner."""

    set: list[str] = []
    announced: list[str] = []
    passing: list[str] = []
    misreported: list[str] = []
    corrected: list[str] = []
    restored: list[str] = []
    recalled: list[str] = []

    def list_manners(self) -> Iterator[tuple[str, list[str]]]:
        """Each manner with its wordings."""
        for manner in (*MANNERS, "recalled"):
            yield manner, getattr(self, manner)


class StateQuestionTemplates(_LifeRecord, frozen=True, kw_only=True):
    """Questions about the states of an attribute."""

    now: list[str] = []
    then: list[str] = []
    history: list[str] = []
    first: list[str] = []
    why: list[str] = []
    who: list[str] = []
    times: list[str] = []
    compare: list[str] = []
    lower: list[str] = []
    secret: list[str] = []


class LifeAttribute(_LifeRecord, frozen=True, kw_only=True):
    """Something about an entity that changes over the years."""

    value: LifeValue
    tell: StateWordings
    ask: StateQuestionTemplates = StateQuestionTemplates()
    what: str = ""
    kind: Literal["preference", "procedure"] | None = None
    revisions: tuple[int, int] = (3, 6)
    moves: Literal["any", "up", "down"] = "any"
    session: str = "principal"
    who: str | list[str] | None = None
    why: list[str] = []
    answer: str | None = None
    secret: bool = False
    distinct: bool = False
    """No two entities of the kind have the same value at a time."""
    heading: list[str] = []


class EntityJoin(_LifeRecord, frozen=True, kw_only=True):
    """Questions over a path of attributes from entity to entity."""

    path: list[str]
    ask: list[str]
    answer: str | None = None


class EntityList(_LifeRecord, frozen=True, kw_only=True):
    """Questions for all entities that share the value of an attribute."""

    attribute: str
    ask: list[str]


class EntityKind(_LifeRecord, frozen=True, kw_only=True):
    """A kind of entity."""

    called: str
    attributes: dict[str, LifeAttribute]
    count: int
    names: list[str] = []
    people: str | list[str] | None = None
    lives: tuple[int, int] | None = None
    arrive: tuple[int, int] | None = None
    intro: list[str] = []
    heading: list[str] = []
    joins: list[EntityJoin] = []
    lists: list[EntityList] = []


class UnansweredTopic(_LifeRecord, frozen=True, kw_only=True):
    """A plausible question about something that the story never tells."""

    ask: str | list[str]
    words: list[str]
    kind: str | None = None
    answer: str | None = None


class LifeEntities(_LifeRecord, frozen=True, kw_only=True):
    """entities.yaml."""

    kinds: dict[str, EntityKind]
    unknown: list[UnansweredTopic] = []
    never: list[UnansweredTopic] = []


class LifeStep(_LifeRecord, frozen=True, kw_only=True):
    """One step of a thread."""

    id: str
    text: list[Variants]
    heading: Variants = []
    after: tuple[int, int] = (1, 3)
    chance: float = 1.0
    session: str | None = None
    sets: dict[str, str] = {}
    brings: dict[str, float] = {}
    if_: list[str] = []
    unless: list[str] = []
    ends: bool = False


class ThreadQuestionTemplates(_LifeRecord, frozen=True, kw_only=True):
    """A question about a thread; exactly one of the first keys is given."""

    fact: str | None = None
    date: str | None = None
    days: tuple[str, str] | None = None
    did: str | None = None
    order: str | None = None
    count: str | None = None
    sum: str | None = None
    most: str | None = None
    least: str | None = None
    cause: str | None = None
    ask: list[str]
    at: str | None = None
    """For a fact: the step that tells the deed which the question asks about."""
    per: str | None = None
    kind: str | None = None
    category: str | None = None
    answer: str | None = None
    yes: str | None = None
    no: str | None = None

    def find_forms(self) -> list[str]:
        """The forms that are given; exactly one is right."""
        return [form for form in ASKING_FORMS if getattr(self, form) is not None]


ASKING_FORMS = (
    "fact",
    "date",
    "days",
    "did",
    "order",
    "count",
    "sum",
    "most",
    "least",
    "cause",
)


class LifeProcess(_LifeRecord, frozen=True, kw_only=True):
    """A kind of thread: who and what takes part, what is found out, and in which steps."""

    id: str
    every: float
    called: list[str]
    steps: list[LifeStep]
    session: str = "principal"
    on: dict[str, str] = {}
    people: dict[str, str | list[str]] = {}
    facts: dict[str, LifeValue] = {}
    ask: list[ThreadQuestionTemplates] = []
    limit: int = 3
    """How many of them may be alive at a time."""
    opens: list[str] = []
    """Clauses that say how it began, such as "{finder} noticed the outage of {service}"."""
    held: str | None = None
    """The step or the date of something planned; its month is that of the names."""
    since: str | None = None
    """How a name puts its month where what is asked came in another one: "opened in {month}"."""
    repeats: str | None = None
    """The attribute whose changes outside threads are called the same: a name needs its month."""


class TalkTopic(_LifeRecord, frozen=True, kw_only=True):
    """A small topic without facts."""

    text: list[Variants]
    heading: Variants = []
    session: str = "principal"


class LifeTalk(_LifeRecord, frozen=True, kw_only=True):
    """talk.yaml."""

    datelines: list[TalkTopic]
    talk: list[TalkTopic]
    quiet: list[TalkTopic]
    words: dict[str, list[str]] = {}
    notes: list[str] = msgspec.field(
        default_factory=lambda: ["Notes", "Also today", "In brief", "Other things", "Small items"]
    )
    """Headings over several short notes."""


@dataclass(frozen=True)
class LifeSources:
    """Everything a life edition is played from."""

    folder: Path
    persona: WorldPersona
    story: LifeStory
    entities: LifeEntities
    processes: tuple[LifeProcess, ...]
    talk: LifeTalk
    arcs: AuthoredStory
    persona_file: Mapping[str, Any]
    arcs_file: Mapping[str, Any]
    documents: Mapping[str, Document]
    """Each file by its name, for the line of a fault."""
    places: Mapping[str, tuple[str, int]]
    """Each process by its id: its file, and its place in it."""

    @cached_property
    def cast(self) -> Cast:
        """All people."""
        return Cast([*self.persona.cast, *self.story.cast])

    @cached_property
    def isolated(self) -> frozenset[str]:
        """The sessions whose content stays in them."""
        return frozenset(each.id for each in self.persona.sessions if each.isolated)

    def locate(self, file: str, *keys: Key) -> str:
        """File and line, for a message."""
        document = self.documents.get(file)
        return document.describe_place(*keys) if document else file


def find_lives(folder: Path) -> dict[str, Path]:
    """The life editions of a persona's source folder: arcs file to folder."""
    return {
        f"arcs-{found[1]}d.yaml": each
        for each in sorted(folder.glob("life-*d"))
        if (found := _FOLDER.fullmatch(each.name))
    }


def is_life(folder: Path) -> bool:
    """Whether the folder holds the sources of a life edition."""
    return (folder / "story.yaml").is_file() and (folder / "entities.yaml").is_file()


T = TypeVar("T")


def read_life(folder: Path) -> LifeSources:
    """Read a folder `life-1000d`; the persona and its arcs lie beside it.

    Sources that are being written may lack talk.yaml; they can be checked, not played.
    """
    if not is_life(folder):
        raise UsageError(
            f"{folder} holds no story.yaml or no entities.yaml; a life edition has both, "
            "threads/*.yaml and talk.yaml"
        )
    documents: dict[str, Document] = {}

    def read(name: str, shape: type[T], path: Path | None = None) -> T:
        documents[name] = read_document(path or folder / name, name=name)
        return convert_document(documents[name], shape)

    story = read("story.yaml", LifeStory)
    persona = read("persona.yaml", dict[str, Any], folder.parent / "persona.yaml")
    arcs = f"arcs-{story.days}d.yaml"
    arcs_file: dict[str, Any] = {"arcs": []}
    if (folder.parent / arcs).is_file():
        arcs_file = read(arcs, dict[str, Any], folder.parent / arcs)
    processes: list[LifeProcess] = []
    places: dict[str, tuple[str, int]] = {}
    for path in sorted((folder / "threads").glob("*.yaml")):
        name = f"threads/{path.name}"
        for index, process in enumerate(read(name, list[LifeProcess])):
            if process.id in places:
                first = places[process.id][0]
                raise Malformed(
                    documents[name].describe_place(index),
                    f"the process {process.id} is in {first} already; rename one",
                )
            places[process.id] = (name, index)
            processes.append(process)
    return LifeSources(
        folder=folder,
        persona=convert_document(documents["persona.yaml"], WorldPersona),
        story=story,
        entities=read("entities.yaml", LifeEntities),
        processes=tuple(processes),
        talk=read("talk.yaml", LifeTalk)
        if (folder / "talk.yaml").is_file()
        else LifeTalk(datelines=[], talk=[], quiet=[]),
        arcs=msgspec.convert(arcs_file, AuthoredStory)
        if arcs not in documents
        else convert_document(documents[arcs], AuthoredStory),
        persona_file=persona,
        arcs_file=arcs_file,
        documents=documents,
        places=places,
    )
