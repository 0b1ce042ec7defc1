"""What it takes to pick memories."""

from collections.abc import Sequence
from typing import Protocol

from recall_bench.core.errors import BudgetSpent, SystemFault
from recall_bench.core.memory import (
    Asker,
    Clock,
    MeteringSystem,
    Passage,
    RetrievalReply,
    SystemCard,
)
from recall_bench.core.record import Record
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.usage import Usage
from recall_bench.datasets.selection.memory_file import MemoryFile, read_memory


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


class SelectorSystem:
    """Hands the folder of memories over as a story, and reports names as passages.

    An episode's id is the name of a memory, and its text the file. With a limit, BudgetSpent is
    raised in the place of the selection that would go beyond it.
    """

    def __init__(self, selector: Selector, *, allowed_usd: float | None = None) -> None:
        self._allowed_usd = allowed_usd
        self._spent_usd = 0.0
        self.card = selector.card.replace(answers=False, clock=Clock.NONE, asker=Asker.UNTOLD)
        self.snapshots = None
        self._selector = selector

    async def open(self, scenario: str) -> "SelectorMemory":  # noqa: ARG002 - the same for all
        """A memory without files yet."""
        return SelectorMemory(self._selector, self)

    async def close(self) -> None:
        """Release the selector."""
        await self._selector.close()

    def drain(self) -> Usage:
        """What the selector spent since the last time that no selection reports."""
        wasted = self._selector.drain() if isinstance(self._selector, MeteringSystem) else Usage()
        self._spent_usd += wasted.cost_usd
        return wasted

    def refuse_if_spent(self) -> None:
        """Raise BudgetSpent before a selection that cannot be paid."""
        if self._allowed_usd is not None and self._spent_usd >= self._allowed_usd:
            raise BudgetSpent(
                f"selecting has cost ${self._spent_usd:.4f}, and --max-cost allows "
                f"${self._allowed_usd:.4f}; the same command with more goes on"
            )

    def add_cost(self, usage: Usage | None) -> None:
        """Take the cost of a selection, or of all earlier ones, into account."""
        self._spent_usd += usage.cost_usd if usage is not None else 0.0


class SelectorMemory:
    """The files that were handed over, and the selector once it has read them."""

    def __init__(self, selector: Selector, payer: SelectorSystem) -> None:
        self._selector = selector
        self._payer = payer
        self._files: list[MemoryFile] = []
        self._chooser: Chooser | None = None
        self._read = 0
        """How many of the files the chooser has read."""

    async def ingest(self, episode: Episode) -> None:
        """Keep one file until the memory settles."""
        self._files.append(read_memory(episode.id, episode.text))

    async def settle(self) -> None:
        """Let the selector read all files there are, unless it has read them already."""
        if self._chooser is not None and self._read == len(self._files):
            return
        await self.close()
        in_order = sorted(self._files, key=lambda file: file.name)
        self._chooser = await self._selector.open(in_order)
        self._read = len(in_order)

    async def answer(self, question: Question) -> RetrievalReply:
        """What the selector picks for the question's text, in its order."""
        if self._chooser is None:
            raise SystemFault("the memories are not settled yet, so nobody can pick from them")
        self._payer.refuse_if_spent()
        selection = await self._chooser.select(question.text)
        self._payer.add_cost(selection.usage)
        return _build_found(selection)

    async def close(self) -> None:
        """Release what the selector holds of these files."""
        chooser, self._chooser = self._chooser, None
        if chooser is not None:
            await chooser.close()


def _build_found(selection: MemorySelection) -> RetrievalReply:
    told: dict[str, object] = {}
    if selection.presearched is not None:
        told["presearched"] = list(selection.presearched)
    if selection.notes:
        told["notes"] = list(selection.notes)
    return RetrievalReply(
        # The text is the file's: a run need not hold it once more for every prompt.
        passages=tuple(Passage(id=name, text="") for name in selection.names),
        tool_calls=(told,) if told else (),
        usage=selection.usage,
    )
