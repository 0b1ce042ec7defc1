"""Who writes questions, and about which days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

QuestionEntry = Mapping[str, object]
"""A question as `questions.yaml` has it, without its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWindow:
    """The days since the checkpoint before, up to a checkpoint."""

    number: int
    """Counted from 1."""
    first: int
    last: int
    """The checkpoint: nothing after it may be asked about or drawn on."""

    @property
    def name(self) -> str:
        """As people see it."""
        return f"days {self.first}–{self.last}"


class QuestionWriter(Protocol):
    """Writes candidates; what is kept of them is decided by the checks."""

    @property
    def name(self) -> str:
        """The model's name, or `offline`."""
        ...

    async def write(self, window: QuestionWindow, amount: int) -> Sequence[QuestionEntry]:
        """About so many candidates that rest on days up to the window's last.

        Unwritten if none could be had this time; ModelGone and BudgetSpent end the pass.
        """
        ...
