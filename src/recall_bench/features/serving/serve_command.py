"""The command `serve`: any adapter as a server for this and other harnesses."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from recall_bench.cli.console import forward_to_stderr
from recall_bench.cli.options import CONFIG, parse_config
from recall_bench.core.errors import UsageError

if TYPE_CHECKING:
    from recall_bench.core.memory import MemorySystem
    from recall_bench.systems.servers.host import SystemHost

DEFAULT = "127.0.0.1:50052"

Serve = Callable[["SystemHost"], Awaitable[None]]


@click.command("serve")
@click.argument("adapter")
@click.option("--stdio", is_flag=True, help="Lines of JSON on standard input and output.")
@click.option(
    "--grpc", metavar="HOST:PORT", help=f"The gRPC service, both versions of it [{DEFAULT}]."
)
@click.option("--http", metavar="HOST:PORT", help="JSON over HTTP.")
@click.option(
    "--max-shards",
    type=click.IntRange(1),
    metavar="N",
    help="Workers that may have open memories at the same time [as the adapter says].",
)
@CONFIG
def serve_command(
    *,
    adapter: str,
    stdio: bool,
    grpc: str | None,
    http: str | None,
    max_shards: int | None,
    config: tuple[str, ...],
) -> int:
    """Serve ADAPTER, named as for `run`, until it is stopped.

    SIGINT, SIGTERM and, with --stdio, the end of standard input close its memories first.
    `recall-bench serve endpoint` serves models to products instead.
    """
    import anyio

    from recall_bench.core.settings import Settings
    from recall_bench.systems.resolver import resolve_system

    if sum((stdio, grpc is not None, http is not None)) > 1:
        raise UsageError("--stdio, --grpc and --http exclude each other; give one")
    serve = (
        _make_stdio_server()
        if stdio
        else _make_http_server(http)
        if http
        else _make_grpc_server(grpc or DEFAULT)
    )
    with forward_to_stderr():
        system = resolve_system(
            Settings(adapter=adapter, config=parse_config(config), in_process=True)
        )
        anyio.run(_serve_until_signal, system, serve, max_shards)
    return 0


async def _serve_until_signal(system: "MemorySystem", serve: Serve, max_shards: int | None) -> None:
    """Serve until the end or a signal, then close everything."""
    import os
    import signal
    from pathlib import Path

    import anyio

    from recall_bench.core.runtime import cancel_on_signals
    from recall_bench.systems.servers.host import SystemHost
    from recall_bench.systems.transports.child_environment import STATE_DIR

    state_dir = os.environ.get(STATE_DIR)
    host = SystemHost(system, max_shards=max_shards, states=Path(state_dir) if state_dir else None)
    signals = (signal.SIGINT, signal.SIGTERM)
    try:
        with anyio.CancelScope() as scope, cancel_on_signals(scope, signals):
            await serve(host)
    finally:
        with anyio.CancelScope(shield=True):
            await host.close()


def _make_stdio_server() -> Serve:
    from recall_bench.systems.servers.stdio_server import claim_pipes, serve_stdio

    pipes = claim_pipes()

    async def serve(host: "SystemHost") -> None:
        _print_address("standard input and output")
        await serve_stdio(host.handle, pipes)

    return serve


def _make_grpc_server(address: str) -> Serve:
    async def serve(host: "SystemHost") -> None:
        from recall_bench.core.settings import Settings
        from recall_bench.features.serving.grpc_server import serve_grpc
        from recall_bench.systems.readers import resolve_reader

        # Version 1 of the service has only answers, so passages need a reader here.
        reader = resolve_reader(Settings(), host.system.card)
        try:
            await serve_grpc(host, address, ready=_print_address, reader=reader)
        finally:
            if reader is not None:
                await reader.close()

    return serve


def _make_http_server(address: str) -> Serve:
    async def serve(host: "SystemHost") -> None:
        from recall_bench.features.serving.http_server import serve_http

        await serve_http(host, address, ready=_print_address)

    return serve


def _print_address(where: str) -> None:
    click.echo(f"serving on {where}", err=True)
