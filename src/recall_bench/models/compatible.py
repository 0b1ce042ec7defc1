"""An OpenAI-compatible server that a spec names: its address, what to send along, what it costs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from recall_bench.core.usage import Usage
from recall_bench.errors import UsageError
from recall_bench.models.catalogue import PROVIDERS
from recall_bench.models.prices import price_usage
from recall_bench.models.providers import build_basic_authorization, find_key
from recall_bench.models.secrets import (
    Redactor,
    filter_logs,
    list_environment_secrets,
    list_userinfo_secrets,
)
from recall_bench.models.spec import ModelSpec

if TYPE_CHECKING:
    from pydantic_ai.usage import RequestUsage

COMPATIBLE = frozenset({"azure", "litellm", "ollama", "openai", "openai-chat", "vllm"})
"""Providers whose address takes OpenAI's requests as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleServer:
    """Where requests go, and what they carry. Its repr shows no key."""

    spec: ModelSpec
    base_url: str
    headers: Mapping[str, str] = field(repr=False)
    redact: Redactor = field(repr=False)
    """For what goes wrong: takes out every secret we know, and whatever looks like one."""
    redact_reply: Redactor = field(repr=False)
    """For replies: its `exactly` takes out what we sent, and nothing else."""

    def build_url(self, path: str) -> str:
        """The whole address of `embeddings` or `chat/completions`."""
        if self.spec.api_version is None:
            return f"{self.base_url}/{path}"
        place = f"{self.base_url}/openai/deployments/{self.spec.model}"
        return f"{place}/{path}?api-version={self.spec.api_version}"

    def price_reply(self, counted: object, answered_as: object = None) -> Usage:
        """What one call cost, by the `usage` of its reply; unpriced if nobody knows."""
        tokens = counted if isinstance(counted, dict) else {}
        details = tokens.get("prompt_tokens_details")
        numbers = {
            "input_tokens": _read_count(tokens.get("prompt_tokens")),
            "output_tokens": _read_count(tokens.get("completion_tokens")),
            "cache_read_tokens": _read_count(
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
    """The server that the spec names; None if it speaks otherwise; UsageError for want of a key."""
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


def _build_credentials(spec: ModelSpec, key: str | None) -> dict[str, str]:
    if spec.userinfo is not None:
        return build_basic_authorization(spec.userinfo)
    if key is None:
        return {}
    return {"api-key": key} if spec.api_version else {"Authorization": f"Bearer {key}"}


def _read_count(number: object) -> int:
    return number if isinstance(number, int) and number > 0 else 0


def _price_without_list(spec: ModelSpec, numbers: dict[str, Any]) -> Usage:
    """Without the price list, which the `llm` extra brings, only the spec can know a price."""
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
