"""A server that replies with what a test says, one response after another."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

STREAM = "text/event-stream"


class CannedAgent:
    """Its responses and the requests that it got."""

    def __init__(self) -> None:
        self.responses: list[tuple[int, dict[str, str], bytes]] = []
        self.requests: list[tuple[dict[str, str], Any]] = []
        self.url = ""

    def add(self, body: object, status: int = 200, **headers: str) -> None:
        """Reply with this JSON, or these bytes, to the next request that has no response yet."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.responses.append((status, named, content))

    def add_events(self, *events: object) -> None:
        """Reply with a stream of these; texts are sent as they are."""
        texts = (event if isinstance(event, str) else json.dumps(event) for event in events)
        lines = (f"data: {text}\n\n" for text in texts)
        self.add("".join(lines).encode(), Content_Type=STREAM)


@contextmanager
def serve_canned() -> Iterator[CannedAgent]:
    """A server on loopback."""
    agent = CannedAgent()

    class Request(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(None)

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            self.reply(json.loads(self.rfile.read(length)))

        def reply(self, body: object) -> None:
            agent.requests.append((dict(self.headers), body))
            status, headers, content = agent.responses.pop(0)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Request)
    agent.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield agent
    finally:
        server.shutdown()
        server.server_close()
