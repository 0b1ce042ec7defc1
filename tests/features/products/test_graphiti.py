"""Graphiti really runs, over Kuzu in a folder; the model that reads the days is scripted."""

from collections.abc import Iterator

import pytest

from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import Asker, RetrievalReply
from tests.features.products.fake_model import FakeModel
from tests.features.products.fake_service import running, without_proxies
from tests.features.products.installed import lent, python_of, served
from tests.features.products.pins import pinned
from tests.systems.diary import EPISODES, question

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    python_of("graphiti")
    without_proxies(monkeypatch)
    fake = FakeModel()
    with running(fake), lent(monkeypatch, f"{fake.url}/v1"):
        yield fake


async def test_a_fact_is_found_with_its_day_its_session_and_a_score(model: FakeModel) -> None:
    system = await served("graphiti")
    memory = await system.open("diary")
    for episode in EPISODES[:7]:
        await memory.ingest(episode)
    await memory.settle()

    reply = await memory.answer(question("What did Inspector Hale praise?"))

    assert system.card.version == pinned("graphiti")["graphiti-core"]
    assert isinstance(reply, RetrievalReply)
    best = reply.passages[0]
    assert best.text.startswith("On 2025-03-02 (principal): Inspector Hale")
    assert (best.day, best.source) == (7, "0007-01")
    assert best.score is not None
    assert best.score > 0
    assert model.asked_for["ExtractedEdges"] == 7
    assert any("2025-03-02T00:00:00" in prompt for prompt in model.prompts)
    await memory.close()
    await system.close()


async def test_a_session_is_kept_from_another_also_in_a_copy(model: FakeModel) -> None:
    system = await served("graphiti", "respect_sessions=true")
    memory = await system.open("diary")
    for episode in (EPISODES[2], EPISODES[4]):
        await memory.ingest(episode)
    await memory.settle()
    assert system.snapshots is not None
    copy = await system.snapshots.open(await system.snapshots.save(memory))

    asked = "the swimming lesson of Tess and the stall at Ostgate"
    own = await copy.answer(question(asked, session="family"))
    other = await copy.answer(question(asked, session="market"))
    principal = await memory.answer(question(asked))

    assert system.card.asker is Asker.HONOURED
    assert all(isinstance(reply, RetrievalReply) for reply in (own, other, principal))
    assert {passage.day for passage in own.passages} == {3}
    assert {passage.day for passage in other.passages} == {5}
    assert {passage.day for passage in principal.passages} == {3, 5}
    await copy.close()
    await memory.close()
    await system.close()


async def test_a_memory_is_empty_and_another_one_stays_so(model: FakeModel) -> None:
    system = await served("graphiti")
    one = await system.open("diary")
    two = await system.open("diary")
    await one.ingest(EPISODES[4])
    await one.settle()

    told = await one.answer(question("Who keeps the key?"))
    empty = await two.answer(question("Who keeps the key?"))

    assert isinstance(told, RetrievalReply)
    assert isinstance(empty, RetrievalReply)
    assert told.passages
    assert not empty.passages
    await one.close()
    await two.close()
    await system.close()


async def test_without_a_model_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    python_of("graphiti")
    without_proxies(monkeypatch)
    with lent(monkeypatch):
        system = await served("graphiti")
        memory = await system.open("diary")

        with pytest.raises(SystemFault, match="--system-model"):
            await memory.ingest(EPISODES[0])

        await memory.close()
        await system.close()
