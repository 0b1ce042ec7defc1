"""What a call of the model endpoint costs on a persistent connection: milliseconds and ratios.

    python benchmarks/endpoint.py [CALLS]

Each call embeds one text that was never embedded before. The baselines, in the same process in
the same minute, are the embedder called directly, without any endpoint, and a plain server of the
standard library, which sends its reply in two packets with Nagle's delay on. Both servers are called
with `http.client`; the last row uses OpenAI's own client.
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from openai import OpenAI

from recall_bench.features.models.endpoint_server import embed_request
from recall_bench.features.models.model_endpoint import ModelEndpoint, WordVectors

VECTORS = WordVectors()


class PlainEmbeddingHandler(BaseHTTPRequestHandler):
    """Writes head and body apart, on a socket with the default options."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body, _ = embed_request(request, VECTORS)
        reply = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as overridden
        pass


def write_text(row: str, n: int) -> str:
    """A sentence that was not embedded before."""
    return f"{row} notes that berth {n} was free on the morning tide."


def connect(port: int, row: str) -> tuple[Callable[[int], None], Callable[[], None]]:
    """Functions that call the server at the port over one connection, and close it."""
    connection = HTTPConnection("127.0.0.1", port)

    def ask(n: int) -> None:
        body = json.dumps({"model": "m", "input": write_text(row, n), "encoding_format": "base64"})
        connection.request("POST", "/v1/embeddings", body, {"content-type": "application/json"})
        reply = connection.getresponse()
        found = json.loads(reply.read())
        if reply.status != 200 or len(found["data"]) != 1:
            raise RuntimeError(f"no embedding: {found}")

    return ask, connection.close


def measure_median_ms(ask: Callable[[int], object], calls: int) -> float:
    """The median of these calls, after five that do not count."""
    times = []
    for n in range(calls + 5):
        began = time.perf_counter()
        ask(n)
        times.append(time.perf_counter() - began)
    return sorted(times[5:])[calls // 2] * 1000


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    found = {
        "embedder, called directly": measure_median_ms(
            lambda n: VECTORS.embed([write_text("d", n)]), calls
        )
    }
    plain = ThreadingHTTPServer(("127.0.0.1", 0), PlainEmbeddingHandler)
    serving = threading.Thread(target=plain.serve_forever, daemon=True)
    serving.start()
    ask, close = connect(plain.server_address[1], "plain")
    slow = "plain server, Nagle's delay on"
    found[slow] = measure_median_ms(ask, calls)
    close()
    plain.shutdown()
    plain.server_close()
    with ModelEndpoint() as endpoint:
        ask, close = connect(int(endpoint.url.split(":")[2].removesuffix("/v1")), "endpoint")
        found["our endpoint"] = measure_median_ms(ask, calls)
        close()
        with OpenAI(base_url=endpoint.url, api_key="unused") as client:
            found["our endpoint, OpenAI's client"] = measure_median_ms(
                lambda n: client.embeddings.create(model="m", input=write_text("client", n)), calls
            )
    print(f"{'one text, median of ' + str(calls) + ' calls':34}{'ms':>9}{'plain / this':>14}")
    for row, took in found.items():
        print(f"{row:34}{took:9.2f}{found[slow] / took:13.1f}×")


if __name__ == "__main__":
    main()
