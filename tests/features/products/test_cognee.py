"""Cognee really runs: without a model it finds chunks, with a scripted one a graph's context."""

import pytest

from recall_bench.core.memory import Asker, RetrievalReply
from recall_bench.features.products.cognee import Cognee
from tests.features.products.fake_model import WRITER, FakeModel
from tests.features.products.fake_service import running, without_proxies
from tests.features.products.installed import lent, python_of, served
from tests.features.products.pins import pinned
from tests.systems.diary import EPISODES, question


@pytest.mark.slow
@pytest.mark.anyio
async def test_chunks_are_found_with_their_day_by_permitted_askers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python_of("cognee")
    without_proxies(monkeypatch)
    with lent(monkeypatch):
        system = await served("cognee", "respect_sessions=true")
        memory = await system.open("diary")
        empty = await memory.answer(question("swimming"))
        # The second and the third are in the same words.
        for place in (2, 5, 10):
            await memory.ingest(EPISODES[place])
        await memory.settle()

        family = await memory.answer(question("When is the swimming lesson?", session="family"))
        market = await memory.answer(question("When is the swimming lesson?", session="market"))
        quiet = await memory.answer(question("Was it a quiet day of rain?"))
        await memory.close()
        await system.close()

    assert system.card.version == pinned("cognee")["cognee"]
    assert system.card.asker is Asker.HONOURED
    assert all(isinstance(reply, RetrievalReply) for reply in (empty, family, market, quiet))
    assert empty.passages == market.passages == ()
    assert family.passages[0].text.startswith("On 2025-02-26 (family): ")
    assert (family.passages[0].day, family.passages[0].source) == (3, "0003-01")
    assert family.passages[0].score is not None
    assert [passage.day for passage in quiet.passages[:2]] in ([6, 11], [11, 6])


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_graph_is_made_by_the_model_and_its_context_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python_of("cognee")
    without_proxies(monkeypatch)
    model = FakeModel()
    with running(model), lent(monkeypatch, f"{model.url}/v1"):
        system = await served("cognee", "mode=graph")
        memory = await system.open("diary")
        await memory.ingest(EPISODES[6])
        await memory.settle()

        reply = await memory.answer(question("What did Inspector Hale praise?"))
        await memory.close()
        await system.close()

    assert isinstance(reply, RetrievalReply)
    (passage,) = reply.passages
    assert "Inspector Hale visited and praised the drainage." in passage.text
    assert WRITER.lower() in passage.text
    assert model.asked_for == {"KnowledgeGraph": 1, "SummarizedContent": 1}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mode": "everything"}, "mode is chunks or graph, not 'everything'"),
        ({"mode": "graph", "respect_sessions": True}, "keeps sessions apart in mode chunks only"),
    ],
)
def test_settings_that_do_not_go_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Cognee(endpoint="http://127.0.0.1:1/v1", **settings)  # type: ignore[arg-type]
