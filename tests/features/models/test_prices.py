"""A cost is known or it is not; nothing is guessed, and nothing is downloaded."""

import socket

import pytest

from recall_bench.core.usage import Usage
from recall_bench.features.models.model_spec import ModelSpec, parse_spec
from recall_bench.features.models.prices import is_price_known, price_usage
from tests.loops import loop_over_rows

pytest.importorskip("pydantic_ai")


def spec(text: str) -> ModelSpec:
    parsed = parse_spec(text, {})
    assert parsed is not None
    return parsed


def bill(text: str, tokens: tuple[int, int], *answered_as: str) -> Usage:
    from pydantic_ai.usage import RequestUsage

    counted = RequestUsage(input_tokens=tokens[0], output_tokens=tokens[1])
    return price_usage(spec(text), counted, *answered_as)


def test_the_spec_s_own_price_counts() -> None:
    usage = bill("openai:gpt-4o;price=2/10", (1_000_000, 500_000))

    assert usage == Usage(calls=1, input_tokens=1_000_000, output_tokens=500_000, cost_usd=7.0)


def test_without_a_price_in_the_spec_the_list_s_counts() -> None:
    """Published in 2024: 2.50 dollars for a million tokens in, 10 for a million out."""
    assert bill("openai:gpt-4o", (100_000, 10_000)).cost_usd == pytest.approx(0.35)
    assert bill("azure:gpt-4o;https://corp/openai/v1", (1000, 1000)).unpriced == 0


def test_a_provider_may_know_better_which_model_answered() -> None:
    usage = bill("azure:judge;https://corp/openai/v1", (100_000, 10_000), "gpt-4o")

    assert usage.cost_usd == pytest.approx(0.35)


@loop_over_rows(
    "text",
    [
        "openai:no-such-model",
        "openai:gpt-4o;http://127.0.0.1:8000/v1",
        "ollama:llama3.2",
        "openai-codex:gpt-5",
        "vllm:gpt-4o;http://127.0.0.1:8000/v1",
    ],
)
def test_an_unknown_price_is_reported_as_unknown(text: str) -> None:
    assert not is_price_known(spec(text))
    assert bill(text, (10, 10)) == Usage(calls=1, input_tokens=10, output_tokens=10, unpriced=1)


@pytest.mark.parametrize(
    "text", ["openai:gpt-4o", "openai:gpt-4o;https://api.openai.com/v1", "ollama:x;price=0/0"]
)
def test_a_known_price_is_known_beforehand(text: str) -> None:
    assert is_price_known(spec(text))


def test_an_agent_has_no_price() -> None:
    assert not is_price_known(spec("claude"))


def test_uncounted_tokens_are_not_free() -> None:
    assert bill("openai:gpt-4o", (0, 0)).unpriced == 1
    assert bill("openai:gpt-4o;price=1/1", (0, 0)).unpriced == 1
    assert bill("openai:gpt-4o;price=0/0", (0, 0)).unpriced == 0


def test_the_price_list_is_the_bundled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def dialled(*_: object) -> None:
        raise AssertionError("a price was looked up on the network")

    monkeypatch.setattr(socket.socket, "connect", dialled)

    assert is_price_known(spec("anthropic:claude-sonnet-4-5"))
