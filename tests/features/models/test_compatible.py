"""A compatible server is sent our key only where it is safe, and its price is known or unknown."""

import sys

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.usage import Usage
from recall_bench.features.models.compatible_server import CompatibleServer, resolve_server
from recall_bench.features.models.model_spec import parse_spec
from tests.features.models.prompts import KEY
from tests.loops import loop_over_rows


def server(text: str, **environ: str) -> CompatibleServer | None:
    spec = parse_spec(text, environ)
    assert spec is not None
    return resolve_server(spec, environ)


def found(text: str, **environ: str) -> CompatibleServer:
    there = server(text, **environ)
    assert there is not None
    return there


@loop_over_rows(
    ("text", "url"),
    [
        ("openai:e", "https://api.openai.com/v1/embeddings"),
        ("openai:e;http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1/embeddings"),
        ("ollama:e", "http://127.0.0.1:11434/v1/embeddings"),
        ("vllm:e;http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1/embeddings"),
        ("azure:e;https://x.example/openai/v1", "https://x.example/openai/v1/embeddings"),
    ],
)
def test_each_has_its_address(text: str, url: str) -> None:
    there = found(text, OPENAI_API_KEY=KEY, AZURE_OPENAI_API_KEY=KEY)

    assert there.build_url("embeddings") == url


@pytest.mark.parametrize("text", ["anthropic:m", "openai-responses:m", "claude"])
def test_an_incompatible_provider_is_none(text: str) -> None:
    assert server(text, ANTHROPIC_API_KEY=KEY, OPENAI_API_KEY=KEY) is None


def test_the_key_does_not_travel_in_the_clear() -> None:
    assert found("openai:e;http://gpu-box:8000/v1", OPENAI_API_KEY=KEY).headers == {}


def test_a_user_and_password_go_in_the_key_s_place() -> None:
    there = found("openai:e;http://ada:word@127.0.0.1:8000/v1", OPENAI_API_KEY=KEY)

    assert there.headers == {"Authorization": "Basic YWRhOndvcmQ="}


def test_a_key_that_no_header_can_hold_is_refused_without_repeating_it() -> None:
    with pytest.raises(UsageError, match="no header can") as raised:
        found("openai:e", OPENAI_API_KEY="clé-secrète")

    assert "secr" not in str(raised.value)


def test_its_repr_shows_no_key() -> None:
    assert KEY not in repr(found("openai:e", OPENAI_API_KEY=KEY))


def test_a_listed_model_has_its_price() -> None:
    pytest.importorskip("genai_prices")
    there = found("openai:text-embedding-3-small", OPENAI_API_KEY=KEY)

    spent = there.price_reply({"prompt_tokens": 1_000_000, "total_tokens": 1_000_000})

    assert spent.cost_usd == pytest.approx(0.02)
    assert (spent.input_tokens, spent.unpriced) == (1_000_000, 0)


@loop_over_rows("counted", [None, {}, {"prompt_tokens": -3}, {"prompt_tokens": "many"}])
def test_a_server_that_does_not_count_is_unpriced(counted: object) -> None:
    there = found("openai:e;http://127.0.0.1:8000/v1;price=2/10")

    assert there.price_reply(counted) == Usage(calls=1, unpriced=1)


@pytest.mark.parametrize(
    ("price", "spent"),
    [
        (";price=2/10", Usage(calls=1, input_tokens=5, output_tokens=1, cost_usd=20 / 1e6)),
        (";price=0/0", Usage(calls=1, input_tokens=5, output_tokens=1)),
        ("", Usage(calls=1, input_tokens=5, output_tokens=1, unpriced=1)),
    ],
)
@pytest.mark.parametrize("has_list", [True, False])
def test_the_spec_s_own_price_needs_no_list(
    price: str, spent: Usage, has_list: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_list:
        pytest.importorskip("genai_prices")
    else:
        monkeypatch.setitem(sys.modules, "genai_prices", None)
    there = found(f"openai:e;http://127.0.0.1:8000/v1{price}")

    assert there.price_reply({"prompt_tokens": 5, "completion_tokens": 1}) == spent
