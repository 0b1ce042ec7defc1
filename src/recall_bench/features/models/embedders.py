"""Embedders and rerankers by their spec: vectors of texts, and scores of passages.

    openai:text-embedding-3-small
    openai:nomic-embed-text;http://127.0.0.1:8000/v1;price=0/0
    ollama:nomic-embed-text
    sentence-transformers:all-MiniLM-L6-v2
    fastembed:BAAI/bge-small-en-v1.5
    onnx:models/all-MiniLM-L6-v2

The first three follow the grammar of `model_spec`; the others load a model into this process. A
server ranks by `POST /rerank`, as Jina, Cohere, vLLM and llama.cpp offer it.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recall_bench.core.errors import ModelFault
from recall_bench.core.usage import Usage
from recall_bench.features.models.compatible_server import (
    CompatibleClient,
    CompatibleServer,
    resolve_server_of,
)
from recall_bench.features.models.local_model import (
    EMBEDDERS,
    RERANKERS,
    load_local,
    translate_faults,
)
from recall_bench.systems.models.static_embedding import normalise_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH = 256
"""Texts in one request: servers refuse more than a few hundred thousand tokens at once."""
_NOTHING = Usage()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Embeddings:
    """Vectors and token counts in the order of the texts, and what they cost."""

    vectors: NDArray[np.float32]
    """One row per text."""
    tokens: tuple[int, ...]
    """One count per text, by the embedder's own tokenizer."""
    usage: Usage = _NOTHING
    """Calls of a server and their price; empty for a local model."""
    spared: Usage = _NOTHING
    """What the vectors found in a cache cost when they were made."""

    def price_texts(self) -> tuple[Usage, ...]:
        """Return the price of each vector, paid now or saved by a cache, shared by tokens."""
        total = self.usage.cost_usd + self.spared.cost_usd
        is_unpriced = int(self.usage.unpriced + self.spared.unpriced > 0)
        weights = self.tokens if any(self.tokens) else (1,) * len(self.tokens)
        return tuple(
            Usage(cost_usd=total * weight / sum(weights), unpriced=is_unpriced)
            for weight in weights
        )


class Embedder(ABC):
    """Makes vectors of texts. Thread-safe."""

    name: str
    """Precise enough to make the same vectors again, and free of secrets."""
    model: str
    """The name a client uses: a plain word without an address."""
    identity: str
    """Embedders of one identity make the same vectors at the same price; free of secrets."""
    length: int | None = None
    """That of its vectors, once there were any."""

    @property
    def dimensions(self) -> int:
        """The length of its vectors; embeds one word if there are none yet."""
        if self.length is None:
            self.embed(["dimensions"])
        return self.length or 0

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector per text, and note their length; ModelFault if that fails."""

    def close(self) -> None:  # noqa: B027 - most have nothing to release
        """Release connections; the next request opens them again."""


def open_embedder(text: str, environ: Mapping[str, str] | None = None) -> Embedder:
    """Return the embedder of a spec; UsageError if it is unknown or something is missing."""
    kind, _, model = (word.strip() for word in text.partition(":"))
    if kind in EMBEDDERS:
        loaded = load_local(kind, model, EMBEDDERS)
        return LocalEmbedder(f"{kind}:{loaded.model}", loaded.version, *loaded.calls)
    return ServedEmbedder(resolve_server_of(text, "embedder", EMBEDDERS, environ))


class ServedEmbedder(Embedder):
    """Calls an OpenAI-compatible server."""

    def __init__(self, server: CompatibleServer) -> None:
        self._server = server
        self._client = CompatibleClient(server)
        self.name, self.model = server.spec.name, server.model
        self.identity = f"{self.name} {server.build_url('embeddings')} {server.spec.price}"

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector per text.

        Servers count the tokens of a batch. The count is split among the texts by length, so the
        sum over a batch is exact and a single count may be off.
        """
        import numpy as np

        parts = [self._embed_batch(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        return Embeddings(
            vectors=np.concatenate([part.vectors for part in parts]),
            tokens=tuple(count for part in parts for count in part.tokens),
            usage=sum((part.usage for part in parts), Usage()),
        )

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self._client.close()

    def _embed_batch(self, texts: Sequence[str]) -> Embeddings:
        body = self._client.request(
            "embeddings",
            {"model": self.model, "input": list(texts), "encoding_format": "float"},
        )
        vectors = _parse_vectors(body, len(texts))
        if vectors is None or self.length not in (None, vectors.shape[1]):
            raise ModelFault(f"{self.name}: replied with something that is no list of embeddings")
        self.length = vectors.shape[1]
        usage = self._server.price_reply(body.get("usage"), body.get("model"))
        tokens = _split_tokens(usage.input_tokens, texts)
        return Embeddings(vectors=vectors, tokens=tokens, usage=usage)


def _parse_vectors(body: dict[str, Any], count: int) -> NDArray[np.float32] | None:
    """Return one row per text in the order of their indices; None if a row is missing."""
    import numpy as np

    try:
        rows = {entry["index"]: entry["embedding"] for entry in body["data"]}
        # A number beyond 32 bits becomes infinite, and is refused below.
        with np.errstate(over="ignore"):
            vectors = np.asarray([rows[place] for place in range(count)], np.float32)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    is_sound = vectors.ndim == 2 and vectors.shape[1] > 0 and bool(np.isfinite(vectors).all())
    return vectors if is_sound else None


def _split_tokens(total: int, texts: Sequence[str]) -> tuple[int, ...]:
    """Split the total in proportion to the lengths; the parts add up to it."""
    lengths = [len(text.encode()) for text in texts]
    whole = sum(lengths) or 1
    shares, passed = [], 0
    for length in lengths:
        before, passed = passed, passed + length
        shares.append(total * passed // whole - total * before // whole)
    return tuple(shares)


class LocalEmbedder(Embedder):
    """A model loaded into this process, used by one thread at a time."""

    def __init__(
        self,
        name: str,
        version: str,
        vectors: Callable[[list[str]], Any],
        count: Callable[[list[str]], Sequence[int]],
    ) -> None:
        """The version is the library's: another may change the last digits."""
        self.name, self.model = name, name.partition(":")[2]
        self.identity = f"{name} {version}"
        self._vectors = vectors
        self._count = count
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one unit vector per text."""
        import numpy as np

        with self._lock, translate_faults(self.name):
            vectors = np.asarray(self._vectors(list(texts)), np.float32)
            tokens = tuple(self._count(list(texts)))
        self.length = vectors.shape[1]
        return Embeddings(vectors=normalise_vectors(vectors), tokens=tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankScores:
    """One score per passage, comparable within one question, and what they cost."""

    scores: tuple[float, ...]
    usage: Usage


class Reranker(ABC):
    """Scores passages beside a question. Thread-safe."""

    name: str
    """Precise enough to get the same scores again, and free of secrets."""

    @abstractmethod
    def score(self, question: str, texts: Sequence[str]) -> RerankScores:
        """Return one score per text, or raise ModelBusy, ModelGone or another ModelFault."""

    def close(self) -> None:  # noqa: B027 - most have nothing to release
        """Release connections; the next request opens them again."""


def open_reranker(text: str, environ: Mapping[str, str] | None = None) -> Reranker:
    """Return the reranker of a spec; UsageError if it is unknown or something is missing."""
    kind, _, model = (word.strip() for word in text.partition(":"))
    if kind in RERANKERS:
        loaded = load_local(kind, model, RERANKERS)
        return LocalReranker(f"{kind}:{loaded.model}", loaded.calls)
    return ServedReranker(resolve_server_of(text, "reranker", RERANKERS, environ))


class ServedReranker(Reranker):
    """Calls a server."""

    def __init__(self, server: CompatibleServer) -> None:
        self.name = server.spec.name
        self._server = server
        self._client = CompatibleClient(server)

    def score(self, question: str, texts: Sequence[str]) -> RerankScores:
        """Return one score per text."""
        body = self._client.request(
            "rerank", {"model": self._server.model, "query": question, "documents": list(texts)}
        )
        try:
            rows = {row["index"]: float(row["relevance_score"]) for row in body["results"]}
            scores = tuple(rows[place] for place in range(len(texts)))
        except (KeyError, TypeError, ValueError, OverflowError):
            scores = ()
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            raise ModelFault(f"{self.name}: replied with something that is no list of scores")
        counted = body.get("usage")
        tokens = dict(counted) if isinstance(counted, dict) else {}
        # Servers of this request count a total only.
        tokens.setdefault("prompt_tokens", tokens.get("total_tokens"))
        usage = self._server.price_reply(tokens, body.get("model"))
        return RerankScores(scores=scores, usage=usage)

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self._client.close()


class LocalReranker(Reranker):
    """A model loaded into this process, used by one thread at a time."""

    def __init__(self, name: str, score: Callable[[str, Sequence[str]], Sequence[float]]) -> None:
        self.name = name
        self._score = score
        self._lock = threading.Lock()

    def score(self, question: str, texts: Sequence[str]) -> RerankScores:
        """Return one score per text."""
        with self._lock, translate_faults(self.name):
            scores = tuple(map(float, self._score(question, texts)))
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            raise ModelFault(f"{self.name}: gave {len(scores)} scores for {len(texts)} texts")
        return RerankScores(scores=scores, usage=Usage(calls=1))
