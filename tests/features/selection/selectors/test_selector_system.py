"""The engine takes a selector for a system that finds."""

from datetime import datetime

import pytest

from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import Passage, RetrievalReply
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.usage import Usage
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.selector import (
    MemorySelection,
    SelectorMemory,
    SelectorSystem,
)
from tests.features.selection.memories import COFFEE, TRAVEL, Scripted

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1)
QUESTION = Question(id="q", text="Lisbon?", asked_at=NOW, scenario="selection")


def as_episode(memory: MemoryFile, day: int) -> Episode:
    return Episode(id=memory.name, day=day, at=NOW, text=memory.text)


async def fed(system: SelectorSystem) -> SelectorMemory:
    opened = await system.open("selection")
    await opened.ingest(as_episode(TRAVEL, 1))
    await opened.ingest(as_episode(COFFEE, 2))
    await opened.settle()
    return opened


async def test_names_become_passages_in_order_and_without_their_text() -> None:
    picked = ("memory/travel.md", "memory/yacht.md")

    found = await (await fed(SelectorSystem(Scripted(MemorySelection(names=picked))))).answer(
        QUESTION
    )

    assert found == RetrievalReply(passages=tuple(Passage(id=name, text="") for name in picked))


async def test_what_was_ruled_out_what_is_to_be_noted_and_what_it_cost_are_reported() -> None:
    usage = Usage(input_tokens=7, calls=1)
    selection = MemorySelection(
        names=(), presearched=(COFFEE.name,), notes=("asked twice",), usage=usage
    )

    found = await (await fed(SelectorSystem(Scripted(selection)))).answer(QUESTION)

    assert found.tool_calls == ({"presearched": [COFFEE.name], "notes": ["asked twice"]},)
    assert found.usage == usage


async def test_ruling_everything_out_is_reported_too() -> None:
    selection = MemorySelection(names=(), presearched=())

    found = await (await fed(SelectorSystem(Scripted(selection)))).answer(QUESTION)

    assert found.tool_calls == ({"presearched": []},)


async def test_memories_are_read_sorted_by_name_and_once() -> None:
    selector = Scripted(MemorySelection(names=()))

    opened = await fed(SelectorSystem(selector))
    await opened.settle()

    assert selector.opened == [(COFFEE.name, TRAVEL.name)]


async def test_a_memory_that_comes_later_is_read_with_the_others() -> None:
    selector = Scripted(MemorySelection(names=()))
    opened = await fed(SelectorSystem(selector))

    await opened.ingest(as_episode(TRAVEL.replace(name="memory/boat.md"), 3))
    await opened.settle()

    assert selector.opened[1:] == [("memory/boat.md", COFFEE.name, TRAVEL.name)]
    assert selector.closed == 1


async def test_nothing_is_asked_before_the_memories_are_read() -> None:
    opened = await SelectorSystem(Scripted(MemorySelection(names=()))).open("selection")

    with pytest.raises(SystemFault, match="not settled"):
        await opened.answer(QUESTION)


async def test_the_card_is_the_selectors_and_says_that_it_only_finds() -> None:
    card = SelectorSystem(Scripted(MemorySelection(names=()))).card

    assert (card.name, card.max_concurrency, card.answers) == ("scripted", 3, False)


async def test_what_no_selection_reports_is_metered() -> None:
    class Metered(Scripted):
        def drain(self) -> Usage:
            return Usage(input_tokens=5)

    assert SelectorSystem(Metered(MemorySelection(names=()))).drain() == Usage(input_tokens=5)
    assert SelectorSystem(Scripted(MemorySelection(names=()))).drain() == Usage()
