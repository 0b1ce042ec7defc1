"""The four source files of a world as records, and the options of a simulation."""

import re
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.record import Record
from recall_bench.core.yaml12 import Document, read_document

KINDS = ("number", "money", "percent", "time", "date", "person", "choice", "code", "serial")

Level = Literal["off", "quiet", "normal", "busy", "dense"]
"""How much happens on a day."""


class _SourceRecord(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"not_": "not", "is_": "is", "or_": "or", "with_": "with"},
):
    """Part of our own files: an unknown key is an error."""


class _PublicSource(msgspec.Struct, frozen=True, kw_only=True):
    """Part of the public format: unknown keys belong to other programs."""


Variants = str | list[str]


class FactSlot(_SourceRecord, frozen=True, kw_only=True):
    """One attribute of a thread, and the questions about it."""

    number: list[float] | None = None
    money: list[float] | None = None
    percent: list[float] | None = None
    time: list[str | int] | None = None
    date: list[int] | None = None
    person: str | list[str] | None = None
    choice: str | list[str] | None = None
    code: str | None = None
    serial: int | None = None
    unit: str = ""
    currency: str = "$"
    not_: list[str] = []
    kind: str | None = None
    is_: str | int | float | list[str | int | float] | None = None
    or_: list[str] = []
    same: str | None = None
    cue: list[str] = []
    ask: list[str] = []
    answer: str | None = None
    category: Literal["decision-tracking", "group-session-attribution"] | None = None
    then: list[str] = []
    link: str | None = None
    moves: Literal["up", "down"] | None = None
    secret: bool = False
    with_: str | None = None
    both: list[str] = []

    def get_kind(self) -> str:
        """The kind of value it holds; "" if none is given."""
        if self.kind is not None:
            return self.kind
        return next((kind for kind in KINDS if getattr(self, kind) is not None), "")


class StepTiming(_SourceRecord, frozen=True, kw_only=True):
    """Questions about the day of a step."""

    cue: list[str] = []
    phrase: str | None = None
    ask: list[str] = []
    gap: list[str] = []


class ProcessStep(_SourceRecord, frozen=True, kw_only=True):
    """One step of a process: its text and its effect on the facts."""

    id: str
    heading: Variants = []
    text: list[Variants] = []
    after: list[int] = msgspec.field(default_factory=lambda: [1, 1])
    chance: float = 1.0
    session: str | None = None
    changes: list[str] = []
    reveals: list[str] = []
    forgets: list[str] = []
    when: StepTiming | None = None
    did: list[str] = []
    no: str = "No; nothing of the kind is on record."


class MonthlyTallies(_SourceRecord, frozen=True, kw_only=True):
    """Questions over all threads of a process that started in one month."""

    count: list[str] = []
    total: dict[str, list[str]] = {}
    highest: dict[str, list[str]] = {}
    lowest: dict[str, list[str]] = {}


class RoutineProcess(_SourceRecord, frozen=True, kw_only=True):
    """A recurring kind of work."""

    id: str
    session: str
    name: str
    called: Variants
    slots: dict[str, FactSlot]
    steps: list[ProcessStep]
    share: float = 1.0
    counted: str = ""
    echoes: list[str] = []
    restates: list[str] = []
    tallies: MonthlyTallies = MonthlyTallies()


class Routine(_SourceRecord, frozen=True, kw_only=True):
    """The everyday work of the trade."""

    processes: list[RoutineProcess]
    words: dict[str, list[str]] = {}
    links: dict[str, list[str]] = {}


class VoiceTopic(_SourceRecord, frozen=True, kw_only=True):
    """A small topic without facts."""

    text: list[Variants] | str
    heading: Variants = ""
    session: str = "principal"


class Voice(_SourceRecord, frozen=True, kw_only=True):
    """How the persona writes."""

    datelines: list[VoiceTopic]
    colour: list[VoiceTopic]
    quiet: list[VoiceTopic]
    words: dict[str, list[str]] = {}
    loose_ends: list[str] = msgspec.field(default_factory=lambda: ["Loose ends"])


class AuthoredDirective(_PublicSource, frozen=True, kw_only=True):
    """An event on a given day, and its text."""

    day: int
    event: str
    text: str
    heading: str = ""
    session: str | None = None
    changes: list[str] = []
    reveals: list[str] = []
    forgets: list[str] = []
    grants: dict[str, str] = {}
    revokes: dict[str, str] = {}
    when: StepTiming | None = None


class AuthoredArc(_PublicSource, frozen=True, kw_only=True, rename="camel"):
    """One thread of the authored story."""

    id: str
    type: str
    title: str
    start_day: int
    end_day: int
    primary_session: str
    name: str
    called: Variants
    directives: list[AuthoredDirective]
    facts: dict[str, FactSlot] = {}
    ripples: list[str] = []


class AuthoredStory(_PublicSource, frozen=True, kw_only=True):
    """The authored arcs, and the days without a log."""

    arcs: list[AuthoredArc]
    epoch: str | None = None
    away: list[tuple[int, int]] = []
    links: dict[str, list[str]] = {}


class CastEntry(_PublicSource, frozen=True, kw_only=True):
    """A person of the cast."""

    name: str
    role: str
    kind: str | None = None
    groups: list[str] = []
    pronoun: str = "they"
    short: str | None = None


class WorldSession(_PublicSource, frozen=True, kw_only=True, rename="camel"):
    """One conversation context."""

    id: str
    kind: str
    participants: list[str] = []
    isolated: bool = False
    first_day: int = 1
    last_day: int | None = None


class WorldPersona(_PublicSource, frozen=True, kw_only=True):
    """The persona, as far as the simulator needs it."""

    id: str
    name: str
    epoch: str
    sessions: list[WorldSession]
    cast: list[CastEntry]
    week: tuple[Level, Level, Level, Level, Level, Level, Level] = (
        "normal",
        "normal",
        "normal",
        "normal",
        "normal",
        "quiet",
        "off",
    )
    dates: Literal["day-first", "month-first", "iso"] = "day-first"
    alternatives: dict[str, list[str]] = {}


class WorldSources(msgspec.Struct, frozen=True, kw_only=True):
    """The four files of one persona, and the raw content of the two public ones."""

    folder: Path
    arcs_name: str
    persona: WorldPersona
    story: AuthoredStory
    routine: Routine
    voice: Voice
    persona_file: dict[str, Any]
    story_file: dict[str, Any]


T = TypeVar("T")


def read_sources(folder: Path, arcs: str) -> WorldSources:
    """Read the four files; UsageError if one is missing, Malformed if one is wrong."""
    for name in ("persona.yaml", arcs, "routine.yaml", "voice.yaml"):
        if not (folder / name).is_file():
            raise UsageError(
                f"{folder.name} has no {name}, so it cannot be simulated; "
                "a world needs persona.yaml, its arcs, routine.yaml and voice.yaml"
            )
    persona = _read_document(folder, "persona.yaml")
    story = _read_document(folder, arcs)
    return WorldSources(
        folder=folder,
        arcs_name=arcs,
        persona=convert_document(persona, WorldPersona),
        story=convert_document(story, AuthoredStory),
        routine=convert_document(_read_document(folder, "routine.yaml"), Routine),
        voice=convert_document(_read_document(folder, "voice.yaml"), Voice),
        persona_file=convert_document(persona, dict[str, Any]),
        story_file=convert_document(story, dict[str, Any]),
    )


def _read_document(folder: Path, name: str) -> Document:
    return read_document(folder / name, name=f"{folder.name}/{name}")


def convert_document(document: Document, shape: type[T]) -> T:
    """The content of a source file as a record; Malformed, with the line, if it does not fit."""
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


class WorldOptions(Record, frozen=True, kw_only=True):
    """Everything besides the sources that determines the bytes of a world."""

    days: int = 1000
    seed: int = 0
    density: float = 1.0
    """Words per day, relative to the default."""
    distance: float = 0.5
    """Distance of a question's wording from the text: 0 the nearest available, 1 the farthest."""
    distractors: float = 0.25
    """Share of threads that resemble an earlier one and differ in what is asked."""
    restatements: float = 0.15
    """Probability that a thread's values are stated once more, weeks later."""
