"""The optional parts of the contract are the same over every transport."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import msgspec
import pytest
import yaml

from recall_bench.core.errors import NotOffered, SystemDied, SystemFault, SystemGone, UsageError
from recall_bench.core.memory import (
    Answer,
    ConsolidatingMemory,
    EraseReply,
    EraseScope,
    ErasingMemory,
    KillableMemory,
    ListingMemory,
    MemorySystem,
    MemoryWithFolder,
    Offer,
    ReopeningSystem,
    StoredEntry,
    list_offers,
    reopen_memory,
)
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.settings import Settings
from recall_bench.features.mcp.mcp_system import start_mcp_system
from recall_bench.features.mcp.server_map import read_server_map
from recall_bench.features.serving.grpc_server import run_grpc_server
from recall_bench.systems.grpc.grpc_system import connect_grpc_system
from recall_bench.systems.python.isolated_system import load_isolated_system
from recall_bench.systems.python.system import build_python_system
from recall_bench.systems.servers.host import SystemHost
from recall_bench.systems.transports.command_system import start_command_system
from recall_bench.systems.transports.http_system import connect_http_system, start_http_system
from recall_bench.systems.transports.remote_system import RemoteMemory
from recall_bench.systems.transports.wire import (
    EraseRequest,
    HealthReply,
    HealthRequest,
    Reply,
    Request,
    StoredRequest,
)
from tests.features.mcp.mcp_maps import child_map
from tests.features.serving.http_servers import hosting, serving
from tests.systems import offering_adapters
from tests.systems.offering_adapters import AsyncMemory, LedgerMemory, OddMemory, PlainMemory

pytestmark = pytest.mark.anyio

START = datetime(2026, 3, 1)


STORY = (
    (1, "The shed code is 4471.", "home"),
    (2, "Bruno likes tea.", "work"),
    (3, "The rent is 900 euros.", "home"),
    (4, "Bruno likes tea.", None),
    (5, "Mira moved to Oslo.", None),
    (40, "The concert was loud.", None),
)


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
    for day, text, session in STORY:
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


ADAPTER = offering_adapters.__file__


@asynccontextmanager
async def close_after(system: MemorySystem) -> AsyncIterator[MemorySystem]:
    try:
        yield system
    finally:
        await system.close()


@asynccontextmanager
async def run_in_process() -> AsyncIterator[MemorySystem]:
    async with close_after(build_python_system(LedgerMemory)) as system:
        yield system


@asynccontextmanager
async def run_isolated() -> AsyncIterator[MemorySystem]:
    settings = Settings(adapter=f"{ADAPTER}:LedgerMemory")
    system = await anyio.to_thread.run_sync(load_isolated_system, settings)
    async with close_after(system):
        yield system


@asynccontextmanager
async def run_command() -> AsyncIterator[MemorySystem]:
    served = f"{sys.executable} -m recall_bench serve {ADAPTER}:LedgerMemory --stdio"
    # A tree that is not the installed one is found by this variable.
    env = tuple(name for name in ("PYTHONPATH",) if name in os.environ)
    settings = Settings(adapter=f"command:{served}", env=env)
    system = await start_command_system(settings.adapter, {}, settings=settings)
    async with close_after(system):
        yield system


@asynccontextmanager
async def run_http() -> AsyncIterator[MemorySystem]:
    async with (
        serving(build_python_system(LedgerMemory)) as url,
        close_after(await connect_http_system(url)) as system,
    ):
        yield system


@asynccontextmanager
async def run_grpc() -> AsyncIterator[MemorySystem]:
    host = SystemHost(build_python_system(LedgerMemory))
    async with run_grpc_server(host, "127.0.0.1:0") as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        async with close_after(system):
            yield system
    await host.close()


@asynccontextmanager
async def run_started_http() -> AsyncIterator[MemorySystem]:
    served = [sys.executable, "-m", "recall_bench", "serve", f"{ADAPTER}:LedgerMemory"]
    server = {
        "command": [*served, "--http", "127.0.0.1:{port}"],
        "env": {"RECALL_BENCH_STATE_DIR": "{state_dir}"},
    }
    with TemporaryDirectory() as folder:
        path = Path(folder, "server.yaml")
        path.write_text(yaml.safe_dump({"transport": "http", "server": server}))
        env = [name for name in ("PYTHONPATH",) if name in os.environ]
        async with close_after(await start_http_system(path, env)) as system:
            yield system


TRANSPORTS = {
    "in-process": run_in_process,
    "isolated": run_isolated,
    "command": run_command,
    "http": run_http,
    "started-http": run_started_http,
    "grpc": run_grpc,
}


@pytest.fixture(scope="module")
def expected() -> list[object]:
    async def run() -> list[object]:
        async with run_in_process() as system:
            return await drive_all(system)

    return anyio.run(run)


def test_an_honest_memory_erases_on_request(expected: list[object]) -> None:
    assert expected[0] == sorted(Offer)
    held = [len(each) for each in expected if isinstance(each, tuple)]
    assert held == [6, 5, 4, 3, 3, 2, 1, 1, 1]
    assert [each for each in expected if isinstance(each, EraseReply)] == [
        EraseReply(confirmed=True, count=1),
        EraseReply(confirmed=True),
        EraseReply(confirmed=False),
        EraseReply(confirmed=True, count=1),
        EraseReply(),
        EraseReply(confirmed=False, count=0),
    ]
    assert expected[-1] == "The concert was loud."


@pytest.mark.parametrize("transport", [name for name in TRANSPORTS if name != "started-http"])
async def test_every_transport_says_the_same(transport: str, expected: list[object]) -> None:
    async with TRANSPORTS[transport]() as system:
        assert await drive_all(system) == expected


@pytest.mark.parametrize("transport", ["isolated", "command", "started-http"])
async def test_a_process_of_ours_can_be_killed_and_its_memory_reopened(transport: str) -> None:
    async with TRANSPORTS[transport]() as system:
        memory = await system.open("story")
        await memory.ingest(build_episode(1, "The shed code is 4471."))
        await memory.settle()
        assert isinstance(memory, KillableMemory)
        assert isinstance(memory, MemoryWithFolder)
        folder = memory.state_folder
        assert folder is not None
        assert any(b"4471" in path.read_bytes() for path in folder.rglob("*.json"))
        await memory.kill()
        with pytest.raises((SystemGone, SystemDied)):
            await memory.answer(build_question("What is the shed code?"))
        again = await reopen_memory(system, memory)
        assert isinstance(again, ListingMemory)
        held = await again.list_stored()
        assert held == (StoredEntry(text="The shed code is 4471.", id="e1", day=1),)
        await again.close()
    assert not folder.exists()


@pytest.mark.parametrize("transport", ["in-process", "http", "grpc"])
async def test_what_we_did_not_start_is_not_killed(transport: str) -> None:
    async with TRANSPORTS[transport]() as system:
        memory = await system.open("story")
        if isinstance(memory, KillableMemory):
            with pytest.raises(NotOffered):
                await memory.kill()
        await memory.close()


MCP_TOOLS: dict[str, object] = {
    "ingest": {
        "tool": "remember",
        "each": "note",
        "arguments": {"id": "{id}", "text": "{context} {text}", "session": "{session}"}
        | {"date": "{date}"},
    },
    "forget": {"tool": "erase", "arguments": {"subject": "{subject}"}, "done": "erased [1-9]"},
    "delete": {"tool": "erase", "arguments": {"id": "{id}"}, "done": "erased [1-9]"},
    "delete_session": {"tool": "erase", "arguments": {"session": "{session}"}},
    "delete_person": {"tool": "erase", "arguments": {"subject": "{name}"}},
    "keep_days": {"tool": "erase", "arguments": {"days": "{days}"}},
    "stored": {"tool": "list_all", "results": "notes", "text": "text", "id": "id"},
    "consolidate": {"tool": "merge"},
}


async def list_ids(memory: ListingMemory) -> list[str | None]:
    return [entry.id for entry in await memory.list_stored()]


async def test_an_mcp_server_offers_what_its_map_has_tools_for(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path, **MCP_TOOLS))
    async with close_after(system):
        assert list_offers(system) == frozenset(Offer)
        memory = await system.open("story")
        for day, text, session in STORY:
            await memory.ingest(build_episode(day, text, session))
        assert await list_ids(memory) == ["e1", "e2", "e3", "e4", "e5", "e40"]
        await memory.consolidate()
        for scope, value, reply, left in (
            (EraseScope.FORGET, "shed code", True, ["e2", "e3", "e4", "e5", "e40"]),
            (EraseScope.DELETE, "e2", True, ["e3", "e4", "e5", "e40"]),
            (EraseScope.DELETE, "e2", False, ["e3", "e4", "e5", "e40"]),
            (EraseScope.SESSION, "home", None, ["e4", "e5", "e40"]),
            (EraseScope.PERSON, "Mira", None, ["e4", "e40"]),
            (EraseScope.DAYS, "10", None, ["e40"]),
        ):
            assert await memory.erase(scope, value) == EraseReply(confirmed=reply)
            assert await list_ids(memory) == left
        assert isinstance(memory, KillableMemory)
        assert isinstance(memory, MemoryWithFolder)
        await memory.kill()
        with pytest.raises(SystemGone, match="was killed"):
            await memory.list_stored()
        memory = await system.reopen(memory)
        assert [entry.day for entry in await memory.list_stored()] == [40]
        folder = memory.folder
        await memory.close()
        assert folder.is_dir()
        del memory
        assert not folder.exists()


async def test_an_mcp_map_without_those_tools_offers_nothing(tmp_path: Path) -> None:
    system = await start_mcp_system(child_map(tmp_path, snapshots=None))
    async with close_after(system):
        assert list_offers(system) == frozenset()
        memory = await system.open("story")
        with pytest.raises(NotOffered, match="no keep_days"):
            await memory.erase(EraseScope.DAYS, "3")
        with pytest.raises(NotOffered, match="no stored"):
            await memory.list_stored()
        with pytest.raises(NotOffered, match="no consolidate"):
            await memory.consolidate()
        with pytest.raises(NotOffered, match="cannot be started again"):
            await system.reopen(memory)


def test_a_tool_that_erases_receives_what(tmp_path: Path) -> None:
    path = child_map(tmp_path, forget={"tool": "erase", "arguments": {"subject": "all"}})
    with pytest.raises(UsageError, match=r'forget.arguments have no "\{subject\}"'):
        read_server_map(path)


class OldHost(SystemHost):
    """A server from before the optional parts, which wrongly says that it has one."""

    async def handle(self, request: Request) -> Reply:
        if isinstance(request, EraseRequest | StoredRequest):
            raise UsageError("there is no such request")
        return await super().handle(request)

    async def _health(self, request: HealthRequest) -> HealthReply:
        health = await super()._health(request)
        return msgspec.structs.replace(health, offers=("stored", "levitate"))


async def test_a_server_that_does_not_understand_a_request_does_not_offer_it() -> None:
    async with (
        hosting(OldHost(build_python_system(PlainMemory))) as url,
        close_after(await connect_http_system(url)) as system,
    ):
        assert list_offers(system) == {Offer.STORED}
        memory = await system.open("story")
        assert isinstance(memory, RemoteMemory)
        with pytest.raises(NotOffered, match="no such request"):
            await memory.list_stored()
        with pytest.raises(NotOffered, match="does not offer 'forget'"):
            await memory.erase(EraseScope.FORGET, "x")
        with pytest.raises(NotOffered):
            await reopen_memory(system, memory)


async def test_methods_that_the_adapter_does_not_implement_are_not_offered_over_the_wire() -> None:
    host = SystemHost(build_python_system(AsyncMemory))
    async with run_grpc_server(host, "127.0.0.1:0") as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        async with close_after(system):
            memory = await system.open("story")
            assert isinstance(memory, RemoteMemory)
            with pytest.raises(NotOffered, match="no forget"):
                await memory.erase(EraseScope.FORGET, "x")
            assert await memory.erase(EraseScope.DELETE, "x") == EraseReply(confirmed=True, count=3)
    await host.close()
