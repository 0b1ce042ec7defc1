"""Problems and repairs of questions, and the result of verifying a question file."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from recall_bench.core.errors import DataError
from recall_bench.core.plain_text import format_quantity, make_table, render_text
from recall_bench.core.record import Record
from recall_bench.core.usage import Usage
from recall_bench.features.personas.pass_run import INCOMPLETE, MissingUnit, PassStop, format_usage


class ProblemKind(StrEnum):
    """The kinds of problems of a question."""

    FORMAT = "format"
    """A field is missing or invalid."""
    SUPPORT = "support"
    """Its relevant days do not hold its answer."""
    STALENESS = "staleness"
    """A later day changes the answer, and the question names no date."""
    VAGUENESS = "vagueness"
    """It is unclear which time, period or thing is meant, or it mentions the benchmark."""
    DUPLICATE = "duplicate"
    BOUNDARY = "boundary"
    """Who may know, who asks and what is disclosed are inconsistent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionProblem:
    """A problem of a question as a check reports it."""

    kind: ProblemKind
    message: str
    """What is wrong, where, and what to do."""
    is_severe: bool = False
    """Whether answers would be graded wrongly."""


def make_format_problem(message: str, *, is_severe: bool = False) -> QuestionProblem:
    """A missing or invalid field."""
    return QuestionProblem(kind=ProblemKind.FORMAT, message=message, is_severe=is_severe)


def make_support_problem(message: str, *, is_severe: bool = False) -> QuestionProblem:
    """Something that the days do not hold."""
    return QuestionProblem(kind=ProblemKind.SUPPORT, message=message, is_severe=is_severe)


def make_boundary_problem(message: str, *, is_severe: bool = False) -> QuestionProblem:
    """A secret that is told, or asked for where it is none."""
    return QuestionProblem(kind=ProblemKind.BOUNDARY, message=message, is_severe=is_severe)


class QuestionRepair(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Changes that would correct a question."""

    changes: dict[str, object]
    """New values by field; None removes a field."""
    why: str
    removes: bool = False
    """Whether to remove the question instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCheck:
    """The result of checking one question."""

    problems: tuple[QuestionProblem, ...]
    repair: QuestionRepair | None = None
    """None without problems, or without an obvious repair."""

    @property
    def is_sound(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


class QuestionChecker(Protocol):
    """Checks questions against the days of a story and the questions kept so far."""

    def check(self, entry: Mapping[str, object]) -> QuestionCheck:
        """The problems of a question and a repair."""
        ...

    def keep(self, entry: Mapping[str, object]) -> None:
        """Note that the question is kept, so that later ones must not repeat it."""
        ...


MAX_SHOWN = 5
"""Problems of a kind that are printed; the file has all."""


class QuestionVerdict(StrEnum):
    """The verdict on a question."""

    ANSWERABLE = "ANSWERABLE"
    NEEDS_CLEANUP = "NEEDS_CLEANUP"
    """It can be answered, but measures something else than intended."""
    DEFECTIVE = "DEFECTIVE"
    """Answers would be graded wrongly."""

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(QuestionVerdict).index(self)


class FoundProblem(Record, frozen=True, kw_only=True):
    """A problem of a question as files store it."""

    kind: ProblemKind
    message: str


class VerifiedQuestion(Record, frozen=True, kw_only=True):
    """A line of `verification.jsonl`."""

    id: str
    verdict: QuestionVerdict
    problems: tuple[FoundProblem, ...] = ()
    repair: QuestionRepair | None = None
    model: str | None = None
    """The model's opinion; None without one."""
    refused: str | None = None
    """Why the model's suggestion is not proposed."""


class VerifyResult(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The result of verifying a question file."""

    persona: str
    file: str
    days: int
    lines: tuple[VerifiedQuestion, ...]
    verification: str | None = None
    """The file with all lines; None if the pass was stopped."""
    proposal: str | None = None
    """The repaired question file; None without repairs."""
    notes: tuple[str, ...] = ()
    missing: tuple[MissingUnit, ...] = ()
    fill: str | None = None
    usage: Usage = Usage()
    spent: Usage = Usage()
    stopped: PassStop | None = None

    @property
    def exit_code(self) -> int:
        """0 without problems, 3 with problems, 10 if the model's opinion on some is missing."""
        if self.stopped is not None:
            return self.stopped.exit_code
        if self.missing:
            return INCOMPLETE
        return DataError.exit_code if any(line.problems for line in self.lines) else 0

    @property
    def in_words(self) -> str:
        """The result as text: counts of each kind, then their first problems."""
        parts = [f"{self.file}: {format_quantity(len(self.lines), 'question')}"]
        parts[0] += f" on {format_quantity(self.days, 'day')}"
        verdicts = Counter(line.verdict for line in self.lines)
        parts.append(
            f"{verdicts[QuestionVerdict.ANSWERABLE]} answerable, "
            f"{verdicts[QuestionVerdict.NEEDS_CLEANUP]} to be "
            f"cleaned up, {verdicts[QuestionVerdict.DEFECTIVE]} defective"
        )
        parts += [*_render_table(self.lines), *_list_problems(self.lines), "", *self.notes]
        if self.missing:
            parts.append(f"no model verdict for {format_quantity(len(self.missing), 'question')}")
            parts.append(f"first, {self.missing[0].unit}: {self.missing[0].reason}")
        if self.fill is not None and (self.missing or self.stopped):
            parts.append(f"to retry: {self.fill}")
        if self.spent.calls:
            parts.append(format_usage(self.usage, self.spent))
        return "\n".join(parts).rstrip()


def _render_table(lines: tuple[VerifiedQuestion, ...]) -> Iterator[str]:
    rows = []
    for kind in ProblemKind:
        affected = [line for line in lines if any(p.kind is kind for p in line.problems)]
        if affected:
            total = sum(p.kind is kind for line in affected for p in line.problems)
            repaired = sum(line.repair is not None for line in affected)
            rows.append([kind.value, *(f"{n:,}" for n in (total, len(affected), repaired))])
    if rows:
        yield ""
        table = make_table(("kind", "problems", "questions", "with a repair"), rows)
        yield from (f"  {line}" for line in render_text(table))


def _list_problems(lines: tuple[VerifiedQuestion, ...]) -> Iterator[str]:
    for kind in ProblemKind:
        results = [(line.id, p.message) for line in lines for p in line.problems if p.kind is kind]
        if results:
            yield ""
            yield f"{kind}:"
        for name, message in results[:MAX_SHOWN]:
            yield f"  {name}: {message}"
        if len(results) > MAX_SHOWN:
            yield f"  and {len(results) - MAX_SHOWN:,} more"
