"""mem0 keeps notes as they are, or what a model makes of them, and nothing outside its folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import SystemFault, UsageError
from recall_bench.core.memory import Asker, RetrievalReply
from recall_bench.features.products.mem0 import Mem0, product
from recall_bench.testing import CHECKS, assert_contract_async
from tests.features.products.installed import lent, python_of, served
from tests.features.products.pins import pinned
from tests.openai_server import OpenAIServer, Response, ok
from tests.systems.diary import EPISODES, question

pytestmark = pytest.mark.anyio

PATIENCE_S = 600.0


def test_it_is_refused_without_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product, "needs", ())

    with pytest.raises(UsageError, match="mem0 needs a model endpoint"):
        product({})


def test_it_will_not_infer_where_it_would_ask_openrouter_instead_of_the_runs_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "somebody's")

    with pytest.raises(RuntimeError, match="unset it"):
        Mem0(state_dir=tmp_path, endpoint="http://127.0.0.1:9/v1", infer=True)


@pytest.mark.slow
async def test_it_keeps_the_contract_and_its_sessions_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python_of("mem0")
    monkeypatch.setenv("HOME", str(tmp_path))
    quick = [check.name for check in CHECKS if check.name != "large-day"]

    with lent(monkeypatch) as endpoint:
        system = await served("mem0", "respect_sessions=true")
        report = await assert_contract_async(system, only=quick, timeout_s=PATIENCE_S)

    assert system.card.version == pinned("mem0")["mem0ai"]
    passed = {check.name for check in report.checks if check.outcome == "passed"}
    assert {
        "round-trip",
        "isolation",
        "reset",
        "dates",
        "sessions",
        "snapshots",
        "holdings",
        "delete",
        "delete-session",
        "delete-person",
        "stored",
        "reopen",
    } <= passed
    assert report.seen.asker is Asker.HONOURED
    assert endpoint.meter.total.calls > 0
    assert list(tmp_path.iterdir()) == []


class Extractor:
    """A model that notes what is said of boilers, in the JSON that mem0 asks for."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, request: dict[str, Any]) -> Response:
        said = request["messages"][-1]["content"]
        self.prompts.append(said)
        told = said.split("## New Messages")[1].split("## Observation Date")[0]
        facts = [{"text": "The boiler is minded by Ada."}] if "boiler" in told else []
        return ok(json.dumps({"memory": facts}))


@pytest.mark.slow
async def test_with_inference_a_model_reads_each_session_of_a_day_and_its_words_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python_of("mem0")
    model = Extractor()

    with OpenAIServer(model) as upstream, lent(monkeypatch, upstream.base_url) as endpoint:
        system = await served("mem0", "infer=true")
        memory = await system.open("diary")
        for episode in EPISODES[:4]:
            await memory.ingest(episode)
        await memory.settle()
        found = await memory.answer(question("Who minds the boiler?"))
        await memory.close()
        await system.close()

    assert len(model.prompts) == 4
    assert "On 2025-02-24\nprincipal\nGreenhouse\nThe new boiler" in model.prompts[0]
    assert isinstance(found, RetrievalReply)
    assert [(passage.text, passage.day) for passage in found.passages] == [
        ("On 2025-02-24 (principal): The boiler is minded by Ada.", 1)
    ]
    assert endpoint.meter.total.output_tokens == 4 * 7


@pytest.mark.slow
async def test_inference_without_a_model_is_a_fault_that_names_the_flag(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python_of("mem0")

    with lent(monkeypatch):
        system = await served("mem0", "infer=true")
        memory = await system.open("diary")
        with pytest.raises(SystemFault, match="--system-model"):
            await memory.ingest(EPISODES[0])
        await memory.close()
        await system.close()
