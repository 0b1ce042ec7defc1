"""`lexicon.json`: how things are called in a built world, never what is true of them."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeVar

from recall_bench.datasets.fields import iso_date, shown
from recall_bench.errors import Malformed, UsageError
from recall_bench.proof.finding import Code, Finding
from recall_bench.proof.values import folded
from recall_bench.yaml12 import decoded

T = TypeVar("T")

KINDS = ("number", "money", "percent", "time", "date", "person", "choice", "code")

PLACE = re.compile(r"(?<!\w)_(?!\w)")
"""Where a cue has the value itself; an underscore within a word is just that."""


@dataclass(frozen=True, slots=True)
class Room:
    """A session: who is in it, and whether what is said there stays there."""

    is_isolated: bool
    participants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Thread:
    """Something the text tells of: the process it is one of, and its name."""

    process: str
    name: str


@dataclass(frozen=True, slots=True)
class Slot:
    """One attribute of the threads of a process."""

    kind: str
    cues: tuple[str, ...]
    unit: str | None = None
    options: tuple[str, ...] = ()
    shape: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens to the threads of a process."""

    cues: tuple[str, ...]
    is_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """All that is known before the first day is read."""

    epoch: date
    people: dict[str, tuple[str, ...]]
    rooms: dict[str, Room]
    threads: dict[str, Thread]
    slots: dict[tuple[str, str], Slot]
    """By process and slot."""
    steps: dict[tuple[str, str], Step]
    """By process and step."""
    _members: dict[str, list[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for key, thread in self.threads.items():
            self._members.setdefault(thread.process, []).append(key)

    def is_isolated(self, session: str) -> bool:
        """Whether what is said there stays there."""
        room = self.rooms.get(session)
        return room is not None and room.is_isolated

    def is_open_to(self, asker: str, session: str) -> bool:
        """Whether the session asking may know what is said in the other one."""
        return asker == session or not self.is_isolated(session)

    def threads_of(self, process: str) -> Sequence[str]:
        """The ids of all threads of a process."""
        return self._members.get(process, ())

    def first_step(self, process: str) -> str | None:
        """The step the threads of this process begin with, if there is exactly one."""
        first = [step for (of, step), told in self.steps.items() if of == process and told.is_first]
        return first[0] if len(first) == 1 else None

    def phrases(self) -> Iterator[str]:
        """Every name and option there is."""
        for names in self.people.values():
            yield from names
        yield from (thread.name for thread in self.threads.values())
        for slot in self.slots.values():
            yield from slot.options


def read_lexicon(path: Path, name: str) -> Lexicon:
    """The lexicon; UsageError if there is none, Malformed if it departs from its shape."""
    if not path.is_file():
        raise UsageError(
            f"{name} does not exist; only worlds built by the simulator can be proved, "
            "check any other dataset with `lint`"
        )
    try:
        content = json.loads(decoded(path.read_bytes(), name))
    except json.JSONDecodeError as error:
        raise Malformed(
            f"{name}, line {error.lineno}", f"is not JSON ({error.msg}); correct it"
        ) from error
    return _Shape(name).lexicon(content)


def audit_lexicon(lexicon: Lexicon, name: str) -> Iterator[Finding]:
    """Names that stand for two things, so that no reader could tell which is meant."""
    called = [(thread.name, key) for key, thread in lexicon.threads.items()]
    known = [(alias, person) for person, names in lexicon.people.items() for alias in names]
    for what, pairs in (("threads", called), ("people", known)):
        owner: dict[str, str] = {}
        for alias, key in pairs:
            other = owner.setdefault(folded(alias), key)
            if other != key:
                yield Finding(
                    Code.LEXICON, name, f"two {what}, {other} and {key}, are called “{alias}”"
                )


class _Shape:
    """Turns parsed JSON into a lexicon, naming whatever does not fit."""

    def __init__(self, name: str) -> None:
        self._name = name

    def lexicon(self, content: object) -> Lexicon:
        """The whole file."""
        whole = self._mapping(content, "the file")
        epoch = iso_date(self._text(whole.get("epoch"), "epoch"))
        if epoch is None:
            raise self._fault("epoch is no date; write year-month-day")
        slots = self._section(whole, "slots", self._slot)
        steps = self._section(whole, "steps", self._step)
        return Lexicon(
            epoch=epoch,
            people=self._section(whole, "people", self._texts),
            rooms=self._section(whole, "sessions", self._room),
            threads=self._section(whole, "threads", self._thread),
            slots={self._owned(key, "slots"): slot for key, slot in slots.items()},
            steps={self._owned(key, "steps"): step for key, step in steps.items()},
        )

    def _section(
        self, whole: dict[str, object], key: str, make: Callable[[object, str], T]
    ) -> dict[str, T]:
        parts = self._mapping(whole.get(key), key)
        return {name: make(part, f"{key}.{name}") for name, part in parts.items()}

    def _room(self, part: object, where: str) -> Room:
        fields = self._mapping(part, where)
        participants = self._texts(fields.get("participants", []), f"{where}.participants")
        return Room(fields.get("isolated") is True, participants)

    def _thread(self, part: object, where: str) -> Thread:
        fields = self._mapping(part, where)
        return Thread(
            self._text(fields.get("process"), f"{where}.process"),
            self._text(fields.get("name"), f"{where}.name"),
        )

    def _slot(self, part: object, where: str) -> Slot:
        fields = self._mapping(part, where)
        kind = self._text(fields.get("kind"), f"{where}.kind")
        if kind not in KINDS:
            raise self._fault(f"{where}.kind is {kind!r}; use one of {', '.join(KINDS)}")
        unit, shape = fields.get("unit"), fields.get("shape")
        return Slot(
            kind=kind,
            cues=self._cues(fields, where),
            unit=None if unit is None else self._text(unit, f"{where}.unit"),
            options=self._texts(fields.get("options", []), f"{where}.options"),
            shape=None if shape is None else self._text(shape, f"{where}.shape"),
        )

    def _step(self, part: object, where: str) -> Step:
        fields = self._mapping(part, where)
        cues = self._cues(fields, where)
        if any(PLACE.search(cue) for cue in cues):
            raise self._fault(f"{where}.cues holds a _, but a step has no value; use plain words")
        return Step(cues, fields.get("first") is True)

    def _cues(self, fields: dict[str, object], where: str) -> tuple[str, ...]:
        cues = self._texts(fields.get("cues"), f"{where}.cues")
        if not cues:
            raise self._fault(f"{where} has no cue; the reader could never find it")
        for cue in cues:
            if len(PLACE.findall(cue)) > 1 or not PLACE.sub("", cue).strip():
                raise self._fault(f"{where} has the cue {cue!r}; write words and at most one _")
        return cues

    def _owned(self, key: str, section: str) -> tuple[str, str]:
        process, point, name = key.rpartition(".")
        if not point:
            raise self._fault(f"{section}.{key} names no process; write process.{key}")
        return process, name

    def _mapping(self, value: object, where: str) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self._fault(f"{where} is {shown(value)}; write a mapping")
        return value

    def _text(self, value: object, where: str) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self._fault(f"{where} is {shown(value)}; write plain text")
        return value

    def _texts(self, value: object, where: str) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self._fault(f"{where} is {shown(value)}; write a list of texts")
        return tuple(self._text(part, where) for part in value)

    def _fault(self, problem: str) -> Malformed:
        return Malformed(self._name, problem)
