"""Five memories of a small agent, as files and as records, and selectors that do as told."""

from collections.abc import Sequence
from pathlib import Path

from recall_bench.core.memory import SystemCard
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.selector import MemorySelection, Selector


def memory(name: str, body: str, *keywords: str, hint: str | None = None) -> MemoryFile:
    """A memory with its parts in the usual order."""
    parts = [f"<conditional>{hint}</conditional>"] if hint else []
    parts += [f"<fuzzy-match>{', '.join(keywords)}</fuzzy-match>"] if keywords else []
    text = "\n".join([*parts, f"<memory>{body}</memory>", ""])
    return MemoryFile(
        name=f"memory/{name}.md", text=text, body=body, hint=hint, keywords=tuple(keywords)
    )


COFFEE = memory("coffee", "Ada drinks an oat flat white, and never after four.", "espresso")
DEPLOY = memory(
    "deploy-checklist",
    "Drain the queue, tag the release, watch the error graph for ten minutes.",
    "rollout",
    "deployment",
    hint="before a release goes out",
)
GARDEN = memory("garden", "The tomatoes stand by the south wall and want water every evening.")
LANDLORD = memory("landlord", "Mr Okoro wants the rent by transfer on the third.", "rent", "flat")
TRAVEL = memory(
    "travel",
    "The night train to Lisbon in a single cabin; an aisle seat if it must be a plane.",
    "flight",
    "hotel",
)

MEMORIES = (COFFEE, DEPLOY, GARDEN, LANDLORD, TRAVEL)
"""Sorted by name."""


def written(folder: Path, memories: Sequence[MemoryFile] = MEMORIES) -> Path:
    """The folder, which now holds `memory/`."""
    for each in memories:
        path = folder / each.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(each.text, encoding="utf-8")
    return folder


async def names(
    selector: Selector, prompt: str, memories: Sequence[MemoryFile] = MEMORIES
) -> tuple[str, ...]:
    """What the selector picks from these memories, asked once."""
    chooser = await selector.open(memories)
    try:
        return (await chooser.select(prompt)).names
    finally:
        await chooser.close()
        await selector.close()


class Scripted:
    """Always picks the same, and keeps what was done to it."""

    def __init__(self, selection: MemorySelection) -> None:
        self.card = SystemCard(name="scripted", version="1", max_concurrency=3)
        self.selection = selection
        self.opened: list[tuple[str, ...]] = []
        self.closed = 0

    async def open(self, memories: Sequence[MemoryFile]) -> "Scripted":
        self.opened.append(tuple(each.name for each in memories))
        return self

    async def select(self, prompt: str) -> MemorySelection:
        return self.selection

    async def close(self) -> None:
        self.closed += 1
