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
from recall_bench.endpoint.conversation import format_stream
from recall_bench.endpoint.embeddings import build_embedding_reply, read_embedding_request
from recall_bench.endpoint.meter import UsageMeter
from recall_bench.endpoint.refusal import EndpointRefusal, translate_fault
from recall_bench.errors import ModelFault
from recall_bench.models.embedders import Embedder

_OURSELVES = frozenset({"127.0.0.1", "localhost"})

RouteHandler = Callable[[Request], Awaitable[Response]]


class EndpointApplication:
    """Answers requests in the event loop that its app runs in. Whoever asks needs no key."""

    def __init__(self, embedder: Embedder, chat: Chat | None, meter: UsageMeter) -> None:
        self._embedder = embedder
        self._chat = chat
        self._meter = meter
        self._waiting: set[anyio.CancelScope] = set()
        self.app = Starlette(
            routes=[
                Route("/v1/models", self._wrap_errors(self._list_models)),
                Route("/v1/models/{name:path}", self._wrap_errors(self._describe_model)),
                Route(
                    "/v1/embeddings", self._wrap_errors(self._serve_embeddings), methods=["POST"]
                ),
                Route(
                    "/v1/chat/completions",
                    self._wrap_errors(self._serve_completions),
                    methods=["POST"],
                ),
                Route("/v1/responses", self._wrap_errors(_refuse_responses), methods=["POST"]),
            ],
            exception_handlers={HTTPException: _reply_not_found, Exception: _reply_internal_error},
            lifespan=self._run_lifespan,
        )

    def cancel_requests(self) -> None:
        """Answer whoever still waits that we are closing. Called in the app's event loop."""
        for scope in tuple(self._waiting):
            scope.cancel()

    @asynccontextmanager
    async def _run_lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        if self._chat is not None:
            await self._chat.close()

    def _wrap_errors(self, reply: RouteHandler) -> RouteHandler:
        async def handle_request(request: Request) -> Response:
            refusal = EndpointRefusal(503, "the endpoint is closing", kind="server_error")
            with anyio.CancelScope() as scope:
                self._waiting.add(scope)
                try:
                    _check_origin(request)
                    return await reply(request)
                except EndpointRefusal as said:
                    refusal = said
                except ModelFault as fault:
                    refusal = translate_fault(fault)
                finally:
                    self._waiting.discard(scope)
            return _make_json_response(refusal.body, refusal.status, refusal.headers)

        return handle_request

    async def _list_models(self, _: Request) -> Response:
        return _make_json_response(
            {"object": "list", "data": list(self._collect_models().values())}
        )

    async def _describe_model(self, request: Request) -> Response:
        name = request.path_params["name"]
        offered = self._collect_models()
        if name not in offered:
            raise EndpointRefusal(
                404,
                f"there is no model {name!r}; offered: {', '.join(offered)}",
                code="model_not_found",
                param="model",
            )
        return _make_json_response(offered[name])

    def _collect_models(self) -> dict[str, dict[str, object]]:
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

    async def _serve_embeddings(self, request: Request) -> Response:
        embedder = self._embedder
        wanted = read_embedding_request(
            await _read_body(request), embedder.model, embedder.dimensions
        )
        embedded = await run_sync(embedder.embed, wanted.texts, abandon_on_cancel=True)
        body, usage = build_embedding_reply(wanted, embedded)
        self._meter.add(usage)
        whole = embedder.dimensions
        if wanted.dimensions == whole:
            return _make_json_response(body)
        note = f"cut from {whole} to {wanted.dimensions} dimensions and normalised again"
        return _make_json_response(body, headers={"x-recall-bench-note": note})

    async def _serve_completions(self, request: Request) -> Response:
        wanted = await _read_body(request)
        if self._chat is None:
            raise EndpointRefusal(
                400,
                "no language model stands behind this endpoint; name one with --system-model "
                "provider:model (recall-bench endpoint: --model)",
                code="no_model",
            )
        completion, usage = await self._chat.complete(wanted)
        self._meter.add(usage)
        if wanted.get("stream") is not True:
            return _make_json_response(completion)
        return Response(
            format_stream(completion, wanted.get("stream_options")), media_type="text/event-stream"
        )


def _check_origin(request: Request) -> None:
    """Keep web pages out: a browser on this machine may be made to call, but says for whom."""
    if request.url.hostname not in _OURSELVES or "origin" in request.headers:
        raise EndpointRefusal(
            403, "this endpoint serves programs on this machine, and no web pages"
        )


async def _read_body(request: Request) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(await request.body())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EndpointRefusal(400, f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise EndpointRefusal(400, "the body is no JSON object")
    return body


async def _refuse_responses(_: Request) -> Response:
    raise EndpointRefusal(
        404,
        "this endpoint has no Responses API; use /v1/chat/completions",
        code="unsupported",
    )


async def _reply_not_found(request: Request, error: Exception) -> Response:
    """No such path, or no such method there."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    refusal = EndpointRefusal(
        status,
        f"nothing answers {request.method} {request.url.path}; there are GET /v1/models, "
        "POST /v1/embeddings and POST /v1/chat/completions",
        code="unknown_url" if status == 404 else None,
    )
    return _make_json_response(refusal.body, refusal.status)


async def _reply_internal_error(_: Request, error: Exception) -> Response:
    """A fault of ours: the log has its traceback, the product its kind."""
    refusal = EndpointRefusal(
        500, f"the endpoint failed: {type(error).__name__}", kind="server_error"
    )
    return _make_json_response(refusal.body, refusal.status)


def _make_json_response(
    body: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(
        msgspec.json.encode(body), status, dict(headers or {}), media_type="application/json"
    )
