"""What can be known from the text by a certain day; what cannot is said, never guessed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from recall_bench.core.history import story_day
from recall_bench.proof.finding import Code
from recall_bench.proof.grammar import Grammar, SlotGrammar
from recall_bench.proof.lexicon import Lexicon, Thread
from recall_bench.proof.names import NameIndex, Unnamed
from recall_bench.proof.passages import Sentence
from recall_bench.proof.statements import About, Statement, Table
from recall_bench.proof.values import Key, Reader


class Underivable(Exception):
    """No answer follows from the text; it never leaves the proof but as a finding."""

    def __init__(self, code: Code, problem: str) -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Account:
    """The table of statements, asked by day."""

    lexicon: Lexicon
    grammar: Grammar
    table: Table
    names: NameIndex

    def date_of(self, day: int) -> date:
        """The calendar date of a story day."""
        return story_day(self.lexicon.epoch, day).date()

    def thread(self, key: str) -> Thread:
        """The thread of this id."""
        found = self.lexicon.threads.get(key)
        if found is None:
            raise Underivable(Code.DERIVE, f"derive names {key!r}, which is no thread")
        return found

    def slot(self, thread: str, slot: str) -> SlotGrammar:
        """The slot of a thread, with what reads it."""
        return self.slot_of(self.thread(thread).process, slot)

    def slot_of(self, process: str, slot: str) -> SlotGrammar:
        """The slot of a process, with what reads it."""
        found = self.grammar.of(process).slots.get(slot)
        if found is None:
            raise Underivable(Code.DERIVE, f"derive names {slot!r}, which is no slot of {process}")
        return found

    def reader(self, thread: str, slot: str) -> Reader:
        """What finds the slot's values in any text, names of threads left alone."""
        return Unnamed(self.slot(thread, slot).reader, self.names)

    def called(self, thread: str, what: str) -> str:
        """A slot or step of a thread as messages name it."""
        return f"{what} of {self.thread(thread).name}"

    def statements(self, thread: str, slot: str, until: int) -> list[Statement]:
        """Every statement up to a day, stale ones included; doubts are raised."""
        self.slot(thread, slot)
        self._raise_doubts((thread, slot), until)
        return [s for s in self.table.stated.get((thread, slot), ()) if s.day <= until]

    def stated(self, thread: str, slot: str, until: int) -> list[Statement]:
        """What is said of the slot up to a day, at least once; stale mentions are left out."""
        found = [s for s in self.statements(thread, slot, until) if not s.is_stale]
        if not found:
            raise Underivable(Code.UNSTATED, self._unstated((thread, slot), until))
        return found

    def told(self, thread: str, step: str, until: int) -> list[Sentence]:
        """The sentences that tell of the step, all on one day; none if it has not happened."""
        process = self.thread(thread).process
        if step not in self.grammar.of(process).steps:
            raise Underivable(Code.DERIVE, f"derive names {step!r}, which is no step of {process}")
        self._raise_doubts((thread, step), until)
        found = [s for s in self.table.steps.get((thread, step), ()) if s.day <= until]
        if found and found[0].day != found[-1].day:
            raise Underivable(
                Code.TOLD_TWICE,
                f"{self.called(thread, step)} is told twice; {found[0].place}; {found[-1].place}",
            )
        return found

    def happened(self, thread: str, step: str, until: int) -> list[Sentence]:
        """The sentences that tell of the step, at least one, all on one day."""
        found = self.told(thread, step, until)
        if not found:
            raise Underivable(
                Code.UNSTATED,
                f"no sentence up to day {until} about {self.thread(thread).name} holds a cue of "
                f"the step {step}",
            )
        return found

    def first_step(self, process: str) -> str:
        """The step with which the threads of a process begin."""
        step = self.lexicon.first_step(process)
        if step is None:
            raise Underivable(
                Code.DERIVE, f"the lexicon marks no step of {process}, or several, as the first"
            )
        return step

    def loose(self, thread: str, slot: str, key: Key) -> Iterator[Sentence]:
        """Sentences about a thread that hold a value of the slot and do not state it."""
        reader = self.reader(thread, slot)
        for sentence in self.table.about.get(thread, ()):
            for value in reader.find(sentence.text, self.date_of(sentence.day)):
                place = (sentence.day, sentence.start + value.start)
                if value.key == key and place not in self.table.explained:
                    yield sentence

    def _raise_doubts(self, about: About, until: int) -> None:
        for doubt in self.table.doubts.get(about, ()):
            if doubt.sentence.day <= until:
                name = self.called(*about)
                raise Underivable(Code.AMBIGUOUS, f"{name} cannot be read: {doubt}")

    def _unstated(self, about: About, until: int) -> str:
        problem = f"no sentence up to day {until} states {self.called(*about)}"
        former = [s for s in self.table.stated.get(about, ()) if s.day <= until]
        if former:
            return f"{problem}; this one calls its value a former one: {former[0].sentence.place}"
        near = [s for s in self.table.unread.get(about, ()) if s.day <= until]
        if near:
            kind = self.slot(*about).slot.kind
            return (
                f"{problem}; this one has a cue but no {kind} that can be read with it: "
                f"{near[0].place}"
            )
        if not any(s.day <= until for s in self.table.about.get(about[0], ())):
            return f"{problem}; the text never names the thread"
        return problem
