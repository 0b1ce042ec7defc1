"""What a writer makes of a draw: a test in the making, or the reason why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from recall_bench.core.usage import Usage
from recall_bench.selection.files.memory_file import MemoryFile
from recall_bench.selection.generate.chance import SampleRandom


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDraft:
    """A prompt and what it should recall."""

    prompt: str
    expected: tuple[str, ...]
    """Sorted by name."""


@dataclass(frozen=True, slots=True)
class DrawRefusal:
    """Why this draw makes no test; another one may."""

    reason: str


class PromptWriter(Protocol):
    """Somebody who writes prompts."""

    @property
    def name(self) -> str:
        """As the header `Model` has it."""
        ...

    @property
    def usage(self) -> Usage:
        """What was spent so far, failed samples included."""
        ...

    async def write(
        self, picked: Sequence[MemoryFile], chance: SampleRandom
    ) -> SuiteDraft | DrawRefusal:
        """A prompt that needs some of the picked memories, or raise ModelFault or BudgetSpent."""
        ...

    async def chat(
        self, category: str, before: Sequence[str], chance: SampleRandom
    ) -> SuiteDraft | DrawRefusal:
        """A message that needs no memory and is unlike those before it."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...
