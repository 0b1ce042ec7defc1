"""A chat-completions server on loopback that replies by script, and misbehaves by script.

    with OpenAIServer([busy(retry_after_s=0), ok("Paris")]) as server:
        ... "openai:any;" + server.base_url ...
    assert len(server.requests) == 2

A script is a list of responses, used in turn, or a function from the request's JSON to a response.
A request beyond the end of the list gets status 418, and leaving the `with` block then fails.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

JSON = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What goes over the wire."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    missing_bytes: int = 0
    """How many bytes more than it sends the Content-Length promises, before it hangs up."""
    hangs: bool = False
    """Say nothing until the server is closed."""
    echoes: bool = False
    """Repeat the request's Authorization header, or x-api-key, in a header and in the body."""


Script = Iterable[Response] | Callable[[dict[str, Any]], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What arrived."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    json: dict[str, Any]
    """Empty if nothing was sent, as with GET."""


def ok(
    text: str | None,
    *,
    input_tokens: int = 11,
    output_tokens: int = 7,
    finish: str = "stop",
    model: str = "scripted",
    **message: object,
) -> Response:
    """A completion. Further keywords are fields of its message."""
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text, **message},
    }
    return json_reply({**_completion(model, input_tokens, output_tokens), "choices": [choice]})


def cut_off(text: str, *, output_tokens: int = 7) -> Response:
    """A completion that ran into the most tokens allowed."""
    return ok(text, finish="length", output_tokens=output_tokens)


def filtered(text: str | None = None) -> Response:
    """A completion that the content filter withheld."""
    return ok(text, finish="content_filter")


def refused_by_filter() -> Response:
    """Azure's way to filter a prompt: status 400."""
    error = {
        "message": "The response was filtered due to the prompt triggering content management.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
    }
    return json_reply({"error": error}, status=400)


def busy(retry_after_s: float | None = 0) -> Response:
    """Too many requests."""
    headers = {} if retry_after_s is None else {"retry-after": f"{retry_after_s:g}"}
    return error(429, "slow down", headers=headers)


def error(status: int, message: str = "scripted failure", **more: Any) -> Response:
    """A failure in OpenAI's shape."""
    return json_reply({"error": {"message": message, "type": "scripted"}}, status=status, **more)


def hang() -> Response:
    """No word until the server is closed."""
    return Response(hangs=True)


def truncated() -> Response:
    """A body that ends before its Content-Length."""
    whole = ok("half of this never arrives")
    half = whole.body[: len(whole.body) // 2]
    return Response(body=half, headers=whole.headers, missing_bytes=len(whole.body) - len(half))


def malformed(body: bytes = b'{"id": "x", "choices": [') -> Response:
    """A whole body that is not JSON."""
    return Response(body=body, headers={"content-type": "application/json"})


def no_choices() -> Response:
    """A completion without a single choice."""
    return json_reply({**_completion("scripted", 11, 0), "choices": []})


def echo(status: int = 401) -> Response:
    """A failure that repeats the caller's key in a header and in the body."""
    return Response(status=status, echoes=True)


def _completion(model: str, input_tokens: int, output_tokens: int) -> dict[str, object]:
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "usage": {
            "prompt_tokens": input_tokens,
            "completion_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
        },
    }


def models(*names: str) -> Response:
    """The list of what a server has, as `GET /models` gives it."""
    entries = [{"id": name, "object": "model", "owned_by": "scripted"} for name in names]
    return json_reply({"object": "list", "data": entries})


def json_reply(
    body: JSON, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(
        status=status,
        body=json.dumps(body).encode(),
        headers={"content-type": "application/json", **(headers or {})},
    )


class OpenAIServer:
    """Listens on a loopback port, a free one unless it is given, while its `with` block lasts."""

    def __init__(self, script: Script, port: int = 0) -> None:
        self.port = port
        self._script = script if callable(script) else iter(tuple(script))
        self._lock = threading.Lock()
        self._beyond = 0
        self.closing = threading.Event()
        self.requests: list[Request] = []
        """Every request that arrived, in order."""

    @property
    def base_url(self) -> str:
        """What a client is told, version included."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._http = _Listener(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.hang_up()
        self._http.server_close()
        if self._beyond and error is None:
            raise AssertionError(f"{self._beyond} requests came after the end of the script")

    def respond(self, request: Request) -> Response:
        """Note the request and take the next response."""
        with self._lock:
            self.requests.append(request)
            if callable(self._script):
                return self._script(request.json)
            for response in self._script:
                return response
            self._beyond += 1
            return error(418, "the script has no more responses")


class _Listener(ThreadingHTTPServer):
    # Threads are joined when it closes, so that no test leaves one behind.
    daemon_threads = False

    def __init__(self, owner: OpenAIServer) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", owner.port), _Connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is none of our business."""

    def hang_up(self) -> None:
        """End the connections that clients keep alive, so that their threads end."""
        for connection in tuple(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                self._open.discard(connection)


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}"
        headers = {name.lower(): value for name, value in self.headers.items()}
        arrived = Request(path=self.path, headers=headers, json=json.loads(raw))
        response = self.server.owner.respond(arrived)
        if response.hangs:
            self.server.owner.closing.wait()
            self.close_connection = True
            return
        self._send(_echoed(arrived, response.status) if response.echoes else response)

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(response.body) + response.missing_bytes))
        self.end_headers()
        self.wfile.write(response.body)
        if response.missing_bytes:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as overridden
        """Tests are quiet."""


def _echoed(request: Request, status: int) -> Response:
    key = request.headers.get("authorization") or request.headers.get("x-api-key", "none")
    said = f"Incorrect API key provided: {key}; sent to {request.path}"
    return error(status, said, headers={"x-echoed-key": key})
