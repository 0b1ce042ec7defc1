"""What the user asks for by flag goes before the spec, and the spec before what is usual."""

from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.settings import Settings
from recall_bench.features.models.target import resolve_model
from recall_bench.systems.models.model import NO_TUNING, Tuning
from tests import openai_server as scripted
from tests.features.models.prompts import PROMPT
from tests.loops import loop_over_rows
from tests.openai_server import OpenAIServer, Request

pytest.importorskip("pydantic_ai")
pytestmark = pytest.mark.anyio

LIMIT = "max_completion_tokens"


async def sent(options: str, tuning: Tuning) -> tuple[Request, str]:
    """The request, and the name of the model without its address."""
    with OpenAIServer([scripted.ok("3")]) as server:
        target = f"openai:m;{server.base_url}{options}"
        model = resolve_model(target, "--model", Settings(), tuning)
        assert model is not None
        await model.complete(PROMPT)
        await model.close()
    return server.requests[0], model.name.replace(f";{server.base_url}", "")


@pytest.mark.parametrize(
    ("options", "tuning", "temperature", "name"),
    [
        ("", NO_TUNING, 0.0, "openai:m"),
        ("", Tuning(usual_temperature=0.7), 0.7, "openai:m;temperature=0.7"),
        (";temperature=0.2", Tuning(usual_temperature=0.7), 0.2, "openai:m;temperature=0.2"),
        (";temperature=0.2", Tuning(temperature=1.5), 1.5, "openai:m;temperature=1.5"),
        ("", Tuning(temperature=0.0, usual_temperature=0.7), 0.0, "openai:m;temperature=0"),
    ],
)
async def test_the_temperature_of_the_flag_then_the_spec_s_then_the_usual(
    options: str, tuning: Tuning, temperature: float, name: str
) -> None:
    request, called = await sent(options, tuning)

    assert request.json["temperature"] == temperature
    assert called == name


@pytest.mark.parametrize(
    ("options", "tuning", "limit"),
    [
        ("", NO_TUNING, 8192),
        (";max-tokens=50", NO_TUNING, 50),
        (";max-tokens=50", Tuning(max_tokens=60), 60),
    ],
)
async def test_the_length_of_the_flag_then_the_spec_s(
    options: str, tuning: Tuning, limit: int
) -> None:
    request, called = await sent(options, tuning)

    assert request.json[LIMIT] == limit
    assert called == ("openai:m" if limit == 8192 else f"openai:m;max-tokens={limit}")


async def test_a_usual_temperature_is_given_up_where_a_model_takes_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Models that reason are known to; the user's own wish is refused before anything is paid."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    usual = resolve_model("openai:o3", "--model", Settings(), Tuning(usual_temperature=0.7))

    assert usual is not None
    assert usual.name == "openai:o3"
    with pytest.raises(UsageError, match=r"--model: openai:o3;temperature=0.7: .*no temperature"):
        resolve_model("openai:o3", "--model", Settings(), Tuning(temperature=0.7))


@pytest.mark.parametrize("agent", ["claude", "codex", "copilot"])
async def test_command_line_agents_get_neither(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / agent
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    tuning = Tuning(temperature=0.5, max_tokens=77, usual_temperature=0.7)

    model = resolve_model(agent, "--model", Settings(), tuning)

    assert model is not None
    assert model.name == agent
    text = (await model.complete(PROMPT)).text
    assert not {"--temperature", "--max-tokens", "0.5", "77", "0.7"} & set(text.split())


@loop_over_rows("temperature", [-0.1, 2.1, float("nan"), float("inf")])
def test_an_invalid_temperature_is_refused(temperature: float) -> None:
    with pytest.raises(UsageError, match="--temperature: takes a number from 0 to 2"):
        Tuning(temperature=temperature)
    with pytest.raises(UsageError, match="--temperature"):
        Tuning(usual_temperature=temperature)


def test_a_reply_has_at_least_one_token() -> None:
    with pytest.raises(UsageError, match="--max-tokens: takes a whole number from 1, not 0"):
        Tuning(max_tokens=0)
