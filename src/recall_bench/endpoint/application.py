"""The requests of OpenAI's interface that products make, and our replies."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recall_bench.endpoint.chat import Chat
from recall_bench.endpoint.conversation import streamed
from recall_bench.endpoint.embeddings import read_request, reply_to
from recall_bench.endpoint.meter import Meter
from recall_bench.endpoint.refusal import Refusal, refusal_of
from recall_bench.errors import ModelFault
from recall_bench.models.embedders import Embedder

_OURSELVES = frozenset({"127.0.0.1", "localhost"})

Replying = Callable[[Request], Awaitable[Response]]


class Application:
    """Answers requests in the event loop that its app runs in. Whoever asks needs no key."""

    def __init__(self, embedder: Embedder, chat: Chat | None, meter: Meter) -> None:
        self._embedder = embedder
        self._chat = chat
        self._meter = meter
        self._waiting: set[anyio.CancelScope] = set()
        self.app = Starlette(
            routes=[
                Route("/v1/models", self._guarded(self._models)),
                Route("/v1/models/{name:path}", self._guarded(self._model)),
                Route("/v1/embeddings", self._guarded(self._embeddings), methods=["POST"]),
                Route("/v1/chat/completions", self._guarded(self._completions), methods=["POST"]),
                Route("/v1/responses", self._guarded(_no_responses), methods=["POST"]),
            ],
            exception_handlers={HTTPException: _lost, Exception: _broken},
            lifespan=self._lifespan,
        )

    def hang_up(self) -> None:
        """Answer whoever still waits that we are closing. Called in the app's event loop."""
        for scope in tuple(self._waiting):
            scope.cancel()

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        if self._chat is not None:
            await self._chat.close()

    def _guarded(self, reply: Replying) -> Replying:
        async def guarded(request: Request) -> Response:
            refusal = Refusal(503, "the endpoint is closing", kind="server_error")
            with anyio.CancelScope() as scope:
                self._waiting.add(scope)
                try:
                    _admit(request)
                    return await reply(request)
                except Refusal as said:
                    refusal = said
                except ModelFault as fault:
                    refusal = refusal_of(fault)
                finally:
                    self._waiting.discard(scope)
            return _json(refusal.body, refusal.status, refusal.headers)

        return guarded

    async def _models(self, _: Request) -> Response:
        return _json({"object": "list", "data": list(self._offered().values())})

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        offered = self._offered()
        if name not in offered:
            raise Refusal(
                404,
                f"there is no model {name!r}; offered: {', '.join(offered)}",
                code="model_not_found",
                param="model",
            )
        return _json(offered[name])

    def _offered(self) -> dict[str, dict[str, object]]:
        embedder, chat = self._embedder, self._chat
        facts: dict[str, object] = {"object": "model", "created": 0, "owned_by": "recall-bench"}
        embedding = {
            "id": embedder.model,
            **facts,
            "embedder": embedder.name,
            "dimensions": embedder.dimensions,
        }
        talking = {} if chat is None else {chat.model: {"id": chat.model, **facts}}
        return {**talking, embedder.model: embedding}

    async def _embeddings(self, request: Request) -> Response:
        embedder = self._embedder
        wanted = read_request(await _body(request), embedder.model, embedder.dimensions)
        embedded = await run_sync(embedder.embed, wanted.texts, abandon_on_cancel=True)
        body, usage = reply_to(wanted, embedded)
        self._meter.add(usage)
        whole = embedder.dimensions
        if wanted.dimensions == whole:
            return _json(body)
        note = f"cut from {whole} to {wanted.dimensions} dimensions and normalised again"
        return _json(body, headers={"x-recall-bench-note": note})

    async def _completions(self, request: Request) -> Response:
        wanted = await _body(request)
        if self._chat is None:
            raise Refusal(
                400,
                "no language model stands behind this endpoint; name one with --system-model "
                "provider:model (recall-bench endpoint: --model)",
                code="no_model",
            )
        completion, usage = await self._chat.complete(wanted)
        self._meter.add(usage)
        if wanted.get("stream") is not True:
            return _json(completion)
        return Response(
            streamed(completion, wanted.get("stream_options")), media_type="text/event-stream"
        )


def _admit(request: Request) -> None:
    """Keep web pages out: a browser on this machine may be made to call, but says for whom."""
    if request.url.hostname not in _OURSELVES or "origin" in request.headers:
        raise Refusal(403, "this endpoint serves programs on this machine, and no web pages")


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(await request.body())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(400, f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise Refusal(400, "the body is no JSON object")
    return body


async def _no_responses(_: Request) -> Response:
    raise Refusal(
        404,
        "this endpoint has no Responses API; use /v1/chat/completions",
        code="unsupported",
    )


async def _lost(request: Request, error: Exception) -> Response:
    """No such path, or no such method there."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    refusal = Refusal(
        status,
        f"nothing answers {request.method} {request.url.path}; there are GET /v1/models, "
        "POST /v1/embeddings and POST /v1/chat/completions",
        code="unknown_url" if status == 404 else None,
    )
    return _json(refusal.body, refusal.status)


async def _broken(_: Request, error: Exception) -> Response:
    """A fault of ours: the log has its traceback, the product its kind."""
    refusal = Refusal(500, f"the endpoint failed: {type(error).__name__}", kind="server_error")
    return _json(refusal.body, refusal.status)


def _json(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        msgspec.json.encode(body), status, dict(headers or {}), media_type="application/json"
    )
