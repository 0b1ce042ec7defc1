"""A server of the public protocol on loopback, told by each test how to misbehave."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc

from recall_bench.systems.grpc.messages import METHODS, SERVICE, messages

Reply = Callable[[Any, Any], Awaitable[Any]]
"""From a request and its context to a response."""


class Diary:
    """Remembers days and answers with all of them; each method can be replaced."""

    def __init__(self, **replies: Reply) -> None:
        self.calls: list[str] = []
        self.requests: list[Any] = []
        self.days: list[str] = []
        self.under_way = 0
        self.replies = replies

    async def handle(self, method: str, request: Any, context: Any) -> Any:
        self.calls.append(method)
        self.requests.append(request)
        self.under_way += 1
        try:
            if method in self.replies:
                return await self.replies[method](request, context)
            return self.usual(method, request)
        finally:
            self.under_way -= 1

    def usual(self, method: str, request: Any) -> Any:
        response = messages()[f"{method}Response"]
        match method:
            case "Healthcheck":
                return response(name="diary", ready=True)
            case "Setup":
                self.days = []
            case "IngestDay":
                self.days.append(request.content)
            case "Query":
                return response(answer=", ".join(self.days))
        return response()


@asynccontextmanager
async def serving(
    diary: Diary, *, port: int = 0, omit: str = "", host: str = "127.0.0.1"
) -> AsyncIterator[int]:
    """The port at which the diary is served until the block ends."""
    server, bound = await started(diary, port=port, omit=omit, host=host)
    try:
        yield bound
    finally:
        await server.stop(None)


async def started(
    diary: Diary, *, port: int = 0, omit: str = "", host: str = "127.0.0.1"
) -> tuple[Any, int]:
    """A running server, to be stopped by the caller, and its port."""
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    handlers = {
        method: grpc.unary_unary_rpc_method_handler(
            _handler(diary, method),
            request_deserializer=messages()[f"{method}Request"].FromString,
            response_serializer=messages()[f"{method}Response"].SerializeToString,
        )
        for method in METHODS
        if method != omit
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    bound = server.add_insecure_port(f"{host}:{port}")
    await server.start()
    return server, bound


def _handler(diary: Diary, method: str) -> Reply:
    async def handle(request: Any, context: Any) -> Any:
        return await diary.handle(method, request, context)

    return handle


def failing(code: str, details: str, *, times: int = 10**9) -> Reply:
    """A reply that fails so many times, and then returns an empty response."""
    left = [times]

    async def reply(request: Any, context: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            await context.abort(grpc.StatusCode[code], details)
        return messages()[type(request).__name__.replace("Request", "Response")]()

    return reply


async def hanging(request: Any, context: Any) -> Any:
    """A reply that never comes."""
    await asyncio.Event().wait()
