"""The protocol of a selector, and the adapter that runs one as a system of the engine."""

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
from recall_bench.features.selection.memory_file import MemoryFile, read_memory


class MemorySelection(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a selector picked for one prompt."""

    names: tuple[str, ...]
    """As returned, each once, best first if it ranks: `memory/travel.md`. Names that are not on
    disk stay in the list and are reported."""
    presearched: tuple[str, ...] | None = None
    """The candidates left by a presearch; None without one."""
    usage: Usage | None = None
    """Usage of language models; None if it used none."""
    notes: tuple[str, ...] = ()
    """Remarks, one sentence each: a step that failed and what was done instead, a dropped name."""


class LoadedSelector(Protocol):
    """A selector that has read one folder of memories. Selecting changes nothing."""

    async def select(self, prompt: str) -> MemorySelection:
        """Select for the prompt, or raise SystemFault."""

    async def close(self) -> None:
        """Release resources."""


class WithoutResources:
    """A selector or chooser that has nothing to release."""

    async def close(self) -> None:
        """Do nothing."""


class Selector(Protocol):
    """Selects memories for prompts."""

    @property
    def card(self) -> SystemCard:
        """Its name and version, with every setting that can change a selection."""

    async def open(self, memories: Sequence[MemoryFile]) -> LoadedSelector:
        """Read the memories, sorted by name."""

    async def close(self) -> None:
        """Release the selector's own resources. Called once, after the last chooser is closed."""


class SelectorSystem:
    """Feeds memories to a selector as episodes, and returns selected names as passages.

    An episode's id is the name of a memory, its text the file. With a cost limit, BudgetSpent is
    raised instead of the first selection beyond it.
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
        """Usage since the last call that no selection reports."""
        wasted = self._selector.drain() if isinstance(self._selector, MeteringSystem) else Usage()
        self._spent_usd += wasted.cost_usd
        return wasted

    def refuse_if_spent(self) -> None:
        """Raise BudgetSpent if the limit is reached."""
        if self._allowed_usd is not None and self._spent_usd >= self._allowed_usd:
            raise BudgetSpent(
                f"selecting has cost ${self._spent_usd:.4f}, and --max-cost allows "
                f"${self._allowed_usd:.4f}; run the same command with a higher limit to continue"
            )

    def add_cost(self, usage: Usage | None) -> None:
        """Count the cost of a selection, or of all earlier ones."""
        self._spent_usd += usage.cost_usd if usage is not None else 0.0


class SelectorMemory:
    """The ingested files, and the chooser once it has read them."""

    def __init__(self, selector: Selector, system: SelectorSystem) -> None:
        self._selector = selector
        self._system = system
        self._files: list[MemoryFile] = []
        self._chooser: LoadedSelector | None = None
        self._read = 0
        """Number of files the chooser has read."""

    async def ingest(self, episode: Episode) -> None:
        """Keep one file until the memory settles."""
        self._files.append(read_memory(episode.id, episode.text))

    async def settle(self) -> None:
        """Let the selector read all files, unless it has read them already."""
        if self._chooser is not None and self._read == len(self._files):
            return
        await self.close()
        in_order = sorted(self._files, key=lambda file: file.name)
        self._chooser = await self._selector.open(in_order)
        self._read = len(in_order)

    async def answer(self, question: Question) -> RetrievalReply:
        """The selection for the question's text, in the selector's order."""
        if self._chooser is None:
            raise SystemFault("the memories are not settled yet; call settle before answer")
        self._system.refuse_if_spent()
        selection = await self._chooser.select(question.text)
        self._system.add_cost(selection.usage)
        details: dict[str, object] = {}
        if selection.presearched is not None:
            details["presearched"] = list(selection.presearched)
        if selection.notes:
            details["notes"] = list(selection.notes)
        return RetrievalReply(
            # The file holds the text: a run need not store it again for every prompt.
            passages=tuple(Passage(id=name, text="") for name in selection.names),
            tool_calls=(details,) if details else (),
            usage=selection.usage,
        )

    async def close(self) -> None:
        """Release the chooser."""
        chooser, self._chooser = self._chooser, None
        if chooser is not None:
            await chooser.close()
