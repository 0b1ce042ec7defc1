"""Systems that speak our messages over HTTP: one that runs, or one that is started for the run."""

from importlib import import_module
from pathlib import Path

from recall_bench.errors import UsageError
from recall_bench.systems.http.address import parse_http_address
from recall_bench.systems.http.carrier import HttpTransport
from recall_bench.systems.remote.described import digest_file
from recall_bench.systems.remote.system import READY_TIMEOUT_S, RemoteSystem, connect_remote_system
from recall_bench.systems.remote.wire import PROTOCOL


async def connect_http_system(
    target: str, *, timeout_s: float | None = None, ready_timeout_s: float = READY_TIMEOUT_S
) -> RemoteSystem:
    """The system at `http://host:port[/path]`, once it says that it is ready."""
    _require_httpx()
    address = parse_http_address(target)
    return await connect_remote_system(
        HttpTransport(address, timeout_s=timeout_s),
        where=address.url,
        config={"transport": "http", "protocol": PROTOCOL},
        ready_timeout_s=ready_timeout_s,
        is_shared=True,
    )


async def start_http_system(path: Path) -> RemoteSystem:
    """The system whose server this YAML file says how to start; it is started twice.

    Once to hear who it is, and again, with nothing left of the first time, when a memory is opened.
    """
    from recall_bench.systems.http.server_file import StartedServerTransport, read_server_file

    _require_httpx()
    spec = read_server_file(path)
    system = await connect_remote_system(
        StartedServerTransport(spec),
        where=path.name,
        config={"transport": "http", "protocol": PROTOCOL, "server": digest_file(path)},
        # The start has a deadline of its own, which knows the log.
        ready_timeout_s=spec.ready_timeout_s + READY_TIMEOUT_S,
    )
    system.max_shards = spec.max_shards or system.max_shards
    return system


def _require_httpx() -> None:
    try:
        import_module("httpx")
    except ImportError as error:
        raise UsageError(
            "a system behind HTTP needs one more library: pip install 'recall-bench[http]'"
        ) from error
