"""Servers on loopback, told by each test how to misbehave.

A diary is a server of the public protocol. A cabinet is a system, to be served in both versions.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

import grpc

from recall_bench.core.memory import (
    Answer,
    Asker,
    Clock,
    Holdings,
    Memory,
    Passage,
    RetrievalReply,
    SystemCard,
)
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.usage import Usage
from recall_bench.features.serving.grpc_server import ServerCertificate, run_grpc_server
from recall_bench.systems.grpc.grpc_messages import METHODS, SERVICE_V1, load_messages
from recall_bench.systems.servers.host import SystemHost

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
        response = load_messages()[f"{method}Response"]
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
        # gRPC reports the end of cut calls a moment later, to whatever loop runs then.
        await asyncio.sleep(0.02)


async def started(
    diary: Diary, *, port: int = 0, omit: str = "", host: str = "127.0.0.1"
) -> tuple[Any, int]:
    """A running server, to be stopped by the caller, and its port."""
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    handlers = {
        method: grpc.unary_unary_rpc_method_handler(
            _handler(diary, method),
            request_deserializer=load_messages()[f"{method}Request"].FromString,
            response_serializer=load_messages()[f"{method}Response"].SerializeToString,
        )
        for method in METHODS
        if method != omit
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE_V1, handlers),))
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
        return load_messages()[type(request).__name__.replace("Request", "Response")]()

    return reply


async def hanging(request: Any, context: Any) -> Any:
    """A reply that never comes."""
    await asyncio.Event().wait()


Act = Callable[[Any], Awaitable[Any]]
"""What is done with an episode or a question before the usual."""


class Drawer:
    """A memory that answers with the texts it was given, and says everything there is to say."""

    def __init__(self, cabinet: "Cabinet", scenario: str) -> None:
        self.cabinet = cabinet
        self.scenario = scenario
        self.lived: list[Episode] = []

    def __deepcopy__(self, memo: object) -> "Drawer":
        copied = Drawer(self.cabinet, self.scenario)
        copied.lived = list(self.lived)
        return copied

    async def ingest(self, episode: Episode) -> None:
        await self.cabinet.act("ingest", episode)
        self.lived.append(episode)

    async def settle(self) -> None:
        await self.cabinet.act("settle", None)

    async def answer(self, question: Question) -> Answer | RetrievalReply:
        self.cabinet.asked.append(question)
        replaced = await self.cabinet.act("answer", question)
        if replaced is not None:
            assert isinstance(replaced, Answer | RetrievalReply)
            return replaced
        return Answer(
            text=", ".join(each.text for each in self.lived),
            passages=tuple(
                Passage(text=each.text, id=each.id, day=each.day, source="drawer", score=0.5)
                for each in self.lived
            ),
            tool_calls=({"tool": "look", "args": {"k": 3}},),
            usage=Usage(calls=2, input_tokens=30, output_tokens=4, cost_usd=0.25),
        )

    async def attest(self) -> int | None:
        return len(self.lived)

    async def holdings(self) -> Holdings:
        return Holdings(days=tuple(each.day for each in self.lived), bytes=2**40)

    async def close(self) -> None:
        self.cabinet.closed.append(self)


class Cabinet:
    """Any number of drawers, which can be copied; each of its acts can be replaced."""

    card = SystemCard(
        name="cabinet",
        version="7",
        max_concurrency=8,
        clock=Clock.NATIVE,
        asker=Asker.HONOURED,
    )

    def __init__(self, **acts: Act) -> None:
        self.acts = acts
        self.opened: list[Drawer] = []
        self.closed: list[Drawer] = []
        self.asked: list[Question] = []
        self.saved: dict[str, Drawer] = {}

    async def act(self, name: str, what: Any) -> Any:
        return await self.acts[name](what) if name in self.acts else None

    @property
    def snapshots(self) -> "Cabinet.Copies":
        return Cabinet.Copies(self)

    async def open(self, scenario: str) -> Drawer:
        await self.act("open", scenario)
        self.opened.append(Drawer(self, scenario))
        return self.opened[-1]

    async def close(self) -> None:
        pass

    class Copies:
        def __init__(self, cabinet: "Cabinet") -> None:
            self._cabinet = cabinet

        async def save(self, memory: Memory) -> str:
            assert isinstance(memory, Drawer)
            token = f"state-{len(self._cabinet.saved)}"
            self._cabinet.saved[token] = deepcopy(memory)
            return token

        async def open(self, token: str) -> Memory:
            return deepcopy(self._cabinet.saved[token])

        async def drop(self, token: str) -> None:
            del self._cabinet.saved[token]


@asynccontextmanager
async def hosting(
    cabinet: Cabinet, *, port: int = 0, tls: ServerCertificate | None = None
) -> AsyncIterator[int]:
    """The port at which a cabinet is served in both versions until the block ends."""
    host = SystemHost(cabinet)
    async with run_grpc_server(host, f"127.0.0.1:{port}", tls=tls) as bound:
        yield bound
    await host.close()
