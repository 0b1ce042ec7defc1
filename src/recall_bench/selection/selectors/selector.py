"""What it takes to pick memories."""

from collections.abc import Sequence
from typing import Protocol

from recall_bench.core.memory import SystemCard
from recall_bench.core.record import Record
from recall_bench.core.usage import Usage
from recall_bench.selection.files.memory_file import MemoryFile


class MemorySelection(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a selector picked for one prompt."""

    names: tuple[str, ...]
    """As it gave them, each once, best first where it ranks: `memory/travel.md`. A name that is
    not on disk stays: it is reported."""
    presearched: tuple[str, ...] | None = None
    """What was left to choose from, where something was ruled out before; None where not."""
    usage: Usage | None = None
    """What it spent on language models; None where it used none."""
    notes: tuple[str, ...] = ()
    """What somebody who reads the selection should know about how it came to be, a sentence each:
    a step that failed and what was done instead, a name that was left out."""


class Chooser(Protocol):
    """A selector that has read one folder of memories. Asking it changes nothing."""

    async def select(self, prompt: str) -> MemorySelection:
        """Pick, or raise SystemFault."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...


class Selector(Protocol):
    """Somebody who can be given memories to pick from."""

    @property
    def card(self) -> SystemCard:
        """Who it is, with every setting that can change what it picks."""
        ...

    async def open(self, memories: Sequence[MemoryFile]) -> Chooser:
        """Read the memories, which come sorted by name."""
        ...

    async def close(self) -> None:
        """Release what the selector itself holds. Called once, after the last chooser."""
        ...
