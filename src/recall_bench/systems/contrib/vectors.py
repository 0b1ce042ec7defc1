"""One embedder for every product that takes vectors: the embedded one, or an endpoint's."""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

ENDPOINT_MODEL = "recall-bench"
"""The model asked for: an endpoint made for the run has one embedder, whatever it is called."""

EMBEDDING_BATCH = 256
"""Texts in one request."""

EMBEDDING_TIMEOUT_S = 120.0

_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


class _EmbeddingRow(msgspec.Struct):
    index: int
    embedding: list[float]


class _EmbeddingReply(msgspec.Struct):
    data: list[_EmbeddingRow]


class ProductEmbedder:
    """Embeds in this process, or through an endpoint in OpenAI's manner if one is given."""

    def __init__(self, endpoint: str | None = None) -> None:
        self._endpoint = endpoint
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """How long each vector is."""
        if self._dimensions is None:
            self._dimensions = len(self.embed(["length"])[0])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text. ConnectionError or TimeoutError where the endpoint does not serve."""
        if self._endpoint is not None:
            url = f"{self._endpoint}/embeddings"
            return [
                vector
                for batch in _split_batches(texts)
                for vector in _request_embeddings(url, batch)
            ]
        from recall_bench.systems.builtin.embedding import embed

        found: list[list[float]] = embed(texts).tolist()
        return found


def _split_batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), EMBEDDING_BATCH):
        yield texts[start : start + EMBEDDING_BATCH]


def _request_embeddings(url: str, texts: Sequence[str]) -> list[list[float]]:
    replied = _post(url, msgspec.json.encode({"model": ENDPOINT_MODEL, "input": list(texts)}))
    try:
        rows = msgspec.json.decode(replied, type=_EmbeddingReply).data
    except msgspec.DecodeError as error:
        raise ValueError(f"{url} did not reply with embeddings: {error}") from error
    if sorted(row.index for row in rows) != list(range(len(texts))):
        raise ValueError(f"{url} gave {len(rows)} vectors for {len(texts)} texts")
    return [row.embedding for row in sorted(rows, key=lambda row: row.index)]


def _post(url: str, body: bytes) -> bytes:
    # The endpoint is on this machine, where no proxy leads.
    opener = build_opener(ProxyHandler({}))
    request = Request(url, body, {"Content-Type": "application/json"})  # noqa: S310  the run's own
    try:
        with opener.open(request, timeout=EMBEDDING_TIMEOUT_S) as reply:
            replied: bytes = reply.read()
            return replied
    except HTTPError as error:
        said = error.read().decode("utf-8", "replace")[:500]
        if error.code in _BUSY:
            raise TimeoutError(f"{url} is busy: {said}") from error
        raise RuntimeError(f"{url} refused to embed (HTTP {error.code}): {said}") from error
    except URLError as error:
        raise ConnectionError(f"{url} cannot be reached: {error.reason}") from error
