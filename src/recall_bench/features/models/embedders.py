"""Embedders by their spec, and the vectors and token counts they return.

    openai:text-embedding-3-small
    openai:nomic-embed-text;http://127.0.0.1:8000/v1;price=0/0
    ollama:nomic-embed-text
    sentence-transformers:all-MiniLM-L6-v2
    fastembed:BAAI/bge-small-en-v1.5
    onnx:models/all-MiniLM-L6-v2

The first three follow the grammar of `model_spec`; the others load a model into this process.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

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


class Embedder(Protocol):
    """Makes vectors of texts. Thread-safe."""

    @property
    def name(self) -> str:
        """Precise enough to make the same vectors again, and free of secrets."""

    @property
    def model(self) -> str:
        """The name a client uses: a plain word without an address."""

    @property
    def dimensions(self) -> int:
        """The length of its vectors; may call the model to find out."""

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector per text, or raise ModelBusy, ModelGone or another ModelFault."""

    def close(self) -> None:
        """Release connections."""


class LazyDimensions(ABC):
    """Finds the length of the vectors from the first ones; embeds one word if there are none."""

    _dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""
        if self._dimensions is None:
            self.embed(["dimensions"])
        return self._dimensions or 0

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector per text, and note their length."""


def open_embedder(
    text: str, environ: Mapping[str, str] | None = None
) -> ServedEmbedder | LocalEmbedder:
    """Return the embedder of a spec; UsageError if it is unknown or something is missing."""
    kind, _, model = (word.strip() for word in text.partition(":"))
    if kind in _LOCAL:
        loaded = load_local(kind, model, _LOCAL)
        vectors, count = loaded.calls
        return LocalEmbedder(
            kind=kind, model=loaded.model, version=loaded.version, vectors=vectors, count=count
        )
    return ServedEmbedder(resolve_server_of(text, "embedder", _LOCAL, environ))


class ServedEmbedder(LazyDimensions):
    """Calls an OpenAI-compatible server."""

    def __init__(self, server: CompatibleServer) -> None:
        self._server = server
        self._client = CompatibleClient(server)

    @property
    def name(self) -> str:
        """The spec's."""
        return self._server.spec.name

    @property
    def identity(self) -> str:
        """Name, address and price, without key or password."""
        server = self._server
        return f"{self.name} {server.build_url('embeddings')} {server.spec.price}"

    @property
    def model(self) -> str:
        """The server's name of the model."""
        return self._server.model

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector per text.

        Servers count the tokens of a batch. The count is split among the texts by length, so the
        sum over a batch is exact and a single count may be off.
        """
        import numpy as np

        parts = [self._embed_batch(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        usage = Usage()
        for part in parts:
            usage += part.usage
        return Embeddings(
            vectors=np.concatenate([part.vectors for part in parts]),
            tokens=tuple(count for part in parts for count in part.tokens),
            usage=usage,
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
        if vectors is None or self._dimensions not in (None, vectors.shape[1]):
            raise ModelFault(f"{self.name}: replied with something that is no list of embeddings")
        self._dimensions = vectors.shape[1]
        usage = self._server.price_reply(body.get("usage"), body.get("model"))
        return Embeddings(
            vectors=vectors, tokens=_split_tokens(usage.input_tokens, texts), usage=usage
        )


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
    shares, given, passed = [], 0, 0
    for length in lengths:
        passed += length
        shares.append(total * passed // whole - given)
        given += shares[-1]
    return tuple(shares)


class LocalEmbedder(LazyDimensions):
    """A model loaded into this process, used by one thread at a time."""

    def __init__(
        self,
        *,
        kind: str,
        model: str,
        version: str,
        vectors: Callable[[list[str]], Any],
        count: Callable[[list[str]], Sequence[int]],
    ) -> None:
        self._kind = kind
        self._model = model
        self._version = version
        self._vectors = vectors
        self._count = count
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Library and model."""
        return f"{self._kind}:{self._model}"

    @property
    def identity(self) -> str:
        """Includes the library's version, which may change the last digits."""
        return f"{self.name} {self._version}"

    @property
    def model(self) -> str:
        """The library's name of the model."""
        return self._model

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one unit vector per text."""
        import numpy as np

        with self._lock, translate_faults(self.name):
            vectors = np.asarray(self._vectors(list(texts)), np.float32)
            tokens = tuple(self._count(list(texts)))
        self._dimensions = vectors.shape[1]
        return Embeddings(vectors=normalise_vectors(vectors), tokens=tokens)

    def close(self) -> None:
        """Nothing to release."""


_LocalCalls = tuple[Callable[[list[str]], Any], Callable[[list[str]], Sequence[int]]]
"""The calls that embed texts and count their tokens."""


def _load_sentence_transformer(library: Any, model: str) -> _LocalCalls:  # noqa: ANN401 - a module
    loaded = library.SentenceTransformer(model)
    return (
        lambda texts: loaded.encode(texts, convert_to_numpy=True, show_progress_bar=False),
        lambda texts: [len(ids) for ids in loaded.tokenizer(texts, truncation=True)["input_ids"]],
    )


def _load_fastembed(library: Any, model: str) -> _LocalCalls:  # noqa: ANN401 - a module
    loaded = library.TextEmbedding(model_name=model)
    return (
        lambda texts: list(loaded.embed(texts)),
        lambda texts: [loaded.token_count([text]) for text in texts],
    )


def _load_onnx(library: Any, model: str) -> _LocalCalls:  # noqa: ANN401 - a module
    loaded = OnnxModel(library, model)
    return loaded.embed, loaded.count_tokens


_LOCAL: dict[str, Loader[_LocalCalls]] = {
    "sentence-transformers": _load_sentence_transformer,
    "fastembed": _load_fastembed,
    ONNX: _load_onnx,
}
