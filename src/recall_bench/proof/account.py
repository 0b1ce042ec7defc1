"""What can be known from the text by a certain day; what cannot is said, never guessed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from recall_bench.core.history import compute_story_date
from recall_bench.proof.finding import VerificationCode
from recall_bench.proof.grammar import SlotGrammar, WorldGrammar
from recall_bench.proof.lexicon import LexiconThread, WorldLexicon
from recall_bench.proof.names import NameIndex, UnnamedValueReader
from recall_bench.proof.passages import DaySentence
from recall_bench.proof.statements import About, SlotStatement, StatementTable
from recall_bench.proof.values import Key, ValueReader


class Underivable(Exception):
    """No answer follows from the text; it never leaves the proof but as a finding."""

    def __init__(self, code: VerificationCode, problem: str) -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem


@dataclass(frozen=True, slots=True)
class StatementLookup:
    """The table of statements, asked by day."""

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
        """What finds the slot's values in any text, names of threads left alone."""
        return UnnamedValueReader(self.get_slot(thread, slot).reader, self.names)

    def name_part(self, thread: str, what: str) -> str:
        """A slot or step of a thread as messages name it."""
        return f"{what} of {self.get_thread(thread).name}"

    def list_statements(self, thread: str, slot: str, until: int) -> list[SlotStatement]:
        """Every statement up to a day, stale ones included; doubts are raised."""
        self.get_slot(thread, slot)
        self._raise_doubts((thread, slot), until)
        return [s for s in self.table.stated.get((thread, slot), ()) if s.day <= until]

    def require_statements(self, thread: str, slot: str, until: int) -> list[SlotStatement]:
        """What is said of the slot up to a day, at least once; stale mentions are left out."""
        found = [s for s in self.list_statements(thread, slot, until) if not s.is_stale]
        if not found:
            raise Underivable(
                VerificationCode.UNSTATED, self._explain_missing((thread, slot), until)
            )
        return found

    def find_step(self, thread: str, step: str, until: int) -> list[DaySentence]:
        """The sentences that tell of the step, all on one day; none if it has not happened."""
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
                f"{self.name_part(thread, step)} is told twice; {found[0].place}; {found[-1].place}",
            )
        return found

    def require_step(self, thread: str, step: str, until: int) -> list[DaySentence]:
        """The sentences that tell of the step, at least one, all on one day."""
        found = self.find_step(thread, step, until)
        if not found:
            raise Underivable(
                VerificationCode.UNSTATED,
                f"no sentence up to day {until} about {self.get_thread(thread).name} holds a cue of "
                f"the step {step}",
            )
        return found

    def require_first_step(self, process: str) -> str:
        """The step with which the threads of a process begin."""
        step = self.lexicon.find_first_step(process)
        if step is None:
            raise Underivable(
                VerificationCode.DERIVE,
                f"the lexicon marks no step of {process}, or several, as the first",
            )
        return step

    def find_loose_mentions(self, thread: str, slot: str, key: Key) -> Iterator[DaySentence]:
        """Sentences about a thread that hold a value of the slot and do not state it."""
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
