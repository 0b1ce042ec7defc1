"""A model is named in one line, and no name holds a secret."""

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.models.model_spec import ModelSpec, Price, parse_spec
from recall_bench.features.models.provider_catalogue import AGENTS, PROVIDERS, UNUSABLE
from tests.loops import loop_over, loop_over_rows


def parsed(text: str, **environ: str) -> ModelSpec:
    spec = parse_spec(text, environ)
    assert spec is not None
    return spec


def test_provider_and_model_are_enough() -> None:
    spec = parsed("anthropic:claude-sonnet-4-5")

    assert (spec.provider, spec.model) == ("anthropic", "claude-sonnet-4-5")
    assert spec.name == "anthropic:claude-sonnet-4-5"


def test_a_provider_ignores_case_and_a_model_does_not() -> None:
    assert parsed("OpenAI:Qwen3;http://HOST:8000/V1/").name == "openai:Qwen3;http://host:8000/V1"


def test_a_model_may_hold_colons_and_slashes() -> None:
    assert parsed("ollama:llama3.2:3b").model == "llama3.2:3b"
    assert parsed("openrouter:meta/llama:free").model == "meta/llama:free"


def test_every_option_of_a_spec_is_read() -> None:
    spec = parsed(
        "openai:m; https://host/v1 ;price=2.5/10;key-env=TEAM_KEY;temperature=0.5;max-tokens=100"
    )

    assert spec == ModelSpec(
        provider="openai",
        model="m",
        base_url="https://host/v1",
        price=Price(input=2.5, output=10.0),
        key_env="TEAM_KEY",
        temperature=0.5,
        max_tokens=100,
    )
    assert spec.name == "openai:m;https://host/v1;temperature=0.5;max-tokens=100"


@loop_over_rows(
    "text",
    [
        "openai:gpt-5.1",
        "ollama:llama3.2:3b;http://gpu:11434/v1",
        "azure:judge;https://r.openai.azure.com;api-version=2025-04-01-preview",
        "openai:m;https://host/v1;temperature=0.25;max-tokens=4096",
        "claude",
        "codex:gpt-5.1-codex",
    ],
)
def test_a_name_names_the_same_model_again(text: str) -> None:
    assert parsed(text).name == text
    assert parsed(parsed(text).name) == parsed(text)


def test_the_order_of_the_parts_does_not_matter() -> None:
    one = parsed("openai:m;max-tokens=9;http://127.0.0.1:1/v1;temperature=0")
    other = parsed("openai:m;temperature=0.0;http://127.0.0.1:1/v1/;max-tokens=9")

    assert one == other


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_agents_are_named_alone_or_with_a_model(agent: str) -> None:
    assert parsed(agent.upper()) == ModelSpec(provider=agent, model=None)
    assert parsed(f"{agent}:Opus").name == f"{agent}:Opus"


@loop_over_rows(
    "text", ["offline", "stub", "judge.py", "judge.py:Mine", "my.judges:Mine", "", ":x", "a;b=c"]
)
def test_other_strings_are_not_specs(text: str) -> None:
    assert parse_spec(text, {}) is None


@loop_over_rows(
    ("text", "about"),
    [
        ("openai", "names no model"),
        ("openai:", "names no model"),
        ("claude:", "names no model"),
        ("opnai:m;http://host/v1", "did you mean openai"),
        ("my.judges:Mine;temperature=0", "not a provider of models; known are"),
        ("claude:opus;temperature=0", "takes nothing after"),
        ("openai:m;", "empty part"),
        ("openai:m;colour=red", "does not know 'colour'"),
        ("openai:m;temperature=warm", "from 0 to 2"),
        ("openai:m;temperature=2.1", "from 0 to 2"),
        ("openai:m;temperature=nan", "from 0 to 2"),
        ("openai:m;temperature=0;temperature=0", "twice"),
        ("openai:m;max-tokens=0", "whole number"),
        ("openai:m;max-tokens=1.5", "whole number"),
        ("openai:m;price=3", "two amounts"),
        ("openai:m;price=3/-1", "two amounts"),
        ("openai:m;price=3/inf", "two amounts"),
        ("openai:m;api-version=1", "for azure"),
        ("openai:m;http://a/v1;http://b/v1", "twice"),
        ("openai:m;http://", "cannot be read"),
        ("openai:m;http://host:port/v1", "cannot be read"),
        ("openai:m;http://ho st/v1", "cannot be read"),
        ("openai:m;https://host/v1?api-version=1", "nothing from '?'"),
        ("deepseek:m;http://host/v1", "takes no base URL"),
        ("bedrock:m;key-env=KEY", "takes no key"),
        ("litellm:m", "needs a base URL"),
        ("vllm:m", "set VLLM_BASE_URL"),
        ("azure:m", "set AZURE_OPENAI_ENDPOINT"),
        ("azure:m;https://r.openai.azure.com", "OPENAI_API_VERSION"),
        ("azure:m;https://r.openai.azure.com/openai/v1;api-version=1", "takes no api-version"),
        *((f"{name}:m", "another provider") for name in UNUSABLE),
    ],
)
def test_a_wrong_spec_is_refused_in_one_sentence(text: str, about: str) -> None:
    with pytest.raises(UsageError, match=about) as told:
        parse_spec(text, {})

    assert "\n" not in str(told.value)


@loop_over_rows(
    "text",
    [
        "openai:m;sk-planted-0123456789",
        "openai:m;key=sk-planted-0123456789",
        "openai:m;key-env=sk-planted-0123456789",
        "openai:m;sk-planted-0123456789=x",
        "openai:m;api-version=sk-planted-0123456789",
        "openai:m;https://u:sk-planted-0123456789@host:x/v1",
        "openai:m;https://host/v1?key=sk-planted-0123456789",
        "deepseek:m;https://u:sk-planted-0123456789@host/v1",
        "opnai:m;https://u:sk-planted-0123456789@host/v1",
    ],
)
def test_a_key_in_the_wrong_place_is_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_spec(text, {})

    assert "planted" not in str(told.value)


def test_user_and_password_of_a_url_are_kept_out_of_sight() -> None:
    spec = parsed("openai:m;https://ada:s3cret-word@host/v1")

    assert spec.userinfo == "ada:s3cret-word"
    assert "s3cret" not in spec.name + repr(spec)
    assert "ada" not in spec.name + repr(spec)


def test_an_address_in_the_environment_belongs_to_the_name() -> None:
    spec = parsed("openai:m", OPENAI_BASE_URL="http://ada:word@127.0.0.1:8000/v1")

    assert spec.name == "openai:m;http://127.0.0.1:8000/v1"
    assert spec.userinfo == "ada:word"


def test_the_default_address_is_not_part_of_the_name() -> None:
    assert parsed("openai:m", OPENAI_BASE_URL="https://api.openai.com/v1/").name == "openai:m"
    assert parsed("ollama:m", OLLAMA_BASE_URL="http://127.0.0.1:11434").name == "ollama:m"


def test_a_typed_address_wins() -> None:
    spec = parsed("ollama:m;http://gpu:1234", OLLAMA_BASE_URL="http://other:1/v1")

    assert spec.base_url == "http://gpu:1234/v1"


def test_azure_takes_its_address_and_version_from_the_environment() -> None:
    spec = parsed(
        "azure:judge",
        AZURE_OPENAI_ENDPOINT="https://r.openai.azure.com/",
        OPENAI_API_VERSION="2025-04-01-preview",
    )

    assert spec.name == "azure:judge;https://r.openai.azure.com;api-version=2025-04-01-preview"


def test_azure_needs_no_version_if_the_address_ends_in_one() -> None:
    spec = parsed("azure:judge;https://r.openai.azure.com/openai/v1", OPENAI_API_VERSION="2024")

    assert spec.api_version is None


def test_a_fault_in_the_environment_names_the_variable() -> None:
    with pytest.raises(UsageError, match="OPENAI_BASE_URL"):
        parse_spec("openai:m", {"OPENAI_BASE_URL": "http://host:port"})


@loop_over(sorted(PROVIDERS))
def test_every_provider_of_the_catalogue_can_be_named(provider: str) -> None:
    address = "https://host" if PROVIDERS[provider].needs_url else None
    version = "api-version=1" if provider.startswith("azure") else None
    text = ";".join(filter(None, [f"{provider}:m", address, version]))

    assert parsed(text).name == text
