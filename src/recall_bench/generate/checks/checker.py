"""A question held against the days it rests on, before it is kept or long after."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


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
