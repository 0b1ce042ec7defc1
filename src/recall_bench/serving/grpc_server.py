"""Any system as a gRPC server, in both versions of the service on one port."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from recall_bench.core.reader import Reader
from recall_bench.errors import BenchError, UsageError
from recall_bench.serving.grpc_public import GrpcV1Service
from recall_bench.serving.host import SystemHost, encode_fault
from recall_bench.systems.grpc.messages import (
    SERVICE_V1,
    SERVICE_V2,
    Protobuf,
    load_messages,
    load_methods,
    require_grpc,
)
from recall_bench.systems.grpc.wording import (
    RETRY_AFTER,
    decode_message,
    encode_message,
    find_method,
)
from recall_bench.systems.remote import wire

if TYPE_CHECKING:
    import grpc

MAX_MESSAGE_BYTES = 64 * 1024 * 1024

_OPTIONS = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    # Two servers at one port would share the calls of a run between them.
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)

_CODES = {
    "busy": "RESOURCE_EXHAUSTED",
    "timeout": "DEADLINE_EXCEEDED",
    "gone": "UNAVAILABLE",
    "unsupported": "FAILED_PRECONDITION",
    "fault": "INTERNAL",
}
"""What is said with which status, by the kind of a fault."""

_WITHOUT_MEMORY = (wire.HealthRequest, wire.OpenRequest)
"""All other requests name a memory or a saved state: what is gone is that, and not the server."""

Context = Any
"""What a call's handler is told of it; grpc's own class takes two types of messages."""


class ServerCertificate(NamedTuple):
    """What a server proves with who it is, both in PEM."""

    chain: Path
    key: Path


async def serve_grpc(
    host: SystemHost,
    address: str,
    *,
    ready: Callable[[str], None] | None = None,
    tls: ServerCertificate | None = None,
    reader: Reader | None = None,
) -> None:
    """Serve until cancelled; `ready` is called with the address once calls are taken.

    The host, and the reader, are left for whoever made them to close.
    """
    async with run_grpc_server(host, address, tls=tls, reader=reader) as port:
        if ready is not None:
            ready(f"{address.rpartition(':')[0]}:{port}")
        await anyio.sleep_forever()


_LAST_PORT = 65535
_SHUTDOWN_DELAY_S = 0.02


@asynccontextmanager
async def run_grpc_server(
    host: SystemHost,
    address: str,
    *,
    tls: ServerCertificate | None = None,
    reader: Reader | None = None,
) -> AsyncIterator[int]:
    """The port at which a host is served until the block ends; calls under way end with it.

    `address` is `host:port`, where port 0 is any free one. `reader` answers for a system that
    only finds, where it is asked in the first version, which knows nothing but answers.
    """
    require_grpc(f"serving {host.system.card.name} at {address}")
    import grpc

    server = grpc.aio.server(options=_OPTIONS)
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler(SERVICE_V1, _build_v1_handlers(host, reader)),
            grpc.method_handlers_generic_handler(SERVICE_V2, _build_handlers(host)),
        )
    )
    port = _bind_port(server, address, tls)
    await server.start()
    try:
        yield port
    finally:
        with anyio.CancelScope(shield=True):
            await server.stop(None)
            # gRPC reports the end of cut calls a moment later, to whatever loop runs then.
            await anyio.sleep(_SHUTDOWN_DELAY_S)


def _bind_port(server: "grpc.aio.Server", address: str, tls: ServerCertificate | None) -> int:
    import grpc

    port = address.rpartition(":")[2]
    if not port.isdecimal() or int(port) > _LAST_PORT:
        raise UsageError(
            f"{address!r} is no address to serve at; write host:port, port up to 65535"
        )
    try:
        if tls is None:
            return int(server.add_insecure_port(address))
        pair = tls.key.read_bytes(), tls.chain.read_bytes()
        return int(server.add_secure_port(address, grpc.ssl_server_credentials([pair])))
    except RuntimeError as error:
        raise UsageError(
            f"nothing can be served at {address}; it is in use or not this machine's, so choose "
            "another, or port 0 for any that is free"
        ) from error
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read ({error.strerror})") from error


def _build_handlers(host: SystemHost) -> dict[str, Any]:
    import grpc

    handlers = {}
    for kind, _ in wire.VERBS.values():
        method = find_method(kind)
        handlers[method.name] = grpc.unary_unary_rpc_method_handler(
            _build_handler(host, kind),
            request_deserializer=method.request.FromString,
            response_serializer=method.response.SerializeToString,
        )
    streamed = load_methods(SERVICE_V2)["IngestMany"]
    handlers[streamed.name] = grpc.stream_stream_rpc_method_handler(
        _build_stream_handler(host),
        request_deserializer=streamed.request.FromString,
        response_serializer=streamed.response.SerializeToString,
    )
    return handlers


def _build_handler(
    host: SystemHost, kind: type[wire.Request]
) -> Callable[[Protobuf, Context], Awaitable[Protobuf]]:
    async def handle(received: Protobuf, context: Context) -> Protobuf:
        try:
            return encode_message(await host.handle(decode_message(received, kind)))
        except BenchError as error:
            await _refuse(context, error, "UNAVAILABLE" if kind in _WITHOUT_MEMORY else "NOT_FOUND")

    return handle


def _build_stream_handler(
    host: SystemHost,
) -> Callable[[Protobuf, Context], AsyncIterator[Protobuf]]:
    ingested = load_messages(SERVICE_V2)["Ingested"]

    async def handle(
        received: AsyncIterator[Protobuf], context: Context
    ) -> AsyncIterator[Protobuf]:
        async for each in received:
            try:
                await host.handle(decode_message(each, wire.IngestRequest))
            except BenchError as error:
                await _refuse(context, error, "NOT_FOUND", f"day {each.day}: ")
            yield ingested(day=each.day)

    return handle


def _build_v1_handlers(host: SystemHost, reader: Reader | None) -> dict[str, Any]:
    import grpc

    service = GrpcV1Service(host, reader)
    return {
        method.name: grpc.unary_unary_rpc_method_handler(
            _build_v1_handler(service, method.name),
            request_deserializer=method.request.FromString,
            response_serializer=method.response.SerializeToString,
        )
        for method in load_methods(SERVICE_V1).values()
    }


def _build_v1_handler(
    service: GrpcV1Service, name: str
) -> Callable[[Protobuf, Context], Awaitable[Protobuf]]:
    async def handle(received: Protobuf, context: Context) -> Protobuf:
        try:
            return await service.handle(name, received)
        except BenchError as error:
            await _refuse(context, error, "UNAVAILABLE")

    return handle


async def _refuse(context: Context, error: BenchError, gone: str, where: str = "") -> None:
    """End a call with what went wrong; `gone` is the status that says something is not here."""
    import grpc

    fault = encode_fault(error)
    code = gone if fault.kind == "gone" else _CODES.get(fault.kind, "INTERNAL")
    trailing = ((RETRY_AFTER, f"{fault.retry_after_s:g}"),) if fault.kind == "busy" else ()
    await context.abort(grpc.StatusCode[code], f"{where}{fault.message}", trailing)
