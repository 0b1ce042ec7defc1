"""The explorer on loopback: its page, its data, and the report page of each run.

Only requests that name this machine in their host header and the token in their path are answered,
so that no other page in the browser and no name that resolves here can read anything.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from typing import Final

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from recall_bench.core.errors import BenchError
from recall_bench.core.leftovers import TemporaryFolder
from recall_bench.reporting.explorer.explorer_page import INDEX, render_explorer
from recall_bench.reporting.explorer.explorer_views import ExplorerViews, LabelRequest, UnknownView
from recall_bench.systems.servers.web_server import bind_socket, serve_application

LOOPBACK: Final = "127.0.0.1"
_MOST_THREADS = 16
_MAX_BODY = 1 << 15
"""Bytes of a label with its comment."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


async def serve_explorer(
    views: ExplorerViews, title: str, *, port: int, ready: Callable[[str], None]
) -> None:
    """Serve until cancelled; `ready` is called with the address once requests are accepted."""
    token = token_urlsafe(24)
    taken = bind_socket(f"{LOOPBACK}:{port}")
    with TemporaryFolder("view") as pages:
        application = build_application(
            views, title, token=token, port=taken.getsockname()[1], pages=Path(pages)
        )
        try:
            await serve_application(
                application, taken, ready=lambda address: ready(f"{address}/{token}/")
            )
        finally:
            views.catalogue.close()


def build_application(
    views: ExplorerViews, title: str, *, token: str, port: int, pages: Path
) -> ASGIApp:
    """The application; `pages` is a folder for report pages."""
    handlers = _ExplorerHandlers(views, title, pages)
    routes = [
        Route("/", handlers.show_index),
        Route(f"/{INDEX}", handlers.show_index),
        Route("/data/{name:path}", handlers.show_data),
        Route("/run/{run}/report.html", handlers.show_report),
        Route("/labels/{run}", handlers.take_label, methods=["POST"]),
    ]
    hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost")}
    return _GuardedApplication(Starlette(routes=routes), token, frozenset(hosts))


@dataclass(frozen=True, slots=True)
class _GuardedApplication:
    """Lets requests with the right host and token through, and strips the token."""

    inner: ASGIApp
    token: str
    hosts: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        refusal = self._refuse(request)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        path = scope["path"].removeprefix(f"/{self.token}")
        if not path:
            # Addresses within the page are relative to a folder.
            await RedirectResponse(f"/{self.token}/")(scope, receive, send)
            return
        await self.inner({**scope, "path": path, "raw_path": path.encode()}, receive, send)

    def _refuse(self, request: Request) -> Response | None:
        if request.headers.get("host", "") not in self.hosts:
            return _make_text("this server answers to its own address only", 421)
        first = request.scope["path"].removeprefix("/").partition("/")[0]
        if not hmac.compare_digest(first.encode(), self.token.encode()):
            return _make_text("open the address that recall-bench view printed", 403)
        origin = request.headers.get("origin")
        if origin is None and request.method not in ("GET", "HEAD"):
            return _make_text("only the page itself may write", 403)
        if origin is not None and origin.removeprefix("http://") not in self.hosts:
            return _make_text("another page may not ask", 403)
        return None


@dataclass(slots=True)
class _ExplorerHandlers:
    views: ExplorerViews
    title: str
    pages: Path
    _threads: anyio.CapacityLimiter = field(init=False)

    def __post_init__(self) -> None:
        # Views are built one at a time; the table of runs must not wait for them.
        self._threads = anyio.CapacityLimiter(_MOST_THREADS)

    async def show_index(self, _: Request) -> Response:
        """The page."""
        text = "".join(render_explorer(self.title, is_served=True))
        return Response(text, media_type="text/html", headers=_HEADERS)

    async def show_data(self, request: Request) -> Response:
        """One piece of data, as JSON."""
        name = request.path_params["name"]
        return await self._answer(partial(self._build_data, name))

    async def show_report(self, request: Request) -> Response:
        """The report page of one run, written when it is first asked for."""
        return await self._answer(partial(self._build_report, request.path_params["run"]))

    async def take_label(self, request: Request) -> Response:
        """Append a label; the only thing that is ever written."""
        if request.headers.get("content-type") != "application/json":
            return _make_text("send JSON", 415)
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > _MAX_BODY:
                return _make_text("the label is too long", 413)
        try:
            given = msgspec.json.decode(bytes(body), type=LabelRequest)
        except msgspec.DecodeError as error:
            return _make_text(f"this is no label ({error})", 400)
        return await self._answer(partial(self._add_label, request.path_params["run"], given))

    def _add_label(self, run: str, given: LabelRequest) -> Response:
        content = self.views.add_label(run, given)
        return Response(content, media_type="application/json", headers=_HEADERS)

    async def _answer(self, build: Callable[[], Response]) -> Response:
        try:
            return await anyio.to_thread.run_sync(build, limiter=self._threads)
        except UnknownView:
            return _make_text("there is nothing of this name; it may have been moved", 404)
        except (BenchError, OSError) as error:
            return _make_text(str(error), 409)

    def _build_data(self, name: str) -> Response:
        content = self.views.build(name)
        return Response(content, media_type="application/json", headers=_HEADERS)

    def _build_report(self, run: str) -> Response:
        size, written = self.views.read_stamp(run)
        page = self.pages / f"{run}-{size}-{written}.html"
        if not page.is_file():
            self.views.write_report(run, page)
        return FileResponse(page, media_type="text/html", headers=_HEADERS)


def _make_text(words: str, status: int) -> Response:
    return PlainTextResponse(words, status, headers=_HEADERS)
