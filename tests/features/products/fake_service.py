"""A product as a server that is small as can be: it keeps what it is given and finds by words."""

import json
import os
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from recall_bench.core.memory import Memory
from tests.systems.diary import EPISODES

KEY = "sk-loopback-0123456789"
"""What every fake wants to be shown, and nobody else may see."""

Reply = tuple[int, object]


@dataclass(frozen=True, slots=True)
class Request:
    """What the SDK asked for."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: Any
    authorization: str


@dataclass
class FakeService:
    """A server on loopback. What a product does is in the subclasses, by route."""

    requests: list[Request] = field(default_factory=list)
    refusals: deque[tuple[int, dict[str, str], object] | None] = field(default_factory=deque)
    """Given instead of the replies, one each, before anything else; None lets one pass."""
    is_haunted: bool = False
    """Whether a new memory holds something already."""
    url: str = ""
    key: str = KEY
    """What the authorization must hold."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def routes(self) -> dict[str, Callable[..., Reply]]:
        """By method and path, as a pattern whose groups are the arguments after the request."""
        raise NotImplementedError

    def reply(self, request: Request) -> tuple[int, dict[str, str], object]:
        """What is sent back."""
        with self.lock:
            self.requests.append(request)
            if self.key not in request.authorization:
                return 401, {}, {"message": "who are you?"}
            if self.refusals and (refusal := self.refusals.popleft()):
                return refusal
            for route, answer in self.routes().items():
                if found := re.fullmatch(route, f"{request.method} {request.path}"):
                    status, body = answer(request, *map(unquote, found.groups()))
                    return status, {}, body
        return 404, {}, {"message": f"no {request.method} {request.path} here"}

    def asked(self, pattern: str) -> list[Request]:
        """The requests of a method and path."""
        return [
            request
            for request in self.requests
            if re.fullmatch(pattern, f"{request.method} {request.path}")
        ]


@contextmanager
def running(service: FakeService) -> Iterator[None]:
    """Serve it on a free port until the end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one packet: else each reply waits 40 ms for the head's receipt.
        wbufsize = -1
        disable_nagle_algorithm = True

        def handle_any(self) -> None:
            address = urlsplit(self.path)
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, body = service.reply(
                Request(
                    method=self.command,
                    path=address.path,
                    query=parse_qs(address.query),
                    body=json.loads(raw) if raw else None,
                    authorization=self.headers.get("Authorization", ""),
                )
            )
            written = b"" if status == 204 else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)
            self.wfile.flush()

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def nearest(question: str, texts: Iterable[str]) -> list[tuple[float, int]]:
    """The share of the question's words in each text, with its place, best first."""
    wanted = Counter(_words(question))
    scored = [
        (sum(count for word, count in wanted.items() if word in _words(text)), place)
        for place, text in enumerate(texts)
    ]
    best = sorted(scored, key=lambda pair: (-pair[0], -pair[1]))
    return [(hits / max(wanted.total(), 1), place) for hits, place in best if hits]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy leads to loopback."""
    for variable in [each for each in os.environ if each.lower().endswith("_proxy")]:
        monkeypatch.delenv(variable)


async def lived(memory: Memory) -> None:
    """The gardener's diary, taken in and settled."""
    for episode in EPISODES:
        await memory.ingest(episode)
    await memory.settle()
