"""The HTTP connections of our servers: a client must send its request's head in time."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_TIMEOUT_S = 10.0
"""How long the head of a request may take to arrive."""

MAX_HEAD_BYTES = 64 * 1024

MAX_CONNECTIONS = 512
"""Connections at a time; requests on further ones are answered with 503."""


class GuardedProtocol(H11Protocol):
    """Closes a connection on which the head of a request does not arrive in time."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to serve one client."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        if self._head_timer is None and self.conn.their_state is h11.IDLE:
            self._start_timer()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, self._hang_up)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _hang_up(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
