"""Any system can be served over gRPC, to the public harness and to ours, and answers the same."""

import asyncio
import datetime
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import grpc
import pytest

from recall_bench.core.errors import (
    BenchError,
    ReaderFault,
    SystemBusy,
    SystemFault,
    SystemGone,
    UsageError,
)
from recall_bench.core.memory import (
    Answer,
    Memory,
    MemorySystem,
    Offer,
    Passage,
    ReaderCard,
    RetrievalReply,
)
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.features.serving.grpc_server import ServerCertificate, run_grpc_server, serve_grpc
from recall_bench.systems.builtin.retrieval_systems import build_hybrid
from recall_bench.systems.grpc.grpc_channel import GrpcServer
from recall_bench.systems.grpc.grpc_messages import SERVICE_V1, load_methods
from recall_bench.systems.grpc.grpc_system import GrpcV1System, connect_grpc_system
from recall_bench.systems.grpc.single_connection import parse_grpc_address
from recall_bench.systems.python.system import build_python_system
from recall_bench.systems.servers.host import SystemHost
from recall_bench.testing import CHECKS, Honest, Outcome, check_system
from tests.features.serving.grpc_server import Cabinet
from tests.systems.diary import EPISODES, QUESTIONS, question

pytestmark = pytest.mark.anyio


class Harness:
    """Calls the first version as the public harness does, with nothing of our client."""

    def __init__(self, port: int) -> None:
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")

    async def call(self, name: str, **fields: Any) -> Any:
        method = load_methods(SERVICE_V1)[name]
        spelled = method.request.SerializeToString, method.response.FromString
        call = self._channel.unary_unary(method.path, *spelled)
        return await call(method.request(**fields), timeout=20)

    async def ingest(self, number: int, text: str) -> None:
        date = (datetime.date(2026, 1, 1) + datetime.timedelta(days=number - 1)).isoformat()
        told = {"day_number": number, "date": date, "persona_id": "ada", "active_arcs": ["cat"]}
        await self.call("IngestDay", day_number=number, content=text, metadata=told)

    async def ask(self, text: str) -> str:
        return str((await self.call("Query", question=text)).answer)

    async def close(self) -> None:
        await self._channel.close()


@asynccontextmanager
async def harness(system: MemorySystem, **settings: Any) -> AsyncIterator[Harness]:
    async with run_grpc_server(SystemHost(system), "127.0.0.1:0", **settings) as port:
        caller = Harness(port)
        try:
            yield caller
        finally:
            await caller.close()


async def test_the_public_harness_runs_a_persona_through() -> None:
    cabinet = Cabinet()

    async with harness(cabinet) as public:
        health = await public.call("Healthcheck")
        await public.call("Setup")
        await public.ingest(1, "The cat is Fig.")
        await public.call("FinalizeIngestion")
        first = await public.ask("What is the cat called?")
        await public.ingest(2, "The cat is Plum.")
        await public.call("FinalizeIngestion")
        second = await public.ask("What is the cat called?")
        await public.call("Teardown")

    assert (health.name, health.ready) == ("cabinet", True)
    assert (first, second) == ("The cat is Fig.", "The cat is Fig., The cat is Plum.")
    assert cabinet.closed == cabinet.opened


async def test_a_day_arrives_with_its_date_and_arcs() -> None:
    cabinet = Cabinet()

    async with harness(cabinet) as public:
        await public.call("Setup")
        await public.ingest(7, "Rain.")

    lived = cabinet.opened[0].lived[0]
    assert (lived.day, lived.id, lived.text) == (7, "day-0007", "Rain.")
    assert (lived.at, lived.arcs) == (datetime.datetime(2026, 1, 7), ("cat",))


async def test_a_question_is_asked_on_the_last_day_by_the_principal() -> None:
    cabinet = Cabinet()

    async with harness(cabinet) as public:
        await public.call("Setup")
        for number in (1, 2, 3):
            await public.ingest(number, "Rain.")
        await public.ask("Who?")
        await public.ask("Who?")

    assert cabinet.asked[0].asked_at == datetime.datetime(2026, 1, 3)
    assert cabinet.asked[0].session == PRINCIPAL
    assert cabinet.asked[0].id == cabinet.asked[1].id


async def test_setup_replaces_the_memory_before() -> None:
    """The public harness leaves out Teardown when it is interrupted."""
    cabinet = Cabinet()

    async with harness(cabinet) as public:
        await public.call("Setup")
        await public.ingest(1, "Secret.")
        await public.call("Setup")
        await public.ingest(1, "Rain.")

        assert await public.ask("What?") == "Rain."

    assert cabinet.closed == cabinet.opened[:1]


async def test_questions_may_be_asked_together() -> None:
    everybody = asyncio.Barrier(8)

    async def meet(_: object) -> None:
        await everybody.wait()

    async with harness(Cabinet(answer=meet)) as public:
        await public.call("Setup")
        await public.ingest(1, "Rain.")
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(public.ask, "What?")


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        (["FinalizeIngestion"], "call Setup first"),
        (["Query"], "call Setup first"),
        (["Setup", "Query"], "call IngestDay before the first Query"),
        (["Setup", "Teardown", "FinalizeIngestion"], "call Setup first"),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, list) else "",
)
async def test_a_call_out_of_order_is_refused_with_what_is_missing(
    calls: list[str], said: str
) -> None:
    async with harness(Cabinet()) as public:
        for name in calls[:-1]:
            await public.call(name)

        with pytest.raises(grpc.aio.AioRpcError, match=said) as refused:
            await public.call(calls[-1])

    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize("calls", [["Teardown"], ["Setup", "Teardown", "Teardown"]], ids=str)
async def test_there_may_be_nothing_to_tear_down(calls: list[str]) -> None:
    async with harness(Cabinet()) as public:
        for name in calls:
            await public.call(name)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SystemFault("torn"), grpc.StatusCode.INTERNAL),
        (SystemBusy("torn"), grpc.StatusCode.RESOURCE_EXHAUSTED),
        (SystemGone("torn"), grpc.StatusCode.UNAVAILABLE),
    ],
    ids=["fault", "busy", "gone"],
)
async def test_an_error_is_an_error_and_never_an_answer(
    error: BenchError, code: grpc.StatusCode
) -> None:
    async def fail(_: object) -> None:
        raise error

    async with harness(Cabinet(answer=fail)) as public:
        await public.call("Setup")
        await public.ingest(1, "Rain.")
        with pytest.raises(grpc.aio.AioRpcError, match="torn") as failed:
            await public.ask("What?")

    assert failed.value.code() is code


FOUND: RetrievalReply = RetrievalReply(passages=(Passage(text="The cat is Fig."),))


async def finds(_: object) -> RetrievalReply:
    return FOUND


class Echo:
    """A reader that repeats what it was given."""

    card = ReaderCard(name="echo", version="1")

    async def read(self, question: Any, passages: Any) -> Answer:
        if not passages:
            raise ReaderFault("nothing to read")
        return Answer(text=f"{question.text} {passages[0].text}")

    async def close(self) -> None:
        pass


async def test_passages_without_an_answer_are_refused_without_a_reader() -> None:
    async with harness(Cabinet(answer=finds)) as public:
        await public.call("Setup")
        await public.ingest(1, "Rain.")

        with pytest.raises(grpc.aio.AioRpcError, match="cabinet only finds passages"):
            await public.ask("What?")


async def test_passages_without_an_answer_are_answered_by_the_reader() -> None:
    async with harness(Cabinet(answer=finds), reader=Echo()) as public:
        await public.call("Setup")
        await public.ingest(1, "Rain.")

        assert await public.ask("What?") == "What? The cat is Fig."


async def test_a_day_without_a_date_is_refused_by_its_number() -> None:
    async with harness(Cabinet()) as public:
        await public.call("Setup")

        with pytest.raises(grpc.aio.AioRpcError, match="day 3 has no valid date"):
            await public.call("IngestDay", day_number=3, content="Rain.")


async def told(memory: Memory) -> list[str]:
    """What a memory of the gardener's diary answers."""
    for episode in EPISODES:
        await memory.ingest(episode)
    await memory.settle()
    replies = [await memory.answer(question(text)) for text in QUESTIONS]
    await memory.close()
    return [reply.text for reply in replies if isinstance(reply, Answer)]


async def test_a_story_is_answered_the_same_directly_and_in_either_version() -> None:
    directly = await told(await build_hybrid({}).open("diary"))

    async with run_grpc_server(SystemHost(build_hybrid({})), "127.0.0.1:0") as port:
        target = f"grpc://127.0.0.1:{port}"
        second = await connect_grpc_system(target)
        over_second = await told(await second.open("diary"))
        await second.close()
        timeouts = {"timeout_s": 20.0, "connect_timeout_s": 5.0, "ready_timeout_s": 5.0}
        first = GrpcV1System(GrpcServer(parse_grpc_address(target), **timeouts))
        over_first = await told(await first.open("diary"))
        await first.close()

    assert len(set(directly)) > 3
    assert over_second == directly
    assert over_first == directly


async def test_a_served_system_keeps_the_contract() -> None:
    host = SystemHost(build_python_system(Honest))

    async with run_grpc_server(host, "127.0.0.1:0") as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        report = await check_system(system)
        await system.close()
    await host.close()

    outcomes = {check.name: check.outcome for check in report.checks}
    assert outcomes == {check.name: Outcome.PASSED for check in CHECKS} | dict.fromkeys(
        Offer, Outcome.NOT_APPLICABLE
    )
    assert report.seen.streams


async def test_serving_says_where_and_ends_when_cancelled() -> None:
    ready: list[str] = []
    up = asyncio.Event()

    def note(address: str) -> None:
        ready.append(address)
        up.set()

    async with anyio.create_task_group() as group:

        async def serve() -> None:
            await serve_grpc(SystemHost(Cabinet()), "127.0.0.1:0", ready=note)

        group.start_soon(serve)
        await up.wait()
        card = (await connect_grpc_system(f"grpc://{ready[0]}")).card
        group.cancel_scope.cancel()

    assert card.name == "cabinet"
    with pytest.raises(SystemGone):
        await connect_grpc_system(f"grpc://{ready[0]}", connect_timeout_s=0.1)


async def test_an_address_that_is_taken_is_refused_even_if_it_is_one_of_ours() -> None:
    async with run_grpc_server(SystemHost(Cabinet()), "127.0.0.1:0") as port:
        with pytest.raises(UsageError, match=f"nothing can be served at 127.0.0.1:{port}"):
            await serve_grpc(SystemHost(Cabinet()), f"127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["localhost", "localhost:", "localhost:http", ""])
async def test_an_address_without_a_port_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="write host:port"):
        await serve_grpc(SystemHost(Cabinet()), address)


async def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = ServerCertificate(chain=tmp_path / "cert.pem", key=tmp_path / "key.pem")

    with pytest.raises(UsageError, match=r"key\.pem cannot be read"):
        await serve_grpc(SystemHost(Cabinet()), "127.0.0.1:0", tls=missing)
