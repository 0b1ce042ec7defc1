"""A flag names a model in one of many ways; which of them count is for the command to say."""

import sys
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.settings import Settings
from recall_bench.features.models.target import (
    describe_sending,
    estimate_target_cost,
    resolve_model,
)
from recall_bench.systems.models.model import NO_TUNING, Model, Tuning
from tests import openai_server as scripted
from tests.features.models.prompts import PROMPT
from tests.loops import loop_over_rows
from tests.openai_server import OpenAIServer

pytest.importorskip("pydantic_ai")
pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model_of_mine.py").write_text(
        "def model(prompt, temperature=1): return str(temperature)"
    )
    return tmp_path


def resolved(
    target: str, tuning: Tuning = NO_TUNING, *, max_cost_usd: float | None = None
) -> Model:
    settings = Settings(max_cost_usd=max_cost_usd)
    model = resolve_model(target, "--model", settings, tuning, own_code=True)
    assert model is not None
    return model


def refusal(target: str, *, max_cost_usd: float | None = None) -> str:
    with pytest.raises(UsageError) as raised:
        resolved(target, max_cost_usd=max_cost_usd)
    return str(raised.value)


@loop_over_rows(
    "target",
    [
        "model_of_mine.py",
        "model_of_mine.py:model",
        "model_of_mine:model",
        f"command:{sys.executable} model_of_mine.py",
    ],
)
def test_python_code_is_no_model_unless_the_command_allows_it(target: str) -> None:
    assert resolve_model(target, "--judge", Settings()) is None
    assert resolved(target).name.partition(";digest=")[0] == target


def test_an_address_alone_is_no_model_unless_the_command_allows_it() -> None:
    assert resolve_model("http://127.0.0.1:9/v1", "--judge", Settings()) is None


async def test_an_address_alone_is_asked_for_its_model_and_then_the_model_is_asked() -> None:
    with OpenAIServer([scripted.models("only"), scripted.ok("3")]) as server:
        model = resolved(f"{server.base_url};price=1/1", Tuning(max_tokens=9), max_cost_usd=1)
        reply = await model.complete(PROMPT)
        await model.close()

    assert (reply.text, reply.usage.unpriced) == ("3", 0)
    assert server.requests[1].json["model"] == "only"
    assert model.name == f"openai:only;{server.base_url};max-tokens=9"


async def test_python_and_commands_are_tuned() -> None:
    tuning = Tuning(temperature=0.5)
    (Path.cwd() / "told.py").write_text("import sys; print(sys.argv[1:])")

    assert (await resolved("model_of_mine.py", tuning).complete(PROMPT)).text == "0.5"
    told = await resolved(f"command:{sys.executable} told.py", tuning).complete(PROMPT)
    assert told.text == "['--temperature', '0.5']"


async def test_a_command_may_hold_what_looks_like_a_spec() -> None:
    model = resolved("command:echo one;http://h two;price=1")

    assert (await model.complete(PROMPT)).text == "one;http://h two;price=1"


def test_an_unknown_target_is_none() -> None:
    assert resolve_model("gpt-5", "--model", Settings(), own_code=True) is None


@loop_over_rows(
    ("target", "told"),
    [
        ("opnai:gpt-5", "nor a module 'opnai'; did you mean openai?"),
        ("zzz_no_module:gpt", "zzz_no_module:gpt: there is no module 'zzz_no_module' to import"),
        ("openai:m", "openai:m: needs a key"),
        ("missing.py", "missing.py: there is no file missing.py"),
        (
            "model_of_mine.py:model;price=1/2",
            "model_of_mine.py:model: Python takes nothing after ';'",
        ),
        ("command:no-such-thing", "no program 'no-such-thing'"),
        ("http://h/v1;temperature=9", "temperature takes a number from 0 to 2"),
    ],
)
def test_a_mistake_names_the_flag(target: str, told: str) -> None:
    assert refusal(target).startswith("--model: ")
    assert told in refusal(target)


def test_a_key_in_the_wrong_place_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted/0123456789")

    assert "planted" not in refusal("planted/0123456789")
    assert "abcdefghijkl" not in refusal("sk-abcdefghijkl:x")


def test_a_limit_needs_a_price() -> None:
    told = refusal("model_of_mine.py", max_cost_usd=1)
    assert told.startswith("--max-cost: the price of model_of_mine.py;digest=")
    assert told.endswith(
        "leave --max-cost out, or let model_of_mine.py say is_priced and what its replies cost"
    )
    assert refusal(f"command:{sys.executable}", max_cost_usd=1).endswith("; leave --max-cost out")
    assert "price=0.15/0.60" in refusal("ollama:llama3.2", max_cost_usd=1)
    (Path.cwd() / "model_of_mine.py").write_text("def model(prompt): ...\nmodel.is_priced = True")
    assert resolved("model_of_mine.py", max_cost_usd=1).is_priced


def cost(
    target: str, tokens: tuple[int, int] = (1_000_000, 500_000), calls: int = 1
) -> float | None:
    return estimate_target_cost(
        target, input_tokens=tokens[0], output_tokens=tokens[1], calls=calls
    )


def test_a_cost_is_expected_by_the_spec_s_own_price_or_the_list() -> None:
    assert cost("openai:nobody-knows-me;price=2/10") == 7.0
    assert cost("openai:gpt-4o") == pytest.approx(7.5)  # published: 2.50 in, 10 out
    assert cost("openai:gpt-4o", (0, 0)) == 0.0
    assert cost("ollama:llama3.2;price=0/0") == 0.0
    assert cost("http://127.0.0.1:9/v1;price=2/10") == 7.0


@loop_over_rows(
    "target",
    [
        *("openai:nobody-knows-me", "ollama:llama3.2", "claude", "http://127.0.0.1:9/v1"),
        *("model_of_mine.py", "module:name", "command:echo x;price=1/1", "gpt-5"),
    ],
)
def test_the_cost_of_other_targets_is_unknown(target: str) -> None:
    assert cost(target) is None


def test_many_short_calls_are_not_one_long_one() -> None:
    """Gemini takes more for each token of a prompt beyond 200,000."""
    once = cost("google:gemini-2.5-pro", (1_000_000, 0))
    often = cost("google:gemini-2.5-pro", (1_000_000, 0), calls=100)

    assert once is not None
    assert often is not None
    assert often == pytest.approx(1.25)
    assert once > often


def test_a_wrong_spec_is_refused() -> None:
    with pytest.raises(UsageError, match="names no model"):
        cost("openai:")


@pytest.mark.parametrize(
    ("target", "way"),
    [
        ("openai:gpt-5.1", "sends it to openai:gpt-5.1; nothing else leaves this machine"),
        ("http://127.0.0.1:9/v1;price=0/0", "sends it to http://127.0.0.1:9/v1, on this machine"),
        (
            "openai:x;http://far.example/v1",
            "sends it to http://far.example/v1; nothing else leaves",
        ),
        ("folder:replies", "writes it to files in replies; nothing is sent"),
        ("openai:gpt-5.1;batch=later", "writes it to files in later; nothing is sent"),
        ("claude:opus", "hands it to the program claude, which sends it to its provider"),
        ("command:cat", "hands it to a program on this machine, which may send it on"),
        ("model_of_mine.py", "hands it to Python code on this machine, which may send it on"),
    ],
)
async def test_it_is_known_beforehand_where_a_prompt_goes(target: str, way: str) -> None:
    assert describe_sending(target, "it").startswith(way)
