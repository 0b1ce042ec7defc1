"""The scripted server does what its script says, so that tests of clients can trust it."""

import http.client
import json

import pytest

from tests import openai_server as scripted
from tests.openai_server import OpenAIServer, Response


def post(server: OpenAIServer, body: object) -> tuple[int, bytes]:
    port = int(server.base_url.rpartition(":")[2].removesuffix("/v1"))
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        headers = {"Authorization": "Bearer word", "Content-Type": "application/json"}
        line.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def test_a_list_is_used_in_turn_and_requests_are_recorded() -> None:
    with OpenAIServer([scripted.busy(3), scripted.ok("yes")]) as server:
        first, second = post(server, {"n": 1}), post(server, {"n": 2})

    assert [first[0], second[0]] == [429, 200]
    assert json.loads(second[1])["choices"][0]["message"]["content"] == "yes"
    assert [request.json for request in server.requests] == [{"n": 1}, {"n": 2}]
    assert server.requests[0].headers["authorization"] == "Bearer word"


def test_a_function_sees_the_request() -> None:
    def doubled(request: dict[str, int]) -> Response:
        return scripted.ok(str(request["n"] * 2))

    with OpenAIServer(doubled) as server:
        _, body = post(server, {"n": 21})

    assert b'"42"' in body


def test_a_request_too_many_fails_the_test() -> None:
    expected = pytest.raises(AssertionError, match="1 requests came after the end")
    with expected, OpenAIServer([]) as server:
        assert post(server, {})[0] == 418


def test_a_truncated_body_is_shorter_than_promised() -> None:
    expected = pytest.raises(http.client.IncompleteRead)
    with OpenAIServer([scripted.truncated()]) as server, expected:
        post(server, {})


def test_an_echo_repeats_the_key() -> None:
    with OpenAIServer([scripted.echo(403)]) as server:
        status, body = post(server, {})

    assert status == 403
    assert b"Bearer word" in body
