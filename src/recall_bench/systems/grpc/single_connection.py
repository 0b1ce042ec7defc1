"""The address of a gRPC server, and a single connection to it that is never replaced.

A gRPC channel reconnects by itself, and does not report it reliably. For a benchmark that is a
trap: a server that crashed and was restarted remembers nothing, but would be fed on as if it did.
So the channel connects to a loopback port that forwards to the server over one connection, and
refuses a second one: whatever arrives comes from the first server.

TLS ends here too: the server is spoken to with TLS, the channel in plaintext over loopback. So
certificates are checked by Python's own ssl, against the machine's authorities and the host name
that the user wrote.
"""

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext
from typing import Self, cast
from urllib.parse import urlsplit

from recall_bench.core.errors import UsageError
from recall_bench.systems.grpc.grpc_messages import GRPC_TOKEN_VARIABLE

DEFAULT_PORT = 50052

_ADDRESS_FORM = "write grpc://host:port, with an IPv6 host in brackets, or grpcs:// for TLS"


@dataclass(frozen=True)
class GrpcAddress:
    """A host and a port; plaintext without `tls`."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    token: str | None = field(default=None, repr=False)
    """Sent with every call as `authorization`, if there is one."""

    @property
    def authority(self) -> str:
        """`host:port`, as sent to the server."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{'grpc' if self.tls is None else 'grpcs'}://{self.authority}"


def parse_grpc_address(target: str, ca: Path | None = None) -> GrpcAddress:
    """The address of a `grpc://` or `grpcs://` target, or UsageError.

    `ca` is a file of certificates to trust instead of the machine's authorities. The token in the
    environment, if there is one, goes with the address.
    """
    try:
        parts = urlsplit(target)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{target!r} is not an address ({error}); {_ADDRESS_FORM}") from error
    if parts.scheme not in ("grpc", "grpcs"):
        raise UsageError(f"{target!r} is not a gRPC address; {_ADDRESS_FORM}")
    if not host:
        raise UsageError(f"{target!r} names no host; {_ADDRESS_FORM}")
    if port == 0 or parts.path.strip("/") or parts.query or parts.fragment or parts.username:
        raise UsageError(
            f"{target!r} is more than a host and a port from 1 to 65535; {_ADDRESS_FORM}"
        )
    if parts.scheme == "grpc" and ca is not None:
        raise UsageError(
            f"{target!r} is not encrypted, so {ca} is not used; write grpcs://, or leave the "
            "certificates out"
        )
    tls = _build_tls_context(ca) if parts.scheme == "grpcs" else None
    token = os.environ.get(GRPC_TOKEN_VARIABLE) or None
    if token is not None and not (token.isascii() and token.isprintable()):
        raise UsageError(f"{GRPC_TOKEN_VARIABLE} holds what no metadata can; set it again")
    return GrpcAddress(host, DEFAULT_PORT if port is None else port, tls, token)


def _build_tls_context(ca: Path | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{ca} holds no certificates to trust ({reason})") from error
    context.set_alpn_protocols(["h2"])
    return context


FIRST_BYTES = 24
"""How much of the server's first bytes is kept: enough to recognise its protocol."""

_KEEPALIVE_IDLE_S = 60
"""How long a connection may be idle before TCP keepalive probes it."""


class SingleConnection:
    """A connection to a server, and the loopback port that leads to it."""

    def __init__(self) -> None:
        self.port = 0
        """The port on 127.0.0.1; the first client is connected to the server."""
        self._listener: asyncio.Server | None = None
        self._is_accepted = False
        self._server_end = _RelayEnd()
        self._client_end = _RelayEnd()

    @classmethod
    async def open(cls, host: str, port: int, tls: SSLContext | None = None) -> Self:
        """Connect, or raise OSError, of which SSLError is one."""
        self = cls()
        self._server_end.other, self._client_end.other = self._client_end, self._server_end
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: self._server_end, host, port, ssl=tls)
        connected = transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in {
            "TCP_KEEPIDLE": _KEEPALIVE_IDLE_S,
            "TCP_KEEPINTVL": 10,
            "TCP_KEEPCNT": 3,
        }.items():
            if hasattr(socket, name):
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        try:
            self._listener = await loop.create_server(self._accept, "127.0.0.1", 0)
        except BaseException:
            await self.close()
            raise
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    @property
    def is_lost(self) -> bool:
        """Whether the server or the client closed the connection."""
        return self._server_end.is_closed or self._client_end.is_closed

    @property
    def first_bytes(self) -> bytes:
        """The first bytes from the server; empty if there were none."""
        return self._server_end.first_bytes

    async def close(self) -> None:
        """Close both sides at once."""
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
            self._close_transport()

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
        self.other.set_reading(enabled=False)

    def resume_writing(self) -> None:
        self.other.set_reading(enabled=True)

    def set_reading(self, *, enabled: bool) -> None:
        if self._transport is not None and not self.is_closed:
            (self._transport.resume_reading if enabled else self._transport.pause_reading)()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.is_closed = True
        self._closed.set()
        self.other.close()

    def close(self) -> None:
        """Close once everything was sent."""
        self.is_closed = True
        self._close_transport()

    def _close_transport(self) -> None:
        """Once: early releases of Python 3.11 cannot abort a TLS transport that was closed twice.

        The first time may be its own: when the server says that it closes.
        """
        if self._transport is not None and not self._transport.is_closing():
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
