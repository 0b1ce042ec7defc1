"""An in-process adapter is called as it asks to be, and nothing of it outlives its memory."""

import asyncio
import datetime
import sqlite3
import threading
from collections.abc import Awaitable

import anyio
import pytest

from recall_bench.core.errors import SystemFault, UsageError
from recall_bench.core.memory import Answer, Memory
from recall_bench.systems.python.adapter import DayMetadata, QueryContext
from recall_bench.systems.python.system import build_python_system
from tests.systems.asking import answered
from tests.systems.python_adapters import DAY, QUESTION, AsyncNotes, Notes, opened

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", [Notes, AsyncNotes])
async def test_plain_and_async_methods_are_called_alike(kind: type[Notes | AsyncNotes]) -> None:
    adapter = kind()

    async with opened(lambda: adapter) as memory:
        await memory.ingest(DAY)
        await memory.settle()
        answer = await answered(memory, QUESTION)

    assert answer == Answer(text="What is the cat called? No idea.")
    metadata = DayMetadata(
        day_number=2,
        date="2026-01-02",
        persona_id="ada",
        active_arcs=("cat", "rain"),
        episode_id="day-0002",
    )
    day = (2, "The cat is Fig.", metadata)
    assert adapter.calls == ["setup", day, "finalize", "What is the cat called?", "teardown"]


async def test_only_ingesting_and_answering_are_required() -> None:
    class Bare:
        def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
            self.content = content

        def query(self, question: str) -> str:
            return self.content

    async with opened(Bare) as memory:
        await memory.ingest(DAY)
        await memory.settle()
        answer = await answered(memory, QUESTION)

    assert answer.text == "The cat is Fig."


async def test_the_detailed_query_is_preferred() -> None:
    class Detailed(Notes):
        def query_detail(self, question: str) -> dict[str, object]:
            return {"answer": "Fig"}

    async with opened(Detailed) as memory:
        answer = await answered(memory, QUESTION)

    assert answer == Answer(text="Fig")


class Positional(Notes):
    def query(self, question: str, circumstances: QueryContext) -> str:  # type: ignore[override]
        return repr(circumstances)


class Named(Notes):
    def query(self, question: str, k: int = 5, *, context: QueryContext | None = None) -> str:
        return repr(context)


@pytest.mark.parametrize("kind", [Positional, Named])
async def test_a_query_with_a_context_parameter_gets_it(kind: type[Notes]) -> None:
    async with opened(kind) as memory:
        answer = await answered(memory, QUESTION)

    context = QueryContext(
        date=datetime.date(2026, 1, 9), session="crew", persona="ada", question_id="0f0f"
    )
    assert answer.text == repr(context)


async def test_a_second_parameter_with_a_default_is_left_alone() -> None:
    class Tuned(Notes):
        def query(self, question: str, top_k: int = 5) -> str:
            return str(top_k)

    async with opened(Tuned) as memory:
        answer = await answered(memory, QUESTION)

    assert answer.text == "5"


async def test_everything_happens_in_one_thread() -> None:
    """A sqlite3 connection may only be used in the thread that made it."""

    class Database:
        def setup(self) -> None:
            self.db = sqlite3.connect(":memory:")
            self.db.execute("create table day (content text)")

        def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
            self.db.execute("insert into day values (?)", (content,))

        async def query(self, question: str) -> str:
            return str(self.db.execute("select content from day").fetchone()[0])

        def teardown(self) -> None:
            self.db.close()

    async with opened(Database) as memory:
        await memory.ingest(DAY)
        answer = await answered(memory, QUESTION)

    assert answer.text == "The cat is Fig."


async def test_plain_code_may_run_an_event_loop_of_its_own() -> None:
    class Wrapped(Notes):
        def query(self, question: str) -> str:
            return asyncio.run(asyncio.sleep(0, "from inside"))

    async with opened(Wrapped) as memory:
        answers = [(await answered(memory, QUESTION)).text for _ in range(2)]

    assert answers == ["from inside", "from inside"]


async def test_every_memory_has_an_adapter_of_its_own() -> None:
    class Counting(Notes):
        def query(self, question: str) -> str:
            return str(len(self.calls))

    system = build_python_system(Counting)
    first, second = await system.open("ada"), await system.open("ada")
    await first.ingest(DAY)

    answers = [(await answered(memory, QUESTION)).text for memory in (first, second)]

    assert answers == ["2", "1"]
    for closing in (first, second, system):
        await closing.close()


async def test_an_async_adapter_is_asked_many_things_at_once() -> None:
    class Rendezvous(Notes):
        """Answers nobody before everybody asked."""

        def setup(self) -> None:
            self.asked = 0
            self.all_asked = asyncio.Event()

        async def query(self, question: str) -> str:
            self.asked += 1
            if self.asked == 64:
                self.all_asked.set()
            await self.all_asked.wait()
            return "met"

    assert await asked_at_once(Rendezvous, 64) == ["met"] * 64


async def test_a_plain_adapter_that_declares_it_is_asked_from_several_threads() -> None:
    class Rendezvous(Notes):
        max_concurrency = 3

        def setup(self) -> None:
            self.barrier = threading.Barrier(3)

        def query(self, question: str) -> str:
            self.barrier.wait()
            return "met"

    assert await asked_at_once(Rendezvous, 6) == ["met"] * 6


async def test_a_plain_adapter_is_otherwise_asked_one_thing_at_a_time() -> None:
    class Turnstile(Notes):
        inside = 0

        def query(self, question: str) -> str:
            self.inside += 1
            seen, self.inside = self.inside, self.inside - 1
            return str(seen)

    assert await asked_at_once(Turnstile, 20) == ["1"] * 20


async def asked_at_once(kind: type, times: int) -> list[str]:
    answers = []
    async with opened(kind) as memory:

        async def ask() -> None:
            answers.append((await answered(memory, QUESTION)).text)

        async with anyio.create_task_group() as group:
            for _ in range(times):
                group.start_soon(ask)
    return answers


@pytest.mark.parametrize(
    ("kind", "declared"), [(Notes, 1), (AsyncNotes, 64)], ids=["plain", "async"]
)
async def test_the_card_says_how_many_questions_it_stands(kind: type, declared: int) -> None:
    system = build_python_system(kind)

    assert system.card.max_concurrency == declared
    await system.close()


@pytest.mark.parametrize("stage", ["setup", "ingest_day", "finalize_ingestion", "teardown"])
async def test_every_stage_may_fail_and_says_so(stage: str) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError(f"no {stage}")

    system = build_python_system(type("Failing", (Notes,), {stage: fail}))

    with pytest.raises(SystemFault, match=f"RuntimeError: no {stage}"):
        await lived(system.open("ada"))

    await system.close()


async def lived(opening: Awaitable[Memory]) -> None:
    memory = await opening
    try:
        await memory.ingest(DAY)
        await memory.settle()
    finally:
        await memory.close()


async def test_closing_twice_tears_down_once() -> None:
    notes = Notes()
    system = build_python_system(lambda: notes)
    memory = await system.open("ada")

    await memory.close()
    await memory.close()

    assert notes.calls == ["setup", "teardown"]
    await system.close()


async def test_no_thread_outlives_its_memory() -> None:
    before = set(threading.enumerate())

    async with opened(Notes) as memory:
        await memory.ingest(DAY)
        during = set(threading.enumerate()) - before

    assert [thread.daemon for thread in during] == [True]
    for thread in during:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in during)


async def test_a_failed_setup_leaves_no_thread_behind() -> None:
    class Failing(Notes):
        def setup(self) -> None:
            threads.append(threading.current_thread())
            raise RuntimeError("no setup")

    threads: list[threading.Thread] = []
    system = build_python_system(Failing)

    with pytest.raises(SystemFault):
        await system.open("ada")

    threads[0].join(timeout=60)
    assert not threads[0].is_alive()
    await system.close()


@pytest.mark.parametrize(
    "text", ["Ünïcode 🐈 \x00 \u202e " * 10, "x" * 1_000_000], ids=["odd", "1 MB"]
)
async def test_a_day_arrives_whole(text: str) -> None:
    class Echo(Notes):
        def query(self, question: str) -> str:
            return str(self.calls[-1][1])  # type: ignore[index]

    async with opened(Echo) as memory:
        await memory.ingest(DAY.replace(text=text))
        answer = await answered(memory, QUESTION)

    assert answer.text == text


async def test_one_object_is_set_up_again_for_the_next_memory() -> None:
    notes = Notes()
    system = build_python_system(notes)

    for _ in range(2):
        memory = await system.open("ada")
        await memory.close()

    assert notes.calls == ["setup", "teardown", "setup", "teardown"]
    assert system.snapshots is None
    await system.close()


async def test_one_object_holds_one_memory_at_a_time() -> None:
    system = build_python_system(Notes())
    memory = await system.open("ada")

    with pytest.raises(UsageError, match="one memory at a time"):
        await system.open("bob")

    await memory.close()
    await system.close()


async def test_one_object_is_not_opened_twice_at_the_same_time() -> None:
    system = build_python_system(Notes())
    refusals = []

    async def open_one() -> None:
        try:
            await system.open("ada")
        except UsageError as refusal:
            refusals.append(refusal)

    async with anyio.create_task_group() as group:
        group.start_soon(open_one)
        group.start_soon(open_one)

    assert len(refusals) == 1
    await system.close()


async def test_one_object_that_cannot_be_emptied_is_used_once() -> None:
    class Bare:
        def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None: ...

        def query(self, question: str) -> str:
            return ""

    system = build_python_system(Bare())
    await (await system.open("ada")).close()

    with pytest.raises(UsageError, match=r"no setup\(\)"):
        await system.open("ada")

    await system.close()


@pytest.mark.parametrize(("count", "attested"), [(3, 3), (None, None)])
async def test_an_adapter_may_attest_how_many_days_it_holds(
    count: int | None, attested: int | None
) -> None:
    extra = {"days_ingested": lambda self: count} if count is not None else {}

    async with opened(type("Counting", (Notes,), extra)) as memory:
        assert await memory.attest() == attested


@pytest.mark.parametrize("count", [-1, "3", True, None])
async def test_an_attestation_that_is_no_number_is_a_fault(count: object) -> None:
    kind = type("Counting", (Notes,), {"days_ingested": lambda self: count})

    async with opened(kind) as memory:
        with pytest.raises(SystemFault, match="no number of days"):
            await memory.attest()


def test_what_a_day_comes_with_can_be_had_as_attributes_and_as_items() -> None:
    metadata = DayMetadata(day_number=7, date="2025-03-09", persona_id="ada")

    assert metadata["date"] == metadata.date == metadata.get("date") == "2025-03-09"
    assert dict(metadata) == {
        "day_number": 7,
        "date": "2025-03-09",
        "persona_id": "ada",
        "active_arcs": (),
        "episode_id": "",
        "session": None,
    }
    with pytest.raises(KeyError):
        metadata["day"]
