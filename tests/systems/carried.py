"""Every kind of system whose saved states travel, and what a memory of it says.

As a program, `python -m tests.systems.carried FOLDER [URL]` opens what was packed in the folder and
prints what it says: all that one process knows of another.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

import anyio

from recall_bench.core.memory import (
    Answer,
    EvidenceControl,
    Memory,
    MemorySystem,
    Passage,
    PortableSnapshots,
    Snapshots,
)
from recall_bench.systems.builtin import baselines
from recall_bench.systems.python.system import load_python_system
from recall_bench.systems.transports.http_system import connect_http_system
from tests.systems import diary

ADAPTERS = Path(__file__).with_name("portable_adapters.py")
SCENARIO = "garden"
KNOWN = 8
"""Days before the state is saved."""

HYBRIDS: dict[str, dict[str, object]] = {
    "hybrid": {},
    "hybrid words": {"vector": False},
    "hybrid reranked": {"rerank": True, "neighbours": 1},
    "hybrid letters": {"lexical_boost": 0.3, "fusion": "rank"},
    "hybrid windows": {"chunking": "window", "window_chars": 60, "window_overlap": 20},
    "hybrid summaries beside": {"consolidate": "beside"},
    "hybrid summaries only": {"consolidate": "only"},
    "hybrid sessions": {"respect_sessions": True},
}
BUILT_IN = ("none", "random", "bm25", "vector", *HYBRIDS, "recency", "full-context", "oracle")
PYTHON = ("Plain", "Filed", "Own")


def made(name: str) -> MemorySystem:
    """The system of that name, as any process would make it."""
    if name in PYTHON:
        return load_python_system(f"{ADAPTERS}:{name}", {})
    config = HYBRIDS.get(name, {"days": 4} if name == "recency" else {})
    if name in HYBRIDS or name == "recency":
        config = {"threshold": 0, **config}
    factory = getattr(baselines, "build_" + name.partition(" ")[0].replace("-", "_"))
    system: MemorySystem = factory(config)
    if isinstance(system, EvidenceControl):
        system.receive_evidence(SCENARIO, _evidence())
    return system


def _evidence() -> Mapping[str, tuple[Passage, ...]]:
    texts = {1: "The new boiler was set to 14 degrees.", 10: "The order was cancelled by Finch."}
    told = tuple(Passage(text=text, day=day) for day, text in texts.items())
    return {diary.question(text).id: told for text in diary.QUESTIONS[:4]}


class Travelling(Snapshots, PortableSnapshots, Protocol):
    """Snapshots that can be packed."""


def travelling(system: MemorySystem) -> Travelling:
    """The snapshots of a system, which must be portable."""
    assert isinstance(system.snapshots, PortableSnapshots)
    return cast("Travelling", system.snapshots)


async def fed(memory: Memory, first: int, last: int) -> None:
    """Live through these days."""
    for episode in diary.EPISODES[first - 1 : last]:
        await memory.ingest(episode)
    await memory.settle()


async def said(memory: Memory) -> list[str]:
    """All its replies: text, passages and scores, before and after the rest of the story."""
    replies = []
    for first, last in ((KNOWN + 1, KNOWN), (KNOWN + 1, KNOWN + 2), (KNOWN + 3, 12)):
        await fed(memory, first, last)
        for text in diary.QUESTIONS:
            reply = await memory.answer(diary.question(text))
            replies.append(f"{reply.text if isinstance(reply, Answer) else ''} {reply.passages}")
    return replies


async def unpacked(system: MemorySystem, place: Path) -> list[str]:
    """What a memory that was packed there says; all it leaves open is dropped."""
    snapshots = travelling(system)
    token = await snapshots.unpack(place)
    memory = await snapshots.open(token)
    try:
        return await said(memory)
    finally:
        await memory.close()
        await snapshots.drop(token)
        await system.close()


async def _main(folder: Path, url: str | None) -> None:
    if url is not None:
        _tell(await unpacked(await connect_http_system(url), folder))
        return
    _tell({name: await unpacked(made(name), folder / name) for name in (*BUILT_IN, *PYTHON)})


def _tell(replies: object) -> None:
    sys.stdout.write(json.dumps(replies))


if __name__ == "__main__":
    anyio.run(_main, Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
