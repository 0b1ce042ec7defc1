"""Calls to a gRPC server over one connection, and what its statuses mean."""

import asyncio
import re
import ssl
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import anyio

from recall_bench.core.errors import BenchError, SystemBusy, SystemFault, SystemGone, SystemTimeout
from recall_bench.core.retry import parse_retry_after
from recall_bench.systems.grpc.grpc_messages import (
    GRPC_TOKEN_VARIABLE,
    MAX_MESSAGE_BYTES,
    RETRY_AFTER,
    SERVICE_V1,
    SERVICE_V2,
    GrpcMethod,
    Protobuf,
    decode_message,
    load_methods,
)
from recall_bench.systems.grpc.single_connection import GrpcAddress, SingleConnection
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.remote_system import RequestNotServed

if TYPE_CHECKING:
    import grpc

T = TypeVar("T")

_LOST_IN_CORE = "Internal error from Core"
"""grpcio's status of a stream that the server ended while we were writing."""


class GrpcStatus(NamedTuple):
    """The status at the end of a call."""

    code: str
    details: str
    trailing: dict[str, str]

    @classmethod
    def from_error(cls, error: "grpc.aio.AioRpcError") -> Self:
        """The status in an error."""
        trailing = {key: str(value) for key, value in error.trailing_metadata() or ()}
        return cls(error.code().name, error.details() or "", trailing)


class StreamStatus:
    """The status of a stream as the server sent it.

    A server may end a stream at any time. If we are writing then, grpcio puts a status of its own
    before or instead of the server's. So the first status is recorded, and compared with the one
    that is raised.
    """

    def __init__(self, call: "grpc.aio.StreamStreamCall") -> None:
        self._call = call
        self._first: GrpcStatus | None = None
        call.add_done_callback(self._note)

    def resolve(self, error: "grpc.aio.AioRpcError") -> GrpcStatus:
        """The server's status, which is not always the one that is raised."""
        if self._first is None or self._first.details == _LOST_IN_CORE:
            return GrpcStatus.from_error(error)
        return self._first

    def _note(self, _: object) -> None:
        trailing = _run_ready_coroutine(self._call.trailing_metadata())
        self._first = GrpcStatus(
            _run_ready_coroutine(self._call.code()).name,
            _run_ready_coroutine(self._call.details()) or "",
            {key: str(value) for key, value in trailing or ()},
        )


def _run_ready_coroutine(known: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that does not wait, as at the end of a call."""
    try:
        known.send(None)
    except StopIteration as returned:
        return returned.value  # type: ignore[no-any-return]
    known.close()
    raise AssertionError("the call has not ended")


HANDSHAKE_ERRORS = (ssl.SSLError, ConnectionResetError, ConnectionAbortedError)

_SIZE_COMPLAINT = re.compile(r"larger than max|exceeds maximum|too large", re.IGNORECASE)
"""How gRPC libraries refuse a big message; its status is the same as that of a quota."""


class MethodNotServed(RequestNotServed):
    """The server does not implement the method."""


def translate_status(message: str, method: GrpcMethod, status: GrpcStatus, size: int) -> BenchError:
    """A status of a server that is still there, as an error; `size` is that of the request."""
    match status.code:
        case "UNIMPLEMENTED":
            return MethodNotServed(message)
        case "NOT_FOUND" if method.service == SERVICE_V2:
            return SystemGone(
                f"{message}; run the same command again to restart from the first day"
            )
        case "DEADLINE_EXCEEDED":
            return SystemTimeout(message)
        case "UNAUTHENTICATED":
            return SystemFault(f"{message}; set {GRPC_TOKEN_VARIABLE} to a token it accepts")
        case "RESOURCE_EXHAUSTED":
            return _translate_quota_status(message, status, size)
        case _:
            return SystemFault(message)


def _translate_quota_status(message: str, status: GrpcStatus, size: int) -> SystemFault:
    pause = status.trailing.get(RETRY_AFTER)
    if pause is None and _SIZE_COMPLAINT.search(status.details):
        return SystemFault(f"{message} (the request had {size:,} bytes)")
    return SystemBusy(message, parse_retry_after(pause))


def describe_tls_failure(address: GrpcAddress, error: OSError) -> str:
    """Why a TLS connection failed, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"{address} cannot be verified ({error.verify_message}); trust the authority that "
            "signed its certificate with --grpc-ca, and use a host name in the certificate"
        )
    reason = (
        getattr(error, "reason", None) or error.strerror or str(error) or "it closed the connection"
    )
    return f"{address} does not speak TLS ({reason}); write grpc:// if it is a plaintext server"


def describe_other_server(address: GrpcAddress, first_words: bytes) -> str | None:
    """What is there instead of a gRPC server, judged by its first bytes."""
    if not first_words:
        hint = ", or write grpcs:// if it needs TLS" if address.tls is None else ""
        return f"{address} closes the connection at once; check that it is a gRPC server{hint}"
    if first_words.startswith(b"\x15\x03"):
        return f"{address} speaks TLS; write grpcs://"
    if first_words[3:4] == b"\x04":
        # The type of the first frame of every HTTP/2 server.
        return None
    spelled = first_words.decode("latin-1")
    begins = "".join(sign if sign.isprintable() else " " for sign in spelled).strip()
    return f"{address} is not a gRPC server: it sends {begins!r}; check the port"


_NEVER_MS = 2**31 - 1
_CANCEL_DELAY_S = 0.02
_KEEPALIVE_MS = 330_000
"""Servers may disconnect a client that pings more often than every five minutes."""
_KEEPALIVE_TIMEOUT_S = 20.0
"""The least time for the reply to a ping: a server that is busy with a call, and single-threaded,
has as long as the call."""


class GrpcChannel:
    """Calls to one server over one connection; once that is lost, so is the channel."""

    def __init__(
        self, connection: SingleConnection, address: GrpcAddress, timeout_s: float
    ) -> None:
        import grpc

        self._connection = connection
        self._address = address
        self._timeout_s = timeout_s
        self._lost: str | None = None
        self._has_cancelled = False
        pong_ms = min(_NEVER_MS, int(1000 * max(_KEEPALIVE_TIMEOUT_S, timeout_s)))
        options = [
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.default_authority", address.authority),
            ("grpc.http2_scheme", "http" if address.tls is None else "https"),
            ("grpc.enable_http_proxy", 0),
            # An idle channel would disconnect, and a slow judge may keep us busy for long.
            ("grpc.client_idle_timeout_ms", _NEVER_MS),
            ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
            ("grpc.keepalive_timeout_ms", pong_ms),
            ("grpc.http2.ping_timeout_ms", pong_ms),
        ]
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{connection.port}", options=options)
        self._calls: dict[str, Any] = {}
        token = address.token
        self._metadata = () if token is None else (("authorization", f"Bearer {token}"),)

    @classmethod
    async def connect(
        cls, address: GrpcAddress, *, timeout_s: float, connect_timeout_s: float
    ) -> Self:
        """A channel to a server that accepted in time, or SystemGone."""
        reason = "no response"
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
        """Whether the first server is gone."""
        if self._lost is None and self._connection.is_lost:
            self._lost = "the connection was lost"
        return self._lost is not None

    @property
    def is_silent(self) -> bool:
        """Whether the server has not sent anything yet."""
        return not self._connection.first_bytes

    async def call(
        self, method: GrpcMethod, request: Protobuf, *, timeout_s: float | None = None
    ) -> Protobuf:
        """The server's response; SystemGone at once if the connection is lost."""
        import grpc

        self._require_connection()
        if method.path not in self._calls:
            self._calls[method.path] = self._channel.unary_unary(*_describe_method(method))
        call = self._calls[method.path](
            request, timeout=timeout_s or self._timeout_s, metadata=self._metadata
        )
        # Awaiting the call itself would raise a cancellation that anyio does not know.
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
        on_response: Callable[[Protobuf], None],
        describe_progress: Callable[[], str],
    ) -> None:
        """Send all requests, and pass every response to `on_response`.

        Each response has the full timeout after the one before. `describe_progress` is for error
        messages.
        """
        import grpc

        self._require_connection()
        moments = [asyncio.get_running_loop().time()]
        call = self._channel.stream_stream(*_describe_method(method))(
            iter(requests), timeout=self._timeout_s * max(1, len(requests)), metadata=self._metadata
        )
        end = StreamStatus(call)
        reading = asyncio.ensure_future(_read_stream(call, on_response, moments))
        try:
            # Return once it is done, or has made no progress for too long.
            now = asyncio.get_running_loop().time
            while not reading.done() and (left_s := moments[-1] + self._timeout_s - now()) > 0:
                await asyncio.wait({reading}, timeout=left_s)
            if not reading.done():
                raise SystemTimeout(
                    f"{self._address}: {describe_progress()} had no response for "
                    f"{self._timeout_s:g} s"
                )
            reading.result()
        except grpc.aio.AioRpcError as error:
            largest = max(request.ByteSize() for request in requests)
            status = end.resolve(error)
            raise self._translate_status(describe_progress(), method, status, largest) from error
        finally:
            if not reading.done():
                self._has_cancelled = True
                reading.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait({reading})
            call.cancel()

    async def close(self) -> None:
        """Close the connection; calls under way end."""
        with anyio.CancelScope(shield=True):
            await self._channel.close()
            if self._has_cancelled:
                # gRPC reports the end of cancelled calls a moment later, in whatever loop runs.
                await anyio.sleep(_CANCEL_DELAY_S)
            await self._connection.close()

    def _require_connection(self) -> None:
        if self.is_lost:
            raise self._build_gone_error()

    def _build_gone_error(self) -> SystemGone:
        return SystemGone(
            describe_other_server(self._address, self._connection.first_bytes)
            or f"{self._address} is gone ({self._lost}), with everything it remembered; "
            "check that it runs, then run the same command again"
        )

    def _translate_status(
        self, what: str, method: GrpcMethod, status: GrpcStatus, size: int
    ) -> BenchError:
        code, details = status.code, status.details or "no details"
        if f"127.0.0.1:{self._connection.port}" in details:
            details = "the connection was lost"
        message = f"{what} failed with {code}: {details}"
        if code == "UNAVAILABLE" or self.is_lost:
            self._lost = message
            return self._build_gone_error()
        return translate_status(f"{self._address}: {message}", method, status, size)


async def _read_stream(
    call: "grpc.aio.StreamStreamCall", on_response: Callable[[Protobuf], None], moments: list[float]
) -> None:
    now = asyncio.get_running_loop().time
    # Not call.read(), which drops what has arrived once the end is known.
    async for response in call:
        moments[0] = now()
        on_response(response)


def _describe_method(method: GrpcMethod) -> tuple[str, Any, Any]:
    return method.path, method.request.SerializeToString, method.response.FromString


class GrpcServer:
    """Connects to one server any number of times, and checks that it is the same one."""

    def __init__(
        self,
        address: GrpcAddress,
        *,
        timeout_s: float,
        connect_timeout_s: float,
        ready_timeout_s: float,
    ) -> None:
        self.address = address
        self.service: str | None = None
        """The version of its service, once connected."""
        self.health: wire.HealthReply | None = None
        """Its description of itself, once connected; in version 1 only a name."""
        self.has_healthcheck = True
        """Whether it answers a health check of either version."""
        self._timeout_s = timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._ready_timeout_s = ready_timeout_s

    async def connect(self) -> GrpcChannel:
        """A channel to the server, ready and the same as before, or SystemGone."""
        channel = await GrpcChannel.connect(
            self.address, timeout_s=self._timeout_s, connect_timeout_s=self._connect_timeout_s
        )
        try:
            self._check_identity(*await self._wait_until_ready(channel))
        except BaseException:
            await channel.close()
            raise
        return channel

    async def _wait_until_ready(self, channel: GrpcChannel) -> tuple[str, wire.HealthReply]:
        pause_s = 0.05
        with anyio.move_on_after(self._ready_timeout_s):
            while True:
                try:
                    service, health = await self._ask_health(channel)
                except SystemTimeout:
                    break
                if health.ready:
                    return service, health
                await anyio.sleep(pause_s)
                pause_s = min(2 * pause_s, 1.0)
        waited = f"{self.address} is not ready after {self._ready_timeout_s:g} s"
        if channel.is_silent:
            raise SystemGone(f"{waited} and has sent nothing; check that it is a gRPC server")
        raise SystemGone(f"{waited}; run the same command again when it is")

    async def _ask_health(self, channel: GrpcChannel) -> tuple[str, wire.HealthReply]:
        method = load_methods(SERVICE_V2)["Health"]
        try:
            reply = await channel.call(method, method.request(), timeout_s=self._ready_timeout_s)
            return SERVICE_V2, decode_message(reply, wire.HealthReply)
        except MethodNotServed:
            pass
        method = load_methods(SERVICE_V1)["Healthcheck"]
        try:
            reply = await channel.call(method, method.request(), timeout_s=self._ready_timeout_s)
        except MethodNotServed:
            self.has_healthcheck = False
            return SERVICE_V1, wire.HealthReply()
        return SERVICE_V1, wire.HealthReply(name=reply.name, ready=reply.ready)

    def _check_identity(self, service: str, health: wire.HealthReply) -> None:
        if self.health is None:
            self.service, self.health = service, health
            return
        before = self.health.name
        if health.name and before and health.name != before:
            raise SystemGone(f"{self.address} called itself {before!r} before, now {health.name!r}")
        if service != self.service:
            raise SystemGone(f"{self.address} served {self.service} before, now {service}")
