"""Rerankers by their spec: models that score a passage beside a question.

    openai:bge-reranker-v2-m3;http://127.0.0.1:8000/v1;price=0/0
    sentence-transformers:cross-encoder/ms-marco-MiniLM-L-6-v2
    fastembed:Xenova/ms-marco-MiniLM-L-6-v2
    onnx:models/ms-marco

A server is asked by `POST /rerank`, as Jina, Cohere, vLLM and llama.cpp offer it; the others load a
model into this process.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from recall_bench.core.errors import ModelFault
from recall_bench.core.usage import Usage
from recall_bench.features.models.compatible_client import CompatibleClient
from recall_bench.features.models.compatible_server import CompatibleServer, resolve_server_of
from recall_bench.features.models.local_model import (
    ONNX,
    Loader,
    OnnxModel,
    load_local,
    translate_faults,
)

_Score = Callable[[str, Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankScores:
    """One score per passage, comparable within one question, and what they cost."""

    scores: tuple[float, ...]
    usage: Usage


class Reranker(Protocol):
    """Scores passages beside a question. Thread-safe."""

    @property
    def name(self) -> str:
        """Precise enough to get the same scores again, and free of secrets."""

    def score(self, question: str, texts: Sequence[str]) -> RerankScores:
        """Return one score per text, or raise ModelBusy, ModelGone or another ModelFault."""

    def close(self) -> None:
        """Release connections."""


def open_reranker(text: str, environ: Mapping[str, str] | None = None) -> Reranker:
    """Return the reranker of a spec; UsageError if it is unknown or something is missing."""
    kind, _, model = (word.strip() for word in text.partition(":"))
    if kind in _LOCAL:
        loaded = load_local(kind, model, _LOCAL)
        return LocalReranker(f"{kind}:{loaded.model}", loaded.calls)
    return ServedReranker(resolve_server_of(text, "reranker", _LOCAL, environ))


class ServedReranker:
    """Calls a server."""

    def __init__(self, server: CompatibleServer) -> None:
        self._server = server
        self._client = CompatibleClient(server)

    @property
    def name(self) -> str:
        """The spec's."""
        return self._server.spec.name

    def score(self, question: str, texts: Sequence[str]) -> RerankScores:
        """Return one score per text."""
        body = self._client.request(
            "rerank", {"model": self._server.model, "query": question, "documents": list(texts)}
        )
        scores = _parse_scores(body, len(texts))
        if scores is None:
            raise ModelFault(f"{self.name}: replied with something that is no list of scores")
        counted = body.get("usage")
        tokens = dict(counted) if isinstance(counted, dict) else {}
        # Servers of this request count a total only.
        tokens.setdefault("prompt_tokens", tokens.get("total_tokens"))
        return RerankScores(
            scores=scores, usage=self._server.price_reply(tokens, body.get("model"))
        )

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self._client.close()


class LocalReranker:
    """A model loaded into this process, used by one thread at a time."""

    def __init__(self, name: str, score: _Score) -> None:
        self.name = name
        self._score = score
        self._lock = threading.Lock()

    def score(self, question: str, texts: Sequence[str]) -> RerankScores:
        """Return one score per text."""
        with self._lock, translate_faults(self.name):
            scores = tuple(float(each) for each in self._score(question, texts))
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            raise ModelFault(f"{self.name}: gave {len(scores)} scores for {len(texts)} texts")
        return RerankScores(scores=scores, usage=Usage(calls=1))

    def close(self) -> None:
        """Nothing to release."""


def _parse_scores(body: Mapping[str, Any], count: int) -> tuple[float, ...] | None:
    """Return one score per text in the order of their indices; None if one is missing."""
    try:
        found = {each["index"]: float(each["relevance_score"]) for each in body["results"]}
        scores = tuple(found[place] for place in range(count))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return scores if all(map(math.isfinite, scores)) else None


def _load_cross_encoder(library: Any, model: str) -> _Score:  # noqa: ANN401 - a module
    loaded = library.CrossEncoder(model)
    return lambda question, texts: loaded.predict(
        [(question, text) for text in texts], show_progress_bar=False
    )


def _load_fastembed(library: Any, model: str) -> _Score:  # noqa: ANN401 - a module
    from importlib import import_module

    encoders = import_module(f"{library.__name__}.rerank.cross_encoder")
    loaded = encoders.TextCrossEncoder(model_name=model)
    return lambda question, texts: list(loaded.rerank(question, list(texts)))


def _load_onnx(library: Any, model: str) -> _Score:  # noqa: ANN401 - a module
    return OnnxModel(library, model).score_pairs


_LOCAL: dict[str, Loader[_Score]] = {
    "sentence-transformers": _load_cross_encoder,
    "fastembed": _load_fastembed,
    ONNX: _load_onnx,
}
