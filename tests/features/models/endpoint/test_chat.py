"""A chat is passed on as it is to a compatible server, and its tokens go on the meter."""

import json
import logging
from typing import Any

import openai
import pytest

from recall_bench.core.usage import Usage
from tests import openai_server as scripted
from tests.features.models.endpoint.clients import HELLO, call, client, talking
from tests.features.models.prompts import KEY, SCHEMA
from tests.loops import loop_over_rows
from tests.openai_server import OpenAIServer, Response

TOOL: Any = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def refused(response: Response, **spec: Any) -> openai.APIStatusError:
    """What a product's client raises when the model behind the endpoint replies like this."""
    with (
        OpenAIServer([response]) as server,
        talking(f"openai:m;{server.base_url}", **spec) as endpoint,
        client(endpoint) as product,
        pytest.raises(openai.APIStatusError) as raised,
    ):
        product.chat.completions.create(model="gpt", messages=HELLO)
    assert endpoint.meter.total == Usage()
    return raised.value


def test_a_reply_comes_back_and_is_counted() -> None:
    with (
        OpenAIServer([scripted.ok("Ada.", input_tokens=120, output_tokens=9)]) as server,
        talking(f"openai:m;{server.base_url};price=2/10") as endpoint,
        client(endpoint) as product,
    ):
        reply = product.chat.completions.create(model="gpt", messages=HELLO)

    assert reply.choices[0].message.content == "Ada."
    assert endpoint.meter.total == Usage(
        calls=1, input_tokens=120, output_tokens=9, cost_usd=(120 * 2 + 9 * 10) / 1e6
    )


def test_an_unknown_price_is_not_zero() -> None:
    with (
        OpenAIServer([scripted.ok("Ada.")]) as server,
        talking(f"openai:m;{server.base_url}") as endpoint,
        client(endpoint) as product,
    ):
        product.chat.completions.create(model="gpt", messages=HELLO)

    assert endpoint.meter.total == Usage(calls=1, input_tokens=11, output_tokens=7, unpriced=1)


@pytest.mark.anyio
async def test_the_async_client_is_served_too() -> None:
    with (
        OpenAIServer([scripted.ok("Ada.")]) as server,
        talking(f"openai:m;{server.base_url}") as endpoint,
    ):
        async with openai.AsyncOpenAI(base_url=endpoint.url, api_key="x") as product:
            reply = await product.chat.completions.create(model="gpt", messages=HELLO)

    assert reply.choices[0].message.content == "Ada."


def test_the_request_goes_on_whole_under_the_model_s_own_name() -> None:
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        *HELLO,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "Ada."},
    ]
    form: Any = {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA}}
    with (
        OpenAIServer([scripted.ok(None, finish="tool_calls", tool_calls=[CALL])]) as server,
        talking(f"openai:m;{server.base_url}", OPENAI_API_KEY=KEY) as endpoint,
        client(endpoint) as product,
    ):
        reply = product.chat.completions.create(
            model="gpt",
            messages=messages,
            tools=[TOOL],
            temperature=0.3,
            max_tokens=50,
            response_format=form,
        )

    sent = server.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.json == {
        "model": "m",
        "messages": messages,
        "tools": [TOOL],
        "temperature": 0.3,
        "max_tokens": 50,
        "response_format": form,
    }
    calls = reply.choices[0].message.tool_calls
    assert calls is not None
    assert calls[0].id == "c1"


def test_options_of_the_spec_win_over_the_client_s() -> None:
    with (
        OpenAIServer([scripted.ok("Ada.")]) as server,
        talking(f"openai:m;{server.base_url};temperature=0;max-tokens=7") as endpoint,
        client(endpoint) as product,
    ):
        product.chat.completions.create(
            model="gpt", messages=HELLO, temperature=1, max_completion_tokens=500
        )

    sent = server.requests[0].json
    assert (sent["temperature"], sent["max_completion_tokens"]) == (0, 7)
    assert "max_tokens" not in sent


def test_a_stream_is_served_in_a_single_piece() -> None:
    with (
        OpenAIServer([scripted.ok("Ada.", tool_calls=[CALL])]) as server,
        talking(f"openai:m;{server.base_url}") as endpoint,
        client(endpoint) as product,
    ):
        chunks = list(
            product.chat.completions.create(
                model="gpt",
                messages=HELLO,
                stream=True,
                stream_options={"include_usage": True},
            )
        )

    said, counted = chunks
    assert "stream" not in server.requests[0].json
    assert said.choices[0].delta.content == "Ada."
    assert said.choices[0].delta.tool_calls is not None
    assert said.choices[0].delta.tool_calls[0].index == 0
    assert said.choices[0].finish_reason == "stop"
    assert counted.usage is not None
    assert counted.usage.total_tokens == 18
    assert endpoint.meter.total.calls == 1


def test_too_many_requests_are_passed_on_with_the_time_to_wait() -> None:
    error = refused(scripted.busy(retry_after_s=7))

    assert isinstance(error, openai.RateLimitError)
    assert error.response.headers["retry-after"] == "7"
    assert "slow down" in error.message


@loop_over_rows("status", [400, 401, 404, 500, 503])
def test_a_failure_keeps_its_status_and_its_reason(status: int) -> None:
    error = refused(scripted.error(status, "the reason"))

    assert error.status_code == status
    assert "the reason" in error.message


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(scripted.malformed(), id="half a JSON"),
        pytest.param(scripted.malformed(b"[]"), id="no completion"),
        pytest.param(scripted.truncated(), id="half a body"),
    ],
)
def test_an_invalid_reply_is_a_bad_gateway(response: Response) -> None:
    assert refused(response).status_code == 502


def test_a_silent_model_is_a_timeout() -> None:
    assert refused(scripted.hang(), timeout_s=0.2).status_code == 504


def test_a_server_that_is_not_there_is_a_bad_gateway() -> None:
    with (
        talking("openai:m;http://127.0.0.1:9/v1") as endpoint,
        client(endpoint) as product,
        pytest.raises(openai.InternalServerError) as raised,
    ):
        product.chat.completions.create(model="gpt", messages=HELLO)

    assert raised.value.status_code == 502
    assert "connection failed" in raised.value.message


def test_a_refused_key_is_not_asked_about_again() -> None:
    error = refused(scripted.error(401))

    assert error.response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("status", [200, 401, 500])
def test_our_key_is_in_no_reply_and_in_no_log(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    response = scripted.ok(f"Your key is {KEY}.") if status == 200 else scripted.echo(status)

    with (
        OpenAIServer([response]) as server,
        talking(f"openai:m;{server.base_url}", OPENAI_API_KEY=KEY) as endpoint,
    ):
        found, headers, body = call(
            endpoint, "/v1/chat/completions", {"model": "gpt", "messages": HELLO}
        )

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert found == status
    assert b"[redacted]" in body
    assert KEY not in f"{headers} {body!r} {caplog.text}"


def test_other_text_that_looks_like_a_key_is_in_no_reply_and_in_no_log() -> None:
    error = refused(scripted.error(500, "tried sk-another-0123456789 in vain"))

    assert "tried [redacted] in vain" in error.message


def test_the_client_s_key_goes_nowhere() -> None:
    with (
        OpenAIServer([scripted.ok("Ada.")]) as server,
        talking(f"openai:m;{server.base_url}") as endpoint,
        client(endpoint) as product,
    ):
        product.chat.completions.create(model="gpt", messages=HELLO)

    assert "sk-of-the-client" not in str(server.requests[0].headers)


def test_the_model_is_on_the_list_under_a_plain_name() -> None:
    with talking("openai:m;http://127.0.0.1:9/v1") as endpoint:
        _, _, body = call(endpoint, "/v1/models", method="GET")

    assert [model["id"] for model in json.loads(body)["data"]] == ["m", "wordllama"]
    assert endpoint.model == "openai:m;http://127.0.0.1:9/v1"
