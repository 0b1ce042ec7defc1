"""Any reranker can stand behind the endpoint, and what it scores is on record."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from recall_bench.core.errors import ModelFault, ModelGone, UsageError
from recall_bench.core.usage import Usage
from recall_bench.features.models.embedders import (
    Reranker,
    RerankScores,
    open_embedder,
    open_reranker,
)
from recall_bench.features.models.model_endpoint import ModelEndpoint
from recall_bench.systems.endpoint_client import request_scores
from recall_bench.systems.parent_endpoint import ParentEndpoint
from tests import openai_server as scripted
from tests.features.models.endpoint.clients import call
from tests.features.models.prompts import KEY
from tests.openai_server import OpenAIServer, Response


class Longest(Reranker):
    """The longer a passage, the better."""

    name = "longest"

    def score(self, question: str, texts: Sequence[str]) -> RerankScores:
        del question
        return RerankScores(
            scores=tuple(float(len(text)) for text in texts),
            usage=Usage(calls=1, input_tokens=7, cost_usd=0.25),
        )


def ranks(request: dict[str, Any]) -> Response:
    """Scores by length, best first, as servers sort them."""
    found = [
        {"index": place, "relevance_score": float(len(text))}
        for place, text in enumerate(request["documents"])
    ]
    found.sort(key=lambda each: -each["relevance_score"])
    return scripted.json_reply({"results": found, "model": "r", "usage": {"total_tokens": 100}})


def test_a_server_is_asked_by_the_request_that_rerankers_share() -> None:
    with OpenAIServer(ranks) as server:
        reranker = open_reranker(f"openai:r;{server.base_url};price=2/0", {"OPENAI_API_KEY": KEY})
        found = reranker.score("who?", ["a", "ccc", "bb"])
        reranker.close()

    sent = server.requests[0]
    assert sent.path == "/v1/rerank"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.json == {"model": "r", "query": "who?", "documents": ["a", "ccc", "bb"]}
    assert found.scores == (1, 3, 2)
    assert found.usage == Usage(calls=1, input_tokens=100, cost_usd=200 / 1e6)


@pytest.mark.parametrize(
    "reply",
    [
        {"results": [{"index": 0, "relevance_score": 1}]},
        {"results": [{"index": 0}, {"index": 1}]},
        {"results": "none"},
        {"results": [{"index": n, "relevance_score": "NaN"} for n in (0, 1)]},
        {},
    ],
    ids=["one missing", "no scores", "no list", "not a number", "nothing"],
)
def test_a_reply_without_a_score_for_each_passage_is_refused(reply: dict[str, Any]) -> None:
    with OpenAIServer(lambda request: scripted.json_reply(reply)) as server:
        reranker = open_reranker(f"openai:r;{server.base_url}", {})
        with pytest.raises(ModelFault, match="no list of scores"):
            reranker.score("who?", ["a", "b"])
        reranker.close()


def test_a_refused_key_ends_it() -> None:
    with OpenAIServer(lambda request: scripted.error(401, "no such key")) as server:
        reranker = open_reranker(f"openai:r;{server.base_url}", {})
        with pytest.raises(ModelGone, match=r"refuses to rerank \(status 401\)"):
            reranker.score("who?", ["a"])
        reranker.close()


@pytest.mark.parametrize("spec", ["glove", "anthropic:r"])
def test_an_unknown_name_is_refused_with_those_that_there_are(spec: str) -> None:
    with pytest.raises(UsageError, match="no reranker has this name; write openai:MODEL;URL"):
        open_reranker(spec, {"ANTHROPIC_API_KEY": "k"})


def test_a_cross_encoder_is_given_question_and_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    class CrossEncoder:
        def __init__(self, name: str) -> None:
            given.append(name)

        def predict(self, pairs: list[Any], *, show_progress_bar: bool) -> Any:
            assert not show_progress_bar
            given.extend(pairs)
            return np.array([0.1, 0.9], np.float32)[: len(pairs)]

    library = ModuleType("sentence_transformers")
    library.CrossEncoder = CrossEncoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)

    reranker = open_reranker("sentence-transformers:tiny")

    assert reranker.name == "sentence-transformers:tiny"
    assert reranker.score("q", ["a", "b"]).scores == pytest.approx((0.1, 0.9))
    assert given == ["tiny", ("q", "a"), ("q", "b")]
    with pytest.raises(ModelFault, match="gave 2 scores for 3 texts"):
        reranker.score("q", ["a", "b", "c"])


def test_the_endpoint_ranks_counts_and_names_its_reranker() -> None:
    with ModelEndpoint(reranker=Longest()) as endpoint:
        body = {"query": "who?", "documents": ["a", {"text": "ccc"}, "bb"], "top_n": 2}
        status, _, reply = call(endpoint, "/v1/rerank", body)
        scores = request_scores(endpoint.url, "who?", ["a", "ccc"])
        seen = ParentEndpoint(endpoint.url)
        found = (seen.reranker, seen.model, seen.embedder)
        usage = endpoint.meter.drain()

    assert status == 200
    listed = json.loads(reply)["results"]
    assert [(each["index"], each["relevance_score"]) for each in listed] == [(1, 3.0), (2, 2.0)]
    assert scores == [1.0, 3.0]
    assert found == ("longest", None, "wordllama")
    assert usage == Usage(calls=2, input_tokens=14, cost_usd=0.5)


def test_without_a_reranker_the_endpoint_says_how_to_name_one(endpoint: ModelEndpoint) -> None:
    status, _, reply = call(endpoint, "/v1/rerank", {"query": "who?", "documents": ["a"]})

    assert status == 400
    assert "--system-reranker" in json.loads(reply)["error"]["message"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"documents": ["a"]}, "query"),
        ({"query": "q", "documents": []}, "documents"),
        ({"query": "q", "documents": ["a", 3]}, "documents"),
        ({"query": "q", "documents": ["a"], "top_n": 0}, "top_n"),
    ],
)
def test_a_bad_request_is_refused_with_the_field(body: dict[str, Any], param: str) -> None:
    with ModelEndpoint(reranker=Longest()) as endpoint:
        status, _, reply = call(endpoint, "/v1/rerank", body)

    assert status == 400
    assert json.loads(reply)["error"]["param"] == param


class OnnxSession:
    """Hidden states that are the token numbers, and for pairs a logit that is their count."""

    def __init__(self, path: str, providers: list[str]) -> None:
        assert Path(path).name == "model.onnx"
        assert providers == ["CPUExecutionProvider"]

    def get_inputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="input_ids"), SimpleNamespace(name="attention_mask")]

    def run(self, wanted: object, given: dict[str, Any]) -> list[Any]:
        assert wanted is None
        assert set(given) == {"input_ids", "attention_mask"}
        ids = given["input_ids"].astype(np.float32)
        return [np.stack([ids, np.ones_like(ids)], axis=2)]


@pytest.fixture
def onnx_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as exports lay it out, and a runtime for it."""
    words = {"[PAD]": 0, "one": 1, "two": 2, "three": 3}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[PAD]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    place = tmp_path / "tiny"
    place.mkdir()
    tokenizer.save(str(place / "tokenizer.json"))
    (place / "model.onnx").write_bytes(b"weights")
    runtime = ModuleType("onnxruntime")
    runtime.InferenceSession = OnnxSession  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    return place


def test_an_onnx_folder_embeds_by_the_mean_of_its_tokens(onnx_folder: Path) -> None:
    embedder = open_embedder(f"onnx:{onnx_folder}")

    found = embedder.embed(["one two three", "three"])

    # The padding of the shorter text counts for nothing; vectors have the length 1.
    rows = np.array([[2, 1], [3, 1]]) / np.sqrt([[5], [10]])
    assert found.vectors == pytest.approx(rows.astype(np.float32))
    assert found.tokens == (3, 1)
    assert embedder.name.startswith("onnx:tiny@")
    assert str(onnx_folder.parent) not in embedder.name


def test_an_onnx_folder_scores_pairs(onnx_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def give_logits(self: OnnxSession, wanted: object, given: dict[str, Any]) -> list[Any]:
        del self, wanted
        return [given["input_ids"].sum(axis=1, keepdims=True).astype(np.float32)]

    monkeypatch.setattr(OnnxSession, "run", give_logits)
    reranker = open_reranker(f"onnx:{onnx_folder}")

    assert reranker.score("one", ["two", "three"]).scores == (3, 4)


def test_a_model_of_the_other_kind_is_refused(
    onnx_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = open_reranker(f"onnx:{onnx_folder}")
    with pytest.raises(UsageError, match=r"the reranker cannot be asked: .* is not a reranker"):
        ModelEndpoint(reranker=reranker).start()

    monkeypatch.setattr(OnnxSession, "run", lambda *_: [np.ones((1, 3), np.float32)])
    with pytest.raises(ModelFault, match=r"onnx:tiny@\w+: .* is not an embedder"):
        open_embedder(f"onnx:{onnx_folder}").embed(["one"])


def test_the_name_of_a_folder_follows_its_tokenizer(onnx_folder: Path) -> None:
    before = open_embedder(f"onnx:{onnx_folder}").name
    place = onnx_folder / "tokenizer.json"
    place.write_text(place.read_text("utf-8").replace("three", "seven"), "utf-8")

    assert open_embedder(f"onnx:{onnx_folder}").name != before


def test_a_folder_without_a_model_is_refused(onnx_folder: Path) -> None:
    (onnx_folder / "tokenizer.json").unlink()
    with pytest.raises(UsageError, match=r"holds no model\.onnx with a tokenizer\.json"):
        open_embedder(f"onnx:{onnx_folder}")
