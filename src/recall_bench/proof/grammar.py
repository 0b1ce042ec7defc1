"""Cues, compiled once: what a sentence says about a slot or a step of its thread."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date

from recall_bench.proof.lexicon import PLACE, LexiconSlot, WorldLexicon
from recall_bench.proof.values import (
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
    """What one sentence says about one slot; nothing, if it holds a cue and no value."""

    stated: FoundValue | None = None
    stale: tuple[FoundValue, ...] = ()
    rivals: tuple[FoundValue, ...] = ()
    """Values of which no one can tell which is stated; empty if that is clear."""


class Cue:
    """A few words that say a value of the slot is near; with `_`, where it stands."""

    def __init__(self, words: str) -> None:
        self.words = words
        before, *rest = PLACE.split(words, maxsplit=1)
        after = rest[0] if rest else ""
        self.has_place = bool(rest)
        # One plain substring test spares most sentences the patterns.
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
        """Whether the words of the cue stand in the text, whatever is in its place."""
        return self._words.search(text) is not None

    def is_placed_at(self, text: str, value: FoundValue) -> bool:
        """Whether the value stands exactly where the cue has its `_`."""
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
        """What the sentence says; None if it holds no cue. `small` is its folded text."""
        near = [cue for cue in self.cues if cue.needle in small]
        if not near:
            return None
        values = [value for value in self.reader.find(text, today) if not value.is_within(names)]
        placed = self._find_placed_values(text, near, values)
        told = [cue for cue in near if cue.is_in(text)]
        if not placed and all(cue.has_place for cue in told):
            return CueReading() if told else None
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
        """Values where a cue has its `_`. A cue such as `bought from _` makes none stale."""
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
        """A bare number is a code only where a cue puts it."""
        return self.slot.kind != "code" or bool(self.slot.shape) or not value.surface.isdigit()


@dataclass(frozen=True, slots=True)
class StepGrammar:
    """Tells whether a sentence tells of one step."""

    name: str
    cues: tuple[Cue, ...]

    def is_told(self, text: str, small: str) -> bool:
        """Whether one of its cues stands in the sentence."""
        return any(cue.needle in small and cue.is_in(text) for cue in self.cues)


@dataclass(slots=True)
class ProcessGrammar:
    """All that can be said about the threads of one process."""

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
        """What can be said about the threads of the process."""
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
