"""Hebb Mind runs as a server of its own for each memory: raw, or consolidated by a model."""

import json
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import Memory, RetrievalReply
from recall_bench.features.products.hebb_mind import _build_passage, _name_partition
from recall_bench.testing import assert_contract_async
from tests.features.products.installed import lent, python_of, served
from tests.features.products.pins import pinned
from tests.openai_server import OpenAIServer, Response, ok
from tests.systems.diary import EPISODES, question

pytestmark = pytest.mark.anyio

PATIENCE_S = 600.0


def test_sessions_that_look_alike_have_partitions_of_their_own() -> None:
    names = {_name_partition(session) for session in ("", "team a", "team-a", "Team A", "日記")}

    assert len(names) == 5
    assert all(name.startswith("mem_session_") and name.isascii() for name in names)


def test_what_a_model_wrote_is_quoted_under_the_date_and_the_session_it_read() -> None:
    kept = {"session_id": "2025-02-24/1/the team/red", "timestamp": "2025-02-24"}

    found = _build_passage({"id": "m-1", "content": "Ada signed.", "metadata": kept}, 0.5)

    assert found == {
        "text": "On 2025-02-24 (the team/red): Ada signed.",
        "day": 1,
        "source": "m-1",
        "score": 0.5,
    }


@pytest.mark.slow
async def test_it_keeps_the_contract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two clauses of it: every memory is a server, and others open many."""
    clauses = ["sessions", "dates"]
    python_of("hebb-mind")
    monkeypatch.setenv("HOME", str(tmp_path))

    with lent(monkeypatch):
        system = await served("hebb-mind", "respect_sessions=true")
        report = await assert_contract_async(system, only=clauses, timeout_s=PATIENCE_S)

    assert system.card.version == pinned("hebb-mind")["hebb-mind"]
    assert {
        each.name: each.outcome for each in report.checks if each.name in clauses
    } == dict.fromkeys(clauses, "passed")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
async def test_a_copy_is_a_server_of_its_own_and_neither_feels_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python_of("hebb-mind")

    with lent(monkeypatch):
        system = await served("hebb-mind")
        first = await system.open("diary")
        await first.ingest(EPISODES[0])
        await first.settle()
        assert system.snapshots is not None
        copy = await system.snapshots.open(await system.snapshots.save(first))
        await first.ingest(EPISODES[3])
        await copy.ingest(EPISODES[11])
        days = [await _days(memory) for memory in (first, copy)]
        await first.close()
        left = await _days(copy)
        await copy.close()
        await system.close()

    assert days == [{1, 4}, {1, 12}]
    assert left == {1, 12}


async def _days(memory: Memory) -> set[int | None]:
    """The days a memory finds that speak of the boiler."""
    await memory.settle()
    found = await memory.answer(question("To how many degrees was the boiler set?"))
    assert isinstance(found, RetrievalReply)
    return {passage.day for passage in found.passages}


class Consolidator:
    """A model that keeps what is said of boilers, in the JSON that Hebb asks for."""

    def __init__(self) -> None:
        self.sessions: list[str] = []

    def __call__(self, request: dict[str, Any]) -> Response:
        said = request["messages"][-1]["content"]
        if "## Conversation" not in said:
            return ok(json.dumps({"queries": ["boiler"]}))
        self.sessions.append(said)
        kept = {"consolidated_content": "Ada minds the boiler.", "tags": ["boiler"]}
        is_kept = "boiler" in said.split("## Available Partitions")[0]
        return ok(json.dumps({"memories": [kept] if is_kept else []}))


@pytest.mark.slow
@pytest.mark.parametrize("respects", ["true", "false"])
async def test_consolidated_it_keeps_what_a_model_made_of_each_day_in_the_place_of_the_notes(
    monkeypatch: pytest.MonkeyPatch, respects: str
) -> None:
    python_of("hebb-mind")
    model = Consolidator()

    with OpenAIServer(model) as upstream, lent(monkeypatch, upstream.base_url):
        system = await served("hebb-mind", "consolidated=true", f"respect_sessions={respects}")
        memory = await system.open("diary")
        for episode in EPISODES[:3]:
            await memory.ingest(episode)
        await memory.settle()
        found = await memory.answer(question("Who minds the boiler?"))
        elsewhere = await memory.answer(question("Who minds the boiler?", session="family"))
        await memory.close()
        await system.close()

    assert len(model.sessions) == 3
    assert "On 2025-02-24 (principal): The new boiler was set" in model.sessions[0]
    assert isinstance(found, RetrievalReply)
    assert [(passage.text, passage.day) for passage in found.passages] == [
        ("On 2025-02-24 (principal): Ada minds the boiler.", 1)
    ]
    assert isinstance(elsewhere, RetrievalReply)
    assert len(elsewhere.passages) == (0 if respects == "true" else 1)


@pytest.mark.slow
async def test_consolidation_without_a_model_is_a_fault_that_names_the_flag(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python_of("hebb-mind")

    with lent(monkeypatch):
        system = await served("hebb-mind", "consolidated=true")
        memory = await system.open("diary")
        with pytest.raises(SystemFault, match="--system-model"):
            await memory.ingest(EPISODES[0])
        await memory.close()
        await system.close()
