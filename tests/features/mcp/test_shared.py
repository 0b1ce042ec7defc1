"""How many workers a system stands: as it declares, and unsaid by where it runs."""

import sys
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import get_worker_limit
from recall_bench.features.mcp.mcp_system import McpSystem
from recall_bench.features.mcp.server_map import read_server_map
from recall_bench.systems.builtin import retrieval_systems
from recall_bench.systems.python.system import build_python_system
from recall_bench.systems.servers.host import SystemHost
from recall_bench.systems.transports.http_system import connect_http_system, read_server_file
from recall_bench.systems.transports.once_system import build_once_system
from recall_bench.systems.transports.remote_system import RemoteSystem
from recall_bench.systems.transports.wire import HealthReply, HealthRequest
from tests.features.mcp.mcp_maps import child_map
from tests.features.serving.http_servers import hosting
from tests.loops import loop_over_rows
from tests.systems.portable_adapters import Plain

pytestmark = pytest.mark.anyio


class Narrow(Plain):
    max_shards = 3


def test_a_system_made_in_each_worker_allows_any_number() -> None:
    assert get_worker_limit(retrieval_systems.build_bm25({})) is None
    assert get_worker_limit(build_python_system(Plain)) is None
    assert get_worker_limit(build_once_system("once:true", {})) is None


def test_an_adapter_and_a_program_may_declare_a_number() -> None:
    assert get_worker_limit(build_python_system(Narrow)) == 3
    assert get_worker_limit(build_once_system("once:true", {"max_shards": 2})) == 2


def test_the_number_of_workers_is_not_on_the_card() -> None:
    one, other = (
        build_python_system(Narrow),
        build_python_system(type("Narrow", (Narrow,), {"max_shards": 9})),
    )

    assert one.card.config == other.card.config
    assert "max_shards" not in one.card.__struct_fields__


@loop_over_rows("declared", [0, -1, True, "4"])
def test_an_invalid_number_of_workers_is_refused(declared: object) -> None:
    with pytest.raises(UsageError, match=r"max_shards = .* not a number above 0"):
        build_python_system(type("Odd", (Plain,), {"max_shards": declared}))


@loop_over_rows(("told", "is_shared", "stood"), [
    (0, True, 1), (0, False, None), (5, True, 5), (5, False, 5),
])  # fmt: skip
def test_a_server_at_an_address_allows_one_worker_unless_it_declares_more(
    told: int, is_shared: bool, stood: int | None
) -> None:
    health = HealthReply(max_shards=told)

    system = RemoteSystem(object(), health, where="here", config={}, is_shared=is_shared)  # type: ignore[arg-type]

    assert get_worker_limit(system) == stood


async def test_a_host_passes_on_what_its_system_declares() -> None:
    said = await SystemHost(build_python_system(Narrow)).handle(HealthRequest())
    unsaid = await SystemHost(retrieval_systems.build_bm25({})).handle(HealthRequest())

    assert isinstance(said, HealthReply)
    assert isinstance(unsaid, HealthReply)
    assert (said.max_shards, unsaid.max_shards) == (3, 0)


async def test_a_client_gets_the_number_of_workers_from_the_server() -> None:
    host = SystemHost(build_python_system(Narrow))
    async with hosting(host) as url:
        system = await connect_http_system(url)
        assert get_worker_limit(system) == 3
        await system.close()
    await host.close()


@pytest.mark.parametrize(("changed", "stood"), [
    ({}, None),
    ({"max_shards": 2}, 2),
    ({"server": {"url": "http://127.0.0.1:1/mcp"}, "snapshots": None}, 1),
    ({"server": {"command": [sys.executable]}, "reset": {"tool": "forget", "arguments": {}},
      "snapshots": None}, 1),
])  # fmt: skip
def test_the_number_of_workers_is_in_the_map_or_declared_by_the_server(
    changed: dict[str, object], stood: int | None, tmp_path: Path
) -> None:
    path = child_map(tmp_path, **changed)

    assert get_worker_limit(McpSystem(read_server_map(path), path=path, name="child")) == stood


def test_a_shared_server_without_names_allows_one_worker(tmp_path: Path) -> None:
    url = {"url": "http://127.0.0.1:1/mcp"}

    with pytest.raises(UsageError, match="max_shards is 2, but the server holds one memory"):
        read_server_map(child_map(tmp_path, server=url, snapshots=None, max_shards=2))


def test_a_file_that_starts_a_server_may_declare_a_number(tmp_path: Path) -> None:
    path = tmp_path / "server.yaml"
    text = 'transport: http\nserver:\n  command: [serve, "{port}"]\n  max_shards: '
    path.write_text(f"{text}2\n")

    assert read_server_file(path).max_shards == 2
    path.write_text(f"{text}0\n")
    with pytest.raises(UsageError, match=r"server\.max_shards is below 1"):
        read_server_file(path)
