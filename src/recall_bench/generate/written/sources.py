"""The source files of a written edition as records."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.yaml12 import read_document, read_source
from recall_bench.generate.world.sources import CastEntry, WorldPersona
from recall_bench.generate.written.slots import (
    FactState,
    Slot,
    SlotDefinition,
    SlotError,
    find_slots,
)

MANNERS = (
    "announced",
    "in passing",
    "implied",
    "misreported",
    "corrected",
    "restored",
    "planned",
    "dropped",
)
"""The manners in which a state is stated."""

KINDS = (
    "single-fact two-hop three-hop list comparison count sum order duration date current-value "
    "value-as-of history preference procedure said-by reason implied never-happened "
    "planned-and-dropped somebody-else unanswerable secret forgotten"
).split()
"""The kinds of memory work that a question may ask for."""

_FOLDER = re.compile(r"written-(\d+)d")
_DAY_FILE = re.compile(r"(\d{4})\.md")


class PlannedState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One planned state of a fact."""

    day: int
    value: str
    session: str
    told: str = "announced"
    by: str | None = None
    note: str | None = None


class PlannedFact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fact that matters later, with all its states."""

    about: str
    what: str
    states: list[PlannedState]
    group: str | None = None
    fixed: bool = False
    note: str | None = None


class WrittenStory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """story.yaml: calendar, arcs and planned facts."""

    epoch: str
    days: int
    arcs: list[dict[str, Any]]
    language: str = "en"
    """The language of the days and of the questions that name no other."""
    off: list[int] = []
    dates: str = "day-first"
    scenery: list[str] = []
    cast: list[CastEntry] = []
    sessions: list[dict[str, Any]] = []
    alternatives: dict[str, list[str]] = {}
    facts: dict[str, PlannedFact] = {}


class SentenceCitation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sentence of a day that a question rests on, though it states no value."""

    day: int
    text: str
    """How the sentence begins, as far as it differs from the others of the day."""


class WrittenQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of a questions file."""

    ask: str
    kind: str
    category: str
    derive: str
    answer: str
    difficulty: str
    atoms: list[str] | None = None
    aliases: list[str] = []
    stale: list[str] | None = None
    distractors: list[str] = []
    needs: list[str] = []
    cites: list[SentenceCitation] = []
    from_: int | None = msgspec.field(name="from", default=None)
    until: int | None = None
    session: str = "principal"
    expects: str = "answer"
    opened: int | None = None
    language: str | None = None
    """The language of question and answer, where it is not that of the story."""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A line of a source file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


@dataclass(frozen=True)
class WrittenDay:
    """The source text of a day, and its slots."""

    day: int
    file: str
    text: str

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Its slots, in order."""
        return tuple(found for found in find_slots(self.text) if isinstance(found, Slot))

    @cached_property
    def errors(self) -> tuple[SlotError, ...]:
        """Text in braces that is no slot."""
        return tuple(found for found in find_slots(self.text) if isinstance(found, SlotError))

    def locate(self, offset: int) -> SourcePlace:
        """The line at an offset of the text."""
        return SourcePlace(self.file, self.text.count("\n", 0, offset) + 1)

    def find_session(self, offset: int) -> str | None:
        """The session at an offset of the text; None before the first heading."""
        place = bisect_right(self._headings, offset, key=lambda heading: heading[0])
        return self._headings[place - 1][1] if place else None

    @cached_property
    def _headings(self) -> tuple[tuple[int, str], ...]:
        """Every heading of a session: where it ends, and its session."""
        found = _SESSION.finditer(self.text)
        return tuple((heading.end(), heading[1] or heading[2]) for heading in found)

    @cached_property
    def sessions(self) -> tuple[str, ...]:
        """Its sessions, in order."""
        return tuple(dict.fromkeys(session for _, session in self._headings))

    @cached_property
    def statements(self) -> frozenset[tuple[FactState, str | None]]:
        """Every state with each session that names its value."""
        return frozenset(
            (slot.state, self.find_session(slot.start))
            for slot in self.slots
            if slot.state is not None
        )


_SESSION = re.compile(r"^(?:# session: (\S+)|\[session: (\S+)\])\s*$", re.MULTILINE)
"""The line that begins a session, in a log or in a dialogue."""


@dataclass(frozen=True)
class WrittenSources:
    """Everything a written edition is built from."""

    persona: WorldPersona
    persona_file: Mapping[str, Any]
    story: WrittenStory
    days: tuple[WrittenDay, ...]
    questions: tuple[tuple[SourcePlace, WrittenQuestion], ...]
    dialogues: tuple[WrittenDay, ...] = ()
    """The same days as a user and the assistant talked about them; none, or one a day."""

    @cached_property
    def definitions(self) -> Mapping[FactState, SlotDefinition]:
        """The value of every state; planned ones first, then those stated in the days."""
        found = {
            FactState(key, number): SlotDefinition(value=state.value)
            for key, fact in self.story.facts.items()
            for number, state in enumerate(fact.states, start=1)
        }
        for _, slot in self.iterate_slots():
            if slot.state is not None and slot.definition is not None:
                found.setdefault(slot.state, slot.definition)
        return found

    def iterate_slots(self) -> Iterator[tuple[WrittenDay, Slot]]:
        """Every slot of every day, in the order of the story."""
        for day in self.days:
            for slot in day.slots:
                yield day, slot

    @cached_property
    def isolated(self) -> frozenset[str]:
        """The sessions whose content stays in them."""
        return frozenset(each.id for each in self.persona.sessions if each.isolated)

    @cached_property
    def people(self) -> tuple[str, ...]:
        """The full names of the cast."""
        return tuple(entry.name for entry in (*self.persona.cast, *self.story.cast))


def find_written(folder: Path) -> dict[str, Path]:
    """The written editions of a persona's source folder: arcs file to folder."""
    return {
        f"arcs-{found[1]}d.yaml": each
        for each in sorted(folder.glob("written-*d"))
        if (found := _FOLDER.fullmatch(each.name))
    }


def read_written(folder: Path) -> WrittenSources:
    """Read a folder `written-180d`; the persona's file lies beside it."""
    if not (folder / "story.yaml").is_file():
        raise UsageError(f"{folder} holds no story.yaml; name the folder of a written edition")
    raw = read_document(folder.parent / "persona.yaml", name="persona.yaml").content
    persona = _convert(raw, dict[str, Any], "persona.yaml")
    return WrittenSources(
        persona=_convert(persona, WorldPersona, "persona.yaml"),
        persona_file=persona,
        story=_convert(
            read_document(folder / "story.yaml", name="story.yaml").content,
            WrittenStory,
            "story.yaml",
        ),
        days=tuple(_read_days(folder, "days")),
        questions=tuple(_read_questions(folder)),
        dialogues=tuple(_read_days(folder, "dialogues")),
    )


def _read_days(folder: Path, kind: str) -> Iterator[WrittenDay]:
    for path in sorted((folder / kind).glob("*.md")):
        if found := _DAY_FILE.fullmatch(path.name):
            name = f"{kind}/{path.name}"
            yield WrittenDay(int(found[1]), name, read_source(path, name))


def _read_questions(folder: Path) -> Iterator[tuple[SourcePlace, WrittenQuestion]]:
    for path in sorted((folder / "questions").glob("*.yaml")):
        name = f"questions/{path.name}"
        document = read_document(path, name=name)
        for index, entry in enumerate(_convert(document.content or [], list[Any], name)):
            line = document.find_line(index) or 0
            yield (
                SourcePlace(name, line),
                _convert(entry, WrittenQuestion, f"{name}, line {line}"),
            )


def _convert(content: Any, kind: type[Any], where: str) -> Any:  # noqa: ANN401 - any YAML
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as problem:
        raise Malformed(where, f"{problem}; see docs/reference/written-editions.md") from None
