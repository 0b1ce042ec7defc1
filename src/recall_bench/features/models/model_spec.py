"""The spec of a language model: `provider:model` and options.

    openai:gpt-5.1
    azure:my-deployment;https://my-resource.openai.azure.com;api-version=2025-04-01-preview
    ollama:llama3.2:3b
    openai:qwen3;http://127.0.0.1:8000/v1;price=0/0
    anthropic:claude-sonnet-5;key-env=TEAM_KEY;max-tokens=4096
    claude:opus
    folder:replies;wait=600
    openai:gpt-5.1;batch=batches
    anthropic:claude-sonnet-5;batch=batches;send=yes

Options follow the model, separated by `;`, in any order: a base URL, `price=IN/OUT` in US dollars
per million tokens, `key-env=NAME` of the environment variable with the key, `temperature=`,
`max-tokens=`, and for Azure `api-version=`. A user and password in the URL replace the key. The
provider's usual key is also sent to a base URL, but over plain http to another machine only with
`key-env=`.

`folder:DIR` takes requests and replies as files. `batch=DIR` writes requests to files for the
provider's batch service, and with `send=yes` sends them and takes the results. Both take
`wait=SECONDS`.

`openai:` alone calls OpenAI's Responses API, which serves all of its models. With a base URL, in
the spec or in OPENAI_BASE_URL, it calls Chat Completions, as compatible servers expect.
`openai-chat:` and `openai-responses:` fix one of the two.
"""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import PurePath
from urllib.parse import urlsplit

from recall_bench.core.errors import UsageError
from recall_bench.features.models.provider_catalogue import (
    AGENTS,
    BATCHING,
    FOLDER,
    PROVIDERS,
    UNUSABLE,
)

COMMAND_PREFIX = "command:"
"""Begins a target that is a program, and no spec."""

_URL = re.compile(r"https?:", re.IGNORECASE)
_KNOWN = frozenset({*PROVIDERS, *AGENTS, FOLDER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model, its address and its settings."""

    provider: str
    """A provider of the catalogue, a command-line agent, or `folder`."""
    model: str | None
    """The provider's name of the model, or the path of the folder; None lets an agent choose."""
    base_url: str | None = None
    """Without a user name or password; None is the provider's own."""
    userinfo: str | None = field(default=None, repr=False)
    """`user:password` of the base URL, which its name and its repr leave out."""
    price: Price | None = None
    key_env: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    api_version: str | None = None
    batch: str | None = None
    """The folder for files of the provider's batch service."""
    send: bool | None = None
    """Whether the files of a batch are sent to the service, and its results fetched."""
    wait: float | None = None
    """Seconds to wait for a reply that comes as a file, or for the batches that are sent."""

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of requests and replies."""
        return self.provider == FOLDER

    @property
    def is_agent(self) -> bool:
        """Whether it is a command-line agent."""
        return self.provider in AGENTS

    @property
    def head(self) -> str:
        """Provider and model, without options."""
        return self.provider if self.model is None else f"{self.provider}:{self.model}"

    @property
    def name(self) -> str:
        """The canonical spelling, without secrets.

        Price, key variable, batch, send and wait are left out: they change no reply.
        """
        options = {
            "api-version": self.api_version,
            "temperature": None if self.temperature is None else f"{self.temperature:g}",
            "max-tokens": self.max_tokens,
        }
        parts = [self.head, *([self.base_url] if self.base_url else [])]
        parts += [f"{key}={value}" for key, value in options.items() if value is not None]
        return ";".join(parts)

    def apply_tuning(self, *, temperature: float | None, max_tokens: int | None) -> "ModelSpec":
        """Return the spec with these settings, unless None; agents and folders take neither."""
        if self.is_agent or self.is_folder:
            return self
        return replace(
            self,
            temperature=self.temperature if temperature is None else temperature,
            max_tokens=self.max_tokens if max_tokens is None else max_tokens,
        )


def parse_spec(text: str, environ: Mapping[str, str] | None = None) -> ModelSpec | None:
    """Parse a spec; None if the text is no spec of a model, UsageError if the spec is wrong.

    A missing base URL is taken from the provider's environment variable: the address belongs to
    the name of a model.
    """
    head, *parts = (part.strip() for part in text.split(";"))
    provider, colon, model = (word.strip() for word in head.partition(":"))
    provider = provider.lower()
    if provider == "batch":
        raise UsageError("batch: names no model; write openai:MODEL;batch=DIR")
    if provider not in _KNOWN and provider not in UNUSABLE:
        if any(_is_ours(part) for part in parts):
            raise UsageError(_describe_unknown(provider))
        return None
    if provider in UNUSABLE:
        raise UsageError(f"{provider}: it {UNUSABLE[provider]}; name a model of another provider")
    if provider == FOLDER:
        return _parse_folder(model, parts)
    if not model and (colon or provider not in AGENTS):
        raise UsageError(f"{provider}: names no model; write {provider}:MODEL")
    spec = ModelSpec(provider=provider, model=model or None)
    if spec.is_agent:
        if parts:
            raise UsageError(f"{spec.name}: a command-line agent takes nothing after ';'")
        return spec
    for part in parts:
        spec = _add_part(spec, part)
    if spec.batch is None and spec.send is not None:
        raise UsageError(f"{spec.head}: send= is for batch=; add batch=DIR or leave it out")
    if spec.batch is None and spec.wait is not None:
        raise UsageError(f"{spec.head}: wait= is for batch= and folder:; leave it out")
    return _resolve_address(spec, os.environ if environ is None else environ)


def _parse_folder(path: str, parts: list[str]) -> ModelSpec:
    if not path:
        raise UsageError(f"{FOLDER}: names no folder; write {FOLDER}:DIR")
    spec = ModelSpec(provider=FOLDER, model=_parse_path(FOLDER, path))
    for part in parts:
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or key.lower() != "wait":
            raise UsageError(
                f"{spec.head}: a folder takes only wait=SECONDS after ';', and its path has no ';'"
            )
        spec = _add_option(spec, "wait", value)
    return spec


def _parse_path(owner: str, text: str) -> str:
    """Return the path of a folder in one spelling."""
    if not text.isprintable():
        raise UsageError(f"{owner}: the path holds a control character; name another folder")
    return str(PurePath(text))


def _is_ours(part: str) -> bool:
    """Whether the part can only be an option of a model."""
    key, equals, _ = part.partition("=")
    return bool(_URL.match(part)) or bool(equals and key.strip().lower() in _OPTIONS)


def suggest_provider(name: str) -> str | None:
    """Return the provider or agent most similar to an unknown name."""
    close = get_close_matches(name.lower(), sorted(_KNOWN), n=1)
    return close[0] if close else None


def _describe_unknown(provider: str) -> str:
    near = suggest_provider(provider)
    instead = f"did you mean {near}?" if near else f"known are {', '.join(sorted(_KNOWN))}"
    return f"{provider[:40]!r} is not a provider of models; {instead}"


def _add_part(spec: ModelSpec, part: str) -> ModelSpec:
    """Add one option. Messages do not repeat an unknown one: it may be a key."""
    owner = spec.head
    if not part:
        raise UsageError(f"{owner}: has an empty part; remove the ';' or fill it")
    if _URL.match(part):
        _check_once(owner, "base URL", spec.base_url)
        base_url, userinfo = _parse_url(owner, spec.provider, part)
        return replace(spec, base_url=base_url, userinfo=userinfo)
    key, equals, value = (word.strip() for word in part.partition("="))
    key = key.lower()
    if not equals or key not in _OPTIONS:
        unknown = f"{key!r}" if equals and re.fullmatch(r"[a-z-]{1,20}", key) else "a part"
        raise UsageError(
            f"{owner}: does not know {unknown}; after ';' comes a base URL or one of "
            + ", ".join(f"{name}=" for name in _OPTIONS)
        )
    return _add_option(spec, key, value)


def _check_once(owner: str, what: str, current: object) -> None:
    if current is not None:
        raise UsageError(f"{owner}: gives {what} twice; keep one")


def _add_option(spec: ModelSpec, key: str, text: str) -> ModelSpec:
    owner, field_name = spec.head, key.replace("-", "_")
    _check_once(owner, key, getattr(spec, field_name))
    if key == "key-env" and PROVIDERS[spec.provider].key_parameter is None:
        raise UsageError(f"{owner}: takes no key; leave out key-env")
    if key == "api-version" and not _is_azure(spec):
        raise UsageError(f"{owner}: api-version is for azure; leave it out")
    if key == "batch" and spec.provider not in BATCHING:
        able = ", ".join(f"{name}:" for name in sorted(BATCHING))
        raise UsageError(f"{owner}: batch= works with {able}; leave it out")
    parse, words = _OPTIONS[key]
    value = parse(text)
    if value is None:
        raise UsageError(f"{owner}: {key} takes {words}")
    if key == "batch":
        value = _parse_path(f"{owner}: batch=", text)
    return replace(spec, **{field_name: value})  # type: ignore[arg-type]


def _parse_price(text: str) -> Price | None:
    match [_parse_number(amount) for amount in text.split("/")]:
        case [float(paid_in), float(paid_out)]:
            return Price(input=paid_in, output=paid_out)
    return None


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _parse_temperature(text: str) -> float | None:
    temperature = _parse_number(text)
    return temperature if temperature is not None and temperature <= 2 else None


def _match(pattern: str) -> Callable[[str], str | None]:
    return lambda text: text if re.fullmatch(pattern, text, re.ASCII) else None


_OPTIONS: Mapping[str, tuple[Callable[[str], object | None], str]] = {
    "price": (_parse_price, "two amounts in US dollars per million tokens, as in price=2.5/10"),
    "key-env": (
        _match(r"[A-Za-z_]\w*"),
        "the name of an environment variable that holds the key, not the key itself",
    ),
    "temperature": (_parse_temperature, "a number from 0 to 2"),
    "max-tokens": (
        lambda text: int(text) if re.fullmatch(r"[1-9]\d{0,8}", text, re.ASCII) else None,
        "a whole number from 1",
    ),
    "api-version": (_match(r"[\w.-]{1,40}"), "a version as in 2025-04-01-preview"),
    "batch": (lambda text: text or None, "a folder, as in batch=my-batches"),
    "send": (
        lambda text: {"yes": True, "no": False}.get(text.lower()),
        "yes or no, as in batch=my-batches;send=yes",
    ),
    "wait": (_parse_number, "a number of seconds, as in wait=600"),
}
"""By the name of an option, how its value is read and what it takes."""


def _is_azure(spec: ModelSpec) -> bool:
    return spec.provider in {"azure", "azure-responses"}


def _parse_url(owner: str, provider: str, text: str) -> tuple[str, str | None]:
    """Return the URL in one spelling without its userinfo, and the userinfo."""
    if PROVIDERS[provider].url_parameter is None:
        raise UsageError(
            f"{owner}: takes no base URL; for a compatible server write openai:MODEL;URL"
        )
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if not parts.hostname or re.search(r"\s", text):
        raise UsageError(
            f"{owner}: its base URL cannot be read; write it as in http://host:8000/v1"
        )
    if parts.query or parts.fragment or "?" in text or "#" in text:
        raise UsageError(
            f"{owner}: its base URL may hold nothing from '?' or '#' on; "
            "a key is named with key-env=, Azure's version with api-version="
        )
    userinfo, at, place = parts.netloc.rpartition("@")
    path = parts.path.rstrip("/")
    if provider == "ollama" and not path:
        path = "/v1"
    return f"{parts.scheme.lower()}://{place.lower()}{path}", userinfo if at else None


def _resolve_address(spec: ModelSpec, environ: Mapping[str, str]) -> ModelSpec:
    """Return the spec with its address; without one, with that of the environment."""
    facts = PROVIDERS[spec.provider]
    named = ((name, environ.get(name, "").strip()) for name in facts.urls)
    variable, text = next((pair for pair in named if pair[1]), ("", ""))
    if spec.base_url is None and text:
        base_url, userinfo = _parse_url(f"{spec.name} ({variable})", spec.provider, text)
        if base_url != facts.usual_url or userinfo is not None:
            spec = replace(spec, base_url=base_url, userinfo=userinfo)
    if spec.base_url is None and facts.needs_url:
        instead = f"set {facts.urls[0]} or " if facts.urls else ""
        raise UsageError(f"{spec.name}: needs a base URL; {instead}write it after a ';'")
    return _resolve_version(spec, environ) if _is_azure(spec) else spec


def _resolve_version(spec: ModelSpec, environ: Mapping[str, str]) -> ModelSpec:
    """Return the spec with the API version that Azure needs, unless its address has one."""
    parts = urlsplit(spec.base_url or "")
    if parts.path.endswith("/v1") or (parts.hostname or "").endswith(".models.ai.azure.com"):
        if spec.api_version is not None:
            raise UsageError(f"{spec.name}: its base URL takes no api-version; leave it out")
        return spec
    version = spec.api_version or environ.get("OPENAI_API_VERSION", "").strip()
    if not version:
        raise UsageError(
            f"{spec.name}: needs a version; set OPENAI_API_VERSION, write api-version= after a "
            "';', or use the base URL that ends in /openai/v1"
        )
    return spec if spec.api_version else _add_option(spec, "api-version", version)


def is_spec(text: str) -> bool:
    """Whether a text names a provider's model."""
    return parse_spec(text) is not None
