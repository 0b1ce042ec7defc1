"""`lexicon.json` and its cues: how a world names things, never what is true of them."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeVar

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.yaml12 import decode_text
from recall_bench.datasets.yaml_fields import describe_value, parse_iso_date
from recall_bench.generate.verification.findings import VerificationCode, VerificationFinding
from recall_bench.generate.verification.value_readers import (
    FoundValue,
    PatternReader,
    build_choice_reader,
    build_code_reader,
    build_date_reader,
    build_money_reader,
    build_number_reader,
    build_percent_reader,
    build_person_reader,
    build_time_reader,
    build_words_pattern,
    fold_text,
    match_whole_words,
)

T = TypeVar("T")

KINDS = ("number", "money", "percent", "time", "date", "person", "choice", "code")

PLACE = re.compile(r"(?<!\w)_(?!\w)")
"""The place of the value in a cue; an underscore within a word is plain text."""


@dataclass(frozen=True, slots=True)
class LexiconSession:
    """A session: its participants, and whether it is isolated."""

    is_isolated: bool
    participants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LexiconThread:
    """A thread of the story: its process and its name."""

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
    """A step of the threads of a process."""

    cues: tuple[str, ...]
    is_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldLexicon:
    """What the verifier knows before it reads the first day."""

    epoch: date
    people: dict[str, tuple[str, ...]]
    sessions: dict[str, LexiconSession]
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
        """Whether the session is isolated from all others."""
        found = self.sessions.get(session)
        return found is not None and found.is_isolated

    def is_open_to(self, asker: str, session: str) -> bool:
        """Whether the asking session may know the content of the other one."""
        return asker == session or not self.is_isolated(session)

    def list_threads(self, process: str) -> Sequence[str]:
        """The ids of all threads of a process."""
        return self._members.get(process, ())

    def find_first_step(self, process: str) -> str | None:
        """The first step of the threads of this process, if there is exactly one."""
        first = [name for (of, name), step in self.steps.items() if of == process and step.is_first]
        return first[0] if len(first) == 1 else None

    def list_phrases(self) -> Iterator[str]:
        """Every name and option."""
        for names in self.people.values():
            yield from names
        yield from (thread.name for thread in self.threads.values())
        for slot in self.slots.values():
            yield from slot.options


def read_lexicon(path: Path, name: str) -> WorldLexicon:
    """Read the lexicon; UsageError if the file is missing, Malformed if its form is wrong."""
    if not path.is_file():
        raise UsageError(
            f"{name} does not exist; only worlds built by the simulator can be verified, "
            "check any other dataset with `lint`"
        )
    try:
        content = json.loads(decode_text(path.read_bytes(), name))
    except json.JSONDecodeError as error:
        raise Malformed(
            f"{name}, line {error.lineno}", f"is not JSON ({error.msg}); correct it"
        ) from error
    except (ValueError, RecursionError) as error:
        raise Malformed(name, "holds a number or a nesting beyond all measure") from error
    return _LexiconParser(name).parse_lexicon(content)


def audit_lexicon(lexicon: WorldLexicon, name: str) -> Iterator[VerificationFinding]:
    """Names that denote two things."""
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
    """Turns parsed JSON into a lexicon; errors name what does not fit."""

    def __init__(self, name: str) -> None:
        self._name = name

    def parse_lexicon(self, content: object) -> WorldLexicon:
        """The whole file."""
        whole = self._require_mapping(content, "the file")
        epoch = parse_iso_date(self._require_text(whole.get("epoch"), "epoch"))
        if epoch is None:
            raise self._build_error("epoch is not a date; write year-month-day")
        slots = self._parse_section(whole, "slots", self._parse_slot)
        steps = self._parse_section(whole, "steps", self._parse_step)
        return WorldLexicon(
            epoch=epoch,
            people=self._parse_section(whole, "people", self._require_texts),
            sessions=self._parse_section(whole, "sessions", self._parse_session),
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
            raise self._build_error(
                f"{where} has no cue, so it cannot be found in the text; add one"
            )
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


_NO_LONGER = re.compile(
    r"\b(?:from|instead\s+of|not|no\s+longer|rather\s+than|previously|formerly|replacing)\s+\Z",
    re.IGNORECASE,
)

_FROM = re.compile(r"\bfrom\s+\Z", re.IGNORECASE)


def is_stale(text: str, value: FoundValue) -> bool:
    """Whether the words right before the value call it a former one."""
    return _NO_LONGER.search(text, max(0, value.start - 24), value.start) is not None


@dataclass(frozen=True, slots=True)
class CueReading:
    """What one sentence says about one slot; empty if it has a cue but no value."""

    stated: FoundValue | None = None
    stale: tuple[FoundValue, ...] = ()
    rivals: tuple[FoundValue, ...] = ()
    """Values if it is unclear which is stated; empty if that is clear."""


class Cue:
    """Words that mark a value of the slot nearby; `_` marks its exact place."""

    def __init__(self, words: str) -> None:
        self.words = words
        before, *rest = PLACE.split(words, maxsplit=1)
        after = rest[0] if rest else ""
        self.has_place = bool(rest)
        # A plain substring test skips the patterns for most sentences.
        self.needle = fold_text(max(f"{before} {after}".split(), key=len, default=""))
        parts = [
            match_whole_words(build_words_pattern(part)) for part in (before, after) if part.strip()
        ]
        self._words = re.compile(".*?".join(parts), re.IGNORECASE)
        self._before = _build_side_pattern(
            before, rf"(?<!\w)(?:{build_words_pattern(before)})", r"\Z", at_end=True
        )
        self._after = _build_side_pattern(
            after, "", rf"(?:{build_words_pattern(after)})(?!\w)", at_end=False
        )
        self.opens = not before.strip()

    def is_in(self, text: str) -> bool:
        """Whether the text contains the words of the cue, with anything in its place."""
        return self._words.search(text) is not None

    def is_placed_at(self, text: str, value: FoundValue) -> bool:
        """Whether the value is exactly where the cue has its `_`."""
        return (
            self._before.search(text, 0, value.start) is not None
            and self._after.match(text, value.end) is not None
        )


def _build_side_pattern(words: str, head: str, tail: str, *, at_end: bool) -> re.Pattern[str]:
    """The pattern for the words on one side of a value."""
    if not words.strip():
        return re.compile("")
    touches = not (words[-1] if at_end else words[0]).isspace()
    blank = "" if touches else r"\s+"
    return re.compile(f"{head}{blank}{tail}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SlotGrammar:
    """Reads one slot out of sentences about its thread."""

    name: str
    slot: LexiconSlot
    reader: PatternReader
    cues: tuple[Cue, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cues", tuple(Cue(words) for words in self.slot.cues))

    def read(
        self, text: str, small: str, today: date, names: Iterable[tuple[int, int]]
    ) -> CueReading | None:
        """What the sentence says; None if it has no cue. `small` is its folded text."""
        near = [cue for cue in self.cues if cue.needle in small]
        if not near:
            return None
        values = [value for value in self.reader.find(text, today) if not value.is_within(names)]
        placed = self._find_placed_values(text, near, values)
        matching = [cue for cue in near if cue.is_in(text)]
        if not placed and all(cue.has_place for cue in matching):
            return CueReading() if matching else None
        stale = tuple(v for v in values if is_stale(text, v) and v not in placed)
        fresh = placed or [v for v in values if v not in stale and self._is_value(v)]
        if not fresh:
            # `free from 3 May` states it; `moved from 3 May to 9 May` does not.
            fresh = [v for v in stale if _FROM.search(text, max(0, v.start - 24), v.start)]
            stale = tuple(v for v in stale if v not in fresh)
        if len({value.key for value in fresh}) > 1:
            return CueReading(stale=stale, rivals=tuple(fresh))
        return CueReading(stated=fresh[0] if fresh else None, stale=stale)

    def _find_placed_values(
        self, text: str, near: list[Cue], values: list[FoundValue]
    ) -> list[FoundValue]:
        """Values at the `_` of a cue. A cue such as `bought from _` makes no value stale."""
        return [
            value
            for value in values
            if any(
                cue.has_place
                and cue.is_placed_at(text, value)
                and not (cue.opens and is_stale(text, value))
                for cue in near
            )
        ]

    def _is_value(self, value: FoundValue) -> bool:
        """Whether the value counts; a bare number is a code only at the place of a cue."""
        return self.slot.kind != "code" or bool(self.slot.shape) or not value.surface.isdigit()


@dataclass(frozen=True, slots=True)
class StepGrammar:
    """Recognises one step in a sentence."""

    name: str
    cues: tuple[Cue, ...]

    def is_told(self, text: str, small: str) -> bool:
        """Whether the sentence contains one of its cues."""
        return any(cue.needle in small and cue.is_in(text) for cue in self.cues)


@dataclass(slots=True)
class ProcessGrammar:
    """The slots and steps of one process, compiled."""

    slots: dict[str, SlotGrammar] = field(default_factory=dict)
    steps: dict[str, StepGrammar] = field(default_factory=dict)


class WorldGrammar:
    """The cues and readers of every process."""

    def __init__(self, lexicon: WorldLexicon) -> None:
        self._processes: dict[str, ProcessGrammar] = {}
        people = build_person_reader(lexicon.people)
        for (process, name), slot in lexicon.slots.items():
            reader = _choose_reader(slot, people)
            self.get_process(process).slots[name] = SlotGrammar(name, slot, reader)
        for (process, name), step in lexicon.steps.items():
            cues = tuple(Cue(words) for words in step.cues)
            self.get_process(process).steps[name] = StepGrammar(name, cues)

    def get_process(self, process: str) -> ProcessGrammar:
        """The slots and steps of the process."""
        return self._processes.setdefault(process, ProcessGrammar())


def _choose_reader(slot: LexiconSlot, people: PatternReader) -> PatternReader:
    readers: dict[str, Callable[[], PatternReader]] = {
        "number": lambda: build_number_reader(slot.unit),
        "money": build_money_reader,
        "percent": build_percent_reader,
        "time": build_time_reader,
        "date": build_date_reader,
        "person": lambda: people,
        "choice": lambda: build_choice_reader(slot.options),
        "code": lambda: build_code_reader(slot.shape),
    }
    return readers[slot.kind]()
