"""What a call of the model endpoint costs on a kept connection: milliseconds, and ratios.

    python benchmarks/endpoint.py [CALLS]

Each call embeds one text that was never embedded before. The baselines, in the same process in
the same minute: the embedder called directly, without any endpoint; and the plain way to write
such a server, the standard library's, whose reply leaves in two pieces with Nagle's delay on. The
clients are the same plain HTTP connection; the last row is OpenAI's own client.
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from openai import OpenAI

from recall_bench.systems.endpoint.endpoint_server import (
    build_embedding_reply,
    read_embedding_request,
)
from recall_bench.systems.endpoint.model_endpoint import ModelEndpoint, WordVectors

VECTORS = WordVectors()


class Plain(BaseHTTPRequestHandler):
    """Head and body are two writes, and the socket is as the system makes it."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        wanted = read_embedding_request(asked, VECTORS.model, VECTORS.dimensions)
        body, _ = build_embedding_reply(wanted, VECTORS.embed(wanted.texts))
        sent = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as overridden
        pass


def text(row: str, n: int) -> str:
    """A sentence that nobody has embedded yet."""
    return f"{row} notes that berth {n} was free on the morning tide."


def over_http(port: int, row: str) -> tuple[Callable[[int], None], Callable[[], None]]:
    """How to call the server at the port over one connection, and how to end it."""
    line = HTTPConnection("127.0.0.1", port)

    def ask(n: int) -> None:
        body = json.dumps({"model": "m", "input": text(row, n), "encoding_format": "base64"})
        line.request("POST", "/v1/embeddings", body, {"content-type": "application/json"})
        reply = line.getresponse()
        found = json.loads(reply.read())
        if reply.status != 200 or len(found["data"]) != 1:
            raise RuntimeError(f"no embedding: {found}")

    return ask, line.close


def median_ms(ask: Callable[[int], object], calls: int) -> float:
    """Half of the calls took no longer."""
    times = []
    for n in range(calls + 5):
        began = time.perf_counter()
        ask(n)
        times.append(time.perf_counter() - began)
    return sorted(times[5:])[calls // 2] * 1000


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    found = {"embedder, called directly": median_ms(lambda n: VECTORS.embed([text("d", n)]), calls)}
    plain = ThreadingHTTPServer(("127.0.0.1", 0), Plain)
    serving = threading.Thread(target=plain.serve_forever, daemon=True)
    serving.start()
    ask, end = over_http(plain.server_address[1], "plain")
    slow = "plain server, Nagle's delay on"
    found[slow] = median_ms(ask, calls)
    end()
    plain.shutdown()
    plain.server_close()
    with ModelEndpoint() as endpoint:
        ask, end = over_http(int(endpoint.url.split(":")[2].removesuffix("/v1")), "endpoint")
        found["our endpoint"] = median_ms(ask, calls)
        end()
        with OpenAI(base_url=endpoint.url, api_key="unused") as client:
            found["our endpoint, OpenAI's client"] = median_ms(
                lambda n: client.embeddings.create(model="m", input=text("client", n)), calls
            )
    print(f"{'one text, median of ' + str(calls) + ' calls':34}{'ms':>9}{'plain / this':>14}")
    for row, took in found.items():
        print(f"{row:34}{took:9.2f}{found[slow] / took:13.1f}×")


if __name__ == "__main__":
    main()
