"""OpenAI-compatible servers: address, headers, prices, requests, and the models they list."""

import os
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import msgspec

from recall_bench.core.errors import ModelBusy, ModelFault, ModelGone, UsageError
from recall_bench.core.redaction import (
    Redactor,
    filter_logs,
    list_environment_secrets,
    list_userinfo_secrets,
)
from recall_bench.core.retry import parse_retry_after
from recall_bench.core.untrusted_json import decode_plain_json
from recall_bench.core.usage import Usage, read_token_count
from recall_bench.core.user_code import require_libraries
from recall_bench.features.models.circuit_breaker import CircuitBreaker
from recall_bench.features.models.faults import classify_status, is_unreachable, truncate_line
from recall_bench.features.models.model_spec import ModelSpec, parse_spec
from recall_bench.features.models.prices import price_usage
from recall_bench.features.models.provider_catalogue import PROVIDERS
from recall_bench.features.models.provider_model import build_basic_authorization, find_key

if TYPE_CHECKING:
    import httpx
    from pydantic_ai.usage import RequestUsage

COMPATIBLE = frozenset({"azure", "litellm", "ollama", "openai", "openai-chat", "vllm"})
"""Providers whose address takes OpenAI's requests as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleServer:
    """Address and headers of a server. Its repr shows no key."""

    spec: ModelSpec
    base_url: str
    headers: Mapping[str, str] = field(repr=False)
    redact: Redactor = field(repr=False)
    """For error messages: removes every known secret and everything that looks like one."""
    redact_reply: Redactor = field(repr=False)
    """For replies: its `redact_secrets` removes what was sent, and nothing else."""

    @property
    def model(self) -> str:
        """The name of the model that requests carry."""
        return self.spec.model or self.spec.provider

    def build_url(self, path: str) -> str:
        """Return the whole address of `embeddings`, `rerank` or `chat/completions`."""
        if self.spec.api_version is None:
            return f"{self.base_url}/{path}"
        place = f"{self.base_url}/openai/deployments/{self.spec.model}"
        return f"{place}/{path}?api-version={self.spec.api_version}"

    def price_reply(self, counted: object, answered_as: object = None) -> Usage:
        """Return the usage of one call from its reply; unpriced if the price is unknown."""
        tokens = counted if isinstance(counted, dict) else {}
        details = tokens.get("prompt_tokens_details")
        numbers = {
            "input_tokens": read_token_count(tokens.get("prompt_tokens")),
            "output_tokens": read_token_count(tokens.get("completion_tokens")),
            "cache_read_tokens": read_token_count(
                details.get("cached_tokens") if isinstance(details, dict) else 0
            ),
        }
        name = answered_as if isinstance(answered_as, str) else None
        try:
            from genai_prices import Usage as Counted

            return price_usage(self.spec, cast("RequestUsage", Counted(**numbers)), name)
        except ImportError:
            return _price_without_list(self.spec, numbers)


def resolve_server(
    spec: ModelSpec, environ: Mapping[str, str] | None = None
) -> CompatibleServer | None:
    """Return the server of a spec; None if it is not compatible, UsageError without its key."""
    if spec.batch is not None:
        raise UsageError(f"{spec.name}: a batch cannot answer at once; leave batch= out")
    facts = PROVIDERS.get(spec.provider)
    base_url = spec.base_url or (facts.usual_url if facts else None)
    if spec.provider not in COMPATIBLE or facts is None or base_url is None:
        return None
    environ = os.environ if environ is None else environ
    key = find_key(spec, facts, environ)
    if key is not None and not (key.isascii() and key.isprintable()):
        raise UsageError(f"{spec.name}: its key holds characters that no header can; correct it")
    secrets = (*([key] if key else []), *list_userinfo_secrets(spec.userinfo))
    filter_logs(secrets)
    return CompatibleServer(
        spec=spec,
        base_url=base_url,
        headers=_build_credentials(spec, key),
        redact=Redactor((*secrets, *list_environment_secrets(environ))),
        redact_reply=Redactor(secrets),
    )


def resolve_server_of(
    text: str, what: str, local: Iterable[str], environ: Mapping[str, str] | None = None
) -> CompatibleServer:
    """Return the server that a spec of `what` names; UsageError, with the other kinds, if none."""
    spec = parse_spec(text, environ)
    server = resolve_server(spec, environ) if spec is not None else None
    if server is None:
        # The text is not repeated: it may hold a key.
        raise UsageError(
            f"no {what} has this name; write openai:MODEL;URL for a compatible server (also "
            f"{', '.join(sorted(COMPATIBLE - {'openai'}))}), or {', '.join(local)} with :MODEL"
        )
    return server


def _build_credentials(spec: ModelSpec, key: str | None) -> dict[str, str]:
    if spec.userinfo is not None:
        return build_basic_authorization(spec.userinfo)
    if key is None:
        return {}
    return {"api-key": key} if spec.api_version else {"Authorization": f"Bearer {key}"}


def _price_without_list(spec: ModelSpec, numbers: dict[str, Any]) -> Usage:
    """Price a call by the spec alone: the price list comes with the `llm` extra."""
    paid_in, paid_out = numbers["input_tokens"], numbers["output_tokens"]
    price = spec.price
    is_known = price is not None and bool(price.input == price.output == 0 or paid_in or paid_out)
    cost = (paid_in * price.input + paid_out * price.output) / 1_000_000 if price else 0.0
    return Usage(
        calls=1,
        input_tokens=paid_in,
        output_tokens=paid_out,
        cost_usd=cost if is_known else 0.0,
        unpriced=int(not is_known),
    )


_LIST_TIMEOUT_S = 5.0
_TIMEOUT_S = 60.0
"""Timeout of one request."""
_SHOWN = 12
"""Models listed in a message."""
_ACTIONS = {"embeddings": "embed", "rerank": "rerank"}


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

    def _open_client(self) -> "httpx.Client":
        import httpx

        with self._lock:
            if self._open is None:
                headers = dict(self._server.headers)
                self._open = httpx.Client(headers=headers, timeout=_TIMEOUT_S)
            return self._open

    def _translate_refusal(self, path: str, reply: "httpx.Response") -> ModelFault:
        status = reply.status_code
        reason = truncate_line(self._server.redact(reply.text)) or "no reason given"
        action = _ACTIONS.get(path, "answer")
        message = f"{self._server.spec.name}: it refuses to {action} (status {status}): {reason}"
        kind = classify_status(status)
        if kind is ModelBusy:
            return ModelBusy(message, parse_retry_after(reply.headers.get("retry-after")))
        return kind(message)


def is_address(target: str) -> bool:
    """Whether the target is a base URL, with or without options."""
    return re.match(r"\s*https?:", target, re.IGNORECASE) is not None


def parse_address(target: str, environ: Mapping[str, str] | None = None) -> ModelSpec:
    """Parse `URL;options…` without a request; the name of the model is None."""
    spec = parse_spec(f"openai:MODEL;{target}", environ)
    assert spec is not None  # noqa: S101 - it names a provider
    return replace(spec, model=None)


def find_served_model(target: str, environ: Mapping[str, str] | None = None) -> ModelSpec:
    """Return the only model that the server at `URL;options…` lists.

    UsageError if the server cannot be reached, or does not list exactly one model.
    """
    spec = parse_address(target, environ)
    server = resolve_server(spec, environ)
    assert server is not None  # noqa: S101 - it has a base URL
    names = _fetch_names(server)
    if len(names) == 1:
        return replace(spec, model=names[0])
    if not names:
        raise UsageError(f"{server.base_url}: serves no model; load one, then try again")
    listed = ", ".join(truncate_line(server.redact(name)) for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise UsageError(
        f"{server.base_url}: serves {len(names)} models ({listed}{more}); name one, as in "
        f"'openai:{names[0]};{server.base_url}'"
    )


def _fetch_names(server: CompatibleServer) -> list[str]:
    """The names in the reply to `GET /models`, each once; UsageError if there is no such list."""
    require_libraries(f"{server.base_url}:", "http", "httpx")
    import httpx

    url = server.build_url("models")
    is_encrypted = not url.startswith("http:")
    remedy = f", or name the model as 'openai:NAME;{server.base_url}'"
    try:
        # Over plain http a proxy would be one more machine that sees the key, and a redirect, which
        # httpx does not follow, would carry it to another host.
        with httpx.Client(
            headers={"Accept": "application/json", **server.headers},
            timeout=_LIST_TIMEOUT_S,
            trust_env=is_encrypted,
            verify=is_encrypted,
        ) as client:
            reply = client.get(url)
        listed = decode_plain_json(reply.content) if reply.is_success else None
        entries = listed.get("data") if isinstance(listed, dict) else None
        if isinstance(entries, list):
            ids = (entry.get("id") for entry in entries if isinstance(entry, dict))
            names = (name for name in ids if isinstance(name, str) and name.strip())
            return list(dict.fromkeys(names))
        if reply.status_code in {401, 403}:
            problem = "needs a key, or another one; name its variable with key-env="
            remedy = ""
        elif reply.status_code == 404:
            problem = "lists no models there; check the address (most base URLs end in /v1)"
        elif not reply.is_success:
            status = reply.status_code
            problem = f"refuses to list its models (status {status}); check the address"
        else:
            problem = _NO_LIST
    except httpx.TimeoutException:
        problem = f"no reply within {_LIST_TIMEOUT_S:g} s; check the address"
    except (httpx.RemoteProtocolError, msgspec.DecodeError):
        problem = _NO_LIST
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        message = truncate_line(server.redact(str(error))) or type(error).__name__
        problem = f"cannot be asked for its models ({message}); check the address, start the server"
    # Raised here, where no error of the library is being handled, it drags no headers along.
    raise UsageError(f"{server.base_url}: {problem}{remedy}")


_NO_LIST = "replied with something that is not a list of models; check the address"
