"""Serves a system over HTTP, by the routes of `http_routes`."""

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import msgspec

from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.user_code import require_libraries
from recall_bench.systems.servers.host import InvalidDate, SystemHost, encode_fault
from recall_bench.systems.servers.request_guard import (
    LOOPBACK_HOSTS,
    has_token,
    is_from_web_page,
    read_limited_body,
)
from recall_bench.systems.servers.web_server import bind_socket, serve_application
from recall_bench.systems.transports.http_routes import (
    JSON,
    MAX_BODY_BYTES,
    STATUS_OF,
    TOKEN_VARIABLE,
    UnknownRoute,
    decode_request,
    encode_reply,
)
from recall_bench.systems.transports.wire import WireFault

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send


async def serve_http(
    host: SystemHost, address: str, *, ready: Callable[[str], None] | None = None
) -> None:
    """Serve until cancelled; `ready` is called with the URL once requests are accepted.

    The address is `host:port`, a port alone on 127.0.0.1, or either as an `http://` URL; port 0 is
    any free one. If RECALL_BENCH_HTTP_TOKEN is set, only requests with that token are served. The
    caller handles signals and closes the host.
    """
    require_libraries("serving over HTTP", "http", "starlette", "uvicorn")
    taken = bind_socket(address)
    is_local = taken.getsockname()[0] in LOOPBACK_HOSTS
    token = os.environ.get(TOKEN_VARIABLE) or None
    if not is_local and token is None:
        taken.close()
        raise UsageError(
            f"--http {address}: other machines could read and change its memories; set "
            f"{TOKEN_VARIABLE} here and where it is asked, or serve at 127.0.0.1"
        )
    application = _ServerApplication(host, token, is_local=is_local)
    await serve_application(application, taken, ready=ready, stop=application.stop)


class _ServerApplication:
    """Answers requests; all of them can be stopped at once."""

    def __init__(self, host: SystemHost, token: str | None, *, is_local: bool) -> None:
        self._host = host
        self._is_local = is_local
        self._token = token
        self._active: set[anyio.CancelScope] = set()
        self._is_stopping = False

    def stop(self) -> None:
        """Answer all open and later requests with `gone`."""
        self._is_stopping = True
        for scope in self._active:
            scope.cancel()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        from starlette.requests import ClientDisconnect, Request

        request = Request(scope, receive)
        try:
            response = await self._build_response(request)
        except ClientDisconnect:
            return
        if response is not None:
            await response(scope, receive, send)

    async def _build_response(self, request: "Request") -> "Response | None":
        """None if the client is gone."""
        if is_from_web_page(request, is_local=self._is_local):
            return _build_refusal(403, WireFault(message="web pages are not served"))
        if self._token is not None and not has_token(request, self._token):
            return _build_refusal(
                401, WireFault(message=f"send the token that {TOKEN_VARIABLE} holds")
            )
        body = await read_limited_body(request, MAX_BODY_BYTES)
        if body is None:
            message = f"the body has more than {MAX_BODY_BYTES:,} bytes; send less"
            return _build_refusal(413, WireFault(message=message))
        response = None
        async with anyio.create_task_group() as tasks:
            self._active.add(tasks.cancel_scope)
            tasks.start_soon(_cancel_on_disconnect, request, tasks.cancel_scope)
            try:
                response = await self._handle_request(request, body)
            finally:
                self._active.discard(tasks.cancel_scope)
            tasks.cancel_scope.cancel()
        if response is None and self._is_stopping:
            return _build_refusal(503, WireFault(kind="gone", message="the server is stopping"))
        return response

    async def _handle_request(self, request: "Request", body: bytes) -> "Response":
        from starlette.responses import Response

        try:
            path = request.scope["raw_path"].decode("ascii", "replace")
            endpoint, message = decode_request(request.method, path, body)
            reply = encode_reply(await self._host.handle(message))
        except UnknownRoute as error:
            kind = "unsupported" if error.status in (404, 405) else "fault"
            headers = {"Allow": ", ".join(error.allow)} if error.allow else {}
            return _build_refusal(error.status, WireFault(kind=kind, message=str(error)), headers)
        except BenchError as error:
            fault = encode_fault(error)
            status = 400 if isinstance(error, InvalidDate) else STATUS_OF[fault.kind]
            return _build_refusal(status, fault)
        return Response(reply or None, endpoint.status, media_type=JSON if reply else None)


async def _cancel_on_disconnect(request: "Request", scope: anyio.CancelScope) -> None:
    """Cancel the work for a client that disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _build_refusal(
    status: int, fault: WireFault, headers: dict[str, str] | None = None
) -> "Response":
    from starlette.responses import Response

    headers = dict(headers or {})
    if fault.kind == "busy":
        headers["Retry-After"] = str(math.ceil(fault.retry_after_s))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    # Every field, so that the kind is sent even if it is the default.
    body = msgspec.json.encode(msgspec.structs.asdict(fault))
    return Response(body, status, headers, media_type=JSON)
