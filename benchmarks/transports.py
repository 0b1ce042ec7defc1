"""What a transport costs beside the system: a call, and 1,000 days of 4 KB.

    python benchmarks/transports.py [direct] [grpc-1] [grpc-2]

The system does nothing. Servers run in a process of their own, the client in this one. The
baseline, in the same minute, is the same system called directly in Python. A call is the median
of many, one after another. The days are fed one call each, and in one stream where the transport
has one; each way three times, of which the median is shown.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import date

from recall_bench.core.memory import Answer, BulkIngestMemory, Memory, MemorySystem, SystemCard
from recall_bench.core.scenario import Episode, Question, compute_story_date

CALLS = 1_000
ROUNDS = 3
DAYS = 1_000
DAY_BYTES = 4_096
TARGET_S = 2.0
"""What all the days may take over gRPC, in a stream."""

EPOCH = date(2026, 1, 1)
EPISODES = [
    Episode(
        id=f"day-{day:04}",
        day=day,
        at=compute_story_date(EPOCH, day),
        text=f"{day:04}" * (DAY_BYTES // 4),
    )
    for day in range(1, DAYS + 1)
]
QUESTION = Question(
    id="0f0f", text="What happened?", asked_at=compute_story_date(EPOCH, DAYS), scenario="null"
)


class Null:
    """A system that does nothing, and a memory of it."""

    card = SystemCard(name="null", version="1")
    snapshots = None

    async def open(self, scenario: str) -> "Null":  # noqa: ARG002
        return self

    async def ingest(self, episode: Episode) -> None:
        pass

    async def settle(self) -> None:
        pass

    async def answer(self, question: Question) -> Answer:  # noqa: ARG002
        return Answer(text="ok")

    async def close(self) -> None:
        pass


@asynccontextmanager
async def direct() -> AsyncIterator[MemorySystem]:
    """The baseline: no transport at all."""
    yield Null()


@asynccontextmanager
async def grpc_1() -> AsyncIterator[MemorySystem]:
    """The public service. Our server speaks both versions, so the first is asked for here."""
    from recall_bench.systems.grpc.grpc_channel import GrpcServer
    from recall_bench.systems.grpc.grpc_system import GrpcV1System
    from recall_bench.systems.grpc.single_connection import parse_grpc_address

    async with served() as address:
        timeouts = {"timeout_s": 60.0, "connect_timeout_s": 5.0, "ready_timeout_s": 10.0}
        yield GrpcV1System(GrpcServer(parse_grpc_address(f"grpc://{address}"), **timeouts))


@asynccontextmanager
async def grpc_2() -> AsyncIterator[MemorySystem]:
    """The second version of the service."""
    from recall_bench.systems.grpc.grpc_system import build_grpc_system

    async with served() as address:
        yield build_grpc_system(f"grpc://{address}")


TRANSPORTS: dict[str, Callable[[], AbstractAsyncContextManager[MemorySystem]]] = {
    "direct": direct,
    "grpc-1": grpc_1,
    "grpc-2": grpc_2,
}
"""A transport is one function here: the null system as it is reached through it."""


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    """The address of a null server over gRPC in another process."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--serve", stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    try:
        yield (await child.stdout.readline()).decode().strip()
    finally:
        child.kill()
        await child.communicate()


async def serve() -> None:
    from recall_bench.systems.servers.grpc_server import serve_grpc
    from recall_bench.systems.servers.host import SystemHost

    await serve_grpc(
        SystemHost(Null()), "127.0.0.1:0", ready=lambda address: print(address, flush=True)
    )


async def a_call(memory: Memory) -> float:
    """Seconds of a question, in the median."""
    taken = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await memory.answer(QUESTION)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


async def fed_one_by_one(memory: Memory) -> float:
    """Seconds of all the days, each in a call."""
    started = time.perf_counter()
    for episode in EPISODES:
        await memory.ingest(episode)
    return time.perf_counter() - started


async def fed_in_a_stream(memory: BulkIngestMemory) -> float:
    """Seconds of all the days in one stream."""
    took: list[Episode] = []
    started = time.perf_counter()
    await memory.ingest_all(EPISODES, took.append)
    seconds = time.perf_counter() - started
    assert took == EPISODES, f"{len(took)} of {DAYS} days were acknowledged"
    return seconds


async def in_the_median(feed: Callable[[], Awaitable[float]]) -> float:
    return statistics.median([await feed() for _ in range(ROUNDS)])


async def measured(name: str) -> tuple[float, float, float | None]:
    """A question, the days one by one, and the days in a stream, where there is one."""
    async with TRANSPORTS[name]() as system:
        memory = await system.open("null")
        await memory.ingest(EPISODES[0])
        call = await a_call(memory)
        one_by_one = await in_the_median(lambda: fed_one_by_one(memory))
        streamed = None
        if isinstance(memory, BulkIngestMemory):
            streaming: BulkIngestMemory = memory
            streamed = await in_the_median(lambda: fed_in_a_stream(streaming))
        await memory.close()
        await system.close()
        return call, one_by_one, streamed


def main(wanted: list[str]) -> None:
    if wanted == ["--serve"]:
        asyncio.run(serve())
        return
    print(
        f"{'':8}{'a call':>10}{'overhead':>12}{'ratio':>9}   "
        f"{f'{DAYS:,} days of 4 KB':>21}{'streamed':>11}{'faster':>8}"
    )
    baseline, *_ = asyncio.run(measured("direct"))
    for name in wanted or TRANSPORTS:
        call, one_by_one, streamed = asyncio.run(measured(name))
        row = f"{name:8}{call * 1e6:>7,.1f} µs{(call - baseline) * 1e6:>9,.1f} µs"
        row += f"{call / baseline:>9,.0f}   {one_by_one:>19.3f} s"
        if streamed is not None:
            row += f"{streamed:>9.3f} s{one_by_one / streamed:>7.1f}×"
        print(row)
        if name == "grpc-2" and streamed is not None:
            verdict = "met" if streamed < TARGET_S else "MISSED"
            print(f"{'':8}the target of {TARGET_S:g} s for a stream over gRPC is {verdict}")


if __name__ == "__main__":
    main(sys.argv[1:])
