"""`lexicon.json`: how things are called in a built world, never what is true of them."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeVar

from recall_bench.datasets.fields import describe_value, parse_iso_date
from recall_bench.errors import Malformed, UsageError
from recall_bench.proof.finding import VerificationCode, VerificationFinding
from recall_bench.proof.values import fold_text
from recall_bench.yaml12 import decode_text

T = TypeVar("T")

KINDS = ("number", "money", "percent", "time", "date", "person", "choice", "code")

PLACE = re.compile(r"(?<!\w)_(?!\w)")
"""Where a cue has the value itself; an underscore within a word is just that."""


@dataclass(frozen=True, slots=True)
class LexiconSession:
    """A session: who is in it, and whether what is said there stays there."""

    is_isolated: bool
    participants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LexiconThread:
    """Something the text tells of: the process it is one of, and its name."""

    process: str
    name: str


@dataclass(frozen=True, slots=True)
class LexiconSlot:
    """One attribute of the threads of a process."""

    kind: str
    cues: tuple[str, ...]
    unit: str | None = None
    options: tuple[str, ...] = ()
    shape: str | None = None


@dataclass(frozen=True, slots=True)
class LexiconStep:
    """Something that happens to the threads of a process."""

    cues: tuple[str, ...]
    is_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldLexicon:
    """All that is known before the first day is read."""

    epoch: date
    people: dict[str, tuple[str, ...]]
    rooms: dict[str, LexiconSession]
    threads: dict[str, LexiconThread]
    slots: dict[tuple[str, str], LexiconSlot]
    """By process and slot."""
    steps: dict[tuple[str, str], LexiconStep]
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

    def list_threads(self, process: str) -> Sequence[str]:
        """The ids of all threads of a process."""
        return self._members.get(process, ())

    def find_first_step(self, process: str) -> str | None:
        """The step the threads of this process begin with, if there is exactly one."""
        first = [step for (of, step), told in self.steps.items() if of == process and told.is_first]
        return first[0] if len(first) == 1 else None

    def list_phrases(self) -> Iterator[str]:
        """Every name and option there is."""
        for names in self.people.values():
            yield from names
        yield from (thread.name for thread in self.threads.values())
        for slot in self.slots.values():
            yield from slot.options


def read_lexicon(path: Path, name: str) -> WorldLexicon:
    """The lexicon; UsageError if there is none, Malformed if it departs from its shape."""
    if not path.is_file():
        raise UsageError(
            f"{name} does not exist; only worlds built by the simulator can be proved, "
            "check any other dataset with `lint`"
        )
    try:
        content = json.loads(decode_text(path.read_bytes(), name))
    except json.JSONDecodeError as error:
        raise Malformed(
            f"{name}, line {error.lineno}", f"is not JSON ({error.msg}); correct it"
        ) from error
    return _LexiconParser(name).parse_lexicon(content)


def audit_lexicon(lexicon: WorldLexicon, name: str) -> Iterator[VerificationFinding]:
    """Names that stand for two things, so that no reader could tell which is meant."""
    called = [(thread.name, key) for key, thread in lexicon.threads.items()]
    known = [(alias, person) for person, names in lexicon.people.items() for alias in names]
    for what, pairs in (("threads", called), ("people", known)):
        owner: dict[str, str] = {}
        for alias, key in pairs:
            other = owner.setdefault(fold_text(alias), key)
            if other != key:
                yield VerificationFinding(
                    VerificationCode.LEXICON,
                    name,
                    f"two {what}, {other} and {key}, are called “{alias}”",
                )


class _LexiconParser:
    """Turns parsed JSON into a lexicon, naming whatever does not fit."""

    def __init__(self, name: str) -> None:
        self._name = name

    def parse_lexicon(self, content: object) -> WorldLexicon:
        """The whole file."""
        whole = self._require_mapping(content, "the file")
        epoch = parse_iso_date(self._require_text(whole.get("epoch"), "epoch"))
        if epoch is None:
            raise self._build_error("epoch is no date; write year-month-day")
        slots = self._parse_section(whole, "slots", self._parse_slot)
        steps = self._parse_section(whole, "steps", self._parse_step)
        return WorldLexicon(
            epoch=epoch,
            people=self._parse_section(whole, "people", self._require_texts),
            rooms=self._parse_section(whole, "sessions", self._parse_session),
            threads=self._parse_section(whole, "threads", self._parse_thread),
            slots={self._split_key(key, "slots"): slot for key, slot in slots.items()},
            steps={self._split_key(key, "steps"): step for key, step in steps.items()},
        )

    def _parse_section(
        self, whole: dict[str, object], key: str, make: Callable[[object, str], T]
    ) -> dict[str, T]:
        parts = self._require_mapping(whole.get(key), key)
        return {name: make(part, f"{key}.{name}") for name, part in parts.items()}

    def _parse_session(self, part: object, where: str) -> LexiconSession:
        fields = self._require_mapping(part, where)
        participants = self._require_texts(fields.get("participants", []), f"{where}.participants")
        return LexiconSession(fields.get("isolated") is True, participants)

    def _parse_thread(self, part: object, where: str) -> LexiconThread:
        fields = self._require_mapping(part, where)
        return LexiconThread(
            self._require_text(fields.get("process"), f"{where}.process"),
            self._require_text(fields.get("name"), f"{where}.name"),
        )

    def _parse_slot(self, part: object, where: str) -> LexiconSlot:
        fields = self._require_mapping(part, where)
        kind = self._require_text(fields.get("kind"), f"{where}.kind")
        if kind not in KINDS:
            raise self._build_error(f"{where}.kind is {kind!r}; use one of {', '.join(KINDS)}")
        unit, shape = fields.get("unit"), fields.get("shape")
        return LexiconSlot(
            kind=kind,
            cues=self._parse_cues(fields, where),
            unit=None if unit is None else self._require_text(unit, f"{where}.unit"),
            options=self._require_texts(fields.get("options", []), f"{where}.options"),
            shape=None if shape is None else self._require_text(shape, f"{where}.shape"),
        )

    def _parse_step(self, part: object, where: str) -> LexiconStep:
        fields = self._require_mapping(part, where)
        cues = self._parse_cues(fields, where)
        if any(PLACE.search(cue) for cue in cues):
            raise self._build_error(
                f"{where}.cues holds a _, but a step has no value; use plain words"
            )
        return LexiconStep(cues, fields.get("first") is True)

    def _parse_cues(self, fields: dict[str, object], where: str) -> tuple[str, ...]:
        cues = self._require_texts(fields.get("cues"), f"{where}.cues")
        if not cues:
            raise self._build_error(f"{where} has no cue; the reader could never find it")
        for cue in cues:
            if len(PLACE.findall(cue)) > 1 or not PLACE.sub("", cue).strip():
                raise self._build_error(
                    f"{where} has the cue {cue!r}; write words and at most one _"
                )
        return cues

    def _split_key(self, key: str, section: str) -> tuple[str, str]:
        process, point, name = key.rpartition(".")
        if not point:
            raise self._build_error(f"{section}.{key} names no process; write process.{key}")
        return process, name

    def _require_mapping(self, value: object, where: str) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self._build_error(f"{where} is {describe_value(value)}; write a mapping")
        return value

    def _require_text(self, value: object, where: str) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self._build_error(f"{where} is {describe_value(value)}; write plain text")
        return value

    def _require_texts(self, value: object, where: str) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self._build_error(f"{where} is {describe_value(value)}; write a list of texts")
        return tuple(self._require_text(part, where) for part in value)

    def _build_error(self, problem: str) -> Malformed:
        return Malformed(self._name, problem)
