"""The messages of `wire` as HTTP requests and responses, for the client and the server.

Fields in the path are not in the body, and a message without other fields has no body. A failure is
a status of 400 or more with a `WireFault` as its body; without such a body the status alone counts.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

import msgspec

from recall_bench.core.errors import BenchError
from recall_bench.core.retry import parse_retry_after
from recall_bench.core.untrusted_json import MAX_REPLY_BYTES
from recall_bench.systems.transports.wire import (
    VERB_OF,
    VERBS,
    DoneReply,
    Reply,
    Request,
    WireFault,
)

MAX_BODY_BYTES = MAX_REPLY_BYTES

JSON = "application/json"

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a body may raise."""

TOKEN_VARIABLE = "RECALL_BENCH_HTTP_TOKEN"  # noqa: S105 - the name of one
"""The environment variable with the bearer token that our client sends and our server requires."""


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """The method, path and success status of a request."""

    verb: str
    method: str
    path: str
    status: int

    @property
    def request(self) -> type[Request]:
        """The class of the request."""
        return VERBS[self.verb][0]

    @property
    def reply(self) -> type[Reply]:
        """The class of the reply."""
        return VERBS[self.verb][1]

    @property
    def path_fields(self) -> tuple[str, ...]:
        """The fields of the request in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    def match_path(self, path: str) -> dict[str, str] | None:
        """The fields in a still quoted path; None if it is another one."""
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path)
        match = re.fullmatch(pattern, path)
        return match and {name: unquote(text) for name, text in match.groupdict().items()}

    @property
    def has_body(self) -> bool:
        """Whether the request has other fields."""
        return len(msgspec.structs.fields(self.request)) > len(self.path_fields)


ROUTES = (
    HttpRoute("health", "GET", "/health", 200),
    HttpRoute("open", "POST", "/memories", 201),
    HttpRoute("ingest", "POST", "/memories/{memory}/episodes", 204),
    HttpRoute("settle", "POST", "/memories/{memory}/settle", 204),
    HttpRoute("ask", "POST", "/memories/{memory}/ask", 200),
    HttpRoute("attest", "GET", "/memories/{memory}/attest", 200),
    HttpRoute("inspect", "GET", "/memories/{memory}/inspect", 200),
    HttpRoute("erase", "POST", "/memories/{memory}/erase", 200),
    HttpRoute("stored", "GET", "/memories/{memory}/stored", 200),
    HttpRoute("consolidate", "POST", "/memories/{memory}/consolidate", 204),
    HttpRoute("close", "DELETE", "/memories/{memory}", 204),
    HttpRoute("save", "POST", "/memories/{memory}/snapshots", 201),
    HttpRoute("restore", "POST", "/snapshots/{snapshot}/memories", 201),
    HttpRoute("drop", "DELETE", "/snapshots/{snapshot}", 204),
)

_ROUTE_BY_VERB = {endpoint.verb: endpoint for endpoint in ROUTES}

STATUS_OF = {"fault": 500, "busy": 429, "timeout": 504, "gone": 404, "unsupported": 501}
"""The status of each kind of fault."""


class UnknownRoute(BenchError):
    """A request that matches no route, and the status of the response."""

    def __init__(self, status: int, message: str, allow: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.allow = allow
        """The methods that the path accepts."""


def encode_request(request: Request) -> tuple[str, str, bytes | None]:
    """Method, path and body of a request."""
    endpoint = _ROUTE_BY_VERB[VERB_OF[type(request)]]
    fields = msgspec.to_builtins(request)
    names = {name: quote(fields.pop(name), safe="") for name in endpoint.path_fields}
    body = msgspec.json.encode(fields) if endpoint.has_body else None
    return endpoint.method, endpoint.path.format(**names), body


def decode_request(method: str, path: str, body: bytes) -> tuple[HttpRoute, Request]:
    """The request in a method, a still quoted path and a body, or UnknownRoute."""
    endpoint, names = _find_route(method, path)
    fields: object = {}
    try:
        if endpoint.has_body:
            fields = msgspec.json.decode(body)
        if isinstance(fields, dict):
            fields = fields | names
        return endpoint, msgspec.convert(fields, endpoint.request)
    except UNREADABLE as error:
        what = f"the body is no {endpoint.request.__name__}: {error}"
        raise UnknownRoute(400, f"{endpoint.method} {endpoint.path}: {what}") from error


def _find_route(method: str, path: str) -> tuple[HttpRoute, dict[str, str]]:
    allow = []
    for endpoint in ROUTES:
        names = endpoint.match_path(path)
        if names is None:
            continue
        if endpoint.method == method:
            return endpoint, names
        allow.append(endpoint.method)
    if allow:
        raise UnknownRoute(405, f"{path} accepts {' and '.join(allow)}", tuple(allow))
    raise UnknownRoute(
        404, f"there is nothing at {path}; see the OpenAPI document for what there is"
    )


def encode_reply(reply: Reply) -> bytes:
    """The body of a reply; empty for a reply without fields."""
    return b"" if isinstance(reply, DoneReply) else msgspec.json.encode(reply)


def parse_fault(status: int, retry_after: str | None, body: bytes) -> WireFault:
    """The fault in a response with this status."""
    try:
        fault = msgspec.json.decode(body, type=WireFault)
        named = msgspec.json.decode(body, type=dict[str, object]).get("kind")
    except UNREADABLE:
        fault, named = WireFault(), None
    return WireFault(
        kind=fault.kind if named in STATUS_OF else _classify_status(status, retry_after),
        message=fault.message or _shorten_body(body) or f"status {status}",
        retry_after_s=fault.retry_after_s or parse_retry_after(retry_after),
    )


def _classify_status(status: int, retry_after: str | None) -> str:
    match status:
        case 404 | 410 | 502:
            return "gone"
        case 429:
            return "busy"
        case 503:
            return "gone" if retry_after is None else "busy"
        case 408 | 504:
            return "timeout"
        case 405 | 501:
            return "unsupported"
        case _:
            return "fault"


_EXCERPT_CHARS = 200


def _shorten_body(body: bytes) -> str:
    """The start of a body on one line."""
    text = " ".join(body[: 4 * _EXCERPT_CHARS].decode("utf-8", "replace").split())
    return text if len(text) <= _EXCERPT_CHARS else f"{text[:_EXCERPT_CHARS]}…"


def describe_body(body: bytes) -> str:
    """A body that is no reply, for an error message."""
    excerpt = _shorten_body(body)
    return f"what came is {excerpt!r}" if excerpt else "nothing came"
