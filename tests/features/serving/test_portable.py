"""A saved state that was packed is opened by another process, and is the same memory there."""

import json
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from recall_bench.core.errors import DataError, SystemGone
from recall_bench.core.memory import MemorySystem, PortableSnapshots, get_worker_limit
from recall_bench.systems.builtin import retrieval_systems
from recall_bench.systems.python.system import load_python_system
from recall_bench.systems.servers.host import SystemHost
from recall_bench.systems.transports.http_system import connect_http_system
from tests.features.serving.http_servers import hosting
from tests.systems import carried
from tests.systems.carried import travelling
from tests.systems.diary import question
from tests.warm_commands import start_command

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]


async def packed(system: MemorySystem, place: Path) -> tuple[str, list[str]]:
    """Pack a state; its token, and what a copy of our own says."""
    place.mkdir()
    memory = await system.open(carried.SCENARIO)
    await carried.fed(memory, 1, carried.KNOWN)
    snapshots = travelling(system)
    token = await snapshots.save(memory)
    await snapshots.pack(token, place)
    copy = await snapshots.open(token)
    replies = await carried.said(copy)
    # The original goes on in its own way, and what was packed must not feel it.
    await memory.answer(question("Who is asking?"))
    await copy.close()
    await memory.close()
    await snapshots.drop(token)
    return token, replies


async def elsewhere(folder: Path, *words: str) -> Any:
    """What another process prints of what was packed."""

    def run() -> tuple[bytes, bytes]:
        module = "tests.systems.carried"
        return start_command([folder, *words], cwd=ROOT, module=module).communicate()

    printed, errors = await anyio.to_thread.run_sync(run)
    assert printed, errors.decode()
    return json.loads(printed)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


async def test_other_processes_open_what_was_packed_as_the_same_memory(tmp_path: Path) -> None:
    here = {}
    # Modules loaded from a file are numbered, and the others will not come to these numbers.
    for _ in carried.PYTHON:
        await load_python_system(f"{carried.ADAPTERS}:Plain", {}).close()
    for name in (*carried.BUILT_IN, *carried.PYTHON):
        system = carried.made(name)
        _, here[name] = await packed(system, tmp_path / name)
        await system.close()
    before = contents(tmp_path)
    there: list[dict[str, list[str]]] = []

    async def open_there() -> None:
        there.append(await elsewhere(tmp_path))

    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(open_there)

    differing = [name for told in there for name in here if told[name] != here[name]]
    assert (len(there), differing) == (2, [])
    assert contents(tmp_path) == before
    silent = {name for name, replies in here.items() if len(set(replies)) == 1}
    assert silent == {"none"}, "a memory that says the same to everything proves nothing"


async def test_the_state_on_a_server_travels_by_its_name(tmp_path: Path) -> None:
    place = tmp_path / "packed"
    host = SystemHost(retrieval_systems.build_bm25({"threshold": 0}), max_shards=2)
    async with hosting(host) as url:
        system = await connect_http_system(url)
        assert get_worker_limit(system) == 2
        _, here = await packed(system, place)

        there = await elsewhere(place, url)
        # To the server, one more connection is one more process.
        again = await carried.unpacked(await connect_http_system(url), place)

        assert there == again == here
        snapshots = travelling(system)
        await snapshots.discard(place)
        with pytest.raises(SystemGone):
            await snapshots.open(await snapshots.unpack(place))
        await system.close()
    await host.close()


async def test_names_of_states_on_a_server_are_not_given_twice(tmp_path: Path) -> None:
    place = tmp_path / "packed"
    async with hosting(SystemHost(retrieval_systems.build_bm25({}), max_shards=2)) as url:
        system = await connect_http_system(url)
        token, _ = await packed(system, place)
        await system.close()
    async with hosting(SystemHost(retrieval_systems.build_bm25({}), max_shards=2)) as url:
        system = await connect_http_system(url)
        other, _ = await packed(system, tmp_path / "other")
        snapshots = travelling(system)

        assert token != other
        with pytest.raises(SystemGone):
            await snapshots.open(await snapshots.unpack(place))
        await system.close()


@pytest.mark.parametrize("declared", [None, 1])
async def test_the_states_of_a_server_for_one_worker_stay_there(
    declared: int | None,
) -> None:
    async with hosting(SystemHost(retrieval_systems.build_bm25({}), max_shards=declared)) as url:
        system = await connect_http_system(url)

        assert get_worker_limit(system) == 1
        assert system.snapshots is not None
        assert not isinstance(system.snapshots, PortableSnapshots)
        await system.close()


@pytest.mark.parametrize("name", ["bm25", "Plain"])
async def test_a_folder_in_which_nothing_was_packed_is_refused(name: str, tmp_path: Path) -> None:
    system = carried.made(name)

    with pytest.raises(DataError, match="pack the state again"):
        await travelling(system).unpack(tmp_path)
    await system.close()
