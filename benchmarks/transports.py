"""What a transport costs: the time of a call, and of 1,000 days of 4 KB.

    python benchmarks/transports.py [direct] [grpc-1] [grpc-2]

The system does nothing. Servers run in a new process, the client in this one. The baseline, in the
same minute, is the same system called directly in Python. The time of a call is the median of 1,000,
one after another. The days are fed with one call each, and in one stream where the transport has
one; each three times, of which the median is shown.
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
"""The limit for all days in a stream over gRPC."""

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


class NullSystem:
    """A system that does nothing; it is its own memory."""

    card = SystemCard(name="null", version="1")
    snapshots = None

    async def open(self, scenario: str) -> "NullSystem":  # noqa: ARG002
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
async def open_direct() -> AsyncIterator[MemorySystem]:
    """The baseline: no transport at all."""
    yield NullSystem()


@asynccontextmanager
async def open_grpc_1() -> AsyncIterator[MemorySystem]:
    """The first version, the public service; our server has both, so this client names it."""
    from recall_bench.systems.grpc.grpc_channel import GrpcServer
    from recall_bench.systems.grpc.grpc_system import GrpcV1System
    from recall_bench.systems.grpc.single_connection import parse_grpc_address

    async with run_server() as address:
        timeouts = {"timeout_s": 60.0, "connect_timeout_s": 5.0, "ready_timeout_s": 10.0}
        yield GrpcV1System(GrpcServer(parse_grpc_address(f"grpc://{address}"), **timeouts))


@asynccontextmanager
async def open_grpc_2() -> AsyncIterator[MemorySystem]:
    """The second version of the service."""
    from recall_bench.systems.grpc.grpc_system import connect_grpc_system

    async with run_server() as address:
        yield await connect_grpc_system(f"grpc://{address}")


TRANSPORTS: dict[str, Callable[[], AbstractAsyncContextManager[MemorySystem]]] = {
    "direct": open_direct,
    "grpc-1": open_grpc_1,
    "grpc-2": open_grpc_2,
}
"""For each transport, a function that opens the null system through it."""


@asynccontextmanager
async def run_server() -> AsyncIterator[str]:
    """The address of a gRPC server of the null system in another process."""
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
    """Be the server; print its address."""
    from recall_bench.features.serving.grpc_server import serve_grpc
    from recall_bench.systems.servers.host import SystemHost

    await serve_grpc(
        SystemHost(NullSystem()), "127.0.0.1:0", ready=lambda address: print(address, flush=True)
    )


async def measure_call(memory: Memory) -> float:
    """The median seconds of a question."""
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await memory.answer(QUESTION)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


async def feed_one_by_one(memory: Memory) -> float:
    """Seconds of all days, one call each."""
    started = time.perf_counter()
    for episode in EPISODES:
        await memory.ingest(episode)
    return time.perf_counter() - started


async def feed_stream(memory: BulkIngestMemory) -> float:
    """Seconds of all days in one stream."""
    acknowledged: list[Episode] = []
    started = time.perf_counter()
    await memory.ingest_all(EPISODES, acknowledged.append)
    seconds = time.perf_counter() - started
    assert acknowledged == EPISODES, f"{len(acknowledged)} of {DAYS} days were acknowledged"
    return seconds


async def measure_median(feed: Callable[[], Awaitable[float]]) -> float:
    """The median seconds of some rounds."""
    return statistics.median([await feed() for _ in range(ROUNDS)])


async def measure(name: str) -> tuple[float, float, float | None]:
    """Seconds of a question, of the days one by one, and in a stream if there is one."""
    async with TRANSPORTS[name]() as system:
        memory = await system.open("null")
        await memory.ingest(EPISODES[0])
        call = await measure_call(memory)
        one_by_one = await measure_median(lambda: feed_one_by_one(memory))
        streamed = None
        if isinstance(memory, BulkIngestMemory):
            streaming: BulkIngestMemory = memory
            streamed = await measure_median(lambda: feed_stream(streaming))
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
    baseline, *_ = asyncio.run(measure("direct"))
    for name in wanted or TRANSPORTS:
        call, one_by_one, streamed = asyncio.run(measure(name))
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
