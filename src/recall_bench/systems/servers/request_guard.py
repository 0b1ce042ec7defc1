"""What our HTTP servers refuse, the same in each: web pages, wrong tokens and large bodies."""

import hmac
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

BODY_PAUSE_S = 30.0
"""How long the next piece of a body may take to arrive."""

PAGE_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""With these, a browser keeps a page of ours to itself."""

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


def is_from_web_page(request: "Request", *, is_local: bool) -> bool:
    """Whether a browser sent the request for a page that it shows.

    A page may make a browser on this machine call, but then the browser names the page's origin. On
    loopback the host must be this machine too: a name of a stranger's domain may lead here.
    """
    is_foreign = is_local and request.url.hostname not in LOOPBACK_HOSTS
    return is_foreign or "origin" in request.headers


def has_token(request: "Request", token: str) -> bool:
    """Whether the request carries the bearer token."""
    return is_bearer(request.headers.get("Authorization", ""), token)


def is_bearer(sent: str, token: str) -> bool:
    """Whether an Authorization header, or the metadata of a gRPC call, is this bearer token."""
    return is_same(sent, f"Bearer {token}")


def is_same(sent: str, secret: str) -> bool:
    """Whether what was sent is the secret, in a time that does not tell how much of it is right."""
    return hmac.compare_digest(sent.encode(), secret.encode())


async def read_limited_body(request: "Request", limit: int) -> bytes | None:
    """The request's body, or None if it is too big; it is read to its end in any case.

    A client that sends nothing for a while is treated as one that disconnected.
    """
    from starlette.requests import ClientDisconnect

    came = bytearray()
    size = 0
    # A client that is refused while sending may not read the reason.
    pieces = request.stream()
    while True:
        with anyio.CancelScope(deadline=anyio.current_time() + BODY_PAUSE_S) as pause:
            piece = await anext(pieces, None)
        if pause.cancelled_caught:
            raise ClientDisconnect
        if piece is None:
            return bytes(came) if size <= limit else None
        size += len(piece)
        if size <= limit:
            came += piece


class PageGuard:
    """Lets the requests of one page through, whose address holds a token, and strips the token."""

    def __init__(self, inner: "ASGIApp", token: str, port: int) -> None:
        self._inner = inner
        self._token = token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request, or pass it on."""
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse, RedirectResponse

        refused = self._find_refusal(Request(scope))
        if refused is not None:
            status, words = refused
            await PlainTextResponse(words, status, headers=PAGE_HEADERS)(scope, receive, send)
            return
        path = scope["path"].removeprefix(f"/{self._token}")
        if not path:
            # Addresses within the page are relative to a folder.
            await RedirectResponse(f"/{self._token}/")(scope, receive, send)
            return
        await self._inner({**scope, "path": path, "raw_path": path.encode()}, receive, send)

    def _find_refusal(self, request: "Request") -> tuple[int, str] | None:
        if request.headers.get("host", "") not in self._hosts:
            return 421, "this server answers to its own address only"
        first = request.scope["path"].removeprefix("/").partition("/")[0]
        if not is_same(first, self._token):
            return 403, "open the address that was printed when the server was started"
        origin = request.headers.get("origin")
        if origin is None and request.method not in ("GET", "HEAD"):
            return 403, "only the page itself may write"
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            return 403, "another page may not ask"
        return None
