"""The processes of an isolated adapter leave nothing behind, however they end."""

import errno
import gc
import os
import tempfile
from collections import Counter
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from recall_bench.core.errors import BenchError, SystemFault, SystemGone
from recall_bench.core.settings import Settings
from recall_bench.systems.python import isolated_system
from recall_bench.systems.python.isolated_system import IsolatedSystem, load_isolated_system
from tests.processes import list_children
from tests.thoroughness import choose_cases, choose_number

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="processes are counted there"
)


ADAPTER = """
class Adapter:
    def ingest_day(self, day, content, metadata): pass
    def query(self, question): return ""
"""


@pytest.fixture
def processes() -> "Processes":
    """The processes that a test starts."""
    return Processes()


class Processes:
    """Counts what was started since it was made; other tests keep a server."""

    def __init__(self) -> None:
        self._known = set(list_descendants(os.getpid()))

    def count(self) -> int:
        """How many there are, zombies too."""
        return len(set(list_descendants(os.getpid())) - self._known)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary files of this process."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def load(tmp_path: Path, source: str = ADAPTER) -> IsolatedSystem:
    path = tmp_path / "adapter.py"
    path.write_text(source)
    return load_isolated_system(Settings(adapter=str(path)))


def list_descendants(parent: int) -> list[int]:
    """The processes that a process started, and those that they started; zombies too."""
    found = []
    for pid in map(int, list_children(parent)):
        found += [pid, *list_descendants(pid)]
    return found


def list_descriptors() -> Counter[str]:
    """What is open in this process, by kind."""
    kinds: Counter[str] = Counter()
    for place in Path("/proc/self/fd").iterdir():
        try:
            kinds[str(place.readlink()).partition(":")[0]] += 1
        except OSError:
            continue  # the listing itself
    return kinds


def test_nothing_is_left_of_many_memories(
    tmp_path: Path, folder: Path, processes: Processes
) -> None:
    system = load(tmp_path)

    async def open_and_close(times: int) -> None:
        for _ in range(times):
            await (await system.open("ada")).close()

    async def run() -> None:
        await open_and_close(2)
        # What earlier tests left open goes now, not while it is counted.
        gc.collect()
        before = (list_descriptors(), processes.count(), list(folder.rglob("*")))
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(open_and_close, choose_number(4, 50))
        await anyio.lowlevel.checkpoint()
        after = (list_descriptors(), processes.count(), list(folder.rglob("*")))
        assert after == before
        await system.close()

    anyio.run(run)
    assert not processes.count()
    assert not list(folder.iterdir())


def test_nothing_is_left_of_memories_that_were_cancelled(
    tmp_path: Path, folder: Path, processes: Processes
) -> None:
    system = load(tmp_path)

    async def run() -> None:
        await (await system.open("ada")).close()
        before = (list_descriptors(), processes.count(), list(folder.rglob("*")))
        for delay_s in choose_cases([0.0, 0.003, 0.01, 0.02, 0.04, 0.08, 0.2], 3):
            with anyio.move_on_after(delay_s):
                async with anyio.create_task_group() as group:
                    for _ in range(4):
                        group.start_soon(system.open, "ada")
            await system.close()
            assert not processes.count(), delay_s
            again = await system.open("ada")
            await again.close()
            after = (list_descriptors(), processes.count(), list(folder.rglob("*")))
            assert after[:2] == before[:2], delay_s
            assert len(after[2]) == len(before[2]), delay_s
        await system.close()

    anyio.run(run)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("delay_s", choose_cases([0.0, 0.005, 0.02, 0.06], 2))
def test_what_is_just_being_started_ends_with_the_system(
    tmp_path: Path, folder: Path, processes: Processes, delay_s: float
) -> None:
    """Another memory is opened meanwhile, which once made the system forget the first."""
    system = load(tmp_path)
    ended = []

    async def open_memory() -> None:
        try:
            await system.open("ada")
        except BenchError as error:
            ended.append(error)

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(open_memory)
                await anyio.sleep(delay_s / 3)
            await system.close()

    anyio.run(run)
    assert all(isinstance(error, SystemGone) for error in ended)
    assert not processes.count()
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, OSError), (errno.EMFILE, SystemGone)], ids=["disk", "other"]
)
def test_a_full_disk_is_ours_and_not_the_adapters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    """A full disk ends the command with 7; what an adapter lacks, with 4."""
    system = load(tmp_path)

    async def fail(*_: object, **__: object) -> None:
        raise OSError(number, "refused")

    async def run() -> None:
        with pytest.raises(kind):
            await system.open("ada")
        await system.close()

    monkeypatch.setattr(isolated_system, "start_process", fail)
    anyio.run(run)


HOSTILE = """
import os, shutil
from recall_bench.systems.python import adapter_process
from recall_bench.systems.transports import wire

class Adapter:
    def ingest_day(self, day, content, metadata): pass
    def query(self, question): return ""

async def save(self, request):
    name, exchange = "a" * 32, str(self._exchange)
    {cheat}
    return wire.SaveReply(snapshot=name)

adapter_process._LoadedHost._save = save
"""


@pytest.mark.parametrize(
    ("cheat", "problem"),
    [
        pytest.param(
            "os.rename(exchange, exchange + '.old'); os.symlink({victim!r}, exchange)",
            "No such file",
            id="the folder is a link to one with such a snapshot",
        ),
        pytest.param(
            "os.symlink({victim!r} + '/' + name, exchange + '/' + name)",
            "is a link",
            id="the snapshot is a link",
        ),
        pytest.param("shutil.rmtree(exchange)", "No such file", id="the folder is gone"),
        pytest.param("open(exchange + '/' + name, 'w')", "Not a directory", id="it is a file"),
    ],
)
def test_nothing_but_its_own_snapshot_is_taken_from_an_adapter(
    tmp_path: Path, cheat: str, problem: str
) -> None:
    victim = tmp_path / "victim"
    (victim / ("a" * 32)).mkdir(parents=True)
    (victim / ("a" * 32) / "saved.json").write_text("of somebody else")
    system = load(tmp_path, HOSTILE.replace("{cheat}", cheat.format(victim=str(victim))))

    async def run() -> None:
        memory = await system.open("ada")
        assert system.snapshots is not None
        with pytest.raises(SystemFault, match=problem):
            await system.snapshots.save(memory)
        await memory.close()
        await system.close()

    anyio.run(run)
    assert (victim / ("a" * 32) / "saved.json").read_text() == "of somebody else"
