"""Each failure of a gRPC server is told apart, keeps its reason, and hides no other."""

import asyncio
import datetime
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from recall_bench.core.errors import SystemBusy, SystemFault, SystemGone, SystemTimeout, UsageError
from recall_bench.core.memory import Answer, Memory
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.grpc.grpc_messages import load_messages
from recall_bench.systems.grpc.grpc_system import GrpcV1System, connect_grpc_system
from recall_bench.systems.transports.remote_system import RemoteSystem
from tests.features.serving.grpc_server import Diary, failing, hanging, serving
from tests.systems.asking import answered

pytestmark = pytest.mark.anyio

DAY = Episode(
    id="day-0002",
    day=2,
    at=datetime.datetime(2026, 1, 2),
    text="The cat is Fig. 🐈",
    arcs=("cat", "rain"),
)
QUESTION = Question(
    id="0f0f",
    text="What is the cat called?",
    asked_at=datetime.datetime(2026, 1, 9),
    scenario="ada",
)


async def system_at(port: int, **settings: Any) -> GrpcV1System | RemoteSystem:
    return await connect_grpc_system(f"grpc://127.0.0.1:{port}", **settings)


@asynccontextmanager
async def opened(diary: Diary, **settings: Any) -> AsyncIterator[Memory]:
    async with serving(diary) as port:
        system = await system_at(port, **settings)
        memory = await system.open("ada")
        try:
            yield memory
        finally:
            await system.close()


async def test_the_calls_come_in_the_order_of_the_protocol() -> None:
    diary = Diary()

    async with opened(diary) as memory:
        await memory.ingest(DAY)
        await memory.settle()
        answer = await answered(memory, QUESTION)
        await memory.close()

    assert answer == Answer(text="The cat is Fig. 🐈")
    assert diary.calls == [
        "Healthcheck",
        "Healthcheck",
        "Setup",
        "IngestDay",
        "FinalizeIngestion",
        "Query",
        "Teardown",
    ]


async def test_a_day_and_a_question_carry_what_the_protocol_says() -> None:
    diary = Diary()

    async with opened(diary) as memory:
        await memory.ingest(DAY)
        await answered(memory, QUESTION)

    kinds = load_messages()
    metadata = kinds["DayMetadata"](
        day_number=2, date="2026-01-02", persona_id="ada", active_arcs=["cat", "rain"]
    )
    assert diary.requests[3:] == [
        kinds["IngestDayRequest"](day_number=2, content=DAY.text, metadata=metadata),
        kinds["QueryRequest"](question="What is the cat called?"),
    ]


async def test_an_ipv6_server_is_reached() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 on this machine")
    diary = Diary()

    async with serving(diary, host="[::1]") as port:
        memory = await (await connect_grpc_system(f"grpc://[::1]:{port}")).open("ada")
        await memory.close()

    assert diary.calls == ["Healthcheck", "Healthcheck", "Setup", "Teardown"]


async def test_a_second_scenario_starts_with_an_empty_memory() -> None:
    async with serving(Diary()) as port:
        system = await system_at(port)
        first = await system.open("ada")
        await first.ingest(DAY)
        await first.close()

        second = await system.open("bob")

        assert (await answered(second, QUESTION)).text == ""
        await system.close()


async def test_the_server_holds_one_memory_at_a_time() -> None:
    async with serving(Diary()) as port:
        system = await system_at(port)
        await system.open("ada")

        with pytest.raises(UsageError, match="one memory at a time"):
            await system.open("bob")

        await system.close()


async def test_the_server_is_not_opened_twice_at_the_same_time() -> None:
    diary = Diary()
    refusals = []
    async with serving(diary) as port:
        system = await system_at(port)

        async def open_one() -> None:
            try:
                await system.open("ada")
            except UsageError as refusal:
                refusals.append(refusal)

        async with anyio.create_task_group() as group:
            group.start_soon(open_one)
            group.start_soon(open_one)
        await system.close()

    assert len(refusals) == 1
    assert diary.calls == ["Healthcheck", "Healthcheck", "Setup"]


async def test_the_server_names_itself() -> None:
    async with serving(Diary()) as port:
        system = await system_at(port)

        card = system.card

    assert card.name == system.card.name == "diary"


async def test_another_name_under_the_same_address_is_another_system() -> None:
    async with serving(Diary()) as port:
        system = await system_at(port)
    other = Diary(Healthcheck=healthy("other"))

    async with serving(other, port=port):
        with pytest.raises(SystemGone, match="called itself 'diary' before, now 'other'"):
            await system.open("ada")


def healthy(name: str, *, after: int = 0) -> Callable[[Any, Any], Any]:
    seen = []

    async def reply(request: Any, context: Any) -> Any:
        seen.append(request)
        return load_messages()["HealthcheckResponse"](name=name, ready=len(seen) > after)

    return reply


async def test_a_server_without_a_healthcheck_is_taken_as_ready() -> None:
    diary = Diary()

    async with serving(diary, omit="Healthcheck") as port:
        system = await system_at(port)
        memory = await system.open("ada")
        await memory.close()

    assert diary.calls == ["Setup", "Teardown"]
    assert system.card.name == f"grpc://127.0.0.1:{port}"


async def test_a_server_that_is_not_ready_yet_is_waited_for() -> None:
    diary = Diary(Healthcheck=healthy("slow", after=3))

    async with opened(diary):
        pass

    assert diary.calls == ["Healthcheck"] * 5 + ["Setup"]


@pytest.mark.parametrize(
    "health", [healthy("never", after=10**9), hanging], ids=["not ready", "silent"]
)
async def test_a_server_that_never_gets_ready_is_gone(health: Callable[[Any, Any], Any]) -> None:
    diary = Diary(Healthcheck=health)

    with pytest.raises(SystemGone, match=r"is not ready after 0\.3 s"):
        async with opened(diary, ready_timeout_s=0.3):
            pass

    assert "Setup" not in diary.calls


async def test_a_failing_healthcheck_is_a_fault() -> None:
    with pytest.raises(SystemFault, match="Healthcheck failed with INTERNAL: broken"):
        async with opened(Diary(Healthcheck=failing("INTERNAL", "broken"))):
            pass


async def test_a_server_that_is_down_is_gone_within_the_connect_timeout() -> None:
    async with serving(Diary()) as port:
        pass

    with pytest.raises(SystemGone, match=f"nothing can be reached at grpc://127.0.0.1:{port}"):
        await system_at(port, connect_timeout_s=0.3)


async def test_a_listener_that_is_no_grpc_server_is_gone_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        with pytest.raises(SystemGone, match="is not ready"):
            await system_at(port, ready_timeout_s=0.3)


CALLS: dict[str, Callable[[Memory], Any]] = {
    "IngestDay": lambda memory: memory.ingest(DAY),
    "FinalizeIngestion": lambda memory: memory.settle(),
    "Query": lambda memory: memory.answer(QUESTION),
    "Teardown": lambda memory: memory.close(),
}


async def test_a_failing_setup_is_a_fault_with_its_reason() -> None:
    with pytest.raises(SystemFault, match="Setup failed with INTERNAL: no disk"):
        async with opened(Diary(Setup=failing("INTERNAL", "no disk"))):
            pass


@pytest.mark.parametrize("method", CALLS)
async def test_a_failing_call_is_a_fault_with_method_code_and_reason(method: str) -> None:
    async with opened(Diary(**{method: failing("DATA_LOSS", "torn page")})) as memory:
        with pytest.raises(SystemFault, match=f"{method} failed with DATA_LOSS: torn page"):
            await CALLS[method](memory)


async def test_a_crash_in_the_servers_code_is_a_fault() -> None:
    async def crash(request: Any, context: Any) -> Any:
        raise ValueError("bad luck")

    async with opened(Diary(Query=crash)) as memory:
        with pytest.raises(SystemFault, match=r"Query failed with UNKNOWN: .*bad luck"):
            await answered(memory, QUESTION)


async def test_a_fault_leaves_the_memory_usable() -> None:
    async with opened(Diary(Query=failing("INTERNAL", "once", times=1))) as memory:
        with pytest.raises(SystemFault):
            await answered(memory, QUESTION)

        assert await answered(memory, QUESTION) == Answer(text="")


@pytest.mark.parametrize("method", CALLS)
async def test_a_call_slower_than_the_timeout_is_a_timeout(method: str) -> None:
    async with opened(Diary(**{method: hanging}), timeout_s=0.3) as memory:
        with pytest.raises(SystemTimeout, match=f"{method} failed with DEADLINE_EXCEEDED"):
            await CALLS[method](memory)


async def test_a_busy_server_asks_to_be_asked_again() -> None:
    busy = failing("RESOURCE_EXHAUSTED", "rate limit reached", times=1)

    async with opened(Diary(Query=busy)) as memory:
        with pytest.raises(SystemBusy, match="rate limit reached"):
            await answered(memory, QUESTION)

        assert await answered(memory, QUESTION) == Answer(text="")


async def test_a_day_too_big_for_the_server_is_a_fault_that_says_its_size() -> None:
    """A server takes 4 MiB unless it is configured otherwise."""
    async with opened(Diary()) as memory:
        with pytest.raises(SystemFault, match=r"the request had 5,000,\d\d\d bytes") as fault:
            await memory.ingest(DAY.replace(text="x" * 5_000_000))

    assert type(fault.value) is SystemFault


@pytest.mark.parametrize(
    "details",
    [
        "SERVER: Received message larger than max (5000043 vs. 4194304)",
        "grpc: received message larger than max (5000043 vs. 4194304)",
        "gRPC message exceeds maximum size 4194304: 5000043",
    ],
)
async def test_too_large_is_not_busy_in_any_wording(details: str) -> None:
    async with opened(Diary(IngestDay=failing("RESOURCE_EXHAUSTED", details))) as memory:
        with pytest.raises(SystemFault, match="the request had") as fault:
            await memory.ingest(DAY)

    assert type(fault.value) is SystemFault


async def test_an_answer_of_5_mb_arrives() -> None:
    async def verbose(request: Any, context: Any) -> Any:
        return load_messages()["QueryResponse"](answer="x" * 5_000_000)

    async with opened(Diary(Query=verbose)) as memory:
        answer = await answered(memory, QUESTION)

    assert len(answer.text) == 5_000_000


async def test_an_answer_beyond_64_mib_is_a_fault_that_says_so() -> None:
    async def endless(request: Any, context: Any) -> Any:
        return load_messages()["QueryResponse"](answer="x" * (64 * 1024 * 1024 + 1))

    async with opened(Diary(Query=endless)) as memory:
        with pytest.raises(SystemFault, match="larger than max") as fault:
            await answered(memory, QUESTION)

    assert type(fault.value) is SystemFault


async def test_a_question_that_is_given_up_is_cancelled_at_the_server() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def slow(request: Any, context: Any) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    diary = Diary(Query=slow)
    async with opened(diary) as memory:
        async with anyio.create_task_group() as group:
            group.start_soon(memory.answer, QUESTION)
            await begun.wait()
            group.cancel_scope.cancel()
        await cancelled.wait()
        await memory.close()

    assert diary.calls[-1] == "Teardown"


async def test_a_time_limit_of_the_caller_ends_as_one() -> None:
    async with opened(Diary(Query=hanging)) as memory:
        with pytest.raises(TimeoutError), anyio.fail_after(0.1):
            await answered(memory, QUESTION)


async def test_questions_travel_together() -> None:
    everybody = asyncio.Barrier(8)

    async def together(request: Any, context: Any) -> Any:
        await everybody.wait()
        return load_messages()["QueryResponse"](answer="met")

    answers: list[str] = []

    async with opened(Diary(Query=together)) as memory, anyio.create_task_group() as group:

        async def ask() -> None:
            answers.append((await answered(memory, QUESTION)).text)

        for _ in range(8):
            group.start_soon(ask)

    assert answers == ["met"] * 8


async def test_a_failing_teardown_still_hangs_up() -> None:
    diary = Diary(Teardown=failing("INTERNAL", "stays"))

    async with serving(diary) as port:
        system = await system_at(port)
        memory = await system.open("ada")
        with pytest.raises(SystemFault, match="Teardown failed with INTERNAL: stays"):
            await memory.close()

        again = await system.open("bob")
        await again.settle()
        await system.close()

    assert diary.calls[-2:] == ["Setup", "FinalizeIngestion"]


async def test_closing_twice_tears_down_once() -> None:
    diary = Diary()

    async with opened(diary) as memory:
        await memory.close()
        await memory.close()

    assert diary.calls.count("Teardown") == 1
