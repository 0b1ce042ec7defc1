"""Servers written with the SDK are systems too, over pipes and over streamable HTTP.

One that somebody runs is shared: memories on it are kept apart by a name in the arguments, or by a
tool that empties it, or there is but one of them.
"""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from recall_bench.core.errors import SystemFault, SystemGone, UsageError
from recall_bench.core.memory import Asker, Clock, Passage
from recall_bench.features.mcp.mcp_system import McpSystem, start_mcp_system
from recall_bench.testing import check_system
from tests.conftest import episode
from tests.features.mcp import mcp_sdk_server
from tests.features.mcp.mcp_asking import asked

pytestmark = [
    pytest.mark.anyio,
    # The SDK leaves streams of aborted requests to the garbage collector.
    pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning"),
]

SERVER = Path(mcp_sdk_server.__file__)


def sdk_map(folder: Path, server: dict[str, object], **changed: object) -> Path:
    """A map of that server, which keeps memories apart by name."""
    sections: dict[str, object] = {
        "transport": "mcp",
        "server": server,
        "ingest": {
            "tool": "store",
            "arguments": {"text": "{text}", "note": "{id}", "day": "{day}", "space": "{memory}"},
        },
        "search": {
            "tool": "find",
            "arguments": {"query": "{question}", "limit": "{k}", "space": "{memory}"},
            "results": "result",
            "text": "text",
            "id": "note",
            "score": "score",
        },
    } | changed
    path = folder / "sdk.yaml"
    path.write_text(yaml.safe_dump(sections), encoding="utf-8")
    return path


NAMELESS = {
    "ingest": {"tool": "store", "arguments": {"text": "{text}", "note": "{id}", "day": "{day}"}},
    "search": {
        "tool": "find",
        "arguments": {"query": "{question}", "limit": "{k}"},
        "results": "result",
        "text": "text",
    },
}


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with mcp_sdk_server.serving() as address:
        yield address


async def test_a_server_over_pipes_is_fed_and_asked(tmp_path: Path) -> None:
    path = sdk_map(tmp_path, {"command": [sys.executable, str(SERVER)]})
    system = await start_mcp_system(path)

    memory = await system.open("ada")
    await memory.ingest(episode(4, "The cat is Fig."))
    found = await memory.answer(asked("What is the cat called?"))
    await memory.close()
    await system.close()

    assert (system.card.name, system.card.version) == ("sdk-memory", "3.2")
    assert found.passages == (
        Passage(
            text="On 2024-01-04: The cat is Fig.", id="day-0004", day=4, source="0004-001", score=3
        ),
    )


async def test_a_server_at_a_url_says_who_it_is(tmp_path: Path, url: str) -> None:
    card = (await start_mcp_system(sdk_map(tmp_path, {"url": url}))).card

    assert (card.name, card.version, card.clock, card.asker, card.answers) == (
        "sdk-memory",
        "3.2",
        Clock.IN_TEXT,
        Asker.UNTOLD,
        False,
    )


async def test_memories_on_one_server_are_kept_apart_by_name(tmp_path: Path, url: str) -> None:
    system = await start_mcp_system(sdk_map(tmp_path, {"url": url}))
    one, two = await system.open("one"), await system.open("one")

    await one.ingest(episode(1, "The cat is Fig."))
    await two.ingest(episode(1, "The cat is Plum."))
    found = [await memory.answer(asked("What is the cat called?")) for memory in (one, two)]
    await system.close()

    assert [[passage.text for passage in each.passages] for each in found] == [
        ["On 2024-01-01: The cat is Fig."],
        ["On 2024-01-01: The cat is Plum."],
    ]


async def test_a_server_is_emptied_for_each_memory_by_its_own_tool(
    tmp_path: Path, url: str
) -> None:
    path = sdk_map(tmp_path, {"url": url}, reset={"tool": "wipe"}, **NAMELESS)
    system = await start_mcp_system(path)
    one = await system.open("one")
    await one.ingest(episode(1, "The cat is Fig."))

    with pytest.raises(UsageError, match="holds one memory at a time, and one is open"):
        await system.open("two")
    await one.close()
    two = await system.open("two")
    found = await two.answer(asked("What is the cat called?"))
    await system.close()

    assert found.passages == ()


@pytest.mark.slow
async def test_a_server_at_a_url_keeps_the_contract_by_names(tmp_path: Path, url: str) -> None:
    system = await start_mcp_system(sdk_map(tmp_path, {"url": url}))

    report = await check_system(system, only=["isolation", "reset", "unicode", "errors"])
    await system.close()

    assert report.is_kept, report.render()
    assert report.seen.memories_at_once


@pytest.mark.slow
async def test_a_server_with_a_tool_that_empties_it_keeps_the_contract(
    tmp_path: Path, url: str
) -> None:
    path = sdk_map(tmp_path, {"url": url}, reset={"tool": "wipe"}, **NAMELESS)
    system = await start_mcp_system(path)

    report = await check_system(system, only=["isolation", "reset"])
    await system.close()

    assert report.is_kept, report.render()
    assert report.seen.memories_at_once is False


async def test_without_either_a_second_memory_is_refused(tmp_path: Path, url: str) -> None:
    system = await start_mcp_system(sdk_map(tmp_path, {"url": url}, **NAMELESS))

    memory = await system.open("one")
    await memory.close()

    with pytest.raises(UsageError, match=r"cannot keep a second memory apart .* \{memory\}"):
        await system.open("two")
    await system.close()


async def test_headers_come_from_the_environment(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "Bearer s3cret")
    server = {"url": url, "headers": {"Authorization": "A_TOKEN"}}
    path = sdk_map(tmp_path, dict[str, object](server))

    card = (await start_mcp_system(path)).card

    assert "s3cret" not in repr(card)


async def test_a_url_without_a_server_is_gone(tmp_path: Path) -> None:
    path = sdk_map(tmp_path, {"url": "http://127.0.0.1:9/mcp"})

    with pytest.raises(SystemGone, match=r"127\.0\.0\.1:9/mcp cannot be reached"):
        await start_mcp_system(path)


async def test_a_server_that_goes_away_is_gone(tmp_path: Path) -> None:
    async with mcp_sdk_server.serving() as url:
        system = await start_mcp_system(sdk_map(tmp_path, {"url": url}))
        memory = await system.open("ada")
        await memory.ingest(episode(1, "The cat is Fig."))

    with pytest.raises(SystemGone, match="cannot be reached"):
        await memory.answer(asked("What is the cat called?"))
    with pytest.raises(SystemGone, match="cannot be reached"):
        await memory.answer(asked("What is the cat called?"))
    await system.close()


async def test_arguments_a_tool_refuses_are_a_fault(tmp_path: Path, url: str) -> None:
    ingest = {"tool": "store", "arguments": {"text": "{text}", "note": "{id}"}}
    path = sdk_map(tmp_path, {"url": url}, **{**NAMELESS, "ingest": ingest})
    system: McpSystem = await start_mcp_system(path)
    memory = await system.open("ada")

    with pytest.raises(SystemFault, match=r"the tool store failed: .*day"):
        await memory.ingest(episode(1, "The cat is Fig."))
    await system.close()
