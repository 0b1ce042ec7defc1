"""A server of the second version is told everything, tells everything, and can go back."""

import asyncio
import datetime
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from recall_bench.core.errors import (
    BenchError,
    SystemBusy,
    SystemFault,
    SystemGone,
    SystemTimeout,
    UsageError,
)
from recall_bench.core.memory import (
    Answer,
    Asker,
    AttestingMemory,
    Clock,
    Memory,
    Passage,
    RetrievalReply,
)
from recall_bench.core.scenario import Episode, Question, Turn
from recall_bench.core.usage import Usage
from recall_bench.systems.grpc.grpc_messages import SERVICE_V1, SERVICE_V2
from recall_bench.systems.grpc.grpc_system import connect_grpc_system
from recall_bench.systems.transports.remote_system import RemoteSystem
from tests.features.serving.grpc_server import Act, Cabinet, Diary, hosting, serving
from tests.systems.asking import answered

pytestmark = pytest.mark.anyio

DAY = Episode(
    id="session-2",
    day=2,
    at=datetime.datetime(2026, 1, 2, 13, 56),
    text="The cat is Fig. 🐈",
    turns=(Turn(speaker="Ada", text="The cat is Fig. 🐈"),),
    arcs=("cat", "rain"),
)
QUESTION = Question(
    id="0f0f",
    text="What is the cat called?",
    asked_at=datetime.datetime(2026, 1, 9),
    scenario="ada",
    session="crew",
    choices=("Fig", "Plum"),
    top_k=5,
)


@asynccontextmanager
async def greeted(cabinet: Cabinet, **settings: Any) -> AsyncIterator[RemoteSystem]:
    async with hosting(cabinet) as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}", **settings)
        assert isinstance(system, RemoteSystem)
        try:
            yield system
        finally:
            await system.close()


async def test_the_card_is_what_the_server_says_of_itself() -> None:
    async with greeted(Cabinet()) as system:
        card = system.card

    assert (card.name, card.version, card.max_concurrency) == ("cabinet", "7", 8)
    assert (card.clock, card.asker, card.answers) == (Clock.NATIVE, Asker.HONOURED, True)
    assert card.config == {"protocol": SERVICE_V2}


class Sundial:
    value = "sundial"


async def test_a_card_that_cannot_be_understood_is_refused_with_what_it_says() -> None:
    cabinet = Cabinet()
    cabinet.card = cabinet.card.replace(clock=Sundial())

    async with hosting(cabinet) as port:
        with pytest.raises(UsageError, match=r"describes itself .* 'sundial'"):
            await connect_grpc_system(f"grpc://127.0.0.1:{port}")


async def test_an_episode_and_a_question_arrive_whole() -> None:
    cabinet = Cabinet()

    async with greeted(cabinet) as system:
        memory = await system.open("ada")
        await memory.ingest(DAY)
        await memory.answer(QUESTION)

    assert cabinet.opened[0].scenario == "ada"
    assert cabinet.opened[0].lived == [DAY]
    assert cabinet.asked == [QUESTION]


async def test_an_answer_comes_with_passages_tool_calls_and_usage() -> None:
    async with greeted(Cabinet()) as system:
        memory = await system.open("ada")
        await memory.ingest(DAY)
        answer = await memory.answer(QUESTION)

    assert answer == Answer(
        text=DAY.text,
        passages=(Passage(text=DAY.text, id="session-2", day=2, source="drawer", score=0.5),),
        tool_calls=({"tool": "look", "args": {"k": 3}},),
        usage=Usage(calls=2, input_tokens=30, output_tokens=4, cost_usd=0.25),
    )


async def test_passages_without_an_answer_are_not_an_empty_answer() -> None:
    found = RetrievalReply(passages=(Passage(text="Fig"),))

    async with greeted(Cabinet(answer=always(found))) as system:
        memory = await system.open("ada")

        assert await memory.answer(QUESTION) == found


def always(reply: object) -> Act:
    async def act(_: object) -> object:
        return reply

    return act


async def test_memories_live_side_by_side() -> None:
    async with greeted(Cabinet()) as system:
        ada, bob = await system.open("ada"), await system.open("bob")
        await ada.ingest(DAY)

        assert (await answered(ada, QUESTION)).text == DAY.text
        assert (await answered(bob, QUESTION)).text == ""


async def test_a_server_can_say_how_much_it_holds() -> None:
    async with greeted(Cabinet()) as system:
        memory = await system.open("ada")
        assert isinstance(memory, AttestingMemory)
        await memory.ingest(DAY)

        assert await memory.attest() == 1


async def test_a_saved_state_is_returned_to_and_what_came_after_is_not_in_it() -> None:
    cabinet = Cabinet()
    async with greeted(cabinet) as system:
        assert system.snapshots is not None
        memory = await system.open("ada")
        await memory.ingest(DAY)
        token = await system.snapshots.save(memory)
        await memory.ingest(DAY.replace(day=3, id="session-3", text="Plum."))

        copy = await system.snapshots.open(token)
        await system.snapshots.drop(token)

        assert (await answered(copy, QUESTION)).text == DAY.text
        assert (await answered(memory, QUESTION)).text == f"{DAY.text}, Plum."
    assert cabinet.saved == {}


async def test_a_state_that_is_not_there_is_gone() -> None:
    async with greeted(Cabinet()) as system:
        assert system.snapshots is not None

        with pytest.raises(SystemGone, match="there is no snapshot 'state-9'"):
            await system.snapshots.open("state-9")


async def test_closing_a_memory_releases_it_and_no_other() -> None:
    cabinet = Cabinet()
    async with greeted(cabinet) as system:
        memory, other = await system.open("ada"), await system.open("bob")
        await memory.close()
        await memory.close()

        with pytest.raises(SystemGone, match="NOT_FOUND: this memory is not held here"):
            await memory.settle()

        await other.settle()
        assert cabinet.closed == cabinet.opened[:1]


def raising(error: BenchError) -> Act:
    async def act(_: object) -> None:
        raise error

    return act


BUSY = SystemBusy("the queue is too large")
BUSY.retry_after_s = 2.5

CALLS: dict[str, Callable[[Memory], Awaitable[Any]]] = {
    "ingest": lambda memory: memory.ingest(DAY),
    "settle": lambda memory: memory.settle(),
    "answer": lambda memory: memory.answer(QUESTION),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SystemFault("torn page"), "failed with INTERNAL: torn page"),
        (SystemTimeout("slow disk"), "failed with DEADLINE_EXCEEDED: slow disk"),
        (BUSY, "failed with RESOURCE_EXHAUSTED: the queue is too large"),
        (SystemGone("the store is away"), "failed with NOT_FOUND: the store is away"),
    ],
    ids=["fault", "timeout", "busy", "gone"],
)
async def test_every_error_arrives_as_what_it_is(call: str, error: BenchError, said: str) -> None:
    async with greeted(Cabinet(**{call: raising(error)})) as system:
        memory = await system.open("ada")

        with pytest.raises(BenchError, match=said) as raised:
            await CALLS[call](memory)

    assert type(raised.value) is type(error)
    if isinstance(raised.value, SystemBusy):
        assert raised.value.retry_after_s == 2.5


async def test_what_a_server_cannot_do_is_a_fault() -> None:
    async with greeted(Cabinet(settle=raising(UsageError("not with this")))) as system:
        memory = await system.open("ada")

        with pytest.raises(SystemFault, match="failed with FAILED_PRECONDITION: not with this"):
            await memory.settle()


async def test_a_server_that_cannot_open_a_memory_at_all_is_gone() -> None:
    async with greeted(Cabinet(open=raising(SystemGone("no store")))) as system:
        for _ in range(2):
            with pytest.raises(SystemGone, match="Open failed with UNAVAILABLE: no store"):
                await system.open("ada")


async def test_a_call_slower_than_the_timeout_is_a_timeout_and_ends_at_the_server() -> None:
    ended = asyncio.Event()

    async def hang(_: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with greeted(Cabinet(answer=hang), timeout_s=0.3) as system:
        memory = await system.open("ada")
        with pytest.raises(SystemTimeout, match="Ask failed with DEADLINE_EXCEEDED"):
            await memory.answer(QUESTION)
        await ended.wait()


async def test_a_question_that_is_given_up_ends_at_the_server() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(_: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with greeted(Cabinet(answer=hang)) as system:
        memory = await system.open("ada")
        async with anyio.create_task_group() as group:
            group.start_soon(memory.answer, QUESTION)
            await begun.wait()
            group.cancel_scope.cancel()
        await ended.wait()
        await memory.settle()


async def test_questions_travel_together() -> None:
    everybody = asyncio.Barrier(8)

    async def meet(_: object) -> None:
        await everybody.wait()

    async with greeted(Cabinet(answer=meet)) as system:
        memory = await system.open("ada")
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(memory.answer, QUESTION)


async def test_a_day_and_an_answer_of_5_mb_pass() -> None:
    text = "x" * 5_000_000

    async with greeted(Cabinet()) as system:
        memory = await system.open("ada")
        await memory.ingest(DAY.replace(text=text, turns=()))

        assert (await answered(memory, QUESTION)).text == text


async def test_a_server_of_the_first_version_alone_is_spoken_to_in_it() -> None:
    diary = Diary()

    async with serving(diary) as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        card = system.card
        memory = await system.open("ada")
        await memory.ingest(DAY)
        await memory.close()

    assert card.config == {"protocol": SERVICE_V1}
    assert card.asker is Asker.UNTOLD
    assert system.snapshots is None
    assert diary.calls == [*("Healthcheck", "Healthcheck", "Setup", "IngestDay", "Teardown")]


async def test_a_server_may_be_opened_without_being_greeted_first() -> None:
    cabinet = Cabinet()

    async with hosting(cabinet) as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        async with anyio.create_task_group() as group:
            group.start_soon(system.open, "ada")
            group.start_soon(system.open, "bob")
        await system.close()

    assert sorted(each.scenario for each in cabinet.opened) == ["ada", "bob"]
    assert system.card.name == "cabinet"


async def test_a_server_with_another_version_is_another_system() -> None:
    async with hosting(Cabinet()) as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")

    async with serving(Diary(), port=port, omit="Healthcheck"):
        with pytest.raises(SystemGone, match=f"served {SERVICE_V2} before, now {SERVICE_V1}"):
            await system.open("ada")


@pytest.mark.parametrize("call", CALLS)
async def test_a_server_restarted_between_two_calls_is_noticed(call: str) -> None:
    restarted = Cabinet()
    async with hosting(Cabinet()) as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        memory = await system.open("ada")
        await memory.ingest(DAY)

    async with hosting(restarted, port=port):
        for _ in range(2):
            with pytest.raises(SystemGone, match=r"is gone \(.*the connection was lost\)"):
                await CALLS[call](memory)
        with pytest.raises(SystemGone):
            await system.open("ada")
        await memory.close()
        await system.close()

    assert not restarted.opened
    assert not restarted.asked


async def test_after_closing_the_system_a_restarted_server_is_contacted_again() -> None:
    restarted = Cabinet()
    async with hosting(Cabinet()) as port:
        system = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        memory = await system.open("ada")

    async with hosting(restarted, port=port):
        await system.close()
        reopened = await system.open("ada")
        await reopened.ingest(DAY)
        with pytest.raises(SystemGone, match="this memory is not held here"):
            await memory.ingest(DAY)
        await system.close()

    assert [each.lived for each in restarted.opened] == [[DAY]]
