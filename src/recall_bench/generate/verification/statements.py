"""What the text states: every value of every slot, every step, and every unclear sentence."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date

from recall_bench.core.scenario import compute_story_date
from recall_bench.generate.verification.day_parser import (
    DaySentence,
    ParsedDay,
    SentenceSplitter,
    TextBlock,
)
from recall_bench.generate.verification.findings import VerificationCode
from recall_bench.generate.verification.lexicon import (
    CueReading,
    LexiconThread,
    ProcessGrammar,
    SlotGrammar,
    WorldGrammar,
    WorldLexicon,
)
from recall_bench.generate.verification.value_readers import (
    FoundValue,
    Key,
    NameIndex,
    UnnamedValueReader,
    ValueReader,
    fold_text,
)

About = tuple[str, str]
"""A thread, and one of its slots or steps."""


@dataclass(frozen=True, slots=True)
class SlotStatement:
    """One sentence that gives a slot of a thread a value."""

    value: FoundValue
    """The value, with its position in the sentence."""
    sentence: DaySentence
    is_stale: bool = False
    """Named as a former value."""

    @property
    def day(self) -> int:
        """The story day of its sentence."""
        return self.sentence.day

    @property
    def session(self) -> str:
        """The session of its sentence."""
        return self.sentence.session


@dataclass(frozen=True, slots=True)
class ReadingDoubt:
    """A sentence that may state something but is unclear."""

    sentence: DaySentence
    problem: str

    def __str__(self) -> str:
        return f"{self.problem}; {self.sentence.place}"


@dataclass(slots=True)
class StatementTable:
    """Everything the text states, in its order."""

    stated: dict[About, list[SlotStatement]] = field(default_factory=dict)
    steps: dict[About, list[DaySentence]] = field(default_factory=dict)
    doubts: dict[About, list[ReadingDoubt]] = field(default_factory=dict)
    unread: dict[About, list[DaySentence]] = field(default_factory=dict)
    """Sentences with a cue of the slot but no value: where to look if a value is missing."""
    about: dict[str, list[DaySentence]] = field(default_factory=dict)
    """Every sentence about a thread, headings included."""
    blocks: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    """Day and place of every block that names a thread."""
    explained: set[tuple[int, int]] = field(default_factory=set)
    """Day and place of every value that belongs to a statement."""


def read_table(
    days: Iterable[ParsedDay], lexicon: WorldLexicon, grammar: WorldGrammar, names: NameIndex
) -> StatementTable:
    """Read every day once."""
    reading = _TextPass(lexicon, grammar, names)
    for day in days:
        reading.read(day)
    return reading.table


class _TextPass:
    """Reads the text once and fills the table."""

    def __init__(self, lexicon: WorldLexicon, grammar: WorldGrammar, names: NameIndex) -> None:
        self.table = StatementTable()
        self._lexicon = lexicon
        self._names = names
        self._splitter = SentenceSplitter(tuple(lexicon.list_phrases()))
        self._grammar = {
            key: grammar.get_process(thread.process) for key, thread in lexicon.threads.items()
        }

    def read(self, day: ParsedDay) -> None:
        """Read one day."""
        today = compute_story_date(self._lexicon.epoch, day.day).date()
        for block in day.blocks:
            first = min(block.heading[0], block.start)
            names = self._names.find_between(day.text, first, block.end)
            if names:
                self._read_block(day, block, names, today)

    def _read_block(
        self, day: ParsedDay, block: TextBlock, names: list[FoundValue], today: date
    ) -> None:
        scope = _ThreadScope()
        for name in names:
            self.table.blocks.setdefault(str(name.key), set()).add((day.day, block.start))
        for sentence in self._splitter.iterate_sentences(day, block):
            within = [n for n in names if sentence.start <= n.start and n.end <= sentence.end]
            threads, is_sure = scope.find_threads(sentence, within)
            if threads:
                current = _SentenceReading(sentence, today, within, is_sure=is_sure)
                self._read_sentence(current, threads)

    def _read_sentence(self, current: "_SentenceReading", threads: list[str]) -> None:
        if current.is_sure:
            for thread in threads:
                self.table.about.setdefault(thread, []).append(current.sentence)
        readings = {thread: current.read_process(self._grammar[thread]) for thread in threads}
        for thread, (slots, steps) in readings.items():
            for slot, reading in slots.items():
                same = [t for t, (read, _) in readings.items() if reading in read.values()]
                self._note_slot((thread, slot), current, reading, self._name_rivals(same))
            for step in steps:
                same = [t for t in readings if self._grammar[t] is self._grammar[thread]]
                self._note_step((thread, step), current, self._name_rivals(same))

    def _name_rivals(self, threads: list[str]) -> list[str]:
        """The names of the threads of which the sentence says the same, if there are several."""
        return [self._lexicon.threads[t].name for t in threads] if len(threads) > 1 else []

    def _note_slot(
        self, about: About, current: "_SentenceReading", reading: CueReading, rivals: list[str]
    ) -> None:
        table = self.table
        if reading.rivals:
            surfaces = " and ".join(f"“{value.surface}”" for value in reading.rivals)
            problem = (
                f"a sentence with a cue of {about[1]} holds {surfaces}, so it states neither; "
                "leave one out or use a cue with _"
            )
            table.doubts.setdefault(about, []).append(ReadingDoubt(current.sentence, problem))
            return
        values = [(value, True) for value in reading.stale]
        values += [(reading.stated, False)] if reading.stated else []
        if not values:
            table.unread.setdefault(about, []).append(current.sentence)
        elif unclear := current.explain_doubt(about, rivals):
            table.doubts.setdefault(about, []).append(ReadingDoubt(current.sentence, unclear))
        else:
            for value, stale in sorted(values, key=lambda pair: pair[0].start):
                statement = SlotStatement(value, current.sentence, is_stale=stale)
                table.stated.setdefault(about, []).append(statement)
                table.explained.add((current.sentence.day, current.sentence.start + value.start))

    def _note_step(self, about: About, current: "_SentenceReading", rivals: list[str]) -> None:
        if problem := current.explain_doubt(about, rivals):
            self.table.doubts.setdefault(about, []).append(ReadingDoubt(current.sentence, problem))
        else:
            self.table.steps.setdefault(about, []).append(current.sentence)


class _ThreadScope:
    """The threads named so far in a block, and in the current entry or quoted line."""

    def __init__(self) -> None:
        self._in_block: dict[str, None] = {}
        self._in_line: dict[str, None] = {}
        self._line: tuple[int, int, int] | None = None

    def find_threads(
        self, sentence: DaySentence, names: list[FoundValue]
    ) -> tuple[list[str], bool]:
        """The threads a sentence may be about, and whether it is certainly about each of them."""
        if sentence.line != self._line:
            self._line, self._in_line = sentence.line, {}
        named = dict.fromkeys(str(name.key) for name in names)
        self._in_block |= named
        if sentence.line:
            self._in_line |= named
        if named:
            return list(named), True
        so_far = list(self._in_line or self._in_block)
        return so_far, len(so_far) == 1


class _SentenceReading:
    """One sentence while it is read."""

    def __init__(
        self, sentence: DaySentence, today: date, names: list[FoundValue], *, is_sure: bool
    ) -> None:
        self.sentence = sentence
        self.is_sure = is_sure
        self._small = fold_text(sentence.text)
        self._today = today
        self._names = [(n.start - sentence.start, n.end - sentence.start) for n in names]

    def read_process(self, grammar: ProcessGrammar) -> tuple[dict[str, CueReading], list[str]]:
        """What it says about each slot, and the steps it mentions."""
        text, small = self.sentence.text, self._small
        slots = {
            slot.name: reading
            for slot in grammar.slots.values()
            if (reading := slot.read(text, small, self._today, self._names)) is not None
        }
        return slots, [step.name for step in grammar.steps.values() if step.is_told(text, small)]

    def explain_doubt(self, about: About, rivals: list[str]) -> str | None:
        """Why it is unclear which thread is meant; None if it is clear."""
        if not self.is_sure:
            return (
                f"a sentence with a cue of {about[1]} names no thread and its block names several; "
                "name the thread in the sentence"
            )
        if rivals:
            return (
                f"a sentence with a cue of {about[1]} names {' and '.join(rivals)}, and it may be "
                "about either; name one"
            )
        return None


class Underivable(Exception):
    """No answer follows from the text; becomes a finding."""

    def __init__(self, code: VerificationCode, problem: str) -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem


@dataclass(frozen=True, slots=True)
class StatementLookup:
    """Looks up statements by thread, slot and day."""

    lexicon: WorldLexicon
    grammar: WorldGrammar
    table: StatementTable
    names: NameIndex

    def get_date(self, day: int) -> date:
        """The calendar date of a story day."""
        return compute_story_date(self.lexicon.epoch, day).date()

    def get_thread(self, key: str) -> LexiconThread:
        """The thread of this id."""
        found = self.lexicon.threads.get(key)
        if found is None:
            raise Underivable(VerificationCode.DERIVE, f"derive names {key!r}, which is no thread")
        return found

    def get_slot(self, thread: str, slot: str) -> SlotGrammar:
        """The slot of a thread, with what reads it."""
        return self.get_process_slot(self.get_thread(thread).process, slot)

    def get_process_slot(self, process: str, slot: str) -> SlotGrammar:
        """The slot of a process, with what reads it."""
        found = self.grammar.get_process(process).slots.get(slot)
        if found is None:
            raise Underivable(
                VerificationCode.DERIVE, f"derive names {slot!r}, which is no slot of {process}"
            )
        return found

    def build_reader(self, thread: str, slot: str) -> ValueReader:
        """A reader of the slot's values that ignores names of threads."""
        return UnnamedValueReader(self.get_slot(thread, slot).reader, self.names)

    def name_part(self, thread: str, what: str) -> str:
        """A slot or step of a thread as messages name it."""
        return f"{what} of {self.get_thread(thread).name}"

    def list_statements(self, thread: str, slot: str, until: int) -> list[SlotStatement]:
        """Every statement up to a day, stale ones included; Underivable if one is unclear."""
        self.get_slot(thread, slot)
        self._raise_doubts((thread, slot), until)
        return [s for s in self.table.stated.get((thread, slot), ()) if s.day <= until]

    def require_statements(self, thread: str, slot: str, until: int) -> list[SlotStatement]:
        """At least one statement of the slot up to a day, without stale ones."""
        found = [s for s in self.list_statements(thread, slot, until) if not s.is_stale]
        if not found:
            raise Underivable(
                VerificationCode.UNSTATED, self._explain_missing((thread, slot), until)
            )
        return found

    def find_step(self, thread: str, step: str, until: int) -> list[DaySentence]:
        """The sentences about the step, all on one day; empty if it has not happened."""
        process = self.get_thread(thread).process
        if step not in self.grammar.get_process(process).steps:
            raise Underivable(
                VerificationCode.DERIVE, f"derive names {step!r}, which is no step of {process}"
            )
        self._raise_doubts((thread, step), until)
        found = [s for s in self.table.steps.get((thread, step), ()) if s.day <= until]
        if found and found[0].day != found[-1].day:
            raise Underivable(
                VerificationCode.TOLD_TWICE,
                f"{self.name_part(thread, step)} is stated twice; {found[0].place}; "
                f"{found[-1].place}",
            )
        return found

    def require_step(self, thread: str, step: str, until: int) -> list[DaySentence]:
        """At least one sentence about the step, all on one day."""
        found = self.find_step(thread, step, until)
        if not found:
            raise Underivable(
                VerificationCode.UNSTATED,
                f"no sentence up to day {until} about {self.get_thread(thread).name} holds a cue "
                f"of the step {step}",
            )
        return found

    def require_first_step(self, process: str) -> str:
        """The first step of the threads of a process."""
        step = self.lexicon.find_first_step(process)
        if step is None:
            raise Underivable(
                VerificationCode.DERIVE,
                f"the lexicon marks no step of {process}, or several, as the first",
            )
        return step

    def find_loose_mentions(self, thread: str, slot: str, key: Key) -> Iterator[DaySentence]:
        """Sentences about a thread that contain a value of the slot without stating it."""
        reader = self.build_reader(thread, slot)
        for sentence in self.table.about.get(thread, ()):
            for value in reader.find(sentence.text, self.get_date(sentence.day)):
                place = (sentence.day, sentence.start + value.start)
                if value.key == key and place not in self.table.explained:
                    yield sentence

    def _raise_doubts(self, about: About, until: int) -> None:
        for doubt in self.table.doubts.get(about, ()):
            if doubt.sentence.day <= until:
                name = self.name_part(*about)
                raise Underivable(VerificationCode.AMBIGUOUS, f"{name} cannot be read: {doubt}")

    def _explain_missing(self, about: About, until: int) -> str:
        problem = f"no sentence up to day {until} states {self.name_part(*about)}"
        former = [s for s in self.table.stated.get(about, ()) if s.day <= until]
        if former:
            return f"{problem}; this one calls its value a former one: {former[0].sentence.place}"
        near = [s for s in self.table.unread.get(about, ()) if s.day <= until]
        if near:
            kind = self.get_slot(*about).slot.kind
            return (
                f"{problem}; this one has a cue but no {kind} that can be read with it: "
                f"{near[0].place}"
            )
        if not any(s.day <= until for s in self.table.about.get(about[0], ())):
            return f"{problem}; the text never names the thread"
        return problem
