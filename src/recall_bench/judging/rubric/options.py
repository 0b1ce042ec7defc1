"""What can be chosen about a judge that follows a written rubric."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class ExcerptMode(StrEnum):
    """How much of the memory window the judge is shown."""

    PASSAGES = "passages"
    """Only what bears on the question, the reference or the answer, within the budget."""
    FULL = "full"
    """Every day of the window, whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricOptions:
    """The choices, with their defaults."""

    showing: ExcerptMode = ExcerptMode.PASSAGES
    budget_tokens: int = 1500
    """The most that passages may take, at four characters a token."""
    cache: Path | None = None
    """The folder of verdicts already paid for; None keeps none."""
