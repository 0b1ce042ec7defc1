"""Adapters as people write them, and the few records that tests hand to them."""

import asyncio
import datetime
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.python.adapter import DayMetadata
from recall_bench.systems.python.python_memory import PythonMemory
from recall_bench.systems.python.system import build_python_system

DAY = Episode(
    id="day-0002",
    day=2,
    at=datetime.datetime(2026, 1, 2),
    text="The cat is Fig.",
    arcs=("cat", "rain"),
)
QUESTION = Question(
    id="0f0f",
    text="What is the cat called?",
    asked_at=datetime.datetime(2026, 1, 9),
    scenario="ada",
    session="crew",
)


class Notes:
    """Takes everything down."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    def setup(self) -> None:
        self.calls.append("setup")

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        self.calls.append((day, content, metadata))

    def finalize_ingestion(self) -> None:
        self.calls.append("finalize")

    def query(self, question: str) -> Any:
        self.calls.append(question)
        return f"{question} No idea."

    def teardown(self) -> None:
        self.calls.append("teardown")


class AsyncNotes:
    def __init__(self) -> None:
        self.notes = Notes()
        self.calls = self.notes.calls

    async def setup(self) -> None:
        self.notes.setup()

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        self.notes.ingest_day(day, content, metadata)

    async def finalize_ingestion(self) -> None:
        self.notes.finalize_ingestion()

    async def query(self, question: str) -> Any:
        await asyncio.sleep(0)
        return self.notes.query(question)

    async def teardown(self) -> None:
        self.notes.teardown()


@asynccontextmanager
async def opened(factory: Callable[[], object]) -> AsyncIterator[PythonMemory]:
    system = build_python_system(factory)
    memory = await system.open("ada")
    try:
        yield memory
    finally:
        await memory.close()
        await system.close()
