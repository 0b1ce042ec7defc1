"""Serves a system over gRPC, in both versions of the service on one port."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import anyio

from recall_bench.core.errors import BenchError, NotOffered, SystemFault, UsageError
from recall_bench.core.memory import Answer, Reader
from recall_bench.core.scenario import PRINCIPAL, hash_question_id
from recall_bench.systems.grpc.grpc_messages import (
    GRPC_TOKEN_VARIABLE,
    MAX_MESSAGE_BYTES,
    RETRY_AFTER,
    SERVICE_V1,
    SERVICE_V2,
    GrpcMethod,
    Protobuf,
    decode_message,
    encode_message,
    find_method,
    load_messages,
    load_methods,
    require_grpc,
)
from recall_bench.systems.servers.host import SystemHost, decode_question, encode_fault
from recall_bench.systems.servers.request_guard import LOOPBACK_HOSTS, is_bearer
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.remote_system import decode_answer

if TYPE_CHECKING:
    import grpc

R = TypeVar("R", bound=wire.Reply)


class GrpcV1Service:
    """Version 1 of the service: one memory at a time, and only text.

    Setup opens a memory instead of the one before. A question has no date and no session, so it is
    asked on the last day ingested, by the principal.
    """

    def __init__(self, host: SystemHost, reader: Reader | None) -> None:
        self._host = host
        self._reader = reader
        self._memory: str | None = None
        self._today: str | None = None
        self._setups = 0
        self._changing = anyio.Lock()

    async def handle(self, method: str, received: Protobuf) -> Protobuf:
        """The response of a method."""
        reply: dict[str, object] = {}
        match method:
            case "Setup":
                async with self._changing:
                    await self._release()
                    self._setups += 1
                    request = wire.OpenRequest(scenario=f"setup-{self._setups}")
                    opened = _expect_reply(wire.OpenReply, await self._host.handle(request))
                    self._memory = opened.memory
            case "IngestDay":
                metadata = received.metadata
                await self._host.handle(
                    wire.IngestRequest(
                        memory=self._require_memory(),
                        day=received.day_number,
                        id=f"day-{received.day_number:04}",
                        date=metadata.date,
                        content=received.content,
                        arcs=tuple(metadata.active_arcs),
                    )
                )
                self._today = metadata.date
            case "FinalizeIngestion":
                await self._host.handle(wire.SettleRequest(memory=self._require_memory()))
            case "Query":
                reply["answer"] = await self._answer(received.question)
            case "Teardown":
                async with self._changing:
                    await self._release()
            case "Healthcheck":
                reply = {"name": self._host.system.card.name, "ready": True}
        return load_messages()[f"{method}Response"](**reply)

    async def _answer(self, text: str) -> str:
        memory = self._require_memory()
        if self._today is None:
            raise UsageError("the date is unknown: call IngestDay before the first Query")
        request = wire.AskRequest(
            memory=memory,
            question=text,
            id=hash_question_id("", text),
            date=self._today,
            session=PRINCIPAL,
        )
        answer = decode_answer(_expect_reply(wire.AnswerReply, await self._host.handle(request)))
        if isinstance(answer, Answer):
            return answer.text
        if self._reader is None:
            raise SystemFault(
                f"{self._host.system.card.name} only finds passages, but version 1 of the service "
                "has only answers"
            )
        return (await self._reader.read(decode_question(request, ""), answer.passages)).text

    async def _release(self) -> None:
        memory, self._memory, self._today = self._memory, None, None
        if memory is not None:
            await self._host.handle(wire.CloseRequest(memory=memory))

    def _require_memory(self) -> str:
        if self._memory is None:
            raise UsageError("no memory is open: call Setup first")
        return self._memory


def _expect_reply(kind: type[R], reply: wire.Reply) -> R:
    if not isinstance(reply, kind):
        raise TypeError(f"a host replied with a {type(reply).__name__} for {kind.__name__}")
    return reply


_OPTIONS = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    # Two servers at one port would share the calls of a run.
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
"""The status of each kind of fault."""

_WITHOUT_MEMORY = (wire.HealthRequest, wire.OpenRequest)
"""Requests without a memory or snapshot: for all others, `gone` means that one, not the server."""

Context = Any
"""The context of a call; grpc's own class has two type parameters."""


class ServerCertificate(NamedTuple):
    """A server's certificate chain and key, both in PEM."""

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
    """Serve until cancelled; `ready` is called with the address once calls are accepted.

    If RECALL_BENCH_GRPC_TOKEN is set, only calls with that token are served; on other addresses
    than loopback it is needed. The caller closes the host and the reader.
    """
    token = os.environ.get(GRPC_TOKEN_VARIABLE) or None
    if token is None and _find_host(address) not in LOOPBACK_HOSTS:
        raise UsageError(
            f"--grpc {address}: other machines could read and change its memories; set "
            f"{GRPC_TOKEN_VARIABLE} here and where it is asked, or serve at 127.0.0.1"
        )
    async with run_grpc_server(host, address, tls=tls, reader=reader, token=token) as port:
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
    token: str | None = None,
) -> AsyncIterator[int]:
    """The port of the server, which runs until the block ends; calls under way end with it.

    `address` is `host:port`, where port 0 is any free one. `reader` answers for a system that only
    finds passages, if it is asked in version 1, which has only answers. With a token, only calls
    that carry it are served.
    """
    require_grpc(f"serving {host.system.card.name} at {address}")
    import grpc

    checks = () if token is None else (_make_token_check(token),)
    server = grpc.aio.server(options=_OPTIONS, interceptors=checks)
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
            # gRPC reports the end of cancelled calls a moment later, in whatever loop runs.
            await anyio.sleep(_SHUTDOWN_DELAY_S)


def _make_token_check(token: str) -> "grpc.aio.ServerInterceptor":
    import grpc

    async def refuse(_: object, context: Context) -> None:
        words = f"send the token that {GRPC_TOKEN_VARIABLE} holds"
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, words)

    class TokenCheck(grpc.aio.ServerInterceptor):  # type: ignore[misc]
        """Ends calls without the token before their messages are read."""

        async def intercept_service(
            self,
            continuation: Callable[[Any], Awaitable[Any]],
            handler_call_details: Any,  # noqa: ANN401 - grpc's own, without types
        ) -> Any:  # noqa: ANN401
            sent = dict(handler_call_details.invocation_metadata).get("authorization", "")
            if isinstance(sent, str) and is_bearer(sent, token):
                return await continuation(handler_call_details)
            return grpc.stream_stream_rpc_method_handler(refuse)

    return TokenCheck()


def _bind_port(server: "grpc.aio.Server", address: str, tls: ServerCertificate | None) -> int:
    import grpc

    _find_host(address)
    try:
        if tls is None:
            return int(server.add_insecure_port(address))
        pair = tls.key.read_bytes(), tls.chain.read_bytes()
        return int(server.add_secure_port(address, grpc.ssl_server_credentials([pair])))
    except RuntimeError as error:
        raise UsageError(
            f"nothing can be served at {address}; it is in use or not on this machine, so choose "
            "another, or port 0 for any that is free"
        ) from error
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read ({error.strerror})") from error


def _find_host(address: str) -> str:
    """The host of an address to serve at, or UsageError."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > _LAST_PORT:
        raise UsageError(
            f"{address!r} is not an address to serve at; write host:port, port up to 65535"
        )
    return host.strip("[]")


def _build_handlers(host: SystemHost) -> dict[str, Any]:
    import grpc

    handlers = {}
    for kind, _ in wire.VERBS.values():
        method = find_method(kind)
        handlers[method.name] = grpc.unary_unary_rpc_method_handler(
            _build_handler(host, kind), *_list_codecs(method)
        )
    streamed = load_methods(SERVICE_V2)["IngestMany"]
    handlers[streamed.name] = grpc.stream_stream_rpc_method_handler(
        _build_stream_handler(host), *_list_codecs(streamed)
    )
    return handlers


def _list_codecs(method: GrpcMethod) -> tuple[Any, Any]:
    return method.request.FromString, method.response.SerializeToString


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
        async for message in received:
            try:
                await host.handle(decode_message(message, wire.IngestRequest))
            except BenchError as error:
                await _refuse(context, error, "NOT_FOUND", f"day {message.day}: ")
            yield ingested(day=message.day)

    return handle


def _build_v1_handlers(host: SystemHost, reader: Reader | None) -> dict[str, Any]:
    import grpc

    service = GrpcV1Service(host, reader)
    return {
        method.name: grpc.unary_unary_rpc_method_handler(
            _build_v1_handler(service, method.name), *_list_codecs(method)
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
    """End a call with an error; `gone` is the status for what is not here."""
    import grpc

    fault = encode_fault(error)
    if isinstance(error, NotOffered):
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{where}{fault.message}")
    code = gone if fault.kind == "gone" else _CODES.get(fault.kind, "INTERNAL")
    trailing = ((RETRY_AFTER, f"{fault.retry_after_s:g}"),) if fault.kind == "busy" else ()
    await context.abort(grpc.StatusCode[code], f"{where}{fault.message}", trailing)
