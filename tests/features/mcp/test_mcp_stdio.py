"""A server that is started for each memory: what it keeps is its own, and it dies with us.

Its faults are faults of the system: a tool that fails is a fault, a server that dies is gone with
its last lines, and one that hangs is ended.
"""

import os
from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import NotAnAnswer, SystemFault, SystemGone, SystemStuck, UsageError
from recall_bench.core.memory import BulkIngestMemory, Passage
from recall_bench.core.scenario import Episode
from recall_bench.features.mcp.mcp_memory import McpMemory
from recall_bench.features.mcp.mcp_system import McpSystem, start_mcp_system
from tests.conftest import episode
from tests.features.mcp.mcp_asking import asked, check_contract
from tests.features.mcp.mcp_maps import child_map
from tests.processes import is_running, list_children, wait_until_gone

pytestmark = pytest.mark.anyio

NAME = "What is the cat called?"
FIG = "On 2024-01-01: The cat is Fig."


async def told(system: McpSystem, *texts: str) -> McpMemory:
    """A memory of these days."""
    memory = await system.open("ada")
    for day, text in enumerate(texts, start=1):
        await memory.ingest(episode(day, text))
    await memory.settle()
    return memory


async def texts(memory: McpMemory, question: str = NAME, top_k: int | None = None) -> list[str]:
    found = await memory.answer(asked(question, top_k=top_k))
    return [passage.text for passage in found.passages]


def server_of(memory: McpMemory) -> int:
    return int((memory.folder / "pid").read_text(encoding="utf-8"))


async def test_the_card_says_what_the_server_and_the_map_say(tmp_path: Path) -> None:
    path = child_map(tmp_path, clock="native", max_concurrency=4)

    card = (await start_mcp_system(path)).card

    assert (card.name, card.version, card.clock) == ("child", "7.1", "native")
    assert (card.asker, card.answers, card.max_concurrency) == ("untold", False, 4)
    assert card.config["query"] == "whole"


async def test_a_note_comes_back_with_its_episode_and_score(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path))
    memory = await told(system, "Rain.", "The cat is Fig.")

    found = await memory.answer(asked(NAME))
    await system.close()

    fig = "On 2024-01-02: The cat is Fig."
    assert found.passages == (Passage(text=fig, id="day-0002", day=2, source="0002-001", score=3),)


async def test_a_whole_day_can_be_one_entry(tmp_path: Path) -> None:
    ingest = {"tool": "remember", "each": "day", "arguments": {"id": "{id}", "text": "{text}"}}
    system = await start_mcp_system(child_map(tmp_path, ingest=ingest))
    memory = await told(system, "# Home\n\nThe cat is Fig.\n\nIt rained.")

    found = await memory.answer(asked(NAME))
    await system.close()

    assert [(passage.id, passage.text) for passage in found.passages] == [
        ("day-0001", "# Home\n\nThe cat is Fig.\n\nIt rained.")
    ]


async def test_many_days_go_over_in_batches_and_each_is_taken_once(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path))
    memory = await system.open("ada")
    days = [episode(day, "" if day == 3 else f"The cat is C{day}.") for day in range(1, 9)]
    taken: list[Episode] = []

    assert isinstance(memory, BulkIngestMemory)
    await memory.ingest_all(days, taken.append)
    found = await texts(memory, top_k=20)
    await system.close()

    assert taken == days
    assert sorted(found) == [
        f"On 2024-01-0{day}: The cat is C{day}." for day in (1, 2, 4, 5, 6, 7, 8)
    ]


async def test_no_more_is_given_back_than_is_looked_at(tmp_path: Path) -> None:
    search = {"tool": "recall", "arguments": {"query": "{question}"}, "results": "hits"}
    system = await start_mcp_system(child_map(tmp_path, search=search | {"text": "text"}, k=3))
    memory = await told(system, *(f"The cat is C{day}." for day in range(5)))

    found = len(await texts(memory)), len(await texts(memory, top_k=2))
    await system.close()

    assert found == (3, 2)


async def test_a_question_can_be_searched_word_by_word(tmp_path: Path) -> None:
    search = {
        "tool": "recall",
        "query": "keywords",
        "arguments": {"query": "{question}"},
        "results": "hits",
        "text": "text",
        "id": "id",
    }
    system = await start_mcp_system(child_map(tmp_path, search=search))
    memory = await told(
        system, "The cat sleeps.", "The dog is called Bo.", "The cat is called Fig."
    )

    found = await memory.answer(asked("What is the cat called?"))
    nothing = await memory.answer(asked("?!"))
    await system.close()

    assert [passage.day for passage in found.passages] == [3, 2, 1]
    assert nothing.passages == ()
    assert system.card.config["query"] == "keywords"


@pytest.mark.parametrize(
    "search",
    [
        pytest.param(
            {
                "tool": "recall_prose",
                "arguments": {"query": "{question}", "k": "{k}"},
                "pattern": r"(?m)^\* (?P<text>.+) \[(?P<id>\S+), (?P<score>\d+)\]$",
                "nothing": "Nothing found",
            },
            id="prose",
        ),
        pytest.param(
            {
                "tool": "recall_blocks",
                "arguments": {"query": "{question}"},
                "text": "text",
                "id": "id",
                "score": "score",
            },
            id="a block each",
        ),
    ],
)
async def test_replies_of_other_shapes_are_read_too(
    tmp_path: Path, search: dict[str, object]
) -> None:
    system = await start_mcp_system(child_map(tmp_path, search=search))
    memory = await told(system, "The cat is Fig.")

    found = await memory.answer(asked(NAME))
    nothing = await memory.answer(asked("Who?"))
    await system.close()

    assert found.passages == (Passage(text=FIG, id="day-0001", day=1, source="0001-001", score=3),)
    assert nothing.passages == ()


async def test_an_ingest_that_says_it_worked_did(tmp_path: Path) -> None:
    ingest = {"tool": "remember", "arguments": {"id": "{id}", "text": "{text}"}, "done": "^done$"}
    system = await start_mcp_system(child_map(tmp_path, ingest=ingest))

    found = await texts(await told(system, "The cat is Fig."))
    await system.close()

    assert found == [FIG]


async def test_an_ingest_that_does_not_say_it_worked_is_a_fault(tmp_path: Path) -> None:
    ingest = {"tool": "remember", "arguments": {"id": "{id}", "text": "{text}"}}
    system = await start_mcp_system(child_map(tmp_path, ingest={**ingest, "done": "stored"}))
    memory = await system.open("ada")

    with pytest.raises(SystemFault, match="the tool remember replied 'done', which does not match"):
        await memory.ingest(episode(1, "The cat is Fig."))
    await system.close()


async def test_settling_calls_the_tool_for_it(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path, settle={"tool": "settle"}))
    memory = await told(system, "The cat is Fig.")

    settled = (memory.state / "settled").exists()
    await system.close()

    assert settled


async def test_each_memory_has_a_server_of_its_own_that_ends_with_it(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path))
    one, two = await told(system, "The cat is Fig."), await told(system, "The cat is Plum.")
    pids = [server_of(one), server_of(two)]

    found = await texts(one)
    await one.close()
    one_runs, two_runs = map(is_running, pids)
    await system.close()

    assert found == [FIG]
    assert (one_runs, two_runs) == (False, True)
    assert not is_running(pids[1])
    assert not one.folder.exists()
    assert not two.folder.exists()


async def test_a_copy_is_another_server_on_the_same_files(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path))
    assert system.snapshots is not None
    memory = await told(system, "The cat is Fig.")

    token = await system.snapshots.save(memory)
    await memory.ingest(episode(2, "The cat is now Plum."))
    copy = await system.snapshots.open(token)
    found = await copy.answer(asked(NAME))
    grown = await texts(memory)
    await system.snapshots.drop(token)
    await system.close()

    assert found.passages == (Passage(text=FIG, id="day-0001", day=1, source="0001-001", score=3),)
    assert len(grown) == 2


async def test_a_server_with_state_elsewhere_offers_no_copies(tmp_path: Path) -> None:
    assert (await start_mcp_system(child_map(tmp_path, snapshots=None))).snapshots is None


async def test_a_tool_the_server_lacks_is_named_before_anything_is_fed(tmp_path: Path) -> None:
    search = {"tool": "search", "arguments": {"query": "{question}"}}
    before = list_children()

    with pytest.raises(
        UsageError,
        match="the server child has no tool 'search'; name one of those it offers: remember, rem",
    ):
        await start_mcp_system(child_map(tmp_path, search=search))

    assert list_children() == before


async def test_a_program_that_is_not_there_is_gone(tmp_path: Path) -> None:
    path = child_map(tmp_path, server={"command": ["no-such-server", "{state_dir}"]})

    with pytest.raises(SystemGone, match="'no-such-server' cannot be started"):
        await start_mcp_system(path)


async def test_a_server_that_ends_at_once_says_why(tmp_path: Path) -> None:
    with pytest.raises(SystemGone, match=r"exit code 2.*no such model: tiny-embed"):
        await start_mcp_system(child_map(tmp_path, "stillborn"))


async def test_a_server_that_never_initialises_times_out(tmp_path: Path) -> None:
    path = child_map(tmp_path, "mute")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("server:\n", "server:\n  start_timeout_s: 0.5\n"), "utf-8")
    before = list_children()

    with pytest.raises(SystemGone, match=r"did not greet us within 0\.5 s"):
        await start_mcp_system(path)

    assert list_children() == before


async def test_other_output_of_a_server_is_ignored(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path, "chatty"))

    found = await texts(await told(system, "The cat is Fig."))
    await system.close()

    assert found == [FIG]


async def test_json_in_text_does_as_well_as_structured_content(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path, "text-only"))

    found = await texts(await told(system, "The cat is Fig."))
    await system.close()

    assert found == [FIG]


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("fails", SystemFault, "the tool recall failed: the index is locked"),
        ("prose", NotAnAnswer, "'I found a few things!' where JSON was expected"),
        ("no-list", NotAnAnswer, "has no list at 'hits'; correct search.results"),
    ],
)
async def test_a_search_that_fails_is_a_fault_and_the_memory_goes_on(
    tmp_path: Path, fault: str, kind: type[SystemFault], says: str
) -> None:
    system = await start_mcp_system(child_map(tmp_path, fault))
    memory = await told(system, "The cat is Fig.")

    with pytest.raises(kind) as caught:
        await memory.answer(asked(NAME))
    await memory.ingest(episode(2, "Rain."))
    await system.close()

    assert says in str(caught.value)


async def test_a_server_that_dies_is_gone_with_its_last_words(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path, "dies"))
    memory = await told(system, "The cat is Fig.")

    for _ in range(2):
        with pytest.raises(SystemGone, match=r"exit code 3.*out of memory in the recall index"):
            await memory.answer(asked(NAME))
    await system.close()


async def test_a_server_that_hangs_is_ended_and_its_memory_lost(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path, "hangs"), grace_s=0.2)
    memory = await told(system, "The cat is Fig.")
    pid = server_of(memory)

    with anyio.move_on_after(0.2) as patience:
        await memory.answer(asked(NAME))
    with pytest.raises(SystemStuck, match="did not answer in time, nor anything else"):
        await memory.answer(asked(NAME))

    assert patience.cancelled_caught
    assert not is_running(pid)
    await system.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a group only when told to")
async def test_what_a_server_started_ends_with_it(tmp_path: Path) -> None:
    shell = 'sleep 600 & echo $! > helper; exec "$@"'
    path = child_map(tmp_path)
    command = ["/bin/sh", "-c", shell, "sh", *_command(path)]
    system = await start_mcp_system(child_map(tmp_path, server={"command": command}))
    memory = await told(system, "The cat is Fig.")
    helper = int((memory.folder / "helper").read_text(encoding="utf-8"))

    was_there = is_running(helper)
    await memory.close()
    await system.close()

    assert was_there
    wait_until_gone([helper])


@pytest.mark.slow
async def test_the_contract_is_kept(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path))

    report = await check_contract(system)
    await system.close()

    assert report.is_kept, report.render()
    assert report.seen.snapshots


def _command(path: Path) -> list[str]:
    import yaml

    command: list[str] = yaml.safe_load(path.read_text(encoding="utf-8"))["server"]["command"]
    return command
