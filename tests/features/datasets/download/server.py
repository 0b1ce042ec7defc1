"""A web server on loopback that serves as asked, or as servers do when they misbehave."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread


@dataclass
class Served:
    """What lies at one address, and how it is given out."""

    body: bytes = b""
    status: int = 200
    takes_ranges: bool = True
    etag: str | None = None
    cut_after: int | None = None
    """Breaks every connection after so many bytes."""
    off_by: int = 0
    """Says that a part begins so many bytes later than it was asked to."""
    headers: dict[str, str] = field(default_factory=dict)
    gate: Event | None = None
    """Answers only once this is set."""


@dataclass
class Asked:
    """One request as it came."""

    target: str
    range: str | None
    if_range: str | None


class Server(ThreadingHTTPServer):
    """Serves what is put into `files`, by path, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, Served] = {}
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = Asked(self.path, self.headers.get("Range"), self.headers.get("If-Range"))
        self.server.asked.append(asked)
        served = self.server.files.get(self.path, Served(status=404))
        if served.gate is not None:
            served.gate.wait(10)
        start = self._start(served, asked)
        if start is None:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(served.body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self._give(served, start)

    def _start(self, served: Served, asked: Asked) -> int | None:
        """Where to begin; None if that is past the end."""
        wanted = re.fullmatch(r"bytes=(\d+)-", asked.range or "")
        if wanted is None or not served.takes_ranges or served.status != 200:
            return 0
        if asked.if_range is not None and asked.if_range != served.etag:
            return 0
        start = int(wanted[1])
        return start if start < len(served.body) else None

    def _give(self, served: Served, start: int) -> None:
        rest = served.body[start:]
        self.send_response(206 if start else served.status)
        self.send_header("Content-Length", str(len(rest)))
        if start:
            end = f"{len(served.body) - 1}/{len(served.body)}"
            self.send_header("Content-Range", f"bytes {start + served.off_by}-{end}")
        if served.etag is not None:
            self.send_header("ETag", served.etag)
        for name, value in served.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(rest if served.cut_after is None else rest[: served.cut_after])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Be silent."""


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
