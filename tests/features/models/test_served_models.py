"""Built-ins with the models of the run's endpoint: another embedder, a reranker."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("starlette")

from recall_bench.core.errors import ModelGone, SystemBusy, SystemGone, UsageError
from recall_bench.core.memory import Answer, EraseScope, MemorySystem
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from recall_bench.features.models.embedders import Embedder, Embeddings, Reranker, RerankScores
from recall_bench.features.models.model_endpoint import ModelEndpoint, open_metered_system
from recall_bench.systems.builtin.index_memory import IndexMemory
from recall_bench.systems.builtin.passage_index import Indexer
from recall_bench.systems.builtin.retrieval import PassageSearch
from recall_bench.systems.builtin.retrieval_systems import build_hybrid, build_recency, build_vector
from recall_bench.systems.builtin.word_index import Bm25, Vocabulary
from recall_bench.systems.models.static_embedding import embed
from recall_bench.systems.resolver import resolve_system

pytestmark = pytest.mark.anyio

DAYS = ("The boiler was mended.", "The lease was signed.", "The roof was painted.")
QUESTION = Question(id="1", text="Which day?", asked_at=datetime(2026, 1, 9), scenario="ada")


class Builder(Protocol):
    """Builds a built-in, with or without an endpoint."""

    def __call__(
        self, config: Mapping[str, object], *, endpoint: str | None = None
    ) -> MemorySystem: ...


class Painted(Embedder):
    """Finds everything about paint near to every question."""

    name = model = identity = "painted"
    length = 2

    def embed(self, texts: Sequence[str]) -> Embeddings:
        near = {"paint": 1.0, "?": 1.0, "boiler": 0.5, "lease": 0.1}
        rows = [
            [max((share for word, share in near.items() if word in text), default=0.0), 0.5]
            for text in texts
        ]
        return Embeddings(vectors=np.asarray(rows, np.float32), tokens=(1,) * len(texts))


class Boilers(Reranker):
    """Ranks what is about boilers first."""

    name = "boilers"

    def score(self, question: str, texts: Sequence[str]) -> RerankScores:
        del question
        scores = tuple(-3.0 + ("boiler" in text) for text in texts)
        return RerankScores(scores=scores, usage=Usage(calls=1))


async def find(endpoint: str | None, build: Builder = build_vector) -> list[str]:
    """The texts that a copy of a memory finds, best first."""
    system = build({"k": 3}, endpoint=endpoint)
    assert system.snapshots is not None
    memory = await system.open("ada")
    for place, text in enumerate(DAYS):
        at = datetime(2026, 1, 1 + place)
        await memory.ingest(Episode(id=str(place), day=place + 1, at=at, text=text))
    await memory.settle()
    token = await system.snapshots.save(memory)
    copied = await system.snapshots.open(token)
    reply = await copied.answer(QUESTION)
    assert isinstance(reply, Answer)
    return [passage.text for passage in reply.passages]


async def test_another_embedder_decides_what_is_near() -> None:
    with ModelEndpoint(embedder=Painted()) as endpoint:
        found = await find(endpoint.url)
        counted = endpoint.meter.drain()

    assert found[0] == DAYS[2]
    assert counted.calls >= 4
    assert counted.input_tokens >= len(DAYS) + 1


async def test_the_embedder_of_the_product_through_an_endpoint_changes_nothing() -> None:
    with ModelEndpoint() as endpoint:
        for build in (build_vector, build_hybrid, build_recency):
            assert await find(endpoint.url, build) == await find(None, build)
        assert endpoint.meter.drain().calls == 0


@pytest.mark.parametrize("build", [build_vector, build_hybrid, build_recency])
async def test_a_reranker_decides_the_order_of_the_candidates(build: Builder) -> None:
    with ModelEndpoint(embedder=Painted(), reranker=Boilers()) as endpoint:
        found = await find(endpoint.url, build)

    # Without it the last day is first, as above.
    assert found[:2] == [DAYS[0], DAYS[2]]


async def test_support_is_judged_by_words_where_the_scale_of_vectors_is_unknown() -> None:
    system = build_hybrid({}, endpoint=None)
    assert system.card.config["threshold"] == 0.23
    with ModelEndpoint(embedder=Painted()) as endpoint:
        assert build_hybrid({}, endpoint=endpoint.url).card.config["threshold"] == 0.17
        assert build_vector({}, endpoint=endpoint.url).card.config["threshold"] == 0.0
        set_by_hand = build_vector({"threshold": 0.5}, endpoint=endpoint.url)
        memory = await build_hybrid({}, endpoint=endpoint.url).open("ada")
        await memory.ingest(Episode(id="1", day=1, at=datetime(2026, 1, 1), text=DAYS[2]))
        reply = await memory.answer(QUESTION)

    assert set_by_hand.card.config["threshold"] == 0.5
    # No word in common, however near the vectors are.
    assert isinstance(reply, Answer)
    assert reply.text == "There is no record of that."


async def test_an_endpoint_that_is_gone_is_tried_again_later() -> None:
    with ModelEndpoint(embedder=Painted()) as endpoint:
        memory = await build_vector({}, endpoint=endpoint.url).open("ada")
    with pytest.raises(SystemBusy, match="cannot make vectors now"):
        await memory.ingest(Episode(id="1", day=1, at=datetime(2026, 1, 1), text=DAYS[0]))


async def test_a_model_that_is_gone_stops_the_run() -> None:
    class Withdrawn(Painted):
        def embed(self, texts: Sequence[str]) -> Embeddings:
            if list(texts) != ["ready"]:
                raise ModelGone("the key was withdrawn")
            return super().embed(texts)

    with ModelEndpoint(embedder=Withdrawn()) as endpoint:
        memory = await build_vector({}, endpoint=endpoint.url).open("ada")
        with pytest.raises(SystemGone, match="the key was withdrawn"):
            await memory.ingest(Episode(id="1", day=1, at=datetime(2026, 1, 1), text=DAYS[0]))


async def test_the_endpoint_of_another_system_in_this_process_is_not_taken() -> None:
    endpoint = ModelEndpoint(embedder=Painted())
    neighbour = open_metered_system(endpoint, lambda url: build_vector({}, endpoint=url))
    try:
        beside = resolve_system(Settings(adapter="hybrid"))
        assert "endpoint" not in beside.card.config
        assert beside.card.computes
        assert neighbour.card.config["endpoint"] == {"embedder": "painted"}
        assert not neighbour.card.computes
        await beside.close()
    finally:
        await neighbour.close()


async def test_an_erase_that_fails_leaves_the_memory_as_it_was() -> None:
    down: list[bool] = []

    def embed_or_fail(texts: Sequence[str]) -> NDArray[np.float32]:
        if down:
            raise SystemBusy("later")
        return embed(texts)

    def create() -> IndexMemory:
        vocabulary = Vocabulary()
        memory = IndexMemory(
            Indexer(vocabulary=vocabulary, formula=Bm25(), embed=embed_or_fail),
            PassageSearch(vocabulary=vocabulary, weight=0.7),
        )
        memory.renew = create
        return memory

    memory = create()
    for place, text in enumerate(DAYS):
        at = datetime(2026, 1, 1 + place)
        await memory.ingest(Episode(id=str(place), day=place + 1, at=at, text=text))
    asked = Question(id="2", text="the boiler", asked_at=datetime(2026, 1, 9), scenario="ada")
    before = await memory.answer(asked)
    down.append(True)

    with pytest.raises(SystemBusy):
        await memory.erase(EraseScope.DELETE, "2")

    assert await memory.answer(asked) == before
    down.clear()
    assert (await memory.erase(EraseScope.DELETE, "2")).count == 1


async def test_a_built_in_that_uses_no_embedder_refuses_one() -> None:
    with ModelEndpoint(embedder=Painted()) as running:
        url = running.url
        chosen = Settings(adapter="bm25", system_embedder=f"openai:painted;{url};price=0/0")
        with pytest.raises(UsageError, match="bm25 uses no embedder and no reranker"):
            resolve_system(chosen)
        # Before a model is loaded that nobody uses.
        with pytest.raises(UsageError, match="bm25 uses no embedder and no reranker"):
            resolve_system(replace(chosen, system_embedder="onnx:/nowhere"))
        system = resolve_system(replace(chosen, adapter="vector"))
        assert system.card.config["endpoint"] == {"embedder": f"openai:painted;{url}"}
        await system.close()
