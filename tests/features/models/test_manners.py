"""Whatever is asked, the reply is JSON in OpenAI's shape, without delay."""

import json
import socket
from urllib.parse import urlsplit

import httpx
import openai
import pytest

from recall_bench.features.models.model_endpoint import ModelEndpoint
from tests.features.models.endpoint.clients import HELLO, call, client


def complaint(reply: bytes) -> dict[str, object]:
    error = json.loads(reply)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return dict(error)


def test_the_embedder_is_on_the_list_of_models(endpoint: ModelEndpoint) -> None:
    with client(endpoint) as product:
        listed = product.models.list().data
        found = product.models.retrieve(endpoint.embedding_model)

    assert [model.id for model in listed] == [endpoint.embedding_model]
    assert found.model_extra == {"embedder": "wordllama", "dimensions": 256}


def test_a_model_that_is_not_offered_is_not_found(endpoint: ModelEndpoint) -> None:
    status, _, reply = call(endpoint, "/v1/models/gpt/5", method="GET")

    assert status == 404
    assert complaint(reply)["code"] == "model_not_found"


def test_a_chat_without_a_model_behind_it_names_the_flag(endpoint: ModelEndpoint) -> None:
    with client(endpoint) as product, pytest.raises(openai.BadRequestError) as refused:
        product.chat.completions.create(model="gpt", messages=HELLO)

    assert "--system-model" in str(refused.value)


def test_the_responses_api_is_refused_by_name(endpoint: ModelEndpoint) -> None:
    with client(endpoint) as product, pytest.raises(openai.NotFoundError) as refused:
        product.responses.create(model="gpt", input="hello")

    assert "/v1/chat/completions" in str(refused.value)


def test_an_unknown_path_is_not_found(endpoint: ModelEndpoint) -> None:
    status, _, reply = call(endpoint, "/v1/audio/speech", {})

    assert status == 404
    assert complaint(reply)["code"] == "unknown_url"


def test_a_wrong_method_is_refused_as_one(endpoint: ModelEndpoint) -> None:
    status, _, reply = call(endpoint, "/v1/embeddings", method="GET")

    assert status == 405
    assert "POST /v1/embeddings" in str(complaint(reply)["message"])


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/chat/completions"])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"input": "cat"', id="half"),
        pytest.param(b"input=cat", id="a form"),
        pytest.param(b'{"input": "\xff"}', id="not UTF-8"),
        pytest.param(b'{"input": "\\ud800"}', id="half a character"),
        pytest.param(b'["cat"]', id="a list"),
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(
    endpoint: ModelEndpoint, path: str, body: bytes
) -> None:
    status, _, reply = call(endpoint, path, body)

    assert status == 400
    assert "JSON" in str(complaint(reply)["message"])


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Host": "evil.example:80"}, id="under another name"),
        pytest.param({"Origin": "https://evil.example"}, id="from a page"),
    ],
)
def test_web_pages_are_kept_out(endpoint: ModelEndpoint, headers: dict[str, str]) -> None:
    body = {"model": "m", "input": "cat"}

    status, _, _ = call(endpoint, "/v1/embeddings", body, headers=headers)

    assert status == 403


def test_it_listens_on_loopback_only(endpoint: ModelEndpoint) -> None:
    assert endpoint._serving is not None

    assert endpoint._serving._socket.getsockname()[0] == "127.0.0.1"
    assert endpoint.url.startswith("http://127.0.0.1:")


def test_nagle_s_delay_is_off_on_every_connection(endpoint: ModelEndpoint) -> None:
    place = urlsplit(endpoint.url)
    with socket.create_connection(("127.0.0.1", place.port or 0)) as line:
        line.sendall(b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        line.recv(16)
        assert endpoint._serving is not None
        ours = line.getsockname()
        served = [
            connection.transport.get_extra_info("socket")
            for connection in endpoint._serving.server.server_state.connections
        ]
        delays = [
            end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            for end in served
            if end.getpeername() == ours
        ]

    assert delays
    assert all(delays)


def test_a_large_body_is_refused_and_not_held(
    endpoint: ModelEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_bench.features.models.endpoint_server._MAX_BODY_BYTES", 1000)

    reply = httpx.post(f"{endpoint.url}/embeddings", content=b'{"input": "' + b"x" * 2000 + b'"}')

    assert reply.status_code == 413
    assert "more than 1,000 bytes" in reply.json()["error"]["message"]


def test_with_a_token_only_its_holder_is_served() -> None:
    with ModelEndpoint(token="let-me-in") as guarded:
        url = f"{guarded.url}/models"
        codes = [
            httpx.get(url, headers=headers).status_code
            for headers in (
                {},
                {"Authorization": "Bearer x"},
                {"Authorization": "Bearer let-me-in"},
            )
        ]

    assert codes == [401, 401, 200]
