"""Messages to an agent behind an address, as JSON or as a stream of events."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import msgspec

from recall_bench.core.errors import (
    ContextExceeded,
    NotAnAnswer,
    SystemBusy,
    SystemFault,
    SystemGone,
    UsageError,
)
from recall_bench.core.redaction import Redactor, learn_secrets
from recall_bench.core.retry import parse_retry_after
from recall_bench.core.untrusted_json import MAX_REPLY_BYTES, decode_plain_json
from recall_bench.core.usage import Usage, read_token_count
from recall_bench.core.user_code import require_libraries
from recall_bench.features.agents.talk_settings import is_private
from recall_bench.systems.transports.http_routes import JSON, describe_body
from recall_bench.systems.transports.http_system import (
    HttpAddress,
    build_http_client,
    explain_transport_error,
    parse_http_address,
    strip_credentials,
)

if TYPE_CHECKING:
    import httpx

EVENT_STREAM = "text/event-stream"

_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|limit|size)|maximum context|too many tokens|"
    r"(prompt|input|message)s? (is|are) too long",
    re.IGNORECASE,
)
"""How servers say that a conversation is too long: there is no status of its own for it."""

_TOO_BUSY = re.compile(
    r"(rate|usage|session)[ _-]?limit|overloaded|too many requests|\b(429|503|529)\b", re.IGNORECASE
)
"""How an error without a status says that the same message may succeed later."""


class AgentClient:
    """Sends JSON to one server, over persistent connections."""

    def __init__(self, target: str, key: str | None, headers: Mapping[str, str]) -> None:
        require_libraries("an agent behind an address", "http", "httpx")
        environ = {} if key is None else {"RECALL_BENCH_HTTP_TOKEN": key}
        self.address: HttpAddress = (
            parse_http_address(target) if key is None else parse_http_address(target, environ)
        )
        self._holds_credentials = self.address.authorization is not None or any(
            map(is_private, headers.values())
        )
        self._client: httpx.AsyncClient | None = None
        self.origins: dict[str, str] = {}
        """Where addresses that the user has not written come from, for messages about them."""

    def _describe_address(self, url: str) -> str:
        origin = self.origins.get(url)
        return f"{strip_credentials(url)}{'' if origin is None else f' (from {origin})'}"

    async def get(self, url: str) -> tuple[int, bytes]:
        """The status and the body of what is at an address; SystemGone if there is no server."""
        async with self._connect("GET", url, None, {}) as response:
            return response.status_code, await _read_body(response)

    @asynccontextmanager
    async def post(
        self, url: str, body: Mapping[str, object], headers: Mapping[str, str]
    ) -> AsyncIterator["AgentResponse"]:
        """The response to a request; faults of the server are raised as ours."""
        async with self._connect("POST", url, msgspec.json.encode(body), headers) as response:
            if response.status_code >= 300:
                self._refuse(url, response, await _read_body(response))
            yield AgentResponse(response)

    async def close(self) -> None:
        """Close every connection."""
        client, self._client = self._client, None
        if client is not None:
            with anyio.CancelScope(shield=True):
                await client.aclose()

    def redact(self, text: str) -> str:
        """The text without our credentials, which a server may repeat."""
        return Redactor(self.address.secrets).redact_secrets(text)

    @asynccontextmanager
    async def _connect(
        self, method: str, url: str, content: bytes | None, headers: Mapping[str, str]
    ) -> AsyncIterator["httpx.Response"]:
        import httpx

        self._client = self._client or build_http_client(self.address)
        sent = {**headers, "Accept": f"{JSON}, {EVENT_STREAM}"}
        if content is not None:
            sent["Content-Type"] = JSON
        is_elsewhere = urlsplit(url)[:2] != urlsplit(self.address.url)[:2]
        if is_elsewhere and self._holds_credentials:
            raise UsageError(
                f"the agent at {self.address.url} takes its messages at {strip_credentials(url)}; "
                "give that address, so that your credentials are sent where you say"
            )
        try:
            async with self._client.stream(method, url, content=content, headers=sent) as response:
                yield response
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise SystemGone(
                f"nothing can be reached at {self._describe_address(url)}: "
                f"{explain_transport_error(error)}; "
                f"{'correct that address, or ' * (url in self.origins)}"
                "start the agent and run the same command again"
            ) from error
        except httpx.TransportError as error:
            raise SystemGone(
                f"{self._describe_address(url)} did not answer to the end: "
                f"{explain_transport_error(error)}; see that the agent runs, then run the same "
                "command again"
            ) from error
        except (httpx.DecodingError, httpx.InvalidURL) as error:
            raise SystemFault(f"{self._describe_address(url)}: {error}") from error

    def _refuse(self, url: str, response: "httpx.Response", body: bytes) -> None:
        status = response.status_code
        where = self._describe_address(url)
        message = self.redact(f"{where} answers {status}: {read_error(body)}")
        if status < 400:
            raise UsageError(f"{where} is redirected; give the address that it leads to")
        if status in (401, 403):
            raise UsageError(f"{message}; name the variable with the key, as --config key_env=NAME")
        if status in (404, 405):
            raise UsageError(f"{message}; check the address")
        if status in (408, 429, 503, 529):
            raise SystemBusy(message, parse_retry_after(response.headers.get("Retry-After")))
        if status in (400, 413, 422) and _TOO_LONG.search(message):
            raise ContextExceeded(message)
        raise SystemFault(message)


class AgentResponse:
    """A response that is under way."""

    def __init__(self, response: "httpx.Response") -> None:
        self._response = response
        self.is_done = False
        """Whether the stream of events ended with `[DONE]`."""

    @property
    def is_stream(self) -> bool:
        """Whether events come, and not one document."""
        return str(self._response.headers.get("Content-Type", "")).startswith(EVENT_STREAM)

    async def read_json(self) -> dict[str, Any]:
        """The object that came; NotAnAnswer if it is anything else."""
        return parse_object(await _read_body(self._response))

    async def list_events(self) -> AsyncIterator[dict[str, Any]]:
        """The object of each event, to the end of the stream or `[DONE]`."""
        size = 0
        data: list[str] = []
        async for line in self._response.aiter_lines():
            size += len(line) + 1
            if size > MAX_REPLY_BYTES:
                raise NotAnAnswer(f"more than {MAX_REPLY_BYTES:,} bytes came; send less")
            if line.startswith("data:"):
                data.append(line.removeprefix("data:").removeprefix(" "))
            elif not line and data:
                text, data = "\n".join(data), []
                if text.strip() == "[DONE]":
                    self.is_done = True
                    return
                yield parse_object(text.encode("utf-8", "surrogatepass"))
        if data == ["[DONE]"]:
            self.is_done = True
        elif data:
            yield parse_object("\n".join(data).encode("utf-8", "surrogatepass"))


async def _read_body(response: "httpx.Response") -> bytes:
    came = bytearray()
    async for piece in response.aiter_bytes():
        came += piece
        if len(came) > MAX_REPLY_BYTES:
            raise NotAnAnswer(f"more than {MAX_REPLY_BYTES:,} bytes came; send less")
    return bytes(came)


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body; NotAnAnswer if it is anything else."""
    try:
        content = decode_plain_json(body)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise NotAnAnswer(f"no JSON came ({error}); {describe_body(body)}") from error
    if not isinstance(content, dict):
        raise NotAnAnswer(f"no JSON object came; {describe_body(body)}")
    return content


def list_objects(value: object) -> list[dict[str, Any]]:
    """The objects of a JSON list; none if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read_error(body: bytes) -> str:
    """What an error says, in the shapes that servers use."""
    try:
        content: object = parse_object(body)
    except NotAnAnswer:
        return describe_body(body)
    for key in ("error", "message", "detail"):
        if isinstance(content, dict) and key in content:
            content = content[key]
    if isinstance(content, dict):
        content = content.get("message") or content.get("code") or content
    return str(content)[:500]


def make_fault(said: str) -> SystemFault:
    """The fault that the text of an error without a status names."""
    if _TOO_LONG.search(said):
        return ContextExceeded(said)
    return SystemBusy(said) if _TOO_BUSY.search(said) else SystemFault(said)


_COST_NAMES = ("total_cost_usd", "cost_usd", "cost", "total_cost")
_CACHE_NAMES = ("cache_creation_input_tokens", "cache_read_input_tokens")
"""Input that went into a cache or came from one, which `input_tokens` beside them leaves out."""


def read_usage(reported: object) -> Usage:
    """Tokens and cost as servers report them; one call of unknown price if they do not."""
    if not isinstance(reported, dict):
        return Usage(calls=1, unpriced=1)
    costs = (_read_cost(reported.get(name)) for name in _COST_NAMES)
    cost = next((amount for amount in costs if amount is not None), None)
    return Usage(
        calls=1,
        input_tokens=_read_first(reported, "prompt_tokens")
        or sum(_read_first(reported, name) for name in ("input_tokens", *_CACHE_NAMES)),
        output_tokens=_read_first(reported, "completion_tokens", "output_tokens"),
        cost_usd=cost or 0.0,
        unpriced=1 if cost is None else 0,
    )


def _read_cost(cost: object) -> float | None:
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return float(cost) if 0 <= cost < 1e9 else None


def _read_first(reported: Mapping[str, object], *names: str) -> int:
    """The first of these numbers that is one; 0 if none is."""
    return next(filter(None, (read_token_count(reported.get(name)) for name in names)), 0)


def read_key(variable: str | None, environ: Mapping[str, str]) -> str | None:
    """The key in a variable, which is written nowhere; UsageError if it is not set."""
    if variable is None:
        return None
    if not environ.get(variable):
        raise UsageError(f"--config key_env: the environment variable {variable} is not set")
    # By its value: the name of the variable need not be that of a secret.
    learn_secrets({"token": environ[variable]})
    return environ[variable]
