"""What a lint is, what it finds, and the story it checks.

A run refuses a story with a problem. A lint reports the problem and checks the rest, so everything
valid in the files is read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

from recall_bench.core.errors import BenchError, Malformed
from recall_bench.core.record import Record
from recall_bench.core.scenario import CATEGORIES, compute_story_date
from recall_bench.core.yaml12 import Document, read_document
from recall_bench.stories.lint.value_index import DayLog, LintQuestion, ValueIndex
from recall_bench.stories.persona import Inspection, inspect_persona
from recall_bench.stories.persona_files import Layout, list_days
from recall_bench.stories.persona_questions import parse_questions
from recall_bench.stories.persona_story import (
    EPOCH,
    Arc,
    Persona,
    Session,
    Story,
    parse_persona,
    parse_story,
)
from recall_bench.stories.text_dates import CalendarAudit, audit_calendar, find_text_date
from recall_bench.text.text_values import QUOTE, TextValue, find_claims


class Severity(StrEnum):
    """How serious a finding is."""

    ERROR = "error"
    """An answer is wrong, two are right, or a right one would be marked wrong."""
    WARNING = "warning"
    """The questions measure something else, or less, than they claim."""
    NOTE = "note"
    """A fact to know before trusting the numbers."""

    @property
    def rank(self) -> int:
        """0 for the most serious."""
        return list(Severity).index(self)


class LintFinding(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One problem: its place, and what to do about it."""

    code: str = ""
    severity: Severity = Severity.NOTE
    """Code and severity are those of the lint, which adds them."""
    message: str
    file: str
    """The path relative to the data folder."""
    line: int | None = None
    question: str | None = None

    @property
    def where(self) -> str:
        """File, line and question, as far as known."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return place if self.question is None else f"{place} {self.question}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """One check of a dataset."""

    code: str
    severity: Severity
    summary: str
    """One sentence: the property of a sound dataset, and why."""
    check: "Check"

    def run(self, corpus: "LintCorpus") -> tuple[LintFinding, ...]:
        """Return all findings of the check, in its order."""
        findings = self.check(corpus)
        return tuple(one.replace(code=self.code, severity=self.severity) for one in findings)


_OF_THE_DAYS = (
    *("by_number", "calendar", "text_dates", "participants", "isolated", "index"),
    "known_stems",
)
"""Properties that do not depend on the questions, if everything is indexed."""


@dataclass(frozen=True)
class LintCorpus:
    """A story, its days and its questions."""

    layout: Layout
    inspection: Inspection
    persona: Persona | None
    story: Story | None
    arc_lines: Mapping[str, int]
    days: tuple[DayLog, ...]
    questions: tuple[LintQuestion, ...]
    is_indexed_whole: bool = False
    """Whether the index holds all values of the days, not only those that these questions need."""

    def replace_questions(self, questions: Iterable[LintQuestion]) -> "LintCorpus":
        """Return the story with other questions; its days are indexed once."""
        other = replace(self, questions=tuple(questions), is_indexed_whole=True)
        if self.is_indexed_whole:
            vars(other).update({name: getattr(self, name) for name in _OF_THE_DAYS})
        return other

    @cached_property
    def by_number(self) -> dict[int, DayLog]:
        """The days by story day."""
        return {day.number: day for day in self.days}

    @cached_property
    def calendar(self) -> CalendarAudit | None:
        """How the dates in the text compare with the story's; None without days."""
        if not self.days:
            return None
        own = [find_text_date(day.text) for day in self.days]
        return audit_calendar([day.number for day in self.days], self.epoch, own)

    @cached_property
    def known_stems(self) -> dict[str, frozenset[str]]:
        """The stems of the sentences read so far: questions are checked one by one."""
        return {}

    @property
    def epoch(self) -> date:
        """The calendar date of day 1."""
        return self.story.epoch if self.story else EPOCH

    def find_date(self, day: int) -> date:
        """Return the date of a day in the story's calendar."""
        return compute_story_date(self.epoch, day).date()

    @cached_property
    def text_dates(self) -> dict[int, date]:
        """The date of each day by its own text."""
        audit = self.calendar
        dates = audit.dates if audit else ()
        return {day.number: at for day, at in zip(self.days, dates, strict=True)}

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions of the story."""
        if self.story:
            return self.story.sessions
        return self.persona.sessions if self.persona else ()

    @cached_property
    def isolated(self) -> frozenset[str]:
        """The sessions whose content must not be disclosed."""
        return frozenset(session.id for session in self.sessions if session.isolated)

    @cached_property
    def participants(self) -> dict[str, frozenset[str]]:
        """The participants of each session."""
        return {session.id: frozenset(session.participants) for session in self.sessions}

    @cached_property
    def by_category(self) -> dict[str, list[LintQuestion]]:
        """The questions of each category, in the usual order; all categories are present."""
        grouped: dict[str, list[LintQuestion]] = {category: [] for category in CATEGORIES}
        for question in self.questions:
            grouped[question.category].append(question)
        return grouped

    @cached_property
    def index(self) -> ValueIndex:
        """Where the days contain the values of answers, corrections and canaries."""
        return ValueIndex(self.days, None if self.is_indexed_whole else self._collect_values())

    def _collect_values(self) -> Iterator[TextValue]:
        for question in self.questions:
            yield from question.atoms
            yield from (make_canary(text) for text in question.list_texts("canaries"))
        for arc in self.story.arcs if self.story else ():
            yield from find_claims(arc.wrong_belief or "")
            yield from find_claims(arc.corrected_belief or "")

    @property
    def days_name(self) -> str:
        """The folder of the days, for remarks."""
        return self.layout.name(self.layout.memories)

    @property
    def questions_name(self) -> str:
        """The file of the questions, for remarks."""
        return self.layout.name(self.layout.questions_file)

    def note_question(self, question: LintQuestion, message: str) -> LintFinding:
        """Make a remark about one question."""
        return LintFinding(
            message=message, file=self.questions_name, line=question.line, question=question.item.id
        )

    def note_questions(self, message: str) -> LintFinding:
        """Make a remark about the questions as a whole."""
        return LintFinding(message=message, file=self.questions_name)

    def note_arc(self, arc: Arc, message: str) -> LintFinding:
        """Make a remark about one arc."""
        name = self.layout.name(self.layout.arcs_file)
        return LintFinding(message=message, file=name, line=self.arc_lines.get(arc.id))

    def note_day(self, day: DayLog, message: str) -> LintFinding:
        """Make a remark about one day."""
        return LintFinding(message=message, file=day.name)

    def note_days(self, message: str) -> LintFinding:
        """Make a remark about the days as a whole."""
        return LintFinding(message=message, file=self.days_name)


Check = Callable[[LintCorpus], Iterable[LintFinding]]
QuestionMessage = Callable[[LintCorpus, LintQuestion], str | None]


class LintGroup(list[Lint]):
    """The lints of one topic; its methods register a check under a code."""

    def add_check(self, code: str, severity: Severity, summary: str) -> Callable[[Check], Check]:
        """Register a check of the whole story."""

        def register(check: Check) -> Check:
            self.append(Lint(code=code, severity=severity, summary=summary, check=check))
            return check

        return register

    def add_question_check(
        self, code: str, severity: Severity, summary: str
    ) -> Callable[[QuestionMessage], QuestionMessage]:
        """Register a function that returns what is wrong with one question, or None."""

        def register(describe: QuestionMessage) -> QuestionMessage:
            def check(corpus: LintCorpus) -> Iterator[LintFinding]:
                for question in corpus.questions:
                    if message := describe(corpus, question):
                        yield corpus.note_question(question, message)

            self.add_check(code, severity, summary)(check)
            return describe

        return register


def make_canary(text: str) -> TextValue:
    """Return a value for a string that is searched literally."""
    value = " ".join(text.lower().split())
    return TextValue(QUOTE, value, value, text)


def read_corpus(folder: Path, arcs: str) -> LintCorpus:
    """Read everything that can be read; problems of the files are in its `inspection`."""
    layout = Layout(folder, arcs)
    persona_file = _read_document(layout, layout.persona_file)
    persona = parse_persona(persona_file, []) if persona_file else None
    arcs_file = _read_document(layout, layout.arcs_file)
    story = parse_story(arcs_file, persona, [], []) if arcs_file else None
    days = tuple(_read_days(layout, story.epoch if story else EPOCH))
    return LintCorpus(
        layout=layout,
        inspection=inspect_persona(folder, arcs=arcs),
        persona=persona,
        story=story,
        arc_lines=_find_arc_lines(arcs_file) if arcs_file and story else {},
        days=days,
        questions=tuple(_read_questions(layout, {day.number for day in days})),
    )


def _read_document(layout: Layout, path: Path) -> Document | None:
    try:
        if not path.is_file():
            return None
        return read_document(path, name=layout.name(path), keeps_lines=True)
    except Malformed:
        return None


def _find_arc_lines(document: Document) -> dict[str, int]:
    content = document.content
    arcs = content.get("arcs") if isinstance(content, dict) else None
    if not _is_list(arcs):
        return {}
    return {
        str(arc["id"]): document.find_line("arcs", index)
        for index, arc in enumerate(arcs)
        if isinstance(arc, dict) and "id" in arc
    }


def _read_days(layout: Layout, epoch: date) -> list[DayLog]:
    if not layout.memories.is_dir():
        return []
    logs = []
    last = date.max.toordinal() - epoch.toordinal() + 1
    for file in list_days(layout, [], []):
        if not 1 <= file.day <= last:
            continue
        try:
            logs.append(DayLog(file.day, file.name, file.read()))
        except Malformed:
            continue
    return logs


def _read_questions(layout: Layout, days: set[int]) -> list[LintQuestion]:
    document = _read_document(layout, layout.questions_file)
    if document is None or not _is_list(document.content):
        return []
    problems: list[BenchError] = []
    items = parse_questions(document, days=days, sessions=(), problems=problems, warnings=[])
    places = {
        str(row.get("id")): (index, row)
        for index, row in reversed(list(enumerate(document.content)))
        if isinstance(row, dict)
    }
    questions = []
    for item in items:
        index, row = places[item.id]
        extra = {str(key): value for key, value in row.items()}
        questions.append(LintQuestion(item, document.find_line(index), extra))
    return questions


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)
