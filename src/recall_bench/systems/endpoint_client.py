"""Requests to a model endpoint on this machine: vectors, and scores of passages.

ConnectionError if it cannot be reached, TimeoutError if it is busy, ValueError if a reply cannot be
read, ModelUnavailable if its model cannot be reached, and RuntimeError if it refuses.
"""

from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

ENDPOINT_MODEL = "recall-bench"
"""The model asked for: the run's endpoint has one of each kind and ignores the name."""

EMBEDDING_BATCH = 256
"""Texts in one request."""

TIMEOUT_S = 120.0

BUSY_STATUSES = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


class ModelUnavailable(RuntimeError):
    """No call to the model behind the endpoint can succeed."""


class _EmbeddingRow(msgspec.Struct):
    index: int
    embedding: list[float]


class _EmbeddingReply(msgspec.Struct):
    data: list[_EmbeddingRow]


class _RankedRow(msgspec.Struct):
    index: int
    relevance_score: float


class _RankedReply(msgspec.Struct):
    results: list[_RankedRow]


def request_embeddings(endpoint: str, texts: Sequence[str]) -> list[list[float]]:
    """One vector per text."""
    url, vectors = f"{endpoint}/embeddings", list[list[float]]()
    for at in range(0, len(texts), EMBEDDING_BATCH):
        batch = texts[at : at + EMBEDDING_BATCH]
        reply = _post(url, {"model": ENDPOINT_MODEL, "input": list(batch)})
        try:
            rows = msgspec.json.decode(reply, type=_EmbeddingReply).data
        except msgspec.DecodeError as error:
            raise ValueError(f"{url} did not reply with embeddings: {error}") from error
        if sorted(row.index for row in rows) != list(range(len(batch))):
            raise ValueError(f"{url} gave {len(rows)} vectors for {len(batch)} texts")
        vectors += [row.embedding for row in sorted(rows, key=lambda row: row.index)]
    return vectors


def request_scores(endpoint: str, question: str, texts: Sequence[str]) -> list[float]:
    """One score per text, beside the question."""
    url = f"{endpoint}/rerank"
    reply = _post(url, {"model": ENDPOINT_MODEL, "query": question, "documents": list(texts)})
    try:
        rows = msgspec.json.decode(reply, type=_RankedReply).results
    except msgspec.DecodeError as error:
        raise ValueError(f"{url} did not reply with scores: {error}") from error
    if sorted(row.index for row in rows) != list(range(len(texts))):
        raise ValueError(f"{url} gave {len(rows)} scores for {len(texts)} texts")
    return [row.relevance_score for row in sorted(rows, key=lambda row: row.index)]


def _post(url: str, body: dict[str, object]) -> bytes:
    # The endpoint is on this machine, where no proxy leads.
    opener = build_opener(ProxyHandler({}))
    request = Request(url, msgspec.json.encode(body), {"Content-Type": "application/json"})  # noqa: S310  the run's own
    try:
        with opener.open(request, timeout=TIMEOUT_S) as reply:
            content: bytes = reply.read()
            return content
    except HTTPError as error:
        text = error.read().decode("utf-8", "replace")[:500]
        if error.code in BUSY_STATUSES:
            raise TimeoutError(f"{url} is busy: {text}") from error
        if error.code == HTTPStatus.BAD_GATEWAY and error.headers.get("x-should-retry") == "false":
            raise ModelUnavailable(f"{url} refused (HTTP {error.code}): {text}") from error
        raise RuntimeError(f"{url} refused (HTTP {error.code}): {text}") from error
    except URLError as error:
        raise ConnectionError(f"{url} cannot be reached: {error.reason}") from error
    except HTTPException as error:
        raise ConnectionError(f"{url} broke off: {error!r}") from error
