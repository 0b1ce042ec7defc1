"""From a spec to a model that can be asked."""

import os
from base64 import b64encode
from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from recall_bench.errors import BenchError, UsageError
from recall_bench.models.catalogue import BUNDLED, PROVIDERS, Provider
from recall_bench.models.cli_agent import open_agent
from recall_bench.models.faults import truncate_line
from recall_bench.models.model import Model
from recall_bench.models.provider_model import ProviderModel, takes_no_temperature
from recall_bench.models.secrets import (
    Redactor,
    filter_logs,
    is_key_necessary,
    list_environment_secrets,
    list_userinfo_secrets,
)
from recall_bench.models.spec import ModelSpec

if TYPE_CHECKING:
    from pydantic_ai.models import Model as Foreign
    from pydantic_ai.providers import Provider as ForeignProvider

_INSTALL = "pip install 'recall-bench[llm]'"
_NO_KEY = "no-key"
"""Sent where no key is wanted: the libraries insist on one."""


def open_model(
    spec: ModelSpec,
    environ: Mapping[str, str] | None = None,
    *,
    usual_temperature: float = 0.0,
) -> Model:
    """The model, ready to be asked; UsageError if a package, a program or a key is missing.

    Nothing is sent before the first question. The usual temperature is for a model that takes one
    and whose spec says none.
    """
    environ = os.environ if environ is None else environ
    if spec.is_agent:
        return open_agent(spec, environ)
    key = find_key(spec, PROVIDERS[spec.provider], environ)
    secrets = (*([key] if key else []), *list_userinfo_secrets(spec.userinfo))
    redact = Redactor((*secrets, *list_environment_secrets(environ)))
    filter_logs(secrets)
    return ProviderModel(
        spec,
        lambda: _build_foreign(spec, key, redact),
        redact=redact,
        redact_reply=Redactor(secrets),
        headers=build_basic_authorization(spec.userinfo),
        usual_temperature=usual_temperature,
    )


def find_key(spec: ModelSpec, facts: Provider, environ: Mapping[str, str]) -> str | None:
    """The key to send; None if none is wanted, UsageError if one is missing that is needed.

    The usual one does not travel in the clear unless it is asked to.
    """
    if spec.key_env is not None:
        if named := environ.get(spec.key_env, "").strip():
            return named
        if not is_key_necessary():
            return None
        raise UsageError(f"{spec.name}: the variable {spec.key_env} is not set; put the key in it")
    found = (environ.get(variable, "").strip() for variable in facts.keys)
    key = next(filter(None, found), None)
    is_exposed = spec.base_url is not None and _is_plain_http(spec.base_url)
    if key is not None and not is_exposed:
        return key
    needs_one = facts.needs_key_elsewhere if spec.base_url is not None else True
    if not (facts.needs_key and needs_one) or (key is None and not is_key_necessary()):
        return None
    if key is not None:
        raise UsageError(
            f"{spec.name}: its base URL would show the key to the network; use https, or insist "
            f"with key-env={facts.keys[0]}"
        )
    raise UsageError(
        f"{spec.name}: needs a key; set {' or '.join(facts.keys)}, or name another variable "
        "with key-env="
    )


def _is_plain_http(url: str) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" or host == "localhost":
        return False
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return True


def build_basic_authorization(userinfo: str | None) -> dict[str, str]:
    """The header that shows what stood before the @ of an address; none if nothing did."""
    if userinfo is None:
        return {}
    return {"Authorization": f"Basic {b64encode(unquote(userinfo).encode()).decode()}"}


def _build_foreign(spec: ModelSpec, key: str | None, redact: Redactor) -> "Foreign[Any]":
    """The library's own model. Its errors are told in our words, and stand alone."""
    failure: BenchError
    try:
        from pydantic_ai.models import infer_model

        foreign = infer_model(
            f"{_choose_interface(spec)}:{spec.model}", lambda name: _build_provider(spec, name, key)
        )
    except ImportError:
        extra = PROVIDERS[spec.provider].extra
        install = _INSTALL if extra in BUNDLED else f"pip install 'pydantic-ai-slim[{extra}]'"
        failure = UsageError(f"{spec.name}: needs packages that are not installed; {install}")
    except Exception as error:  # noqa: BLE001 - constructors of many providers
        said = truncate_line(redact(str(error) or type(error).__name__))
        failure = UsageError(f"{spec.name}: cannot be set up: {said}")
    else:
        if spec.temperature is None or not takes_no_temperature(foreign):
            return foreign
        failure = UsageError(f"{spec.name}: this model takes no temperature; leave it out")
    raise failure


def _choose_interface(spec: ModelSpec) -> str:
    """Compatible servers speak Chat Completions; OpenAI's own Responses API serves every model."""
    is_elsewhere = spec.provider == "openai" and spec.base_url is not None
    return "openai-chat" if is_elsewhere else spec.provider


def _build_provider(spec: ModelSpec, name: str, key: str | None) -> "ForeignProvider[Any]":
    facts = PROVIDERS[spec.provider]
    options: dict[str, Any] = {}
    if facts.key_parameter is not None:
        # Always said, or the library would look into the environment on its own.
        options[facts.key_parameter] = key or _NO_KEY
    base_url = spec.base_url or facts.usual_url
    if facts.url_parameter is not None and base_url is not None:
        options[facts.url_parameter] = base_url
    if spec.api_version is not None:
        options["api_version"] = spec.api_version
    if name.startswith("gateway/"):
        from pydantic_ai.providers.gateway import gateway_provider

        return gateway_provider(name.removeprefix("gateway/"), **options)
    from pydantic_ai.providers import infer_provider_class

    return infer_provider_class(name)(**options)
