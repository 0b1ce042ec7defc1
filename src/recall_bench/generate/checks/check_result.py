"""A question held against the days it rests on, before it is kept or long after."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from recall_bench.core.errors import DataError
from recall_bench.core.record import Record
from recall_bench.core.usage import Usage
from recall_bench.generate.pass_run import INCOMPLETE, MissingUnit, PassStop


class ProblemKind(StrEnum):
    """What can be wrong with a question."""

    FORMAT = "format"
    """A field is missing, or holds what it cannot."""
    SUPPORT = "support"
    """The days it names do not hold its answer."""
    STALENESS = "staleness"
    """A later day changes the answer, and the question does not say of when it asks."""
    VAGUENESS = "vagueness"
    """Nobody can tell which time, window or thing is meant, or it speaks of the benchmark."""
    DUPLICATE = "duplicate"
    BOUNDARY = "boundary"
    """Who may know, who asks and what is disclosed do not fit together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionProblem:
    """One thing wrong with a question."""

    kind: ProblemKind
    message: str
    """One sentence: what, where, what to do."""
    is_grave: bool = False
    """Whether a right answer would be marked wrong, or a wrong one right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRepair:
    """What would put a question right."""

    changes: Mapping[str, object]
    """Fields and their new values; None takes a field away."""
    why: str
    removes: bool = False
    """Whether the question is to go; then nothing is changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCheck:
    """What the checks say about one question."""

    problems: tuple[QuestionProblem, ...]
    repair: QuestionRepair | None = None
    """None where nothing is wrong, or nothing can be done without judgement."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class QuestionChecker(Protocol):
    """Knows the days of a story and the questions kept so far."""

    def examine(self, entry: Mapping[str, object]) -> QuestionCheck:
        """What is wrong with a question, and what would put it right."""
        ...

    def keep(self, entry: Mapping[str, object]) -> None:
        """The question is kept: none after it may repeat it."""
        ...


MAX_SHOWN = 5
"""Problems of a kind that are printed; all of them are in the file."""


class QuestionVerdict(StrEnum):
    """What becomes of a question."""

    ANSWERABLE = "ANSWERABLE"
    NEEDS_CLEANUP = "NEEDS_CLEANUP"
    """It can be answered, and measures something else, or less, than it says."""
    DEFECTIVE = "DEFECTIVE"
    """A right answer would be marked wrong, or a wrong one right."""

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(QuestionVerdict).index(self)


class FoundProblem(Record, frozen=True, kw_only=True):
    """One thing wrong with a question."""

    kind: ProblemKind
    message: str


class ProposedRepair(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What would put a question right."""

    changes: dict[str, object]
    """Fields and their new values; null takes a field away."""
    why: str
    removes: bool = False


class VerifiedQuestion(Record, frozen=True, kw_only=True):
    """One question of the file, as `verification.jsonl` has it."""

    id: str
    verdict: QuestionVerdict
    problems: tuple[FoundProblem, ...] = ()
    repair: ProposedRepair | None = None
    model: str | None = None
    """What the model said of it, in its own words; None where none was asked or none replied."""
    refused: str | None = None
    """Why what the model suggested is not proposed."""


class VerifyResult(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A question file that was held against its story."""

    persona: str
    file: str
    days: int
    lines: tuple[VerifiedQuestion, ...]
    verification: str | None = None
    """Where the lines are; None if the pass was stopped before there were all."""
    proposal: str | None = None
    """The file with the repairs made; None if there are none."""
    notes: tuple[str, ...] = ()
    missing: tuple[MissingUnit, ...] = ()
    fill: str | None = None
    usage: Usage = Usage()
    spent: Usage = Usage()
    stopped: PassStop | None = None

    @property
    def exit_code(self) -> int:
        """0 if nothing is wrong, 3 if something is, 10 if the model did not reply to all of it."""
        if self.stopped is not None:
            return self.stopped.exit_code
        if self.missing:
            return INCOMPLETE
        return DataError.exit_code if any(line.problems for line in self.lines) else 0

    @property
    def in_words(self) -> str:
        """The counts of each kind, then the first problems of each; several lines."""
        parts = [f"{self.file}: {_format_count(len(self.lines), 'question')}"]
        parts[0] += f" on {_format_count(self.days, 'day')}"
        verdicts = Counter(line.verdict for line in self.lines)
        parts.append(
            f"{verdicts[QuestionVerdict.ANSWERABLE]} answerable, {verdicts[QuestionVerdict.NEEDS_CLEANUP]} to be "
            f"cleaned up, {verdicts[QuestionVerdict.DEFECTIVE]} defective"
        )
        parts += [*_render_table(self.lines), *_list_problems(self.lines), "", *self.notes]
        if self.missing:
            parts.append(f"without a verdict of the model: {len(self.missing)}")
            parts.append(f"first, {self.missing[0].unit}: {self.missing[0].reason}")
        if self.fill is not None and (self.missing or self.stopped):
            parts.append(f"to ask for them again: {self.fill}")
        if self.spent.calls:
            parts.append(_format_usage(self.usage))
        return "\n".join(parts).rstrip()


def _format_usage(usage: Usage) -> str:
    price = f"{usage.cost_usd:.4f} USD" if not usage.unpriced else "price unknown"
    return (
        f"{usage.calls} calls, {usage.input_tokens:,} tokens in and {usage.output_tokens:,} out, "
        f"{price}; {usage.cached} replies were on record"
    )


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _render_table(lines: tuple[VerifiedQuestion, ...]) -> Iterator[str]:
    if not any(line.problems for line in lines):
        return
    yield ""
    yield f"  {'':<10} {'problems':>9} {'questions':>10} {'with a repair':>14}"
    for kind in ProblemKind:
        having = [line for line in lines if any(p.kind is kind for p in line.problems)]
        if having:
            total = sum(p.kind is kind for line in having for p in line.problems)
            mended = sum(line.repair is not None for line in having)
            yield f"  {kind:<10} {total:>9,} {len(having):>10,} {mended:>14,}"


def _list_problems(lines: tuple[VerifiedQuestion, ...]) -> Iterator[str]:
    for kind in ProblemKind:
        found = [(line.id, p.message) for line in lines for p in line.problems if p.kind is kind]
        if found:
            yield ""
            yield f"{kind}:"
        for name, message in found[:MAX_SHOWN]:
            yield f"  {name}: {message}"
        if len(found) > MAX_SHOWN:
            yield f"  and {len(found) - MAX_SHOWN:,} more"
