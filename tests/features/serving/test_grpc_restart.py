"""A server that went away took its memory along: it is never fed or asked as if it remembered."""

import asyncio
import datetime
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import anyio
import pytest

from recall_bench.core.errors import SystemGone, SystemTimeout
from recall_bench.core.memory import Memory, MemorySystem
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.grpc import grpc_channel
from recall_bench.systems.grpc.grpc_system import connect_grpc_system
from tests.features.serving.grpc_server import Diary, failing, serving, started
from tests.systems.asking import answered
from tests.thoroughness import choose_number

pytestmark = pytest.mark.anyio

QUESTION = Question(
    id="1", text="What happened?", asked_at=datetime.datetime(2026, 1, 9), scenario="ada"
)

CALLS: dict[str, Callable[[Memory], Any]] = {
    "ingest": lambda memory: memory.ingest(day(9)),
    "settle": lambda memory: memory.settle(),
    "answer": lambda memory: memory.answer(QUESTION),
}


def day(number: int) -> Episode:
    at = datetime.datetime(2026, 1, number)
    return Episode(id=str(number), day=number, at=at, text=f"day {number}")


@asynccontextmanager
async def fed(server: Diary) -> AsyncIterator[tuple[MemorySystem, Memory, Any, int]]:
    """A memory of three days on a running server."""
    handle, port = await started(server)
    system = await connect_grpc_system(f"grpc://127.0.0.1:{port}", connect_timeout_s=5)
    memory = await system.open("ada")
    for number in (1, 2, 3):
        await memory.ingest(day(number))
    try:
        yield system, memory, handle, port
    finally:
        await system.close()
        await handle.stop(None)


@pytest.mark.parametrize("call", CALLS)
async def test_a_server_restarted_empty_between_two_calls_is_noticed(call: str) -> None:
    restarted = Diary()

    async with fed(Diary()) as (_, memory, handle, port):
        await handle.stop(None)
        async with serving(restarted, port=port):
            with pytest.raises(SystemGone, match=r"is gone \(.*the connection was lost\)"):
                await CALLS[call](memory)

    assert restarted.calls == []


@pytest.mark.parametrize("call", CALLS)
async def test_a_memory_that_was_lost_refuses_every_further_call(call: str) -> None:
    restarted = Diary()

    async with fed(Diary()) as (_, memory, handle, port):
        await handle.stop(None)
        async with serving(restarted, port=port):
            for _ in range(3):
                with pytest.raises(SystemGone):
                    await CALLS[call](memory)

    assert restarted.calls == []


async def test_a_lost_memory_is_closed_without_a_call_to_the_new_server() -> None:
    restarted = Diary()

    async with fed(Diary()) as (_, memory, handle, port):
        await handle.stop(None)
        async with serving(restarted, port=port):
            await memory.close()

    assert restarted.calls == []


async def test_a_memory_opened_after_the_restart_is_fed_again() -> None:
    async with fed(Diary()) as (system, memory, handle, port):
        await handle.stop(None)
        async with serving(Diary(), port=port):
            with pytest.raises(SystemGone):
                await answered(memory, QUESTION)
            await memory.close()

            reopened = await system.open("ada")
            await reopened.ingest(day(1))

            assert (await answered(reopened, QUESTION)).text == "day 1"
            await reopened.close()


@pytest.mark.parametrize("method", ["IngestDay", "Query"])
async def test_a_server_that_dies_in_a_call_is_gone_and_the_call_is_not_repeated(
    method: str,
) -> None:
    begun = anyio.Event()
    restarted = Diary()

    async def die(request: Any, context: Any) -> Any:
        begun.set()
        await anyio.sleep_forever()

    server = Diary()
    faults = []

    async with fed(server) as (_, memory, handle, port):
        server.replies[method] = die

        async def call() -> None:
            with pytest.raises(SystemGone) as gone:
                await (memory.ingest(day(4)) if method == "IngestDay" else memory.answer(QUESTION))
            faults.append(str(gone.value))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await begun.wait()
            await handle.stop(None)
        async with serving(restarted, port=port):
            with pytest.raises(SystemGone):
                await answered(memory, QUESTION)

    assert method in faults[0]
    assert restarted.calls == []


async def test_a_server_that_says_unavailable_is_gone_even_if_connected() -> None:
    server = Diary()

    async with fed(server) as (_, memory, _handle, _port):
        server.replies["Query"] = failing("UNAVAILABLE", "backend restarting", times=1)
        with pytest.raises(SystemGone, match="Query failed with UNAVAILABLE: backend restarting"):
            await answered(memory, QUESTION)

        with pytest.raises(SystemGone, match="backend restarting"):
            await answered(memory, QUESTION)

    assert server.calls.count("Query") == 1


async def test_a_server_that_shuts_down_at_teardown_is_closed_without_error() -> None:
    server = Diary()

    stopping = []

    async with fed(server) as (_, memory, handle, _port):

        async def leave(request: Any, context: Any) -> Any:
            stopping.append(asyncio.create_task(handle.stop(None)))
            await anyio.sleep_forever()

        server.replies["Teardown"] = leave
        await memory.close()
        await stopping[0]

    assert server.calls[-1] == "Teardown"


class Relay:
    """Passes bytes on to a server, until it falls mute, or is cut and turned to another."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.is_mute = False
        self.writers: list[asyncio.StreamWriter] = []

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        self.writers += [writer, far_writer]
        await asyncio.gather(self.pump(reader, far_writer), self.pump(far_reader, writer))

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while received := await reader.read(65536):
                if not self.is_mute:
                    writer.write(received)
                    await writer.drain()
        writer.close()

    def cut(self, target: int) -> None:
        self.target = target
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()


async def test_a_server_that_vanishes_without_hanging_up_is_gone_once_a_ping_has_no_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grpc_channel, "_KEEPALIVE_TIMEOUT_S", 0.5)
    # Else the only ping within the test is one that gRPC may or may not send on its own.
    monkeypatch.setattr(grpc_channel, "_KEEPALIVE_MS", 300)
    async with serving(Diary()) as port:
        relay = Relay(port)
        listener = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
        target = f"grpc://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        memory = await (await connect_grpc_system(target, timeout_s=0.5)).open("ada")
        relay.is_mute = True

        with pytest.raises(SystemGone), anyio.fail_after(20):
            await fed_for_ever(memory)

        await memory.close()
        relay.cut(port)
        listener.close()


@pytest.mark.slow
async def test_no_day_is_counted_as_taken_by_a_server_that_does_not_have_it() -> None:
    """Cut between any two bytes, a channel may reconnect and deliver the call to the wrong one."""
    before, after = Diary(), Diary()
    pauses = Random(42)
    async with serving(before) as first, serving(after) as second:
        relay = Relay(first)
        listener = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
        system = await connect_grpc_system(
            f"grpc://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        )

        for _ in range(choose_number(80, 300)):
            relay.target = first
            memory = await system.open("ada")
            taken = await fed_until_cut(memory, relay, second, pauses.random() / 100)
            await memory.close()

            assert taken == before.days[: len(taken)]

        assert after.calls == []
        relay.cut(first)
        listener.close()


async def fed_for_ever(memory: Memory) -> None:
    while True:
        with suppress(SystemTimeout):
            await memory.ingest(day(1))


async def fed_until_cut(memory: Memory, relay: Relay, target: int, pause_s: float) -> list[str]:
    """The days the memory said it took."""
    taken: list[str] = []
    asyncio.get_running_loop().call_later(pause_s, relay.cut, target)
    with suppress(SystemGone):
        while True:
            text = f"day {len(taken)}"
            await memory.ingest(day(1).replace(text=text))
            taken.append(text)
    return taken
