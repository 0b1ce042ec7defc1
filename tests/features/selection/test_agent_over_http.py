"""The recall agent with real models: servers on loopback, and a program called claude."""

import os
import sys
from pathlib import Path

import pytest

from recall_bench.core.errors import (
    BenchError,
    ReaderPending,
    SystemBusy,
    SystemGone,
    UsageError,
)
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from recall_bench.features.selection.selectors.agent import build_recall_agent
from recall_bench.features.selection.selectors.selector import MemorySelection, Selector
from tests import openai_server as scripted
from tests.features.selection.scripted_agent import FLIGHTS, MEMORIES, PARKING, PROMPT
from tests.openai_server import OpenAIServer, Response

pytestmark = pytest.mark.anyio

KEY = "sk-planted-9876543210fedcba"


async def picked(selector: Selector) -> MemorySelection:
    chooser = await selector.open(MEMORIES)
    try:
        return await chooser.select(PROMPT)
    finally:
        await chooser.close()
        await selector.close()


async def served(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *responses: Response
) -> MemorySelection:
    pytest.importorskip("pydantic_ai")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAIServer(responses) as server:
        (folder / "agent.conf").write_text(
            "MEMORY_RECALL_SCHEME=double\n"
            f"MEMORY_RECALL_MODELS=openai:a;{server.base_url};price=1/2/openai:b;{server.base_url};"
            "price=3/4\n"
        )
        selector = build_recall_agent({"conf": "agent.conf"}, settings=Settings(), folder=folder)
        selection = await picked(selector)
        assert [request.json["model"] for request in server.requests] == ["a", "b"]
        return selection


async def test_two_models_of_an_agent_conf_pick_over_http(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    selection = await served(
        monkeypatch,
        tmp_path,
        scripted.ok(f"{PARKING}\n{FLIGHTS}", input_tokens=100, output_tokens=10),
        scripted.ok(PARKING, input_tokens=200, output_tokens=20),
    )

    assert selection.names == (PARKING,)
    assert selection.usage is not None
    assert selection.usage.replace(cost_usd=0.0) == Usage(
        calls=2, input_tokens=300, output_tokens=30
    )
    assert selection.usage.cost_usd == pytest.approx((100 * 1 + 10 * 2 + 200 * 3 + 20 * 4) / 1e6)


@pytest.mark.parametrize(
    ("response", "fault"), [(scripted.busy(7), SystemBusy), (scripted.echo(401), SystemGone)]
)
async def test_refused_and_busy_are_distinguished_and_no_key_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, response: Response, fault: type[BenchError]
) -> None:
    with pytest.raises(fault) as raised:
        await served(monkeypatch, tmp_path, scripted.ok(PARKING), response)

    assert KEY not in str(raised.value)
    assert str(raised.value).startswith("pass 2: openai:b;")
    if isinstance(raised.value, SystemBusy):
        assert raised.value.retry_after_s == 7


async def test_opus_is_the_claude_program_and_reads_the_frame_as_its_system_prompt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "claude"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "words, text = sys.argv[1:], sys.stdin.read()\n"
        "asked = words[words.index('--model') + 1] == 'opus' and 'Graz' in text\n"
        "framed = 'do not follow it' in words[words.index('--system-prompt') + 1]\n"
        f"print('{PARKING}' if asked and framed else 'NONE')\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    selector = build_recall_agent({"scheme": "single"}, settings=Settings(), folder=tmp_path)

    selection = await picked(selector)

    assert selector.card.config["models"] == ["claude:opus"]
    assert selection.names == (PARKING,)
    assert selection.usage == Usage(calls=1, unpriced=1)


async def test_a_second_pass_whose_reply_comes_as_a_file_is_not_replaced_by_the_first(
    tmp_path: Path,
) -> None:
    settings = {"scheme": "double", "models": f"folder:{tmp_path}"}

    async def pick() -> MemorySelection:
        return await picked(build_recall_agent(settings, settings=Settings(), folder=tmp_path))

    def reply(text: str) -> None:
        (request,) = (tmp_path / "requests").glob("*.json")
        part = tmp_path / "replies" / "part"
        part.write_text(text)
        os.utime(part, (0, 0))
        part.rename(tmp_path / "replies" / f"{request.stem}.txt")

    for turn, text in enumerate((f"{PARKING}\n{FLIGHTS}", PARKING), start=1):
        with pytest.raises(ReaderPending, match=f"pass {turn}: 1 request waits"):
            await pick()
        reply(text)

    assert (await pick()).names == (PARKING,)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({}, "models: claude:opus: there is no program claude on the PATH"),
        ({"models": "sk-secret-key"}, "models: one of them is unknown"),
        ({"models": "openai:a;temperature=9"}, "models: openai:a: temperature takes"),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused_before_anything_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: dict[str, object], problem: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UsageError, match=problem) as refused:
        build_recall_agent(config, settings=Settings(), folder=tmp_path)

    assert "sk-secret" not in str(refused.value)


def test_a_limit_of_money_needs_a_known_price(tmp_path: Path) -> None:
    pytest.importorskip("pydantic_ai")

    with pytest.raises(UsageError, match="--max-cost: the price of"):
        build_recall_agent(
            {"models": "openai:a;http://127.0.0.1:9/v1"},
            settings=Settings(max_cost_usd=1.0),
            folder=tmp_path,
        )
