"""A loopback address that leads to another one over one connection, and then nowhere.

A gRPC channel reconnects by itself, and nothing tells its user reliably that it did. To a
benchmark that is a trap: a server that crashed and was started again remembers nothing, and would
be fed on as if it did. A channel that goes through here cannot reconnect, so whatever arrives
comes from the server it began with.

Encryption ends here too: the server is spoken to in TLS, the channel in plaintext that does not
leave the process's own loopback connection. So certificates are checked as everywhere in Python,
against the machine's own authorities, and by the name the user wrote.
"""

import asyncio
import socket
from ssl import SSLContext
from typing import Self, cast

FIRST_BYTES = 24
"""How much of what the server says first is kept: enough to tell what it is."""

_KEEPALIVE_IDLE_S = 60
"""How long a connection may be silent before the machine asks whether the other end is there."""


class SingleConnection:
    """A connection to a server, and the only door to it."""

    def __init__(self) -> None:
        self.port = 0
        """Where on 127.0.0.1 the first to come is connected to the server."""
        self._listener: asyncio.Server | None = None
        self._is_accepted = False
        self._server_end = _RelayEnd()
        self._client_end = _RelayEnd()

    @classmethod
    async def open(cls, host: str, port: int, tls: SSLContext | None = None) -> Self:
        """Connect, or OSError, of which SSLError is one."""
        self = cls()
        self._server_end.other, self._client_end.other = self._client_end, self._server_end
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: self._server_end, host, port, ssl=tls)
        _enable_keepalive(transport.get_extra_info("socket"))
        try:
            self._listener = await loop.create_server(self._accept, "127.0.0.1", 0)
        except BaseException:
            await self.close()
            raise
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    @property
    def is_lost(self) -> bool:
        """Whether the server, or the one who came in, has hung up."""
        return self._server_end.is_closed or self._client_end.is_closed

    @property
    def first_bytes(self) -> bytes:
        """How what the server said begins; empty if it has not said anything."""
        return self._server_end.first_bytes

    async def close(self) -> None:
        """Hang up on both sides, whatever is still under way."""
        if self._listener is not None:
            self._listener.close()
        for end in (self._client_end, self._server_end):
            await end.drop()

    def _accept(self) -> asyncio.Protocol:
        if self._is_accepted:
            return _RefusingProtocol()
        self._is_accepted = True
        return self._client_end


class _RelayEnd(asyncio.Protocol):
    other: "_RelayEnd"

    def __init__(self) -> None:
        self.is_closed = False
        self.first_bytes = b""
        self._transport: asyncio.Transport | None = None
        self._pending: list[bytes] = []
        self._closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        for piece in self._pending:
            self._transport.write(piece)
        if self.is_closed:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        if len(self.first_bytes) < FIRST_BYTES:
            self.first_bytes = (self.first_bytes + data)[:FIRST_BYTES]
        self.other.send(data)

    def send(self, piece: bytes) -> None:
        if self._transport is None:
            self._pending.append(piece)
        else:
            self._transport.write(piece)

    def pause_writing(self) -> None:
        self.other.set_reading(willing=False)

    def resume_writing(self) -> None:
        self.other.set_reading(willing=True)

    def set_reading(self, *, willing: bool) -> None:
        if self._transport is not None and not self.is_closed:
            (self._transport.resume_reading if willing else self._transport.pause_reading)()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.is_closed = True
        self._closed.set()
        self.other.close()

    def close(self) -> None:
        """Close once everything was sent."""
        self.is_closed = True
        if self._transport is not None:
            self._transport.close()

    async def drop(self) -> None:
        """Close now."""
        self.is_closed = True
        if self._transport is not None:
            self._transport.abort()
            await self._closed.wait()


class _RefusingProtocol(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _enable_keepalive(connected: socket.socket) -> None:
    """Have the machine notice a server that vanished, however long nobody calls.

    It can be done at any pace: servers hang up on clients that ping too often in HTTP/2, and
    never hear of these.
    """
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in {
        "TCP_KEEPIDLE": _KEEPALIVE_IDLE_S,
        "TCP_KEEPINTVL": 10,
        "TCP_KEEPCNT": 3,
    }.items():
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
