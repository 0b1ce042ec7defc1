"""A single connection passes everything on, to the first who comes, and is over when it is over."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from recall_bench.systems.grpc.single_connection import FIRST_BYTES, SingleConnection, _RelayEnd

pytestmark = pytest.mark.anyio

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Greet at once, and then give everything back."""
    writer.write(b"hello")
    while received := await reader.read(65536):
        writer.write(received)
        await writer.drain()


@asynccontextmanager
async def connected(serve: Serve) -> AsyncIterator[SingleConnection]:
    served = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await serve(reader, writer)
            writer.close()
            await writer.wait_closed()
        served.set()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    connection = await SingleConnection.open("127.0.0.1", server.sockets[0].getsockname()[1])
    try:
        yield connection
    finally:
        await connection.close()
        server.close()
        await served.wait()


@asynccontextmanager
async def visiting(
    connection: SingleConnection,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", connection.port)
    yield reader, writer
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def test_bytes_pass_both_ways_even_before_the_client_connects() -> None:
    async with connected(echo) as connection, visiting(connection) as (reader, writer):
        sent = bytes(range(256)) * 40_000
        writer.write(sent)

        received = await reader.readexactly(5 + len(sent))

        assert received == b"hello" + sent
        assert not connection.is_lost


async def test_a_second_connection_is_refused_and_the_first_goes_on() -> None:
    async with connected(echo) as connection, visiting(connection) as (reader, writer):
        await reader.readexactly(5)

        async with visiting(connection) as (second, _):
            assert await second.read() == b""
        writer.write(b"still there")

        assert await reader.readexactly(11) == b"still there"


async def test_when_the_server_disconnects_its_last_bytes_arrive_and_it_is_lost() -> None:
    async def farewell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        writer.write(b"goodbye")

    async with connected(farewell) as connection, visiting(connection) as (reader, writer):
        writer.write(b".")

        assert await reader.read() == b"goodbye"
        assert connection.is_lost


async def test_a_missing_server_is_an_os_error() -> None:
    async with connected(echo) as connection:
        nobody = connection.port

    with pytest.raises(OSError, match=str(nobody)):
        await SingleConnection.open("127.0.0.1", nobody)


async def test_the_machine_watches_a_connection_that_is_silent_for_long() -> None:
    async with connected(echo) as connection:
        transport = connection._server_end._transport
        assert transport is not None

        watched = transport.get_extra_info("socket")

        assert watched.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


async def test_what_the_server_says_first_is_kept_and_no_more() -> None:
    async with connected(echo) as connection, visiting(connection) as (reader, writer):
        assert await reader.readexactly(5) == b"hello"
        writer.write(b"." * 100)
        await reader.readexactly(100)

        assert connection.first_bytes == (b"hello" + b"." * 100)[:FIRST_BYTES]


class CountingTransport(asyncio.Transport):
    """Counts how often it is closed; one of TLS closes itself once the server closes."""

    def __init__(self, *, closes_itself: bool = False) -> None:
        super().__init__()
        self.closed = int(closes_itself)

    def close(self) -> None:
        self.closed += 1

    def is_closing(self) -> bool:
        return self.closed > 0


@pytest.mark.parametrize("closes_itself", [False, True])
async def test_an_end_is_closed_once(*, closes_itself: bool) -> None:
    """Python 3.11.2 cannot abort a TLS transport that was closed twice."""
    end, transport = _RelayEnd(), CountingTransport(closes_itself=closes_itself)
    end.connection_made(transport)

    end.close()
    end.close()

    assert transport.closed == 1
