"""Carries our messages to a server over HTTP/1.1."""

import os
from socket import gaierror
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import anyio
import msgspec

from recall_bench.errors import BenchError, SystemFault, SystemGone, SystemTimeout, UsageError
from recall_bench.systems.http.address import HttpAddress
from recall_bench.systems.http.contract import (
    JSON,
    MAX_BODY_BYTES,
    TOKEN_VARIABLE,
    UNREADABLE,
    describe_body,
    encode_request,
    parse_fault,
)
from recall_bench.systems.remote.system import decode_fault
from recall_bench.systems.remote.wire import Done, Health, Reply, Request

if TYPE_CHECKING:
    import httpx

R = TypeVar("R", bound=Reply)

_KEEPALIVE_S = 1.0
"""Servers hang up on idle connections, the hastiest we know after 2 s; one that is hung up on while
a request is under way could not tell that from a crash, so we let go of it earlier."""


class HttpTransport:
    """Calls to one server over kept connections, without proxies and without redirects.

    A server that was started again is recognised by not knowing its memories any more. Calls have
    no deadline but the caller's unless `timeout_s` gives one.
    """

    def __init__(
        self,
        address: HttpAddress,
        *,
        timeout_s: float | None = None,
        connect_timeout_s: float = 5.0,
    ) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._client: httpx.AsyncClient | None = None

    async def call(self, request: Request, reply: type[R]) -> R:
        """The server's reply to one request."""
        method, path, body = encode_request(request)
        status, retry_after, came = await self._send(method, path, body)
        where = f"{self._address.url}: {method} {path}"
        if 200 <= status < 300:
            return self._decode_reply(came, reply, where)
        fault = parse_fault(status, retry_after, came)
        if reply is Health:
            if fault.kind == "busy" or status == 503:
                # A server that warms up says so in the language of load balancers.
                return msgspec.convert({"ready": False}, reply)
            raise SystemGone(
                self._redact(f"{where} answers {status}: {fault.message}; check the address")
            )
        raise self._redact_error(decode_fault(fault, where))

    async def close(self) -> None:
        """Let go of every connection."""
        client, self._client = self._client, None
        if client is not None:
            with anyio.CancelScope(shield=True):
                await client.aclose()

    async def _send(
        self, method: str, path: str, body: bytes | None
    ) -> tuple[int, str | None, bytes]:
        import httpx

        where = f"{self._address.url}: {method} {path}"
        try:
            with anyio.fail_after(self._timeout_s):
                return await self._send_once(method, path, body)
        except TimeoutError:
            raise SystemTimeout(f"{where} took longer than {self._timeout_s:g} s") from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise SystemGone(
                f"nothing can be reached at {self._address.url} ({_explain_transport_error(error)}); "
                "start the server and run the same command again"
            ) from error
        except httpx.TransportError as error:
            raise SystemGone(
                f"{where} was not answered ({_explain_transport_error(error)}); "
                "see that the server runs, then run the same command again"
            ) from error
        except httpx.DecodingError as error:
            raise SystemFault(f"{where}: what came cannot be unpacked: {error}") from error

    async def _send_once(
        self, method: str, path: str, body: bytes | None
    ) -> tuple[int, str | None, bytes]:
        self._client = self._client or self._build_client()
        headers = {} if body is None else {"Content-Type": JSON}
        url = self._address.url + path
        async with self._client.stream(method, url, content=body, headers=headers) as response:
            came = bytearray()
            async for piece in response.aiter_bytes():
                came += piece
                if len(came) > MAX_BODY_BYTES:
                    raise SystemFault(
                        f"{self._address.url}: {method} {path}: more than {MAX_BODY_BYTES:,} bytes "
                        "came; send less"
                    )
            self._refuse_redirects(response, f"{method} {path}")
            return response.status_code, response.headers.get("Retry-After"), bytes(came)

    def _build_client(self) -> "httpx.AsyncClient":
        import httpx

        headers = {"Accept": JSON, "Accept-Encoding": "identity"}
        if self._address.authorization is not None:
            headers["Authorization"] = self._address.authorization
        return httpx.AsyncClient(
            headers=headers,
            # Neither proxies nor anything else that the environment would slip in between.
            trust_env=False,
            # Without TLS there is nothing to verify, and reading the certificates takes a while.
            verify=self._address.url.startswith("https:"),
            timeout=httpx.Timeout(None, connect=self._connect_timeout_s),
            limits=httpx.Limits(keepalive_expiry=_KEEPALIVE_S),
        )

    def _refuse_redirects(self, response: "httpx.Response", what: str) -> None:
        status = response.status_code
        if 300 <= status < 400:
            to = _strip_credentials(response.headers.get("Location", "nowhere"))
            raise UsageError(
                self._redact(
                    f"{self._address.url}: {what} is redirected to {to}; "
                    "if that is the system, give that address"
                )
            )
        if status in (401, 403):
            raise UsageError(
                f"{self._address.url}: {what} is refused with {status}; "
                f"set {TOKEN_VARIABLE} to a token it accepts"
            )

    def _decode_reply(self, came: bytes, reply: type[R], where: str) -> R:
        if reply is Done:
            came = came.strip() or b"{}"
        try:
            return msgspec.json.decode(came, type=reply)
        except UNREADABLE as error:
            said = self._redact(
                f"{where}: no {reply.__name__} came back ({error}); {describe_body(came)}"
            )
        if reply is Health:
            raise UsageError(f"{said}; give the address of a server that speaks our protocol")
        raise SystemFault(said)

    def _redact_error(self, error: BenchError) -> BenchError:
        error.args = (self._redact(str(error)),)
        return error

    def _redact(self, text: str) -> str:
        return self._address.redact(text)


def _explain_transport_error(error: BaseException) -> str:
    """What the operating system said, as far down as it is known."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno and cause.strerror:
            # asyncio replaces what the system said; a name that is not found has numbers of its own
            return cause.strerror if isinstance(cause, gaierror) else os.strerror(cause.errno)
        cause = cause.__cause__ or cause.__context__
    return str(error) or "it does not react"


def _strip_credentials(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "what is no address"
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path}" if place else parts.path
