"""A memory that can be saved comes back as it was, any number of times, apart from the others."""

import datetime
import json
import socket
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import SystemFault, UsageError
from recall_bench.core.memory import Memory, MemorySystem, Snapshots
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.python.system import build_python_system, load_python_system
from tests.faulty.fakes import ScriptedMemory
from tests.systems.asking import answered

pytestmark = pytest.mark.anyio

QUESTION = Question(
    id="1", text="What happened?", asked_at=datetime.datetime(2026, 1, 9), scenario="ada"
)


def day(number: int) -> Episode:
    at = datetime.datetime(2026, 1, number)
    return Episode(id=str(number), day=number, at=at, text=f"day {number}")


class Diary:
    """A plain object; a question leaves a trace in it."""

    def __init__(self) -> None:
        self.days: list[str] = []

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        self.days.append(content)

    def query(self, question: str) -> str:
        self.days.append("asked")
        return ", ".join(self.days[:-1])


class OwnWay(Diary):
    """Says itself how it is saved."""

    def setup(self) -> None:
        self.lock = threading.Lock()
        self.days = []

    def snapshot(self, path: Path) -> None:
        path.write_text(json.dumps(self.days))

    async def restore(self, path: Path) -> None:
        self.days = json.loads(path.read_text())


class Database:
    """Keeps everything below the directory it is built with, and the connection open."""

    def __init__(self, state_dir: Path, table: str = "day") -> None:
        self.path = state_dir / "deep" / "diary.db"
        self.table = table

    def setup(self) -> None:
        self.path.parent.mkdir(exist_ok=True)
        self.db = sqlite3.connect(self.path)
        self.db.execute(f"create table if not exists {self.table} (content text)")

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        with self.db:
            self.db.execute(f"insert into {self.table} values (?)", (content,))

    def query(self, question: str) -> str:
        rows = self.db.execute(f"select content from {self.table}").fetchall()
        self.ingest_day(0, "asked", None)
        return ", ".join(row[0] for row in rows)

    def teardown(self) -> None:
        self.db.close()


class Attributed(Database):
    """Is handed its directory as an attribute instead."""

    state_dir: Path

    def __init__(self) -> None:
        self.table = "day"

    def setup(self) -> None:
        self.path = self.state_dir / "deep" / "diary.db"
        super().setup()


class Declared(Diary):
    """Has something to set up, and vouches that all of its memory is in the object."""

    can_snapshot = True

    def setup(self) -> None:
        self.days = []


KINDS = [Diary, OwnWay, Database, Attributed, Declared]


@asynccontextmanager
async def living(kind: Any, **config: object) -> AsyncIterator[tuple[MemorySystem, Memory]]:
    system = build_python_system(kind, config)
    memory = await system.open("ada")
    try:
        yield system, memory
    finally:
        await memory.close()
        await system.close()


def saved_by(system: MemorySystem) -> Snapshots:
    assert system.snapshots is not None
    return system.snapshots


async def asked(memory: Memory) -> str:
    return (await answered(memory, QUESTION)).text


@pytest.mark.parametrize("kind", KINDS)
async def test_a_copy_knows_what_was_known_when_it_was_saved(kind: type) -> None:
    async with living(kind) as (system, memory):
        await memory.ingest(day(1))
        token = await saved_by(system).save(memory)
        await memory.ingest(day(2))

        copy = await saved_by(system).open(token)

        assert await asked(copy) == "day 1"
        assert await asked(memory) == "day 1, day 2"
        await copy.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_copy_is_asked_leaves_no_trace_on_the_others(kind: type) -> None:
    async with living(kind) as (system, memory):
        await memory.ingest(day(1))
        token = await saved_by(system).save(memory)
        first = await saved_by(system).open(token)
        await asked(first)
        await first.close()

        second = await saved_by(system).open(token)

        assert await asked(second) == "day 1"
        assert await asked(memory) == "day 1"
        await second.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_copy_can_be_fed_and_saved_in_turn(kind: type) -> None:
    async with living(kind) as (system, memory):
        await memory.ingest(day(1))
        copy = await saved_by(system).open(await saved_by(system).save(memory))
        await copy.ingest(day(2))

        copy_of_copy = await saved_by(system).open(await saved_by(system).save(copy))

        assert await asked(copy_of_copy) == "day 1, day 2"
        await copy.close()
        await copy_of_copy.close()


class Personal(Diary):
    def ingest_day(self, day: int, content: str, metadata: Any) -> None:
        self.days.append(metadata.persona_id)


async def test_a_copy_belongs_to_the_same_scenario() -> None:
    async with living(Personal) as (system, memory):
        copy = await saved_by(system).open(await saved_by(system).save(memory))
        await copy.ingest(day(1))

        assert await asked(copy) == "ada"
        await copy.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_is_left_on_disk(kind: type, tmp_path: Path) -> None:
    system = build_python_system(kind, state_dir=tmp_path / "new")
    memory = await system.open("ada")
    kept = await saved_by(system).save(memory)
    dropped = await saved_by(system).save(memory)
    copy = await saved_by(system).open(kept)
    await saved_by(system).drop(dropped)

    for closing in (copy, memory, system):
        await closing.close()

    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_dropped_or_closed_leaves_the_disk_at_once(
    kind: type, tmp_path: Path
) -> None:
    system = build_python_system(kind, state_dir=tmp_path)
    memory = await system.open("ada")
    kept = await saved_by(system).save(memory)
    before = set(tmp_path.rglob("*"))

    copy = await saved_by(system).open(kept)
    token = await saved_by(system).save(copy)
    await saved_by(system).drop(token)
    await copy.close()

    assert set(tmp_path.rglob("*")) == before
    await memory.close()
    await system.close()


async def test_adapters_of_two_loads_of_one_file_can_be_saved(tmp_path: Path) -> None:
    (tmp_path / "diary.py").write_text(
        "class Diary:\n"
        "    def __init__(self): self.days = []\n"
        "    def ingest_day(self, day, content, metadata): self.days.append((content, metadata))\n"
        "    async def query(self, question): return self.days[0][0]\n"
    )
    system = load_python_system(str(tmp_path / "diary.py"), {})
    other = load_python_system(str(tmp_path / "diary.py"), {})
    memory = await system.open("ada")
    await memory.ingest(day(1))

    copy = await saved_by(system).open(await saved_by(system).save(memory))

    assert await asked(copy) == "day 1"
    for closing in (copy, memory, system, other):
        await closing.close()


async def test_settings_reach_the_copies() -> None:
    async with living(Database, table="journal") as (system, memory):
        await memory.ingest(day(1))
        copy = await saved_by(system).open(await saved_by(system).save(memory))

        assert await asked(copy) == "day 1"
        await copy.close()


class Socketed(Diary):
    def __init__(self) -> None:
        super().__init__()
        self.socket = socket.socket()

    def __del__(self) -> None:
        self.socket.close()


class Locked(Diary):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Remote(Diary):
    """Can be pickled, but its memory is elsewhere: a copy would share it, and tear it down."""

    url = "http://127.0.0.1:1"

    def teardown(self) -> None: ...


class Unwilling(OwnWay):
    can_snapshot = False


@pytest.mark.parametrize("kind", [Socketed, Locked, Remote, Unwilling])
async def test_what_cannot_be_copied_offers_no_snapshots(kind: type) -> None:
    system = build_python_system(kind)

    assert system.snapshots is None
    await system.close()


async def test_looking_for_a_way_to_copy_sets_nothing_up() -> None:
    calls = []

    class Expensive(Diary):
        def setup(self) -> None:
            calls.append("setup")

    system = build_python_system(Expensive)

    assert calls == []
    await system.close()


async def test_an_object_that_stopped_being_picklable_says_so() -> None:
    async with living(Diary) as (system, memory):
        memory.adapter.subject.days.append(threading.Lock())  # type: ignore[attr-defined]

        with pytest.raises(SystemFault, match=r"cannot pickle .*can_snapshot = False"):
            await saved_by(system).save(memory)


class Forgetful(Database):
    """Empties its directory when it is set up, so that its copies know nothing."""

    def setup(self) -> None:
        super().setup()
        self.db.execute(f"delete from {self.table}")
        self.db.commit()

    def days_ingested(self) -> int:
        return int(self.db.execute(f"select count(*) from {self.table}").fetchone()[0])


async def test_a_copy_that_attests_other_days_is_refused() -> None:
    async with living(Forgetful) as (system, memory):
        await memory.ingest(day(1))
        token = await saved_by(system).save(memory)

        with pytest.raises(SystemFault, match="memory of 1 days says it holds 0"):
            await saved_by(system).open(token)


async def test_only_memories_of_the_system_can_be_saved() -> None:
    async with living(Diary) as (system, _):
        with pytest.raises(UsageError, match="ScriptedMemory is not a memory of this system"):
            await saved_by(system).save(ScriptedMemory(lambda lived, question: ""))


async def test_a_failed_restore_is_a_fault() -> None:
    class Broken(OwnWay):
        async def restore(self, path: Path) -> None:
            raise EOFError("nothing there")

    async with living(Broken) as (system, memory):
        token = await saved_by(system).save(memory)

        with pytest.raises(SystemFault, match="EOFError: nothing there"):
            await saved_by(system).open(token)
