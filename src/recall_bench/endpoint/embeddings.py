"""`/v1/embeddings`: what is asked, checked; what is replied, built."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recall_bench.core.usage import Usage
from recall_bench.endpoint.refusal import EndpointRefusal
from recall_bench.models.embedders import Embeddings, normalise_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingRequest:
    """A request that can be met."""

    texts: tuple[str, ...]
    model: str
    dimensions: int
    in_base64: bool


def read_embedding_request(body: dict[str, Any], model: str, dimensions: int) -> EmbeddingRequest:
    """The request; Refusal if it cannot be met. The given model and dimensions are the usual."""
    asked = body.get("dimensions")
    if asked is not None and (type(asked) is not int or not 1 <= asked <= dimensions):
        raise EndpointRefusal(
            400,
            f"dimensions: {asked!r} cannot be had; vectors are {dimensions} long and can be cut "
            "shorter, so ask for a whole number up to that or for none",
            param="dimensions",
        )
    form = body.get("encoding_format")
    if form not in (None, "float", "base64"):
        raise EndpointRefusal(
            400, "encoding_format: say float or base64, or leave it out", param="encoding_format"
        )
    called = body.get("model")
    return EmbeddingRequest(
        texts=_read_texts(body.get("input")),
        model=called if isinstance(called, str) and called else model,
        dimensions=dimensions if asked is None else asked,
        in_base64=form == "base64",
    )


def _read_texts(given: object) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise EndpointRefusal(400, "input: say a text or a list of texts", param="input")
    if all(isinstance(text, int | list) for text in texts):
        raise EndpointRefusal(
            400,
            "input: token numbers mean nothing here, for every embedder has its own tokenizer; "
            "send text (in LangChain: check_embedding_ctx_length=False)",
            param="input",
            code="tokens_not_supported",
        )
    for place, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            said = "is empty" if text == "" else "is no text"
            raise EndpointRefusal(400, f"input: text {place} {said}; send words", param="input")
    return tuple(texts)


def build_embedding_reply(
    wanted: EmbeddingRequest, embedded: Embeddings
) -> tuple[dict[str, object], Usage]:
    """The body of the reply, and what the request counts for."""
    vectors = truncate_vectors(embedded.vectors, wanted.dimensions)
    tokens = sum(embedded.tokens)
    rows: list[Any] = _encode_base64(vectors) if wanted.in_base64 else vectors.tolist()
    body: dict[str, object] = {
        "object": "list",
        "model": wanted.model,
        "data": [
            {"object": "embedding", "index": place, "embedding": row}
            for place, row in enumerate(rows)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    paid, spared = embedded.usage, embedded.spared
    usage = Usage(
        calls=1,
        input_tokens=tokens,
        cost_usd=paid.cost_usd + spared.cost_usd,
        unpriced=int(paid.unpriced + spared.unpriced > 0),
        cached=paid.cached,
    )
    return body, usage


def truncate_vectors(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """The first dimensions of each vector, brought back to the length of one."""
    if dimensions == vectors.shape[1]:
        return vectors
    return normalise_vectors(vectors[:, :dimensions])


def _encode_base64(vectors: NDArray[np.float32]) -> list[str]:
    """Little-endian 32-bit floats, whatever this machine likes better."""
    return [b64encode(row.tobytes()).decode("ascii") for row in vectors.astype("<f4")]
