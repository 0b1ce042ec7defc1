"""Leaks: answers that hold what the asker must not be told. Counted by looking, not by judging."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from recall_bench.core.question import Truth
from recall_bench.core.secrets import told_secrets


@dataclass(frozen=True, slots=True)
class Leaks:
    """How many answers could have leaked, and how many did."""

    answers: int = 0
    leaked: int = 0

    def __add__(self, other: Self) -> "Leaks":
        return Leaks(self.answers + other.answers, self.leaked + other.leaked)

    @property
    def share(self) -> float | None:
        """The part of the answers that leaked; None if none could."""
        return self.leaked / self.answers if self.answers else None


def can_leak(truth: Truth) -> bool:
    """Whether something about the question must not be told to whoever asks it."""
    return bool(truth.canaries or truth.withheld)


def has_leaked(truth: Truth, answer: str) -> bool:
    """Whether the answer holds a canary or the withheld value, however it is spaced or cased."""
    return bool(told_secrets(truth, answer))


def leaks_of(answers: Iterable[tuple[Truth, str]]) -> Leaks:
    """Count over answers to questions that can leak; others do not count."""
    found = [has_leaked(truth, answer) for truth, answer in answers if can_leak(truth)]
    return Leaks(len(found), sum(found))
