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

FIRST_WORDS = 24
"""How much of what the server says first is kept: enough to tell what it is."""

_PATIENCE_S = 60
"""How long a connection may be silent before the machine asks whether the other end is there."""


class SingleConnection:
    """A connection to a server, and the only door to it."""

    def __init__(self) -> None:
        self.port = 0
        """Where on 127.0.0.1 the first to come is connected to the server."""
        self._door: asyncio.Server | None = None
        self._is_entered = False
        self._far = _End()
        self._near = _End()

    @classmethod
    async def to(cls, host: str, port: int, tls: SSLContext | None = None) -> Self:
        """Connect, or OSError, of which SSLError is one."""
        self = cls()
        self._far.other, self._near.other = self._near, self._far
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: self._far, host, port, ssl=tls)
        _keep_alive(transport.get_extra_info("socket"))
        try:
            self._door = await loop.create_server(self._enter, "127.0.0.1", 0)
        except BaseException:
            await self.close()
            raise
        self.port = self._door.sockets[0].getsockname()[1]
        return self

    @property
    def is_lost(self) -> bool:
        """Whether the server, or the one who came in, has hung up."""
        return self._far.is_over or self._near.is_over

    @property
    def first_words(self) -> bytes:
        """How what the server said begins; empty if it has not said anything."""
        return self._far.first_words

    async def close(self) -> None:
        """Hang up on both sides, whatever is still under way."""
        if self._door is not None:
            self._door.close()
        for end in (self._near, self._far):
            await end.drop()

    def _enter(self) -> asyncio.Protocol:
        if self._is_entered:
            return _Refused()
        self._is_entered = True
        return self._near


class _End(asyncio.Protocol):
    other: "_End"

    def __init__(self) -> None:
        self.is_over = False
        self.first_words = b""
        self._transport: asyncio.Transport | None = None
        self._early: list[bytes] = []
        self._gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        for piece in self._early:
            self._transport.write(piece)
        if self.is_over:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        if len(self.first_words) < FIRST_WORDS:
            self.first_words = (self.first_words + data)[:FIRST_WORDS]
        self.other.send(data)

    def send(self, piece: bytes) -> None:
        if self._transport is None:
            self._early.append(piece)
        else:
            self._transport.write(piece)

    def pause_writing(self) -> None:
        self.other.listen(willing=False)

    def resume_writing(self) -> None:
        self.other.listen(willing=True)

    def listen(self, *, willing: bool) -> None:
        if self._transport is not None and not self.is_over:
            (self._transport.resume_reading if willing else self._transport.pause_reading)()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.is_over = True
        self._gone.set()
        self.other.hang_up()

    def hang_up(self) -> None:
        """Close once everything was sent."""
        self.is_over = True
        if self._transport is not None:
            self._transport.close()

    async def drop(self) -> None:
        """Close now."""
        self.is_over = True
        if self._transport is not None:
            self._transport.abort()
            await self._gone.wait()


class _Refused(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _keep_alive(connected: socket.socket) -> None:
    """Have the machine notice a server that vanished, however long nobody calls.

    It can be done at any pace: servers hang up on clients that ping too often in HTTP/2, and
    never hear of these.
    """
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in {"TCP_KEEPIDLE": _PATIENCE_S, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}.items():
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
