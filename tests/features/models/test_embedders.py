"""Any embedder can stand behind the endpoint; none is asked twice for what is remembered."""

import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recall_bench.core.errors import ModelBusy, ModelFault, ModelGone, UsageError
from recall_bench.core.usage import Usage
from recall_bench.features.models.embedders import Embeddings, open_embedder
from recall_bench.features.models.model_endpoint import ModelEndpoint
from tests import openai_server as scripted
from tests.features.models.endpoint.clients import client
from tests.features.models.prompts import KEY
from tests.openai_server import OpenAIServer, Response


def embeddings(request: dict[str, Any]) -> Response:
    """Vectors of three dimensions, last text first, and a hundred tokens in all."""
    rows = [
        {"object": "embedding", "index": place, "embedding": [len(text), 1, 0.5]}
        for place, text in enumerate(request["input"])
    ]
    usage = {"prompt_tokens": 100, "total_tokens": 100}
    return scripted.json_reply({"data": rows[::-1], "model": "e", "usage": usage})


def test_a_compatible_server_embeds_in_the_order_of_the_texts() -> None:
    with OpenAIServer(embeddings) as server:
        embedder = open_embedder(f"openai:e;{server.base_url};price=2/0", {"OPENAI_API_KEY": KEY})
        found = embedder.embed(["a", "bbb"])
        embedder.close()

    sent = server.requests[0]
    assert sent.path == "/v1/embeddings"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.json["model"] == "e"
    assert found.vectors[:, 0].tolist() == [1, 3]
    assert found.tokens == (25, 75)
    assert found.usage == Usage(calls=1, input_tokens=100, cost_usd=200 / 1e6)


def test_many_texts_go_in_several_requests_and_keep_their_order() -> None:
    texts = ["x" * (n + 1) for n in range(300)]
    with OpenAIServer(embeddings) as server:
        embedder = open_embedder(f"openai:e;{server.base_url}", {})
        found = embedder.embed(texts)
        embedder.close()

    assert [len(request.json["input"]) for request in server.requests] == [256, 44]
    assert found.vectors[:, 0].tolist() == [len(text) for text in texts]
    assert sum(found.tokens) == found.usage.input_tokens == 200


def test_azure_is_sent_its_version_and_its_key() -> None:
    with OpenAIServer(embeddings) as server:
        place = server.base_url.removesuffix("/v1")
        spec = f"azure:e;{place};api-version=2025-04-01"
        embedder = open_embedder(spec, {"AZURE_OPENAI_API_KEY": KEY})
        embedder.embed(["a"])
        embedder.close()

    sent = server.requests[0]
    assert sent.path == "/openai/deployments/e/embeddings?api-version=2025-04-01"
    assert sent.headers["api-key"] == KEY


def test_a_served_embedder_works_behind_the_endpoint() -> None:
    with OpenAIServer(embeddings) as server:
        served = open_embedder(f"openai:e;{server.base_url};price=2/0", {})
        with ModelEndpoint(embedder=served) as endpoint, client(endpoint) as product:
            reply = product.embeddings.create(model="any", input=["a", "bbb"])
            product.embeddings.create(model="any", input="bbb")
        dimensions = endpoint.dimensions

    assert (dimensions, len(reply.data[1].embedding)) == (3, 3)
    total = endpoint.meter.total
    assert (total.calls, total.input_tokens, total.cached) == (2, 200, 0)
    assert total.cost_usd == pytest.approx(400 / 1e6)


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        pytest.param(scripted.busy(4), ModelBusy, id="429"),
        pytest.param(scripted.error(500), ModelBusy, id="500"),
        pytest.param(scripted.truncated(), ModelBusy, id="half a body"),
        pytest.param(scripted.error(404), ModelGone, id="404"),
        pytest.param(scripted.echo(401), ModelGone, id="401 that repeats the key"),
        pytest.param(scripted.error(400), ModelFault, id="400"),
        pytest.param(scripted.malformed(), ModelFault, id="no JSON"),
        pytest.param(scripted.malformed(b"[]"), ModelFault, id="a list"),
        pytest.param(scripted.ok("hello"), ModelFault, id="a completion"),
        pytest.param(
            scripted.malformed(b'{"data": [{"index": 1, "embedding": [1]}]}'),
            ModelFault,
            id="another index",
        ),
    ],
)
def test_a_server_s_failure_has_its_kind_and_tells_no_key(
    response: Response, kind: type[ModelFault]
) -> None:
    with OpenAIServer([response]) as server:
        embedder = open_embedder(f"openai:e;{server.base_url}", {"OPENAI_API_KEY": KEY})
        with pytest.raises(ModelFault) as raised:
            embedder.embed(["a"])
        embedder.close()

    assert type(raised.value) is kind
    assert KEY not in str(raised.value)
    assert raised.value.__context__ is None
    assert getattr(raised.value, "retry_after_s", 0) == (4 if response.status == 429 else 0)


@pytest.mark.parametrize(
    ("target", "install"),
    [
        ("sentence-transformers:all-MiniLM-L6-v2", "pip install sentence-transformers"),
        ("fastembed:BAAI/bge-small-en-v1.5", "pip install fastembed"),
    ],
)
def test_a_missing_library_is_named(
    target: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("sentence_transformers", "fastembed"):
        monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(UsageError, match=install):
        open_embedder(target)


def _library(name: str, **members: object) -> ModuleType:
    """The parts of a library that we call, with the signatures of its own source."""
    library = ModuleType(name)
    vars(library).update(members)
    return library


def test_a_sentence_transformer_s_vectors_are_normalised_and_its_tokens_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def encode(texts: list[str], *, convert_to_numpy: bool, show_progress_bar: bool) -> Any:
        assert (convert_to_numpy, show_progress_bar) == (True, False)
        return np.asarray([[3.0 * len(text), 4.0 * len(text)] for text in texts])

    def tokenizer(texts: list[str], *, truncation: bool) -> dict[str, list[list[int]]]:
        return {"input_ids": [[0] * (len(text) + 2) for text in texts]}

    model = SimpleNamespace(encode=encode, tokenizer=tokenizer)
    library = _library("sentence_transformers", SentenceTransformer=lambda name: model)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)

    embedder = open_embedder("sentence-transformers:small")
    found = embedder.embed(["a", "bb"])

    assert (embedder.name, embedder.dimensions) == ("sentence-transformers:small", 2)
    assert np.allclose(found.vectors, [[0.6, 0.8], [0.6, 0.8]])
    assert (found.tokens, found.usage) == ((3, 4), Usage())


def test_fastembed_works_for_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = threading.Lock()

    class TextEmbedding:
        def __init__(self, model_name: str) -> None:
            self.name = model_name

        def embed(self, documents: list[str]) -> Any:
            assert inside.acquire(blocking=False)
            threading.Event().wait(0.005)  # long enough for another thread to come in
            yield from (np.asarray([float(len(text)), 0.0]) for text in documents)
            inside.release()

        def token_count(self, texts: list[str]) -> int:
            return sum(map(len, texts))

    monkeypatch.setitem(
        sys.modules, "fastembed", _library("fastembed", TextEmbedding=TextEmbedding)
    )
    embedder = open_embedder("fastembed:small")
    found: list[Embeddings] = []

    workers = [
        threading.Thread(target=lambda: found.append(embedder.embed(["a", "bb"]))) for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert [one.tokens for one in found] == [(1, 2)] * 8


def test_a_model_that_cannot_be_loaded_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(model_name: str) -> object:
        raise ValueError(f"Model {model_name} is not supported.")

    monkeypatch.setitem(sys.modules, "fastembed", _library("fastembed", TextEmbedding=missing))

    with pytest.raises(UsageError, match="fastembed:none: cannot be loaded: Model none"):
        open_embedder("fastembed:none")
