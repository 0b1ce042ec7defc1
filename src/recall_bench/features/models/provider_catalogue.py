"""The providers of language models, and what each needs.

The names are pydantic-ai's. A test compares this table with the library, so that parsing a model
spec need not import it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

AGENTS = frozenset({"claude", "codex", "copilot"})
"""Command-line agents that answer a prompt as a model does."""

FOLDER = "folder"
"""A folder of request and reply files, in the place of a provider."""

BATCHING = frozenset({"anthropic", "openai", "openai-chat", "groq"})
"""Providers with a batch service whose format we write; `openai` covers compatible servers."""

_DECIDES = "only decides between options"
_EMBEDS = "only embeds text"

UNUSABLE: Mapping[str, str] = MappingProxyType(
    {
        "elevenlabs": "makes speech, not text",
        "github": "was shut down on 2026-07-30",
        "openai-chatgpt": "needs a sign-in of a registered program",
        "openai-decisions": _DECIDES,
        "sentence-transformers": _EMBEDS,
        "system-one": _DECIDES,
        "typesafe": _DECIDES,
        "voyageai": _EMBEDS,
    }
)
"""Providers of the library that cannot answer a prompt, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """How to reach a provider."""

    keys: tuple[str, ...] = ()
    """Environment variables that may hold the key, best first."""
    key_parameter: str | None = "api_key"
    """The constructor's parameter for the key; None if it takes none."""
    needs_key: bool = True
    needs_key_elsewhere: bool = True
    """Whether a server at another base URL needs a key too; compatible ones often do not."""
    url_parameter: str | None = None
    """The constructor's parameter for the base URL; None if it takes none."""
    urls: tuple[str, ...] = ()
    """Environment variables that may hold the base URL, best first."""
    usual_url: str | None = None
    """The default base URL; None leaves it to the library."""
    needs_url: bool = False
    extra: str = "openai"
    """The extra of pydantic-ai-slim with the packages it needs."""


BUNDLED = frozenset({"openai", "anthropic"})
"""The extras that come with the extra `llm`."""


def _make_plain(*keys: str, extra: str = "openai") -> Provider:
    return Provider(keys=keys, extra=extra)


def _make_movable(*keys: str, urls: tuple[str, ...] = (), extra: str = "openai") -> Provider:
    return Provider(keys=keys, url_parameter="base_url", urls=urls, extra=extra)


def _make_signed_in(extra: str = "openai") -> Provider:
    """A provider whose own library finds the credentials, or that needs a sign-in."""
    return Provider(key_parameter=None, needs_key=False, extra=extra)


_OPENAI = replace(
    _make_movable("OPENAI_API_KEY", urls=("OPENAI_BASE_URL",)),
    usual_url="https://api.openai.com/v1",
    needs_key_elsewhere=False,
)
_AZURE = Provider(
    keys=("AZURE_OPENAI_API_KEY",),
    url_parameter="azure_endpoint",
    urls=("AZURE_OPENAI_ENDPOINT",),
    needs_url=True,
)
_GATEWAY = _make_movable(
    "PYDANTIC_AI_GATEWAY_API_KEY",
    "PAIG_API_KEY",
    urls=("PYDANTIC_AI_GATEWAY_BASE_URL", "PAIG_BASE_URL"),
)
_GATEWAYS = {
    f"gateway/{upstream}": replace(_GATEWAY, extra=extra)
    for upstream, extra in {
        "anthropic": "anthropic",
        "bedrock": "bedrock",
        "chat": "openai",
        "converse": "bedrock",
        "google": "google",
        "google-cloud": "google",
        "groq": "groq",
        "openai": "openai",
        "openai-chat": "openai",
        "openai-responses": "openai",
        "responses": "openai",
    }.items()
}

PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "alibaba": _make_movable("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
        "anthropic": replace(
            _make_movable("ANTHROPIC_API_KEY", urls=("ANTHROPIC_BASE_URL",), extra="anthropic"),
            usual_url="https://api.anthropic.com",
            needs_key_elsewhere=False,
        ),
        "azure": _AZURE,
        "azure-responses": _AZURE,
        "bedrock": _make_signed_in("bedrock"),
        "bedrock-mantle": _make_signed_in("bedrock-mantle"),
        "cerebras": _make_plain("CEREBRAS_API_KEY"),
        "cohere": _make_plain("CO_API_KEY", extra="cohere"),
        "crusoe": _make_plain("CRUSOE_API_KEY"),
        "deepseek": _make_plain("DEEPSEEK_API_KEY"),
        "fireworks": _make_plain("FIREWORKS_API_KEY"),
        "github-copilot": _make_movable(
            "GITHUB_COPILOT_API_KEY",
            "GITHUB_COPILOT_API_TOKEN",
            "COPILOT_GITHUB_TOKEN",
            urls=("GITHUB_COPILOT_BASE_URL", "COPILOT_API_URL", "GITHUB_COPILOT_API_BASE"),
        ),
        "google": _make_movable("GOOGLE_API_KEY", "GEMINI_API_KEY", extra="google"),
        "google-cloud": _make_signed_in("google"),
        "groq": _make_movable("GROQ_API_KEY", urls=("GROQ_BASE_URL",), extra="groq"),
        "heroku": _make_movable("HEROKU_INFERENCE_KEY", urls=("HEROKU_INFERENCE_URL",)),
        "huggingface": _make_movable("HF_TOKEN", extra="huggingface"),
        "litellm": Provider(url_parameter="api_base", needs_key=False, needs_url=True),
        "meta": _make_plain("META_API_KEY"),
        "mistral": _make_movable("MISTRAL_API_KEY", extra="mistral"),
        "moonshotai": _make_movable("MOONSHOTAI_API_KEY", urls=("MOONSHOTAI_BASE_URL",)),
        "nebius": _make_plain("NEBIUS_API_KEY"),
        "ollama": replace(
            _make_movable("OLLAMA_API_KEY", urls=("OLLAMA_BASE_URL",)),
            needs_key=False,
            usual_url="http://127.0.0.1:11434/v1",
        ),
        "openai": _OPENAI,
        "openai-chat": _OPENAI,
        "openai-codex": _make_signed_in(),
        "openai-responses": _OPENAI,
        "openrouter": _make_plain("OPENROUTER_API_KEY"),
        "ovhcloud": _make_plain("OVHCLOUD_API_KEY"),
        "sambanova": _make_movable("SAMBANOVA_API_KEY", urls=("SAMBANOVA_BASE_URL",)),
        "snowflake": replace(_make_movable("SNOWFLAKE_TOKEN"), key_parameter="token"),
        "together": _make_plain("TOGETHER_API_KEY"),
        "vercel": _make_plain("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
        "vllm": replace(
            _make_movable("VLLM_API_KEY", urls=("VLLM_BASE_URL",)), needs_key=False, needs_url=True
        ),
        "xai": _make_plain("XAI_API_KEY", extra="xai"),
        "zai": _make_movable("ZAI_API_KEY"),
        **_GATEWAYS,
    }
)
"""Every provider that can answer a prompt, by name."""


def list_agents() -> list[str]:
    """The command-line agents that can be named as models."""
    return sorted(AGENTS)
