"""Calls to a gRPC server over one connection that is never replaced."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import anyio

from recall_bench.errors import BenchError, SystemGone, SystemTimeout
from recall_bench.systems.grpc.address import GrpcAddress
from recall_bench.systems.grpc.faults import (
    HANDSHAKE_ERRORS,
    describe_other_server,
    describe_tls_failure,
    translate_status,
)
from recall_bench.systems.grpc.messages import GrpcMethod, Protobuf
from recall_bench.systems.grpc.single_connection import SingleConnection
from recall_bench.systems.grpc.status import GrpcStatus, StreamStatus

if TYPE_CHECKING:
    import grpc

MAX_MESSAGE_BYTES = 64 * 1024 * 1024

_NEVER_MS = 2**31 - 1
_CANCEL_DELAY_S = 0.02
_KEEPALIVE_MS = 330_000
"""Servers may hang up on a client that pings more often than every five minutes."""
_KEEPALIVE_TIMEOUT_S = 20.0
"""How long a server may take to answer a ping, at least: one that is busy with a call, and cannot
do two things at once, has as long as the call has."""


class GrpcChannel:
    """Calls to one server over one connection; once that is lost, so is the line."""

    def __init__(
        self, connection: SingleConnection, address: GrpcAddress, timeout_s: float
    ) -> None:
        import grpc

        self._connection = connection
        self._address = address
        self._timeout_s = timeout_s
        self._lost: str | None = None
        self._has_cancelled = False
        self._channel = grpc.aio.insecure_channel(
            f"127.0.0.1:{connection.port}", options=_build_options(address, timeout_s)
        )
        self._calls: dict[str, Any] = {}

    @classmethod
    async def connect(
        cls, address: GrpcAddress, *, timeout_s: float, connect_timeout_s: float
    ) -> Self:
        """A line to a server that took the connection in time, or SystemGone."""
        reason = "it does not react"
        with anyio.move_on_after(connect_timeout_s):
            while True:
                try:
                    connection = await SingleConnection.open(
                        address.host, address.port, address.tls
                    )
                except OSError as error:
                    if address.tls is not None and isinstance(error, HANDSHAKE_ERRORS):
                        raise SystemGone(describe_tls_failure(address, error)) from error
                    reason = error.strerror or str(error)
                    await anyio.sleep(0.1)
                else:
                    return cls(connection, address, timeout_s)
        raise SystemGone(
            f"nothing can be reached at {address} ({reason}); start the server and run this again"
        )

    @property
    def is_lost(self) -> bool:
        """Whether the server the line began with is gone."""
        if self._lost is None and self._connection.is_lost:
            self._lost = "the connection was lost"
        return self._lost is not None

    @property
    def is_silent(self) -> bool:
        """Whether the server has not said a word yet, in whatever language."""
        return not self._connection.first_bytes

    async def call(
        self,
        method: GrpcMethod,
        request: Protobuf,
        *,
        timeout_s: float | None = None,
    ) -> Protobuf:
        """The server's response; a lost line raises SystemGone without asking anybody."""
        import grpc

        self._require_connection()
        if method.path not in self._calls:
            self._calls[method.path] = self._channel.unary_unary(*_describe_method(method))
        call = self._calls[method.path](request, timeout=timeout_s or self._timeout_s)
        # Awaiting the call itself would turn a cancellation into one that anyio does not know.
        done = anyio.Event()
        call.add_done_callback(lambda _: done.set())
        try:
            await done.wait()
        except anyio.get_cancelled_exc_class():
            self._has_cancelled = True
            call.cancel()
            raise
        try:
            with anyio.CancelScope(shield=True):
                return await call
        except grpc.aio.AioRpcError as error:
            status = GrpcStatus.from_error(error)
            raise self._translate_status(method.name, method, status, request.ByteSize()) from error

    async def stream(
        self,
        method: GrpcMethod,
        requests: Sequence[Protobuf],
        got: Callable[[Protobuf], None],
        doing: Callable[[], str],
    ) -> None:
        """Send them all, and hand on every response; each must come in time after the one before.

        `doing` says what was under way, for whoever reads that it failed.
        """
        import grpc

        self._require_connection()
        moments = [asyncio.get_running_loop().time()]
        call = self._channel.stream_stream(*_describe_method(method))(
            iter(requests), timeout=self._timeout_s * max(1, len(requests))
        )
        end = StreamStatus(call)
        reading = asyncio.ensure_future(_read_stream(call, got, moments))
        try:
            await self._wait_until_idle(reading, moments)
            if not reading.done():
                raise SystemTimeout(
                    f"{self._address}: {doing()} brought nothing for {self._timeout_s:g} s"
                )
            reading.result()
        except grpc.aio.AioRpcError as error:
            largest = max(request.ByteSize() for request in requests)
            raise self._translate_status(doing(), method, end.resolve(error), largest) from error
        finally:
            await self._stop_stream(call, reading)

    async def close(self) -> None:
        """Close the connection; calls under way end."""
        with anyio.CancelScope(shield=True):
            await self._channel.close()
            if self._has_cancelled:
                # gRPC reports the end of such calls a moment later, to whatever loop runs then.
                await anyio.sleep(_CANCEL_DELAY_S)
            await self._connection.close()

    async def _wait_until_idle(self, reading: "asyncio.Future[None]", moments: list[float]) -> None:
        """Return once it is done, or has not moved for too long."""
        now = asyncio.get_running_loop().time
        while not reading.done() and (left_s := moments[-1] + self._timeout_s - now()) > 0:
            await asyncio.wait({reading}, timeout=left_s)

    async def _stop_stream(
        self, call: "grpc.aio.StreamStreamCall", reading: "asyncio.Future[None]"
    ) -> None:
        if not reading.done():
            self._has_cancelled = True
            reading.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({reading})
        call.cancel()

    def _require_connection(self) -> None:
        if self.is_lost:
            raise self._build_gone_error()

    def _build_gone_error(self) -> SystemGone:
        return SystemGone(
            describe_other_server(self._address, self._connection.first_bytes)
            or f"{self._address} is gone ({self._lost}) and whatever it remembered with it; "
            "see that it runs, then run the same command again"
        )

    def _translate_status(
        self, doing: str, method: GrpcMethod, status: GrpcStatus, size: int
    ) -> BenchError:
        code, details = status.code, status.details or "no details"
        if f"127.0.0.1:{self._connection.port}" in details:
            details = "the connection was lost"
        said = f"{doing} failed with {code}: {details}"
        if code == "UNAVAILABLE" or self.is_lost:
            self._lost = said
            return self._build_gone_error()
        return translate_status(f"{self._address}: {said}", method, status, size)


async def _read_stream(
    call: "grpc.aio.StreamStreamCall", got: Callable[[Protobuf], None], moments: list[float]
) -> None:
    now = asyncio.get_running_loop().time
    # Not call.read(): that forgets what has arrived once the end is known.
    async for response in call:
        moments[0] = now()
        got(response)


def _describe_method(method: GrpcMethod) -> tuple[str, Any, Any]:
    return method.path, method.request.SerializeToString, method.response.FromString


def _build_options(address: GrpcAddress, timeout_s: float) -> list[tuple[str, int | str]]:
    pong_ms = min(_NEVER_MS, int(1000 * max(_KEEPALIVE_TIMEOUT_S, timeout_s)))
    return [
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.default_authority", address.authority),
        ("grpc.http2_scheme", "http" if address.tls is None else "https"),
        ("grpc.enable_http_proxy", 0),
        # A channel that idles hangs up, and a slow judge may keep us away for long.
        ("grpc.client_idle_timeout_ms", _NEVER_MS),
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", pong_ms),
        ("grpc.http2.ping_timeout_ms", pong_ms),
    ]
