"""The calls of the public gRPC service over one connection that is never replaced."""

import re
from typing import TYPE_CHECKING, Any, Self

import anyio

from recall_bench.errors import BenchError, SystemBusy, SystemFault, SystemGone, SystemTimeout
from recall_bench.systems.grpc.messages import METHODS, SERVICE, messages
from recall_bench.systems.grpc.single_connection import SingleConnection

if TYPE_CHECKING:
    import grpc

MAX_MESSAGE_BYTES = 64 * 1024 * 1024

_NEVER_MS = 2**31 - 1
_MOMENT_S = 0.02
_ABOUT_SIZE = re.compile(r"larger than max|exceeds maximum|too large", re.IGNORECASE)
"""How the gRPC libraries word the refusal of a big message; its status is also that of a quota."""


class Line:
    """Calls to one server over one connection; once that is lost, so is the line."""

    def __init__(self, connection: SingleConnection, address: str, timeout_s: float) -> None:
        import grpc

        self._connection = connection
        self._target = f"grpc://{address}"
        self._timeout_s = timeout_s
        self._lost: str | None = None
        self._has_cancelled = False
        self._channel = grpc.aio.insecure_channel(
            f"127.0.0.1:{connection.port}", options=_options(address)
        )
        kinds = messages()
        self._calls = {
            method: self._channel.unary_unary(
                f"/{SERVICE}/{method}",
                request_serializer=kinds[f"{method}Request"].SerializeToString,
                response_deserializer=kinds[f"{method}Response"].FromString,
            )
            for method in METHODS
        }

    @classmethod
    async def dial(
        cls, host: str, port: int, *, timeout_s: float, connect_timeout_s: float
    ) -> Self:
        """A line to a server that took the connection in time, or SystemGone."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        reason = "it does not react"
        with anyio.move_on_after(connect_timeout_s):
            while True:
                try:
                    connection = await SingleConnection.to(host, port)
                except OSError as error:
                    reason = error.strerror or str(error)
                    await anyio.sleep(0.1)
                else:
                    return cls(connection, address, timeout_s)
        raise SystemGone(
            f"nothing can be reached at grpc://{address} ({reason}); "
            "start the server and run this again"
        )

    @property
    def is_lost(self) -> bool:
        """Whether the server the line began with is gone."""
        if self._lost is None and self._connection.is_lost:
            self._lost = "the connection was lost"
        return self._lost is not None

    async def call(self, method: str, **fields: object) -> Any:  # noqa: ANN401
        """The server's response; a lost line raises SystemGone without asking anybody."""
        import grpc

        request = messages()[f"{method}Request"](**fields)
        try:
            return await self._exchange(method, request, self._timeout_s)
        except grpc.aio.AioRpcError as error:
            raise self._fault(method, request.ByteSize(), error) from error

    async def health(self) -> tuple[str, bool]:
        """The server's name and whether it is ready; one without a Healthcheck is. No deadline."""
        import grpc

        try:
            response = await self._exchange("Healthcheck", messages()["HealthcheckRequest"](), None)
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                return "", True
            raise self._fault("Healthcheck", 0, error) from error
        return response.name, response.ready

    async def hang_up(self) -> None:
        """Close the connection; calls under way end."""
        with anyio.CancelScope(shield=True):
            await self._channel.close()
            if self._has_cancelled:
                # gRPC reports the end of such calls a moment later, to whatever loop runs then.
                await anyio.sleep(_MOMENT_S)
            await self._connection.close()

    async def _exchange(self, method: str, request: Any, timeout_s: float | None) -> Any:  # noqa: ANN401
        if self.is_lost:
            raise self._gone()
        call = self._calls[method](request, timeout=timeout_s)
        # Awaiting the call itself would turn a cancellation into one that anyio does not know.
        done = anyio.Event()
        call.add_done_callback(lambda _: done.set())
        try:
            await done.wait()
        except anyio.get_cancelled_exc_class():
            self._has_cancelled = True
            call.cancel()
            raise
        with anyio.CancelScope(shield=True):
            return await call

    def _gone(self) -> SystemGone:
        return SystemGone(
            f"{self._target} is gone ({self._lost}) and whatever it remembered with it; "
            "see that it runs, then run the same command again"
        )

    def _fault(self, method: str, size: int, error: "grpc.aio.AioRpcError") -> BenchError:
        code = error.code().name
        details = error.details() or "no details"
        if f"127.0.0.1:{self._connection.port}" in details:
            details = "the connection was lost"
        said = f"{method} failed with {code}: {details}"
        if code == "UNAVAILABLE" or self.is_lost:
            self._lost = said
            return self._gone()
        said = f"{self._target}: {said}"
        match code:
            case "DEADLINE_EXCEEDED":
                return SystemTimeout(said)
            case "RESOURCE_EXHAUSTED" if not _ABOUT_SIZE.search(details):
                return SystemBusy(said)
            case "RESOURCE_EXHAUSTED":
                return SystemFault(f"{said} (the request had {size:,} bytes)")
            case _:
                return SystemFault(said)


def _options(address: str) -> list[tuple[str, int | str]]:
    return [
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.default_authority", address),
        ("grpc.enable_http_proxy", 0),
        # A channel that idles hangs up, and a slow judge may keep us away for long.
        ("grpc.client_idle_timeout_ms", _NEVER_MS),
    ]
