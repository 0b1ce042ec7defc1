"""The explorer on loopback: its page, its data, and the report page of each run.

Only requests that name this machine in their host header and the token in their path are answered,
so that no other page in the browser and no name that resolves here can read anything.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from typing import Final

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import BenchError
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.features.explorer.explorer_page import INDEX, render_explorer
from recall_bench.features.explorer.explorer_views import ExplorerViews, LabelRequest, UnknownView
from recall_bench.systems.servers.request_guard import PAGE_HEADERS, PageGuard, read_limited_body
from recall_bench.systems.servers.web_server import bind_socket, serve_application

LOOPBACK: Final = "127.0.0.1"
_MOST_THREADS = 16
_MAX_BODY = 1 << 15
"""Bytes of a label with its comment."""


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
    return PageGuard(Starlette(routes=routes), token, port)


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
        return Response(text, media_type="text/html", headers=PAGE_HEADERS)

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
        try:
            body = await read_limited_body(request, _MAX_BODY)
        except ClientDisconnect:
            return _make_text("the rest of the label did not arrive", 408)
        if body is None:
            return _make_text("the label is too long", 413)
        try:
            label = decode_untrusted_json(body, LabelRequest)
        except msgspec.DecodeError as error:
            return _make_text(f"this is not a label ({error})", 400)
        return await self._answer(partial(self._add_label, request.path_params["run"], label))

    def _add_label(self, run: str, given: LabelRequest) -> Response:
        content = self.views.add_label(run, given)
        return Response(content, media_type="application/json", headers=PAGE_HEADERS)

    async def _answer(self, build: Callable[[], Response]) -> Response:
        try:
            return await anyio.to_thread.run_sync(build, limiter=self._threads)
        except UnknownView:
            return _make_text("there is nothing of this name; it may have been moved", 404)
        except (BenchError, OSError) as error:
            return _make_text(str(error), 409)

    def _build_data(self, name: str) -> Response:
        content = self.views.build(name)
        return Response(content, media_type="application/json", headers=PAGE_HEADERS)

    def _build_report(self, run: str) -> Response:
        size, written = self.views.read_stamp(run)
        page = self.pages / f"{run}-{size}-{written}.html"
        if not page.is_file():
            self.views.write_report(run, page)
        return FileResponse(page, media_type="text/html", headers=PAGE_HEADERS)


def _make_text(words: str, status: int) -> Response:
    return PlainTextResponse(words, status, headers=PAGE_HEADERS)
