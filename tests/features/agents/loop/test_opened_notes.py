"""A note that a search returns in part can be opened, as far as the memory itself holds it."""

import re
from datetime import datetime
from pathlib import Path

import pytest

from recall_bench.core.errors import SystemFault
from recall_bench.core.event import ToolCalled
from recall_bench.core.memory import Passage, RetrievalReply, StoredEntry
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.tool_call import ToolRole
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.features.agents.loop.loop_agent import (
    build_instruction,
    build_question_instruction,
)
from recall_bench.features.agents.loop.reference_tools import (
    DELETE,
    OPEN,
    SAVE,
    SEARCH,
    UPDATE,
    ReferenceTools,
)
from recall_bench.reporting.analyses.tool_loop import analyse_tool_loop
from recall_bench.systems.builtin.retrieval_systems import build_bm25
from recall_bench.systems.models.model import Prompt
from tests.features.agents.loop.scripted import answer, calls, has_begun, is_day, read_results
from tests.features.agents.loop.test_transcript import run_loop
from tests.loops import loop_over_rows

AT = datetime(2025, 3, 1)


class HalvingMemory:
    """Stores the first two sentences of each text, and finds the first."""

    def __init__(self) -> None:
        self.held: dict[str, list[str]] = {}

    async def ingest(self, episode: Episode) -> None:
        self.held[episode.id] = episode.text.split(". ")[:2]

    async def settle(self) -> None:
        """Everything can be found at once."""

    async def answer(self, question: Question) -> RetrievalReply:
        found = (Passage(text=each[0], id=name) for name, each in self.held.items())
        return RetrievalReply(passages=tuple(found))

    async def list_stored(self) -> tuple[StoredEntry, ...]:
        return tuple(
            StoredEntry(text=text, id=name) for name, each in self.held.items() for text in each
        )

    async def close(self) -> None:
        """Nothing to release."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@loop_over_rows(
    ("can_delete", "can_list", "tools"),
    [
        (False, False, (SAVE, SEARCH)),
        (False, True, (SAVE, SEARCH, OPEN)),
        (True, False, (SAVE, SEARCH, UPDATE, DELETE)),
        (True, True, (SAVE, SEARCH, OPEN, UPDATE, DELETE)),
    ],
)
def test_a_memory_that_lists_what_it_holds_can_open_a_note(
    can_delete: bool, can_list: bool, tools: tuple[object, ...]
) -> None:
    made = ReferenceTools(HalvingMemory(), "s", can_delete, can_list=can_list)

    assert made.list_tools() == tools
    assert OPEN.role is ToolRole.SEARCH


@pytest.mark.anyio
async def test_a_part_that_a_note_has_twice_is_shown_twice() -> None:
    tools = ReferenceTools(HalvingMemory(), "s", can_delete=False, can_list=True)
    await tools.call_tool(SAVE, {"text": "Water it. Water it"}, at=AT)

    shown = await tools.call_tool(OPEN, {"id": "n1"}, at=AT)

    assert shown.text == "[n1, 2025-03-01] Water it\nWater it"


@pytest.mark.anyio
async def test_what_is_opened_is_what_the_memory_holds_and_not_what_was_saved() -> None:
    tools = ReferenceTools(HalvingMemory(), "s", can_delete=False, can_list=True)
    for text in ("Leeks stand in bed 7. They were watered. They are late", "Chard"):
        await tools.call_tool(SAVE, {"text": text}, at=AT)

    found = await tools.call_tool(SEARCH, {"query": "leeks"}, at=AT)
    opened = await tools.call_tool(OPEN, {"id": "n1"}, at=AT)

    assert found.text.splitlines()[0] == "[n1, 2025-03-01] Leeks stand in bed 7"
    assert opened.text == "[n1, 2025-03-01] Leeks stand in bed 7\nThey were watered"
    assert [each.note for each in opened.found] == ["n1"]


@pytest.mark.anyio
async def test_a_note_that_is_not_there_cannot_be_opened() -> None:
    memory = HalvingMemory()
    tools = ReferenceTools(memory, "s", can_delete=False, can_list=True)
    await tools.call_tool(SAVE, {"text": "Chard"}, at=AT)

    with pytest.raises(SystemFault, match="there is no note 'n2'"):
        await tools.call_tool(OPEN, {"id": "n2"}, at=AT)
    memory.held.clear()
    with pytest.raises(SystemFault, match="the memory lists nothing of n1"):
        await tools.call_tool(OPEN, {"id": "n1"}, at=AT)


def open_at_once(prompt: Prompt) -> str:
    """Saves the day, and opens the first note for every question."""
    if has_begun(prompt):
        return answer("done" if is_day(prompt) else read_results(prompt)[0])
    if not is_day(prompt):
        return calls(("open", {"id": "n1"}))
    told = re.search("I planted .*", prompt.user)
    assert told is not None
    return calls(("save", {"text": told[0]}))


def test_an_agent_opens_notes_of_a_built_in_and_that_is_no_search_that_ignores_its_query(
    tmp_path: Path,
) -> None:
    events = run_loop(tmp_path, build_bm25({}), open_at_once, days="3d")
    opened = [each for each in events if isinstance(each, ToolCalled) and each.trial is not None]
    folder = RunFolder.open(tmp_path / "run")
    report = analyse_tool_loop(folder, read_trials(folder))

    assert {each.call.tool for each in opened} == {"open"}
    assert all("leeks" in each.call.found[0].text for each in opened)
    assert report is not None
    assert report.memory.served_searches == len(opened) == 3
    assert (report.memory.searches, report.faults) == (0, ())


@pytest.mark.parametrize("steps", [1, 12])
def test_an_agent_is_told_how_often_it_may_reply(steps: int) -> None:
    question = Question(id="q", text="Which?", asked_at=AT, scenario="s")
    told = (
        build_instruction("day", steps),
        build_question_instruction(question, steps),
        build_instruction("task", steps),
    )

    assert all(f"at most {steps} times" in each and "{" not in each for each in told)
