"""Any selector as a system of the engine: memories are episodes, and what it picks is found."""

from recall_bench.core.history import Episode
from recall_bench.core.memory import Asker, Clock, MeteringSystem, Passage, RetrievalReply
from recall_bench.core.question import Question
from recall_bench.core.usage import Usage
from recall_bench.errors import BudgetSpent, SystemFault
from recall_bench.selection.files.memory_file import MemoryFile, read_memory
from recall_bench.selection.selectors.selector import Chooser, MemorySelection, Selector


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
