"""A model is opened with the right key at the right place, or not at all, and then it says why."""

import sys

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.models.provider_model import open_model
from tests import openai_server as scripted
from tests.features.models.prompts import KEY, ask
from tests.openai_server import OpenAIServer

pytest.importorskip("pydantic_ai")
pytestmark = pytest.mark.anyio


async def test_ollama_is_asked_where_it_usually_is_or_where_the_environment_says() -> None:
    spec = parse_spec("ollama:llama3.2", {})
    assert spec is not None
    assert "127.0.0.1:11434/v1" in str(open_model(spec, {})._foreign.base_url)  # type: ignore[attr-defined]

    with OpenAIServer([scripted.ok("3")]) as server:
        reply = await ask("ollama:llama3.2", OLLAMA_BASE_URL=server.base_url)

    assert reply.text == "3"


async def test_a_key_has_to_be_there() -> None:
    with pytest.raises(UsageError, match=r"openai:m: needs a key; set OPENAI_API_KEY"):
        await ask("openai:m")
    with pytest.raises(UsageError, match="set ALIBABA_API_KEY or DASHSCOPE_API_KEY"):
        await ask("alibaba:m")
    with pytest.raises(UsageError, match="the variable TEAM_KEY is not set"):
        await ask("openai:m;key-env=TEAM_KEY", OPENAI_API_KEY=KEY)
    with pytest.raises(UsageError, match="set AZURE_OPENAI_API_KEY"):
        await ask("azure:m;https://r.openai.azure.com/openai/v1")


async def test_the_named_key_is_the_one_that_is_sent() -> None:
    with OpenAIServer([scripted.ok("3")]) as server:
        await ask(f"openai:m;{server.base_url};key-env=TEAM_KEY", OPENAI_API_KEY=KEY, TEAM_KEY="t")

    assert server.requests[0].headers["authorization"] == "Bearer t"


async def test_the_usual_key_is_not_sent_in_the_clear() -> None:
    """Whoever means it says so with key-env."""
    clear = "http://gpu-box:8000"
    with pytest.raises(UsageError, match=r"to the network.*key-env=AZURE_OPENAI_API_KEY"):
        await ask(f"azure:m;{clear}/openai/v1", AZURE_OPENAI_API_KEY=KEY)

    spec = parse_spec(f"openai:m;{clear}/v1", {})
    assert spec is not None
    foreign = open_model(spec, {"OPENAI_API_KEY": KEY})._foreign  # type: ignore[attr-defined]
    assert foreign.client.api_key == "no-key"


async def test_user_and_password_of_the_address_are_sent_instead_of_a_key() -> None:
    with OpenAIServer([scripted.ok("3")]) as server:
        place = server.base_url.replace("://", "://ada:open%20sesame@")
        await ask(f"openai:m;{place}", OPENAI_API_KEY=KEY)

    # What `printf 'ada:open sesame' | base64` says.
    assert server.requests[0].headers["authorization"] == "Basic YWRhOm9wZW4gc2VzYW1l"


@pytest.mark.parametrize(
    ("provider", "install"),
    [("groq", "pydantic-ai-slim[groq]"), ("google", "pydantic-ai-slim[google]")],
)
async def test_a_package_that_is_missing_is_named(
    provider: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, f"pydantic_ai.providers.{provider}", None)

    with pytest.raises(UsageError) as told:
        await ask(f"{provider}:m", GROQ_API_KEY=KEY, GOOGLE_API_KEY=KEY)

    assert f"pip install '{install}'" in str(told.value)


async def test_our_own_extra_is_named_when_it_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.models", None)

    with pytest.raises(UsageError, match=r"pip install .*\[llm\]'"):
        await ask("openai:m", OPENAI_API_KEY=KEY)
