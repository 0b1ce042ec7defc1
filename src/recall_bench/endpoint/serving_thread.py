"""A web server in a thread of its own: products may call it while our event loop is busy.

Two things make a call on a kept connection cheap. Nagle's delay is off; with it, a reply in two
pieces waits up to 40 ms for the first one's receipt. And a reply leaves in one piece.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from recall_bench.errors import UsageError

LOOPBACK = "127.0.0.1"
_SHUTDOWN_TIMEOUT_S = 5
"""How long a request that cannot be ended holds up the end."""


class ServerThread:
    """Serves the app on loopback from `start` until `stop`."""

    def __init__(self, app: Starlette, *, port: int, hang_up: Callable[[], None]) -> None:
        self._socket = _open_listener(port)
        self.port: int = self._socket.getsockname()[1]
        self._hang_up = hang_up
        self.server = _EndpointServer(
            uvicorn.Config(
                app,
                http=BufferedProtocol,
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
            )
        )
        # A daemon: a process that dies without stopping us must not wait for us.
        self._thread = threading.Thread(target=self._run, name="model-endpoint", daemon=True)

    def start(self) -> None:
        """Return once requests are answered."""
        self._thread.start()
        self.server.is_settled.wait()
        if not self.server.started:
            self.stop()
            raise UsageError("the model endpoint could not start; the log says why")

    def stop(self) -> None:
        """Return once nothing of it runs; those who wait for a reply are told."""
        if self.server.loop is not None:
            # A loop that has closed in the meantime has nobody who waits.
            with suppress(RuntimeError):
                self.server.loop.call_soon_threadsafe(self._stop_server)
        if self._thread.ident is not None:
            self._thread.join()
        self._socket.close()

    def _stop_server(self) -> None:
        self._hang_up()
        self.server.is_over.set()

    def _run(self) -> None:
        try:
            self.server.run(sockets=[self._socket])
        finally:
            self.server.is_settled.set()


class _EndpointServer(uvicorn.Server):
    """Says when it has started, and sleeps until it is over: nothing ticks while we measure."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_settled = threading.Event()
        self.is_over = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        self.is_settled.set()

    async def main_loop(self) -> None:
        await self.is_over.wait()


def _open_listener(port: int) -> socket.socket:
    # asyncio switches Nagle's delay off only where the protocol is spelled out.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if os.name == "posix":
            # Elsewhere it would let two programs share a port; here, one follow another at once.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"port {port} of {LOOPBACK} cannot be had ({error.strerror}); name another, or none"
        ) from error
    return listener


class BufferedProtocol(H11Protocol):
    """Sends head and body of a reply together."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to serve one client."""
        super().connection_made(cast("asyncio.Transport", BufferedTransport(transport)))


class BufferedTransport:
    """A transport that gathers what is written in one turn of the event loop."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._gathered: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send it at the end of this turn, with all that is written until then."""
        if not data:
            return
        if not self._gathered:
            asyncio.get_running_loop().call_soon(self.flush)
        self._gathered.append(data)

    def flush(self) -> None:
        """Send it now."""
        whole = b"".join(self._gathered)
        self._gathered.clear()
        if whole and not self._transport.is_closing():
            self._transport.write(whole)

    def close(self) -> None:
        """Send what there is, and close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else a transport has
        return getattr(self._transport, name)
