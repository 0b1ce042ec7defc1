"""Serves an application over HTTP until it is cancelled."""

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio

from recall_bench.core.errors import UsageError
from recall_bench.core.runtime import CAN_REUSE_ADDRESS

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

DEFAULT_PORT = 8000

_KEEPALIVE_S = 75
"""How long an idle connection is kept open."""

_SHUTDOWN_TIMEOUT_S = 5
"""How long what cannot be cancelled may take after the server was stopped."""


async def serve_application(
    application: "ASGIApp",
    taken: socket.socket,
    *,
    ready: Callable[[str], None] | None = None,
    stop: Callable[[], None] | None = None,
) -> None:
    """Serve on a bound socket until cancelled; `stop` ends the requests under way.

    `ready` is called with the URL once requests are accepted.
    """
    server, started, ended = _build_server(application)

    async def run() -> None:
        # Ends by the event, so that replies under way are still sent.
        with anyio.CancelScope(shield=True):
            await server.serve(sockets=[taken])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        try:
            await started.wait()
            if ready is not None:
                name, port = taken.getsockname()[:2]
                ready(f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}")
            await anyio.sleep_forever()
        finally:
            if stop is not None:
                stop()
            ended.set()


def parse_listen_address(address: str) -> tuple[str, int]:
    """Host and port to listen on, or UsageError."""
    form = "write host:port or a port"
    spelled = address if "://" in address else f"http://{address}"
    try:
        if address.isdecimal():
            spelled = f"http://127.0.0.1:{address}"
        parts = urlsplit(spelled)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{address!r} is not an address to serve at ({error}); {form}") from None
    if parts.scheme != "http" or parts.path.strip("/") or parts.query or parts.username:
        raise UsageError(f"{address!r} is not an address to serve at; {form}")
    return parts.hostname or "127.0.0.1", DEFAULT_PORT if port is None else port


def bind_socket(address: str) -> socket.socket:
    """A socket bound to the address: `host:port`, a port alone on 127.0.0.1, or either as a URL."""
    name, port = parse_listen_address(address)
    try:
        family, *_ = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0]
        # asyncio disables Nagle's delay only for a socket that declares TCP.
        taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if CAN_REUSE_ADDRESS:
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((name, port))
        except OSError:
            taken.close()
            raise
        return taken
    except OSError as error:
        raise UsageError(
            f"cannot serve at {address} ({error.strerror}); choose another address"
        ) from error


def _build_server(application: "ASGIApp") -> "tuple[uvicorn.Server, anyio.Event, anyio.Event]":
    """A server, the event of its start, and the event that ends it."""
    import uvicorn

    started, ended = anyio.Event(), anyio.Event()

    class _EventServer(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

        async def main_loop(self) -> None:
            await self.on_tick(0)
            await ended.wait()

    config = build_config(
        application,
        lifespan="off",
        interface="asgi3",
        timeout_keep_alive=_KEEPALIVE_S,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
    )
    return _EventServer(config), started, ended


def build_config(application: "ASGIApp", **settings: Any) -> "uvicorn.Config":  # noqa: ANN401
    """The settings of a server that logs nothing, adds no headers, and bounds its connections."""
    import uvicorn

    from recall_bench.systems.servers.guarded_protocol import (
        MAX_CONNECTIONS,
        MAX_HEAD_BYTES,
        GuardedProtocol,
    )

    return uvicorn.Config(
        application,
        http=settings.pop("http", GuardedProtocol),
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        **settings,
    )
