"""The HTTP server of the model endpoint: the requests of OpenAI's API that products make.

It runs in a thread of its own, so that products may call it while our event loop is busy.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import msgspec
import uvicorn
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from recall_bench.core.errors import ModelFault, UsageError
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.core.usage import Usage, UsageMeter
from recall_bench.features.models.chat_completions import (
    Chat,
    EndpointRefusal,
    format_stream,
    translate_fault,
)
from recall_bench.features.models.embedders import Embedder, Reranker
from recall_bench.systems.models.static_embedding import normalise_vectors
from recall_bench.systems.servers.guarded_protocol import GuardedProtocol
from recall_bench.systems.servers.request_guard import (
    has_token,
    is_from_web_page,
    is_same,
    read_limited_body,
)
from recall_bench.systems.servers.web_server import bind_socket, build_config

RouteHandler = Callable[[Request], Awaitable[Response]]

_MAX_BODY_BYTES = 64 * 1024 * 1024


def _read_texts(texts: object) -> tuple[str, ...]:
    """The texts of a request for embeddings; EndpointRefusal if there is none."""
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts:
        raise EndpointRefusal(400, "input: send a text or a list of texts", param="input")
    if all(isinstance(text, int | list) for text in texts):
        raise EndpointRefusal(
            400,
            "input: token numbers mean nothing here, for every embedder has its own tokenizer; "
            "send text (in LangChain: check_embedding_ctx_length=False)",
            param="input",
            code="tokens_not_supported",
        )
    for place, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            problem = "is empty" if text == "" else "is not a text"
            raise EndpointRefusal(400, f"input: text {place} {problem}; send words", param="input")
    return tuple(texts)


def embed_request(body: Mapping[str, Any], embedder: Embedder) -> tuple[dict[str, object], Usage]:
    """The reply to a request for embeddings and its usage; EndpointRefusal if it is invalid."""
    whole, length, form = embedder.dimensions, body.get("dimensions"), body.get("encoding_format")
    if length is not None and (type(length) is not int or not 1 <= length <= whole):
        raise EndpointRefusal(
            400,
            f"dimensions: {length!r} cannot be had; vectors are {whole} long and can be cut "
            "shorter, so ask for a whole number up to that or for none",
            param="dimensions",
        )
    if form not in (None, "float", "base64"):
        raise EndpointRefusal(
            400, "encoding_format: use float or base64, or leave it out", param="encoding_format"
        )
    embedded = embedder.embed(_read_texts(body.get("input")))
    vectors = embedded.vectors
    if length not in (None, whole):
        vectors = normalise_vectors(vectors[:, :length])
    rows: list[Any] = vectors.tolist()
    if form == "base64":
        rows = [b64encode(row.tobytes()).decode("ascii") for row in vectors.astype("<f4")]
    tokens, model = sum(embedded.tokens), body.get("model")
    reply: dict[str, object] = {
        "object": "list",
        "model": model if isinstance(model, str) and model else embedder.model,
        "data": [
            {"object": "embedding", "index": place, "embedding": row}
            for place, row in enumerate(rows)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    paid, spared = embedded.usage, embedded.spared
    usage = Usage(
        calls=1,
        input_tokens=tokens,
        cost_usd=paid.cost_usd + spared.cost_usd,
        unpriced=int(paid.unpriced + spared.unpriced > 0),
        cached=paid.cached,
    )
    return reply, usage


def rank_request(body: Mapping[str, Any], reranker: Reranker) -> tuple[dict[str, object], Usage]:
    """The reply to a request for reranking, best first; EndpointRefusal if it is invalid."""
    question, documents, most = body.get("query"), body.get("documents"), body.get("top_n")
    if not isinstance(question, str) or not question:
        raise EndpointRefusal(400, "query: send a text", param="query")
    listed = documents if isinstance(documents, list) else []
    contents = [item.get("text") if isinstance(item, dict) else item for item in listed]
    texts = [text for text in contents if isinstance(text, str) and text]
    if not texts or len(texts) < len(contents):
        raise EndpointRefusal(400, "documents: send a list of texts", param="documents")
    if most is not None and (type(most) is not int or most < 1):
        raise EndpointRefusal(400, "top_n: send a whole number above 0, or none", param="top_n")
    ranks = reranker.score(question, texts)
    ranked = sorted(enumerate(ranks.scores), key=lambda pair: -pair[1])[:most]
    reply: dict[str, object] = {
        "model": reranker.name,
        "object": "list",
        "results": [{"index": place, "relevance_score": score} for place, score in ranked],
        "usage": {"total_tokens": ranks.usage.input_tokens},
    }
    return reply, ranks.usage


class EndpointApplication:
    """Answers requests in the event loop of its app.

    If there is a token, a request carries it as its key, or before `/v1` in its path.
    """

    def __init__(
        self,
        embedder: Embedder,
        chat: Chat | None,
        meter: UsageMeter,
        *,
        reranker: Reranker | None = None,
        token: str | None = None,
    ) -> None:
        self._token = token
        self._embedder = embedder
        self._reranker = reranker
        self._chat = chat
        self._meter = meter
        self._waiting: set[anyio.CancelScope] = set()
        posts = {
            "embeddings": self._serve_embeddings,
            "rerank": self._serve_scores,
            "chat/completions": self._serve_completions,
            "responses": _refuse_responses,
        }
        routes = [
            Route("/v1/models", self._wrap_errors(self._list_models)),
            Route("/v1/models/{name:path}", self._wrap_errors(self._describe_model)),
            *(
                Route(f"/v1/{path}", self._wrap_errors(reply), methods=["POST"])
                for path, reply in posts.items()
            ),
        ]
        self.app = Starlette(
            routes=routes if token is None else [*routes, Mount("/{token}", routes=routes)],
            exception_handlers={
                HTTPException: self._reply_not_found,
                Exception: _reply_internal_error,
            },
            lifespan=self._run_lifespan,
        )

    def cancel_requests(self) -> None:
        """Answer open requests with "closing". Called in the app's event loop."""
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
                    self._check_sender(request)
                    return await reply(request)
                except EndpointRefusal as error:
                    refusal = error
                except ModelFault as fault:
                    refusal = translate_fault(fault)
                finally:
                    self._waiting.discard(scope)
            return _make_json_response(refusal.body, refusal.status, refusal.headers)

        return handle_request

    def _check_sender(self, request: Request) -> None:
        if is_from_web_page(request, is_local=True):
            raise EndpointRefusal(
                403, "this endpoint serves programs on this machine, and no web pages"
            )
        if self._token is None:
            return
        in_path = request.path_params.get("token", "")
        if not (has_token(request, self._token) or is_same(in_path, self._token)):
            raise EndpointRefusal(401, "send the key that the endpoint named when it was started")

    async def _reply_not_found(self, request: Request, error: Exception) -> Response:
        """Reply to an unknown path or method, without the token in the path."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        path = request.url.path.removeprefix(f"/{self._token}")
        refusal = EndpointRefusal(
            status,
            f"nothing answers {request.method} {path}; there are GET /v1/models, "
            "POST /v1/embeddings, POST /v1/rerank and POST /v1/chat/completions",
            code="unknown_url" if status == 404 else None,
        )
        return _make_json_response(refusal.body, refusal.status)

    async def _list_models(self, _: Request) -> Response:
        models = list(self._collect_models().values())
        return _make_json_response({"object": "list", "data": models})

    async def _describe_model(self, request: Request) -> Response:
        name = request.path_params["name"]
        models = self._collect_models()
        if name not in models:
            raise EndpointRefusal(
                404,
                f"there is no model {name!r}; offered: {', '.join(models)}",
                code="model_not_found",
                param="model",
            )
        return _make_json_response(models[name])

    def _collect_models(self) -> dict[str, dict[str, object]]:
        embedder, facts = self._embedder, {"embedder": self._embedder.name}
        more: dict[str, dict[str, object]] = {}
        if self._chat is not None:
            more[self._chat.model] = {}
        more[embedder.model] = {**facts, "dimensions": embedder.dimensions}
        if self._reranker is not None:
            more[self._reranker.name] = {"reranker": self._reranker.name}
        return {
            name: {"id": name, "object": "model", "created": 0, "owned_by": "recall-bench", **own}
            for name, own in more.items()
        }

    async def _serve_embeddings(self, request: Request) -> Response:
        body, whole = await _read_body(request), self._embedder.dimensions
        reply, usage = await run_sync(embed_request, body, self._embedder, abandon_on_cancel=True)
        self._meter.add(usage)
        if (length := body.get("dimensions")) in (None, whole):
            return _make_json_response(reply)
        note = f"cut from {whole} to {length} dimensions and normalised again"
        return _make_json_response(reply, headers={"x-recall-bench-note": note})

    async def _serve_scores(self, request: Request) -> Response:
        body = await _read_body(request)
        if self._reranker is None:
            raise EndpointRefusal(
                400,
                "this endpoint has no reranker; name one with --system-reranker "
                "(recall-bench endpoint: --reranker)",
                code="no_model",
            )
        reply, usage = await run_sync(rank_request, body, self._reranker, abandon_on_cancel=True)
        self._meter.add(usage)
        return _make_json_response(reply)

    async def _serve_completions(self, request: Request) -> Response:
        body = await _read_body(request)
        if self._chat is None:
            raise EndpointRefusal(
                400,
                "this endpoint has no language model; name one with --system-model "
                "provider:model (recall-bench endpoint: --model)",
                code="no_model",
            )
        completion, usage = await self._chat.complete(body)
        self._meter.add(usage)
        if body.get("stream") is not True:
            return _make_json_response(completion)
        return Response(
            format_stream(completion, body.get("stream_options")), media_type="text/event-stream"
        )


async def _read_body(request: Request) -> dict[str, Any]:
    try:
        raw = await read_limited_body(request, _MAX_BODY_BYTES)
    except ClientDisconnect:
        raise EndpointRefusal(408, "the rest of the body did not arrive") from None
    if raw is None:
        raise EndpointRefusal(413, f"the body has more than {_MAX_BODY_BYTES:,} bytes; send less")
    try:
        body = decode_untrusted_json(raw, object)
    except msgspec.DecodeError as error:
        raise EndpointRefusal(400, f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise EndpointRefusal(400, "the body is not a JSON object")
    return body


async def _refuse_responses(_: Request) -> Response:
    raise EndpointRefusal(
        404,
        "this endpoint has no Responses API; use /v1/chat/completions",
        code="unsupported",
    )


async def _reply_internal_error(_: Request, error: Exception) -> Response:
    """Reply to a bug in the endpoint: the log has its traceback, the product its type."""
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


LOOPBACK = "127.0.0.1"
_SHUTDOWN_TIMEOUT_S = 5
"""Seconds that shutdown waits for open requests."""


class ServerThread:
    """Serves the app on loopback from `start` until `stop`."""

    def __init__(self, app: Starlette, *, port: int, hang_up: Callable[[], None]) -> None:
        self._socket = bind_socket(f"{LOOPBACK}:{port}")
        self.port: int = self._socket.getsockname()[1]
        self._hang_up = hang_up
        self.server = _EndpointServer(
            build_config(
                app,
                http=GuardedProtocol,
                loop="asyncio",
                lifespan="on",
                timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
            )
        )
        # A daemon, so that it cannot keep the process alive.
        self._thread = threading.Thread(target=self._run, name="model-endpoint", daemon=True)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._thread.start()
        self.server.is_settled.wait()
        if not self.server.started:
            self.stop()
            raise UsageError("the model endpoint could not start; the log says why")

    def stop(self) -> None:
        """Stop the server and wait for its end; open requests get an error reply."""
        if self.server.loop is not None:
            # A loop that has closed in the meantime has no open requests.
            with suppress(RuntimeError):
                self.server.loop.call_soon_threadsafe(self._stop_server)
        if self._thread.ident is not None:
            self._thread.join()
        self._socket.close()

    def _stop_server(self) -> None:
        self._hang_up()
        self.server.is_over.set()

    def _run(self) -> None:
        try:
            self.server.run(sockets=[self._socket])
        finally:
            self.server.is_settled.set()


class _EndpointServer(uvicorn.Server):
    """Signals its start, and sleeps until it is stopped: no timer runs during measurements."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_settled = threading.Event()
        self.is_over = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        self.is_settled.set()

    async def main_loop(self) -> None:
        await self.is_over.wait()
