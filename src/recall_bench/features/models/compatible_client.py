"""Requests to an OpenAI-compatible server beside chats: embeddings and reranking."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import msgspec

from recall_bench.core.errors import ModelBusy, ModelFault, ModelGone
from recall_bench.core.retry import CircuitBreaker, parse_retry_after
from recall_bench.core.untrusted_json import decode_plain_json
from recall_bench.core.user_code import require_libraries
from recall_bench.features.models.faults import classify_status, is_unreachable, truncate_line

if TYPE_CHECKING:
    import httpx

    from recall_bench.features.models.compatible_server import CompatibleServer

_TIMEOUT_S = 60.0
"""Timeout of one request."""


class CompatibleClient:
    """Sends requests over one connection, and translates what goes wrong. Thread-safe."""

    def __init__(self, server: CompatibleServer) -> None:
        require_libraries(f"{server.spec.name}:", "http", "httpx")
        self._server = server
        self._lock = threading.Lock()
        self._open: httpx.Client | None = None
        self._breaker = CircuitBreaker()

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        with self._lock:
            client, self._open = self._open, None
        if client is not None:
            client.close()

    def request(self, path: str, body: dict[str, object]) -> dict[str, Any]:
        """Post a body to a path and return the reply; ModelBusy, ModelGone or ModelFault."""
        import httpx

        name = self._server.spec.name
        failure: ModelFault
        try:
            reply = self._open_client().post(self._server.build_url(path), json=body)
            self._breaker.note_connection()
            if reply.is_success:
                content = decode_plain_json(reply.content)
                if isinstance(content, dict):
                    return content
                failure = ModelFault(f"{name}: replied with something that is no JSON object")
            else:
                failure = self._translate_refusal(path, reply)
        except httpx.TimeoutException:
            failure = ModelBusy(f"{name}: no reply within {_TIMEOUT_S:g} s")
        except httpx.HTTPError as error:
            message = truncate_line(self._server.redact(str(error)))
            failure = ModelBusy(f"{name}: the connection failed: {message}")
            if is_unreachable(error):
                self._breaker.note_refusal()
            if self._breaker.is_open:
                failure = ModelGone(f"{failure}; {self._breaker.describe()}")
        except msgspec.DecodeError:
            failure = ModelFault(f"{name}: replied with something that is no JSON")
        # Raised here, where no error of the library is being handled, it drags no headers along.
        raise failure

    def _open_client(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._open is None:
                headers = dict(self._server.headers)
                self._open = httpx.Client(headers=headers, timeout=_TIMEOUT_S)
            return self._open

    def _translate_refusal(self, path: str, reply: httpx.Response) -> ModelFault:
        status = reply.status_code
        reason = truncate_line(self._server.redact(reply.text)) or "no reason given"
        action = _ACTIONS.get(path, "answer")
        message = f"{self._server.spec.name}: it refuses to {action} (status {status}): {reason}"
        kind = classify_status(status)
        if kind is ModelBusy:
            return ModelBusy(message, parse_retry_after(reply.headers.get("retry-after")))
        return kind(message)


_ACTIONS = {"embeddings": "embed", "rerank": "rerank"}
