"""Many days pass in one stream: in order, each acknowledged, and a failure says at which day."""

import asyncio
import datetime
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import grpc
import pytest

from recall_bench.core.errors import SystemBusy, SystemFault, SystemGone, SystemTimeout
from recall_bench.core.memory import BulkIngestMemory
from recall_bench.core.scenario import Episode
from recall_bench.systems.grpc.grpc_messages import SERVICE_V2, load_messages, load_methods
from recall_bench.systems.grpc.grpc_system import connect_grpc_system
from tests.features.serving.grpc_server import Act, Cabinet, hosting

pytestmark = pytest.mark.anyio

EPOCH = datetime.datetime(2026, 1, 1)
DAYS = [
    Episode(
        id=f"day-{number:04}",
        day=number,
        at=EPOCH + datetime.timedelta(days=number - 1),
        text=f"Day {number}.",
    )
    for number in range(1, 301)
]


@asynccontextmanager
async def opened(port: int, **settings: Any) -> AsyncIterator[BulkIngestMemory]:
    system = await connect_grpc_system(f"grpc://127.0.0.1:{port}", **settings)
    memory = await system.open("ada")
    assert isinstance(memory, BulkIngestMemory)
    try:
        yield memory
    finally:
        await system.close()


def at_day(number: int, act: Act) -> Act:
    async def acting(episode: Episode) -> None:
        if episode.day == number:
            await act(episode)

    return acting


async def test_all_days_arrive_in_order_and_are_acknowledged_in_order() -> None:
    cabinet = Cabinet()
    took: list[Episode] = []

    async with hosting(cabinet) as port, opened(port) as memory:
        await memory.ingest_all(DAYS, took.append)

    assert cabinet.opened[0].lived == took == DAYS


async def test_no_days_are_nothing_to_do() -> None:
    async with hosting(Cabinet()) as port, opened(port) as memory:
        await memory.ingest_all([], lambda _: pytest.fail("there was none"))


async def test_streams_follow_each_other() -> None:
    cabinet = Cabinet()

    async with hosting(cabinet) as port, opened(port) as memory:
        await memory.ingest_all(DAYS[:10], lambda _: None)
        await memory.ingest_all(DAYS[10:20], lambda _: None)

    assert cabinet.opened[0].lived == DAYS[:20]


async def test_a_day_is_acknowledged_before_the_next_is_taken_in() -> None:
    """So that a run that ends here knows how far it came, however slow the server."""
    took: list[Episode] = []
    acknowledged = asyncio.Event()

    def take(episode: Episode) -> None:
        took.append(episode)
        acknowledged.set()

    async def wait(_: Episode) -> None:
        await acknowledged.wait()

    cabinet = Cabinet(ingest=at_day(2, wait))
    async with hosting(cabinet) as port, opened(port) as memory:
        await memory.ingest_all(DAYS[:3], take)

    assert took == DAYS[:3]


async def fails(_: Episode) -> None:
    raise SystemFault("torn page")


@pytest.mark.parametrize("day", [1, 2, 157, 300])
async def test_a_failure_names_its_day_and_every_day_before_is_acknowledged(day: int) -> None:
    cabinet = Cabinet(ingest=at_day(day, fails))
    took: list[Episode] = []

    async with hosting(cabinet) as port, opened(port) as memory:
        with pytest.raises(
            SystemFault, match=rf"IngestMany, at day {day}, failed with INTERNAL: .*torn page"
        ):
            await memory.ingest_all(DAYS, took.append)

    assert took == cabinet.opened[0].lived == DAYS[: day - 1]


async def test_a_failure_leaves_the_memory_usable() -> None:
    cabinet = Cabinet(ingest=at_day(3, fails))

    async with hosting(cabinet) as port, opened(port) as memory:
        with pytest.raises(SystemFault):
            await memory.ingest_all(DAYS[:5], lambda _: None)
        cabinet.acts.clear()
        await memory.ingest_all(DAYS[2:5], lambda _: None)

    assert cabinet.opened[0].lived == DAYS[:5]


async def test_a_busy_server_says_so_in_a_stream_too() -> None:
    async def busy(_: Episode) -> None:
        error = SystemBusy("later")
        error.retry_after_s = 3.0
        raise error

    cabinet = Cabinet(ingest=at_day(2, busy))
    async with hosting(cabinet) as port, opened(port) as memory:
        with pytest.raises(SystemBusy, match="day 2") as raised:
            await memory.ingest_all(DAYS[:5], lambda _: None)

    assert raised.value.retry_after_s == 3.0


async def test_days_larger_than_the_window_all_pass() -> None:
    cabinet = Cabinet()
    days = [each.replace(text=str(each.day) * 500_000) for each in DAYS[:9]]

    async with hosting(cabinet) as port, opened(port) as memory:
        await memory.ingest_all(days, lambda _: None)

    assert cabinet.opened[0].lived == days


async def test_a_day_that_takes_too_long_is_a_timeout_however_fast_the_others_were() -> None:
    ended = asyncio.Event()

    async def hang(_: Episode) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    cabinet = Cabinet(ingest=at_day(5, hang))
    async with hosting(cabinet) as port, opened(port, timeout_s=0.3) as memory:
        with pytest.raises(SystemTimeout, match=r"at day 5, had no response for 0\.3 s"):
            await memory.ingest_all(DAYS, lambda _: None)
        await ended.wait()


async def test_many_days_may_take_longer_than_one_call() -> None:
    async def slowly(_: Episode) -> None:
        await asyncio.sleep(0.3)

    cabinet = Cabinet(ingest=slowly)
    async with hosting(cabinet) as port, opened(port, timeout_s=1.2) as memory:
        await memory.ingest_all(DAYS[:5], lambda _: None)

    assert cabinet.opened[0].lived == DAYS[:5]


async def test_a_stream_that_is_given_up_ends_at_the_server() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(_: Episode) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    cabinet = Cabinet(ingest=at_day(5, hang))
    async with hosting(cabinet) as port, opened(port) as memory:
        async with anyio.create_task_group() as group:
            group.start_soon(memory.ingest_all, DAYS, lambda _: None)
            await begun.wait()
            group.cancel_scope.cancel()
        await ended.wait()
        cabinet.acts.clear()
        await memory.ingest_all(DAYS[4:5], lambda _: None)


async def test_a_server_that_dies_in_a_stream_is_gone_at_that_day() -> None:
    begun = asyncio.Event()

    async def hang(_: Episode) -> None:
        begun.set()
        await asyncio.Event().wait()

    took: list[Episode] = []
    gone: list[str] = []
    all_taken = asyncio.Event()

    def take(day: Episode) -> None:
        took.append(day)
        if len(took) == 4:
            all_taken.set()

    cabinet = Cabinet(ingest=at_day(5, hang))
    async with anyio.create_task_group() as group, hosting(cabinet) as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        memory = await system.open("ada")
        assert isinstance(memory, BulkIngestMemory)

        async def feed() -> None:
            with pytest.raises(SystemGone) as raised:
                await memory.ingest_all(DAYS, take)
            gone.append(str(raised.value))

        group.start_soon(feed)
        await begun.wait()
        # The replies to the days before may still be on their way.
        with anyio.fail_after(60):
            await all_taken.wait()
    await system.close()

    assert "IngestMany, at day 5," in gone[0]
    assert took == DAYS[:4]


async def test_an_error_of_the_callback_ends_the_stream_unchanged() -> None:
    def refuse(_: Episode) -> None:
        raise OSError("the journal is full")

    async with hosting(Cabinet()) as port, opened(port) as memory:
        with pytest.raises(OSError, match="the journal is full"):
            await memory.ingest_all(DAYS, refuse)


@asynccontextmanager
async def acknowledging(*days: int) -> AsyncIterator[int]:
    """A server that acknowledges these days, whatever it is given."""
    kinds, served = load_messages(SERVICE_V2), load_methods(SERVICE_V2)

    async def health(request: Any, context: Any) -> Any:
        return kinds["HealthReply"]()

    async def open_one(request: Any, context: Any) -> Any:
        return kinds["Opened"](memory="m")

    async def ingest(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for _ in requests:
            pass
        for day in days:
            yield kinds["Ingested"](day=day)

    def spelled(name: str) -> dict[str, Any]:
        return {
            "request_deserializer": served[name].request.FromString,
            "response_serializer": served[name].response.SerializeToString,
        }

    handlers = {
        "Health": grpc.unary_unary_rpc_method_handler(health, **spelled("Health")),
        "Open": grpc.unary_unary_rpc_method_handler(open_one, **spelled("Open")),
        "IngestMany": grpc.stream_stream_rpc_method_handler(ingest, **spelled("IngestMany")),
    }
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE_V2, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield port
    await server.stop(None)


@pytest.mark.parametrize(
    ("days", "said"),
    [
        pytest.param((1, 2), "no more days where day 3 was due", id="one too few"),
        pytest.param((1, 3), "day 3 where day 2 was due", id="out of order"),
        pytest.param((1, 2, 3, 4), "day 4 where none was due", id="one too many"),
        pytest.param((), "no more days where day 1 was due", id="none"),
    ],
)
async def test_a_server_that_miscounts_is_at_fault(days: tuple[int, ...], said: str) -> None:
    async with acknowledging(*days) as port, opened(port) as memory:
        with pytest.raises(SystemFault, match=f"IngestMany acknowledged {said}"):
            await memory.ingest_all(DAYS[:3], lambda _: None)
