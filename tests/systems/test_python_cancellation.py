"""A call that is given up ends, or its memory is never used again; the process always ends."""

import asyncio
import datetime
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from recall_bench.core.errors import SystemStuck
from recall_bench.core.memory import Memory
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.python.system import build_python_system
from recall_bench.systems.python.worker_thread import WorkerThread
from tests.systems.asking import answered

pytestmark = pytest.mark.anyio

DAY = Episode(id="d", day=1, at=datetime.datetime(2026, 1, 1), text="The cat is Fig.")
EASY = Question(id="1", text="easy", asked_at=datetime.datetime(2026, 1, 1), scenario="ada")
HARD = EASY.replace(id="2", text="hard")


class Trap:
    """Springs at the hard question, says when it has begun and how it ended."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.freed = threading.Event()
        self.ended: list[str] = []
        self.asked: list[str] = []

    def ingest_day(self, day: int, content: str, metadata: object) -> None: ...

    def query(self, question: str) -> Any:
        self.asked.append(question)
        if question != "hard":
            return "ok"
        self.begun.set()
        try:
            return self.hold()
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise

    def hold(self) -> Any:
        raise AssertionError("every trap holds in its own way")


class AsyncTrap(Trap):
    async def query(self, question: str) -> Any:
        if question == "easy":
            return "ok"
        self.begun.set()
        try:
            return await self.hold()
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise


class Loop(Trap):
    def hold(self) -> str:
        while True:
            pass


class NapLoop(Trap):
    def hold(self) -> str:
        while True:
            time.sleep(0.01)


class Wait(AsyncTrap):
    async def hold(self) -> str:
        await asyncio.Event().wait()
        return ""


class Retry(AsyncTrap):
    async def hold(self) -> str:
        while True:
            try:
                await asyncio.sleep(0.01)
                int("again")
            except Exception:  # noqa: BLE001
                continue


class Lock(Trap):
    """Blocked in C until it is freed: no exception can reach it."""

    def hold(self) -> str:
        self.freed.wait()
        return "late"


class BlockedLoop(AsyncTrap):
    async def hold(self) -> str:
        self.freed.wait()
        return "late"


class Stubborn(Trap):
    def hold(self) -> str:
        while not self.freed.is_set():
            try:
                time.sleep(0.01)
            except BaseException:  # noqa: BLE001
                continue
        return "late"


class StubbornTask(AsyncTrap):
    async def hold(self) -> str:
        while not self.freed.is_set():
            try:
                await asyncio.sleep(0.01)
            except BaseException:  # noqa: BLE001
                continue
        return "late"


class SpinningTask(AsyncTrap):
    async def hold(self) -> str:
        while True:
            pass


async def give_up(memory: Memory, trap: Trap, question: Question = HARD) -> None:
    """Ask, wait until the trap has sprung, and stop waiting for an answer."""
    async with anyio.create_task_group() as group:
        group.start_soon(memory.answer, question)
        await anyio.to_thread.run_sync(trap.begun.wait)
        group.cancel_scope.cancel()


@pytest.mark.parametrize("kind", [Loop, NapLoop, Wait, Retry])
async def test_a_call_that_can_be_ended_is_and_the_memory_goes_on(kind: type[Trap]) -> None:
    trap = kind()
    system = build_python_system(lambda: trap)
    memory = await system.open("ada")

    await give_up(memory, trap)
    answer = await answered(memory, EASY)

    assert len(trap.ended) == 1
    assert answer.text == "ok"
    await memory.close()
    await system.close()


@pytest.mark.parametrize("kind", [Lock, BlockedLoop, Stubborn, StubbornTask, SpinningTask])
async def test_a_call_that_cannot_be_ended_makes_the_memory_unusable(kind: type[Trap]) -> None:
    trap = kind()
    system = build_python_system(lambda: trap)
    memory = await system.open("ada")

    await give_up(memory, trap)

    for call in (
        lambda: memory.answer(EASY),
        lambda: memory.ingest(DAY),
        memory.settle,
    ):
        with pytest.raises(SystemStuck, match="can no longer be used"):
            await call()
    await memory.close()
    trap.freed.set()
    await system.close()


async def test_a_stuck_memory_is_replaced_by_opening_another() -> None:
    traps: list[Trap] = []

    def factory() -> Trap:
        traps.append(Lock())
        return traps[-1]

    system = build_python_system(factory)
    stuck = await system.open("ada")
    await give_up(stuck, traps[0])

    fresh = await system.open("ada")
    answer = await answered(fresh, EASY)

    assert answer.text == "ok"
    await fresh.close()
    traps[0].freed.set()
    await system.close()


async def test_an_object_that_is_stuck_cannot_be_opened_again() -> None:
    trap = Lock()
    system = build_python_system(trap)
    memory = await system.open("ada")
    await give_up(memory, trap)
    await memory.close()

    with pytest.raises(SystemStuck):
        await system.open("ada")

    trap.freed.set()
    await system.close()


@pytest.mark.parametrize("kind", [Loop, Wait])
async def test_a_time_limit_of_the_caller_ends_as_one(kind: type[Trap]) -> None:
    system = build_python_system(kind)
    memory = await system.open("ada")

    with pytest.raises(TimeoutError), anyio.fail_after(0.1):
        await answered(memory, HARD)

    await memory.close()
    await system.close()


async def test_a_call_that_waits_its_turn_is_withdrawn_without_harm() -> None:
    trap = Lock()
    system = build_python_system(lambda: trap)
    memory = await system.open("ada")

    async with anyio.create_task_group() as group:
        group.start_soon(memory.answer, HARD)
        await anyio.to_thread.run_sync(trap.begun.wait)
        with anyio.move_on_after(0):
            await answered(memory, EASY.replace(text="withdrawn"))
        trap.freed.set()

    assert (await answered(memory, EASY)).text == "ok"
    assert trap.asked == ["hard", "easy"]
    await memory.close()
    await system.close()


async def test_calls_under_way_beside_one_that_is_stuck_end_with_it() -> None:
    """Coroutines share a loop: where one blocks it, none can go on."""
    trap = BlockedLoop()
    system = build_python_system(lambda: trap)
    memory = await system.open("ada")
    faults = []

    async def ask_beside() -> None:
        await anyio.to_thread.run_sync(trap.begun.wait)
        try:
            await answered(memory, EASY)
        except SystemStuck as fault:
            faults.append(fault)

    async with anyio.create_task_group() as group:
        group.start_soon(ask_beside)
        await give_up(memory, trap)

    assert len(faults) == 1
    trap.freed.set()
    await memory.close()
    await system.close()


async def test_one_of_several_threads_that_is_stuck_makes_the_memory_unusable() -> None:
    class Several(Lock):
        max_concurrency = 4

    trap = Several()
    system = build_python_system(lambda: trap)
    memory = await system.open("ada")

    await give_up(memory, trap)

    with pytest.raises(SystemStuck):
        await answered(memory, EASY)
    with pytest.raises(SystemStuck):
        await memory.ingest(DAY)
    await memory.close()
    trap.freed.set()
    await system.close()


@pytest.mark.parametrize("stage", ["setup", "ingest_day", "finalize_ingestion", "teardown"])
async def test_every_stage_can_be_given_up(stage: str) -> None:
    trap = Loop()

    def spring(*arguments: object) -> None:
        trap.begun.set()
        try:
            trap.hold()
        finally:
            left.append(stage)

    left: list[str] = []
    system = build_python_system(type("Sprung", (Trap,), {stage: spring}))

    async def live() -> None:
        memory = await system.open("ada")
        await memory.ingest(DAY)
        await memory.settle()
        await memory.close()

    async with anyio.create_task_group() as group:
        group.start_soon(live)
        await anyio.to_thread.run_sync(trap.begun.wait)
        group.cancel_scope.cancel()

    await system.close()
    assert left == [stage]


class Opened(Trap):
    def setup(self) -> Any:
        self.begun.set()

    def teardown(self) -> None:
        self.ended.append("teardown")


class OpenedAsync(Opened):
    async def setup(self) -> None:
        await asyncio.sleep(0)
        self.begun.set()


@pytest.mark.parametrize("kind", [Opened, OpenedAsync])
async def test_what_was_set_up_before_it_was_given_up_is_torn_down(
    kind: type[Trap], monkeypatch: pytest.MonkeyPatch
) -> None:
    trap, finished = kind(), threading.Event()
    system = build_python_system(lambda: trap)
    finish = WorkerThread._finish_job

    def note_finish(self: WorkerThread, *what: Any) -> None:
        finish(self, *what)
        finished.set()

    monkeypatch.setattr(WorkerThread, "_finish_job", note_finish)

    async with anyio.create_task_group() as group:
        group.start_soon(system.open, "ada")
        await anyio.lowlevel.checkpoint()
        # This blocks our loop: it hears of the end when it has been told to give up.
        finished.wait()
        group.cancel_scope.cancel()

    assert trap.begun.is_set()
    assert trap.ended == ["teardown"]
    await system.close()


async def test_giving_up_at_any_moment_leaves_the_worker_sound() -> None:
    """The interrupt may come before, in or just after the call; it never strikes our own code."""

    class Brief(Trap):
        def query(self, question: str) -> str:
            return str(sum(range(200)))

    system = build_python_system(Brief)
    memory = await system.open("ada")

    for hops in range(400):
        async with anyio.create_task_group() as group:
            group.start_soon(memory.answer, EASY)
            for _ in range(hops % 9):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()

    assert (await answered(memory, EASY)).text == "19900"
    await memory.close()
    await system.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("def query(self, q): time.sleep(600)", id="a sleep"),
        pytest.param("async def query(self, q): time.sleep(600)", id="a blocked loop"),
        pytest.param(
            "async def query(self, q): await asyncio.to_thread(time.sleep, 600)", id="pool"
        ),
        pytest.param("def query(self, q): threading.Event().wait()", id="lock"),
    ],
)
def test_the_process_ends_although_an_adapter_hangs(tmp_path: Path, body: str) -> None:
    (tmp_path / "hang.py").write_text(
        "import asyncio, threading, time\n"
        "class Adapter:\n"
        "    def ingest_day(self, day, content, metadata): pass\n"
        f"    {body}\n"
    )
    (tmp_path / "main.py").write_text(
        "import sys, anyio\n"
        "from datetime import datetime\n"
        "from recall_bench.core.scenario import Question\n"
        "from recall_bench.systems.python.system import load_python_system\n"
        "async def main():\n"
        "    system = load_python_system(sys.argv[1], {})\n"
        "    memory = await system.open('ada')\n"
        "    asked = Question(id='1', text='?', asked_at=datetime(2026, 1, 1), scenario='ada')\n"
        "    with anyio.move_on_after(0.2):\n"
        "        await memory.answer(asked)\n"
        "    await memory.close()\n"
        "    await system.close()\n"
        "    print('done')\n"
        "anyio.run(main)\n"
    )

    ran = subprocess.run(
        [sys.executable, str(tmp_path / "main.py"), str(tmp_path / "hang.py")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")
