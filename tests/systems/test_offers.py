"""The optional parts of the contract are the same over every transport."""

from datetime import datetime, timedelta
from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import NotOffered, SystemFault, SystemGone
from recall_bench.core.memory import (
    Answer,
    ConsolidatingMemory,
    EraseReply,
    EraseScope,
    ErasingMemory,
    ListingMemory,
    MemorySystem,
    MemoryWithFolder,
    Offer,
    ReopeningSystem,
    StoredEntry,
    list_offers,
)
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.python.system import build_python_system

from .offering_adapters import AsyncMemory, LedgerMemory, OddMemory, PlainMemory

START = datetime(2026, 3, 1)


def build_episode(day: int, text: str, session: str | None = None) -> Episode:
    return Episode(
        id=f"e{day}", day=day, at=START + timedelta(days=day - 1), text=text, session=session
    )


def build_question(text: str) -> Question:
    return Question(id="q", text=text, asked_at=START + timedelta(days=50), scenario="story")


def test_a_plain_adapter_offers_nothing() -> None:
    async def run() -> None:
        system = build_python_system(PlainMemory)
        assert list_offers(system) == frozenset()
        memory = await system.open("story")
        with pytest.raises(NotOffered, match="no delete_session"):
            await memory.erase(EraseScope.SESSION, "x")
        with pytest.raises(NotOffered, match="no stored"):
            await memory.list_stored()
        with pytest.raises(NotOffered, match="no consolidate"):
            await memory.consolidate()
        await memory.close()
        with pytest.raises(NotOffered, match="no reopen"):
            await system.reopen(memory)
        await system.close()

    anyio.run(run)


def test_methods_may_be_coroutines_and_one_that_is_not_implemented_is_not_offered() -> None:
    async def run() -> None:
        system = build_python_system(AsyncMemory)
        memory = await system.open("story")
        await memory.ingest(build_episode(1, "A day."))
        with pytest.raises(NotOffered, match="no forget"):
            await memory.erase(EraseScope.FORGET, "x")
        assert await memory.erase(EraseScope.DELETE, "x") == EraseReply(confirmed=True, count=3)
        assert await memory.list_stored() == (StoredEntry(text="A day."),)
        await memory.close()
        await system.close()

    anyio.run(run)


def test_replies_that_cannot_be_read_are_faults() -> None:
    async def run() -> None:
        system = build_python_system(OddMemory)
        memory = await system.open("story")
        with pytest.raises(SystemFault, match="forget\\(\\) returned 'done'"):
            await memory.erase(EraseScope.FORGET, "x")
        with pytest.raises(SystemFault, match="delete\\(\\) returned -1"):
            await memory.erase(EraseScope.DELETE, "x")
        with pytest.raises(SystemFault, match="stored\\(\\) listed"):
            await memory.list_stored()
        await memory.close()
        await system.close()

    anyio.run(run)


def test_a_single_adapter_or_one_without_a_folder_cannot_be_reopened(tmp_path: Path) -> None:
    class Homeless(PlainMemory):
        def reopen(self) -> None: ...

    def can_reopen(subject: object) -> bool:
        system = build_python_system(subject)
        anyio.run(system.close)
        return Offer.REOPEN in list_offers(system)

    assert can_reopen(LedgerMemory)
    assert not can_reopen(LedgerMemory(tmp_path))
    assert not can_reopen(Homeless)


def test_the_folder_of_a_closed_memory_lasts_while_it_can_be_reopened() -> None:
    async def run() -> None:
        system = build_python_system(LedgerMemory)
        memory = await system.open("story")
        folder = memory.state_folder
        assert folder is not None
        await memory.close()
        again = await system.reopen(memory)
        del memory
        assert folder.is_dir()
        await again.close()
        del again
        assert not folder.exists()
        lost = await system.open("story")
        await lost.close()
        lost.folder = folder
        with pytest.raises(SystemGone, match="no state"):
            await system.reopen(lost)
        await system.close()

    anyio.run(run)


async def drive_all(system: MemorySystem) -> list[object]:
    """What an honest memory says to everything, and what it holds after each request."""
    said: list[object] = [sorted(list_offers(system))]
    memory = await system.open("story")
    assert isinstance(memory, ErasingMemory)
    assert isinstance(memory, ListingMemory)
    assert isinstance(memory, ConsolidatingMemory)
    assert isinstance(memory, MemoryWithFolder)
    for day, text, session in (
        (1, "The shed code is 4471.", "home"),
        (2, "Bruno likes tea.", "work"),
        (3, "The rent is 900 euros.", "home"),
        (4, "Bruno likes tea.", None),
        (5, "Mira moved to Oslo.", None),
        (40, "The concert was loud.", None),
    ):
        await memory.ingest(build_episode(day, text, session))
    await memory.settle()
    said.append(await memory.list_stored())
    await memory.consolidate()
    said.append(await memory.list_stored())
    for scope, value in (
        (EraseScope.FORGET, "shed code"),
        (EraseScope.DELETE, "e2"),
        (EraseScope.DELETE, "e2"),
        (EraseScope.SESSION, "home"),
        (EraseScope.PERSON, "Oslo"),
        (EraseScope.DAYS, "10"),
    ):
        said += [await memory.erase(scope, value), await memory.list_stored()]
    if isinstance(system, ReopeningSystem):
        await memory.close()
        reopened = await system.reopen(memory)
        assert isinstance(reopened, ListingMemory)
        said.append(await reopened.list_stored())
        answer = await reopened.answer(build_question("Was the concert loud?"))
        assert isinstance(answer, Answer)
        said.append(answer.text)
        await reopened.close()
    return said


EXPECTED_END = "The concert was loud."


def test_in_process() -> None:
    async def run() -> None:
        system = build_python_system(LedgerMemory)
        said = await drive_all(system)
        assert said[0] == sorted(Offer)
        assert [len(each) for each in said if isinstance(each, tuple)] == [
            6,
            5,
            4,
            3,
            3,
            2,
            1,
            1,
            1,
        ]
        assert said[-1] == EXPECTED_END
        await system.close()

    anyio.run(run)
