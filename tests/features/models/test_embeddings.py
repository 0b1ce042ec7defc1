"""Every product gets the same vectors, in OpenAI's shape, and each token is counted once."""

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import openai
import pytest

from recall_bench.core.usage import Usage
from recall_bench.features.models.model_endpoint import ModelEndpoint
from recall_bench.systems.models import static_embedding
from tests.features.models.endpoint.clients import call, client

TEXTS = ["The cat is Fig.", "Schrödingers Kätzchen 猫 🐈", "line\nbreak\ttab \u0000 nul"]


def posted(endpoint: ModelEndpoint, **body: Any) -> dict[str, Any]:
    status, _, reply = call(endpoint, "/v1/embeddings", {"model": "m", **body})
    assert status == 200, reply
    found: dict[str, Any] = json.loads(reply)
    return found


def rows(reply: dict[str, Any]) -> list[list[float]]:
    return [entry["embedding"] for entry in reply["data"]]


def test_openai_s_client_gets_the_vectors_of_the_built_in_systems(endpoint: ModelEndpoint) -> None:
    with client(endpoint) as product:
        reply = product.embeddings.create(model="text-embedding-3-small", input=TEXTS)

    assert [entry.index for entry in reply.data] == [0, 1, 2]
    found = np.asarray([entry.embedding for entry in reply.data], np.float32)
    assert np.array_equal(found, static_embedding.embed(TEXTS))


@pytest.mark.anyio
async def test_openai_s_async_client_gets_them_too(endpoint: ModelEndpoint) -> None:
    async with openai.AsyncOpenAI(base_url=endpoint.url, api_key="x", max_retries=0) as product:
        reply = await product.embeddings.create(
            model="any", input=TEXTS[1], encoding_format="float"
        )

    assert np.allclose(reply.data[0].embedding, static_embedding.embed(TEXTS[1:2])[0], atol=1e-7)


def test_the_model_s_name_is_echoed_and_changes_nothing(endpoint: ModelEndpoint) -> None:
    one, other = posted(endpoint, model="a", input="cat"), posted(endpoint, model="b", input="cat")

    assert (one["model"], other["model"]) == ("a", "b")
    assert rows(one) == rows(other)


def test_without_a_name_it_says_its_own(endpoint: ModelEndpoint) -> None:
    assert posted(endpoint, model=None, input="cat")["model"] == endpoint.embedding_model


def test_floats_and_base64_hold_the_same_numbers(endpoint: ModelEndpoint) -> None:
    plain = posted(endpoint, input=TEXTS, encoding_format="float")
    packed = posted(endpoint, input=TEXTS, encoding_format="base64")

    unpacked = [np.frombuffer(base64.b64decode(str(row)), "<f4") for row in rows(packed)]
    assert np.array_equal(np.asarray(rows(plain), np.float32), np.asarray(unpacked))


def test_one_text_is_a_batch_of_one(endpoint: ModelEndpoint) -> None:
    assert rows(posted(endpoint, input="cat")) == rows(posted(endpoint, input=["cat"]))


def test_shorter_vectors_are_cut_normalised_and_said_to_be(endpoint: ModelEndpoint) -> None:
    body = {"model": "m", "input": "The cat is Fig.", "dimensions": 64}

    _, headers, reply = call(endpoint, "/v1/embeddings", body)

    whole = static_embedding.embed(["The cat is Fig."])[0][:64]
    assert np.allclose(rows(json.loads(reply))[0], whole / np.linalg.norm(whole), atol=1e-6)
    assert "cut from 256 to 64" in headers["x-recall-bench-note"]


def test_vectors_of_the_usual_length_carry_no_note(endpoint: ModelEndpoint) -> None:
    body = {"model": "m", "input": "cat", "dimensions": 256}

    _, headers, _ = call(endpoint, "/v1/embeddings", body)

    assert "x-recall-bench-note" not in headers


def test_tokens_are_those_of_the_embedder_s_tokenizer(endpoint: ModelEndpoint) -> None:
    # One by one there is nothing to pad to.
    counted = sum(static_embedding.count_tokens([text])[0] for text in TEXTS)

    reply = posted(endpoint, input=TEXTS)

    assert reply["usage"] == {"prompt_tokens": counted, "total_tokens": counted}
    assert endpoint.meter.drain() == Usage(calls=1, input_tokens=counted)


def test_a_text_counts_whenever_it_is_asked_for(endpoint: ModelEndpoint) -> None:
    once = posted(endpoint, input="a text that is remembered")["usage"]["prompt_tokens"]

    posted(endpoint, input=["a text that is remembered"] * 3)

    assert endpoint.meter.drain() == Usage(calls=2, input_tokens=4 * once)


def test_a_thousand_texts_come_back_in_order(endpoint: ModelEndpoint) -> None:
    texts = [f"Entry {n}: berth {n * 7 % 13} is free." for n in range(1000)]

    reply = posted(endpoint, input=texts, encoding_format="float")

    assert [entry["index"] for entry in reply["data"]] == list(range(1000))
    assert np.allclose(rows(reply), static_embedding.embed(texts), atol=1e-6)


@pytest.mark.slow
def test_a_long_text_is_embedded_whole(endpoint: ModelEndpoint) -> None:
    reply = posted(endpoint, input="Harbourmaster " * 15_000)

    assert reply["usage"]["prompt_tokens"] > 15_000


def test_eight_threads_each_get_their_own_vectors(endpoint: ModelEndpoint) -> None:
    start = threading.Barrier(8)

    def ask(n: int) -> bool:
        texts = [f"Thread {n} says {m}." for m in range(20)]
        start.wait()
        with client(endpoint) as product:
            reply = [product.embeddings.create(model="m", input=text) for text in texts]
        found = np.asarray([one.data[0].embedding for one in reply])
        return bool(np.allclose(found, static_embedding.embed(texts), atol=1e-6))

    with ThreadPoolExecutor(8) as pool:
        right = list(pool.map(ask, range(8)))

    assert right == [True] * 8
    assert endpoint.meter.drain().calls == 160


@pytest.mark.parametrize(
    ("body", "named"),
    [
        pytest.param({"input": ""}, "empty", id="an empty text"),
        pytest.param({"input": ["cat", ""]}, "text 1 is empty", id="an empty text among others"),
        pytest.param({"input": []}, "a text or a list", id="no text"),
        pytest.param({}, "a text or a list", id="no input"),
        pytest.param({"input": {"text": "cat"}}, "a text or a list", id="an object"),
        pytest.param({"input": ["cat", 1]}, "text 1 is not a text", id="a number among texts"),
        pytest.param({"input": [1, 2, 3]}, "token numbers", id="tokens"),
        pytest.param({"input": [[1, 2], [3]]}, "token numbers", id="lists of tokens"),
        pytest.param({"input": "cat", "dimensions": 257}, "257", id="too many dimensions"),
        pytest.param({"input": "cat", "dimensions": 0}, "dimensions", id="no dimensions"),
        pytest.param({"input": "cat", "dimensions": True}, "dimensions", id="yes dimensions"),
        pytest.param({"input": "cat", "encoding_format": "hex"}, "float or base64", id="hex"),
    ],
)
def test_what_cannot_be_embedded_is_refused_and_not_counted(
    endpoint: ModelEndpoint, body: dict[str, object], named: str
) -> None:
    status, _, reply = call(endpoint, "/v1/embeddings", {"model": "m", **body})

    error = json.loads(reply)["error"]
    assert status == 400
    assert named in error["message"]
    assert error["type"] == "invalid_request_error"
    assert endpoint.meter.drain() == Usage()
