"""`/v1/chat/completions`: passed on as it is, or put in the words that any model understands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from recall_bench.core.usage import Usage
from recall_bench.endpoint.conversation import build_completion, build_prompt
from recall_bench.endpoint.refusal import NO_RETRY, EndpointRefusal, translate_fault
from recall_bench.errors import ModelFault, UsageError
from recall_bench.models.compatible import CompatibleServer, resolve_server
from recall_bench.models.faults import truncate_line
from recall_bench.models.model import Model
from recall_bench.models.providers import open_model
from recall_bench.models.spec import ModelSpec

if TYPE_CHECKING:
    import httpx

CHAT_TIMEOUT_S = 300.0
"""How long a model may take for one reply."""

_OURS = ("stream", "stream_options")
"""What a request says about its reply to the client, which is none of the model's business."""

_LIMITS = ("max_tokens", "max_completion_tokens")


class Chat(Protocol):
    """A language model that completes the conversations of products."""

    @property
    def name(self) -> str:
        """Precise enough to ask the same model again, and free of secrets."""
        ...

    @property
    def model(self) -> str:
        """What a client may call it."""
        ...

    async def complete(self, request: dict[str, Any]) -> tuple[dict[str, Any], Usage]:
        """The body of a whole completion, and what it cost; Refusal if there is none."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


def open_chat(
    spec: ModelSpec,
    environ: Mapping[str, str] | None = None,
    *,
    timeout_s: float = CHAT_TIMEOUT_S,
) -> Chat:
    """The model of the spec; UsageError if a package, a program or a key is missing."""
    server = resolve_server(spec, environ)
    if server is None:
        return PromptChat(open_model(spec, environ), spec, timeout_s)
    try:
        import httpx  # noqa: F401 - missed here rather than at the first request
    except ImportError as missing:
        raise UsageError(f"{spec.name}: needs httpx; pip install 'recall-bench[http]'") from missing
    return ChatProxy(server, timeout_s)


class ChatProxy:
    """Sends each request as it came, under the model's own name, to a compatible server."""

    def __init__(self, server: CompatibleServer, timeout_s: float) -> None:
        self._server = server
        self._timeout_s = timeout_s
        self._client: httpx.AsyncClient | None = None

    @property
    def name(self) -> str:
        """The spec's."""
        return self._server.spec.name

    @property
    def model(self) -> str:
        """As the server calls it."""
        return self._server.spec.model or self._server.spec.provider

    async def complete(self, request: dict[str, Any]) -> tuple[dict[str, Any], Usage]:
        """The server's own completion, tools and all; its failures keep their status."""
        reply = await self._send(self._build_request(request))
        text = self._server.redact_reply.redact_secrets(reply.text)
        body = _decode_json(text)
        if not reply.is_success:
            raise self._make_refusal(reply, body)
        if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
            raise EndpointRefusal(
                502,
                f"{self.name}: replied with something that is no completion",
                kind="server_error",
            )
        return body, self._server.price_reply(body.get("usage"), body.get("model"))

    async def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _build_request(self, request: dict[str, Any]) -> dict[str, Any]:
        """The request for this model. What the spec says about it goes before the client's word."""
        spec = self._server.spec
        meant = {name: value for name, value in request.items() if name not in _OURS}
        meant["model"] = spec.model
        if spec.temperature is not None:
            meant["temperature"] = spec.temperature
        if spec.max_tokens is not None:
            said = next((name for name in _LIMITS if name in meant), _LIMITS[-1])
            meant = {name: value for name, value in meant.items() if name not in _LIMITS}
            meant[said] = spec.max_tokens
        return meant

    async def _send(self, request: dict[str, Any]) -> httpx.Response:
        import httpx

        if self._client is None:
            # Opened by the first request, because it belongs to the event loop that uses it.
            self._client = httpx.AsyncClient(
                headers=dict(self._server.headers), timeout=self._timeout_s
            )
        try:
            return await self._client.post(self._server.build_url("chat/completions"), json=request)
        except httpx.TimeoutException:
            refusal = EndpointRefusal(
                504, f"{self.name}: no reply within {self._timeout_s:g} s", kind="timeout_error"
            )
        except httpx.HTTPError as error:
            said = truncate_line(self._server.redact(str(error))) or "no reason given"
            refusal = EndpointRefusal(
                502, f"{self.name}: the connection failed: {said}", kind="server_error"
            )
        # Raised here, where no error of the library is being handled, it drags no headers along.
        raise refusal

    def _make_refusal(self, reply: httpx.Response, body: object) -> EndpointRefusal:
        error = body.get("error") if isinstance(body, dict) else None
        details = error if isinstance(error, dict) else {}
        said = details.get("message") or error or reply.text or "no reason given"
        headers = {
            name: reply.headers[name]
            for name in ("retry-after", "retry-after-ms")
            if name in reply.headers
        }
        if reply.status_code in {401, 403}:
            headers |= NO_RETRY
        return EndpointRefusal(
            reply.status_code if reply.status_code >= 400 else 502,
            f"{self.name}: {truncate_line(self._server.redact(str(said)))}",
            kind=self._redact_word(details.get("type")) or "server_error",
            code=self._redact_word(details.get("code")),
            param=self._redact_word(details.get("param")),
            headers=headers,
        )

    def _redact_word(self, found: object) -> str | None:
        return truncate_line(self._server.redact(found)) if isinstance(found, str) else None


class PromptChat:
    """Puts each conversation to a model that takes one prompt and no tools."""

    def __init__(self, model: Model, spec: ModelSpec, timeout_s: float) -> None:
        self._model = model
        self._spec = spec
        self._timeout_s = timeout_s

    @property
    def name(self) -> str:
        """The spec's."""
        return self._spec.name

    @property
    def model(self) -> str:
        """As its provider calls it."""
        return self._spec.model or self._spec.provider

    async def complete(self, request: dict[str, Any]) -> tuple[dict[str, Any], Usage]:
        """The model's reply as a completion; Refusal for what cannot be put in a prompt.

        Temperature and length of the reply are the spec's to say, not the client's.
        """
        import anyio

        prompt = build_prompt(request, self.name)
        try:
            with anyio.fail_after(self._timeout_s):
                reply = await self._model.complete(prompt)
        except TimeoutError:
            raise EndpointRefusal(
                504, f"{self.name}: no reply within {self._timeout_s:g} s", kind="timeout_error"
            ) from None
        except ModelFault as fault:
            raise translate_fault(fault) from None
        return build_completion(reply, self.model), reply.usage

    async def close(self) -> None:
        """Release the model's connections."""
        await self._model.close()


def _decode_json(text: str) -> object:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
