"""OpenAI-compatible servers: their address, headers, prices, and the models they list."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, cast
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from recall_bench.core.errors import UsageError
from recall_bench.core.redaction import (
    Redactor,
    filter_logs,
    list_environment_secrets,
    list_userinfo_secrets,
)
from recall_bench.core.usage import Usage, read_token_count
from recall_bench.features.models.faults import truncate_line
from recall_bench.features.models.model_spec import ModelSpec, parse_spec
from recall_bench.features.models.prices import price_usage
from recall_bench.features.models.provider_catalogue import PROVIDERS
from recall_bench.features.models.provider_model import build_basic_authorization, find_key

if TYPE_CHECKING:
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
    known = price is not None and bool(price.input == price.output == 0 or paid_in or paid_out)
    cost = (paid_in * price.input + paid_out * price.output) / 1_000_000 if price else 0.0
    return Usage(
        calls=1,
        input_tokens=paid_in,
        output_tokens=paid_out,
        cost_usd=cost if known else 0.0,
        unpriced=int(not known),
    )


_TIMEOUT_S = 5.0
_LIMIT = 8 * 1024 * 1024
_SHOWN = 12
"""Models listed in a message."""

_NO_LIST = "replied with something that is not a list of models; check the address"
_REFUSED = "needs a key, or another one; name its variable with key-env="
_NONE_THERE = "lists no models there; check the address (most base URLs end in /v1)"


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
    names = _read_names(_fetch_models(server), server)
    if len(names) == 1:
        return replace(spec, model=names[0])
    if not names:
        raise UsageError(f"{server.base_url}: serves no model; load one, then try again")
    shown = ", ".join(truncate_line(server.redact(name)) for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise UsageError(
        f"{server.base_url}: serves {len(names)} models ({shown}{more}); name one, as in "
        f"'openai:{names[0]};{server.base_url}'"
    )


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects: they would carry the key to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


def _fetch_models(server: CompatibleServer) -> object:
    """Return the reply to `GET /models`."""
    url = server.build_url("models")
    # Over plain http a proxy would be one more machine that sees the key.
    proxies: dict[str, str] | None = {} if url.startswith("http:") else None
    opener = build_opener(ProxyHandler(proxies), _NoRedirects)
    request = Request(url, headers={"Accept": "application/json", **server.headers})  # noqa: S310
    try:
        with opener.open(request, timeout=_TIMEOUT_S) as reply:
            return json.loads(reply.read(_LIMIT))
    except HTTPError as error:
        error.close()
        problem = _describe_status(error.code)
    except TimeoutError:
        problem = f"no reply within {_TIMEOUT_S:g} s; check the address"
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        message = truncate_line(server.redact(str(reason))) or type(error).__name__
        problem = f"cannot be asked for its models ({message}); check the address, start the server"
    except (ValueError, RecursionError):
        problem = _NO_LIST
    # Raised here, where no error of the library is being handled, it drags no headers along.
    raise _make_error(server, problem)


def _describe_status(status: int) -> str:
    if status in {401, 403}:
        return _REFUSED
    if status == 404:
        return _NONE_THERE
    return f"refuses to list its models (status {status}); check the address"


def _make_error(server: CompatibleServer, problem: str) -> UsageError:
    place = server.base_url
    instead = "" if problem == _REFUSED else f", or name the model as 'openai:NAME;{place}'"
    return UsageError(f"{place}: {problem}{instead}")


def _read_names(listed: object, server: CompatibleServer) -> list[str]:
    """Return the ids in a reply of OpenAI's shape, each once."""
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        raise _make_error(server, _NO_LIST)
    ids = (entry.get("id") for entry in entries if isinstance(entry, dict))
    return list(dict.fromkeys(name for name in ids if isinstance(name, str) and name.strip()))
