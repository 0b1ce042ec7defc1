"""What our HTTP servers refuse, the same in each: web pages, wrong tokens and large bodies."""

import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request

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
    sent = request.headers.get("Authorization", "")
    return hmac.compare_digest(sent.encode(), f"Bearer {token}".encode())


async def read_limited_body(request: "Request", limit: int) -> bytes | None:
    """The request's body, or None if it is too big; it is read to its end in any case."""
    came = bytearray()
    size = 0
    # A client that is refused while sending may not read the reason.
    async for piece in request.stream():
        size += len(piece)
        if size <= limit:
            came += piece
    return bytes(came) if size <= limit else None
