"""Products that take vectors get them from one place: this process, or the run's endpoint."""

import socket
from typing import Any

import numpy as np
import pytest

from recall_bench.features.products.product import ProductEmbedder
from recall_bench.systems.endpoint_client import EMBEDDING_BATCH
from recall_bench.systems.models.static_embedding import DIMENSIONS, embed
from tests.features.products.embedding_server import endpoint


def lengths(request: dict[str, Any]) -> tuple[int, object]:
    """Each text as a vector of its length, in reverse order."""
    rows = [
        {"index": place, "embedding": [len(text), 0.5]}
        for place, text in enumerate(request["input"])
    ]
    return 200, {"data": rows[::-1]}


def test_without_an_endpoint_the_embedded_vectors_are_used() -> None:
    vectors = ProductEmbedder()

    found = vectors.embed(["a cat", "rain"])

    assert np.array_equal(np.array(found, np.float32), embed(["a cat", "rain"]))
    assert vectors.dimensions == DIMENSIONS


def test_an_endpoint_is_used_if_set_and_its_order_is_restored() -> None:
    asked: list[dict[str, Any]] = []

    def reply(request: dict[str, Any]) -> tuple[int, object]:
        asked.append(request)
        return lengths(request)

    with endpoint(reply) as url:
        found = ProductEmbedder(url).embed(["a", "bb", "ccc"])
        dimensions = ProductEmbedder(url).dimensions

    assert found == [[1.0, 0.5], [2.0, 0.5], [3.0, 0.5]]
    assert dimensions == 2
    assert asked[0]["path"] == "/v1/embeddings"


def test_many_texts_are_sent_in_batches_and_none_in_no_request() -> None:
    sizes: list[int] = []

    def reply(request: dict[str, Any]) -> tuple[int, object]:
        sizes.append(len(request["input"]))
        return lengths(request)

    with endpoint(reply) as url:
        found = ProductEmbedder(url).embed(["x" * n for n in range(1, EMBEDDING_BATCH + 3)])
        nothing = ProductEmbedder(url).embed([])

    assert [vector[0] for vector in found] == list(range(1, EMBEDDING_BATCH + 3))
    assert nothing == []
    assert sizes == [EMBEDDING_BATCH, 2]


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        pytest.param(503, {"error": "later"}, TimeoutError, id="busy"),
        pytest.param(429, {"error": "slowly"}, TimeoutError, id="too many"),
        pytest.param(400, {"error": "no such model"}, RuntimeError, id="refused"),
        pytest.param(200, {"vectors": []}, ValueError, id="another reply"),
        pytest.param(200, {"data": []}, ValueError, id="too few vectors"),
    ],
)
def test_an_endpoint_that_does_not_embed_is_an_error_and_never_a_vector(
    status: int, body: object, error: type[Exception]
) -> None:
    with endpoint(lambda _: (status, body)) as url, pytest.raises(error) as raised:
        ProductEmbedder(url).embed(["a"])

    assert "/v1/embeddings" in str(raised.value)


def test_an_endpoint_that_is_not_there_is_out_of_reach() -> None:
    with socket.socket() as taken:  # and not listened on, so that nobody else can
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ConnectionError, match="cannot be reached"):
            ProductEmbedder(f"http://127.0.0.1:{port}/v1").embed(["a"])
