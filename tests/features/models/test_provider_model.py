"""One request, one reply, over real HTTP; a failure is of one of three kinds, and never retried."""

import gc
import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from recall_bench.core.errors import ModelBusy, ModelFault, ModelGone, UsageError
from recall_bench.core.usage import Usage
from recall_bench.features.models.faults import FAULTS_BY_LIBRARY_ERROR
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.models.provider_model import MAX_TOKENS, open_model
from recall_bench.systems.models.model import Finish, Prompt, Reply
from tests import openai_server as scripted
from tests.features.models.event_loop import until
from tests.features.models.prompts import KEY, PROMPT, SCHEMA, ask
from tests.openai_server import OpenAIServer, Response

pytest.importorskip("pydantic_ai")
pytestmark = pytest.mark.anyio


async def asked(response: Response, text: str = "openai:m") -> Reply:
    with OpenAIServer([response]) as server:
        return await ask(f"{text};{server.base_url}")


async def test_a_reply_has_its_text_and_its_tokens() -> None:
    reply = await asked(scripted.ok('{"mark": 3}', input_tokens=120, output_tokens=9))

    assert reply == Reply(
        text='{"mark": 3}',
        usage=Usage(calls=1, input_tokens=120, output_tokens=9, unpriced=1),
        finish=Finish.STOP,
    )


async def test_what_is_sent_is_the_prompt_at_temperature_zero() -> None:
    with OpenAIServer([scripted.ok("3")]) as server:
        await ask(f"openai:m;{server.base_url}", OPENAI_API_KEY=KEY)

    sent = server.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.json["messages"] == [
        {"role": "system", "content": PROMPT.system},
        {"role": "user", "content": PROMPT.user},
    ]
    assert sent.json["temperature"] == 0
    assert sent.json["max_completion_tokens"] == MAX_TOKENS
    assert sent.json["response_format"]["json_schema"]["schema"] == SCHEMA
    assert "store" not in sent.json


async def test_the_spec_s_own_settings_are_sent() -> None:
    with OpenAIServer([scripted.ok("3")]) as server:
        await ask(f"openai:m;{server.base_url};temperature=0.5;max-tokens=77")

    assert server.requests[0].json["temperature"] == 0.5
    assert server.requests[0].json["max_completion_tokens"] == 77


async def test_without_a_schema_none_is_sent() -> None:
    with OpenAIServer([scripted.ok("3")]) as server:
        await ask(f"openai:m;{server.base_url}", Prompt(system="s", user="u"))

    assert "response_format" not in server.requests[0].json


async def test_a_model_that_reasons_is_sent_no_temperature() -> None:
    with OpenAIServer([scripted.ok("3")]) as server:
        await ask(f"openai:gpt-5;{server.base_url}")

    assert "temperature" not in server.requests[0].json


async def test_a_temperature_for_a_model_that_reasons_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="takes no temperature"):
        await ask("openai:gpt-5;http://127.0.0.1:9/v1;temperature=1")


async def test_reasoning_is_not_part_of_the_reply() -> None:
    assert (await asked(scripted.ok("<think>hm</think>3"))).text == "3"
    assert (await asked(scripted.ok("3", reasoning_content="hm"))).text == "3"


async def test_a_reply_cut_off_says_so() -> None:
    reply = await asked(scripted.cut_off('{"ma'))

    assert (reply.finish, reply.text) == (Finish.LENGTH, '{"ma')


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(scripted.filtered(), id="finish reason"),
        pytest.param(scripted.ok(None, refusal="I cannot."), id="refusal"),
        pytest.param(scripted.refused_by_filter(), id="status 400"),
    ],
)
async def test_a_filtered_reply_says_so(response: Response) -> None:
    reply = await asked(response)

    assert (reply.finish, reply.text, reply.usage.calls) == (Finish.FILTERED, "", 1)


async def test_azure_s_filter_is_recognised_too() -> None:
    with OpenAIServer([scripted.refused_by_filter()]) as server:
        reply = await ask(f"azure:judge;{server.base_url}", AZURE_OPENAI_API_KEY=KEY)

    assert reply.finish is Finish.FILTERED
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_azure_is_sent_its_version_and_its_key() -> None:
    with OpenAIServer([scripted.ok("3")]) as server:
        place = server.base_url.removesuffix("/v1")
        await ask(f"azure:judge;{place};api-version=2025-04-01", AZURE_OPENAI_API_KEY=KEY)

    sent = server.requests[0]
    assert sent.path == "/openai/deployments/judge/chat/completions?api-version=2025-04-01"
    assert sent.headers["api-key"] == KEY


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        pytest.param(scripted.busy(None), ModelBusy, id="429"),
        pytest.param(scripted.error(500), ModelBusy, id="500"),
        pytest.param(scripted.error(503), ModelBusy, id="503"),
        pytest.param(scripted.error(408), ModelBusy, id="408"),
        pytest.param(scripted.truncated(), ModelBusy, id="half a body"),
        pytest.param(scripted.error(401), ModelGone, id="401"),
        pytest.param(scripted.error(402), ModelGone, id="402"),
        pytest.param(scripted.error(403), ModelGone, id="403"),
        pytest.param(scripted.error(404), ModelGone, id="404"),
        pytest.param(scripted.error(405), ModelGone, id="405"),
        pytest.param(scripted.error(400), ModelFault, id="400"),
        pytest.param(scripted.malformed(), ModelFault, id="not JSON"),
        pytest.param(scripted.malformed(b"[]"), ModelFault, id="not a completion"),
        pytest.param(scripted.no_choices(), ModelFault, id="no choices"),
    ],
)
async def test_a_failure_has_its_kind_and_is_not_retried(
    response: Response, kind: type[ModelFault]
) -> None:
    """A second request would find the script at its end, and fail the server."""
    with pytest.raises(ModelFault) as raised:
        await asked(response)

    assert type(raised.value) is kind
    assert str(raised.value).startswith("openai:m;http://127.0.0.1:")
    assert "\n" not in str(raised.value)


async def test_an_error_message_with_surrogates_can_be_written() -> None:
    with pytest.raises(ModelFault) as raised:
        await asked(scripted.error(400, "half a \ud83d face"))

    assert str(raised.value).encode().endswith(rb"half a \ud83d face")


async def test_an_exhausted_quota_is_not_retried() -> None:
    body = {"error": {"message": "no credit", "code": "insufficient_quota"}}

    with pytest.raises(ModelGone, match="no money or quota"):
        await asked(Response(status=429, body=json.dumps(body).encode()))


async def test_the_retry_delay_is_passed_on() -> None:
    with pytest.raises(ModelBusy, match="wait 7 s") as raised:
        await asked(scripted.busy(7))

    assert raised.value.retry_after_s == 7


async def test_a_refused_connection_counts_as_busy_with_the_reason() -> None:
    with OpenAIServer([]) as server:
        deserted = server.base_url

    with pytest.raises(ModelBusy, match="the connection failed: Connection refused"):
        await ask(f"openai:m;{deserted}")


async def test_a_call_can_be_cancelled() -> None:
    with OpenAIServer([scripted.hang()]) as server:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, f"openai:m;{server.base_url}")
            await until(lambda: server.requests)
            tasks.cancel_scope.cancel()

    assert tasks.cancel_scope.cancelled_caught
    assert len(server.requests) == 1


async def test_many_calls_share_one_model_and_closing_it_is_not_the_end() -> None:
    with OpenAIServer(lambda request: scripted.ok(request["messages"][1]["content"])) as server:
        spec = parse_spec(f"openai:m;{server.base_url}", {})
        assert spec is not None
        model = open_model(spec, {})
        replies: dict[str, str] = {}

        async def put(word: str) -> None:
            replies[word] = (await model.complete(Prompt(system="s", user=word))).text

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(put, str(number))
        await model.close()
        await model.close()
        await put("again")
        await model.close()

    assert replies == {word: word for word in ("again", *map(str, range(8)))}


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_model_survives_the_event_loop_that_forgot_to_close_it() -> None:
    with OpenAIServer([scripted.ok("one"), scripted.ok("two")]) as server:
        spec = parse_spec(f"openai:m;{server.base_url}", {})
        assert spec is not None
        model = open_model(spec, {})

        async def properly() -> str:
            try:
                return (await model.complete(PROMPT)).text
            finally:
                await model.close()

        assert anyio.run(model.complete, PROMPT).text == "one"
        assert anyio.run(properly) == "two"
        gc.collect()


@pytest.mark.parametrize(
    ("refusal", "field"),
    [
        ("'response_format' of type 'json_schema' is not supported", "response_format"),
        ("Unsupported value: 'temperature' does not support 0.0", "temperature"),
        ("max_tokens is too large: 8192 for a window of 4096", "max_completion_tokens"),
    ],
)
async def test_what_a_server_refuses_is_left_out_the_next_time(refusal: str, field: str) -> None:
    def particular(request: dict[str, Any]) -> Response:
        return scripted.error(400, refusal) if field in request else scripted.ok("3")

    with OpenAIServer(particular) as server:
        spec = parse_spec(f"openai:m;{server.base_url}", {})
        assert spec is not None
        model = open_model(spec, {})
        with pytest.raises(ModelBusy, match="the next call has none"):
            await model.complete(PROMPT)
        reply = await model.complete(PROMPT)
        await model.close()

    assert reply.text == "3"
    others = {"response_format", "temperature", "max_completion_tokens"} - {field}
    assert others <= server.requests[1].json.keys()


async def test_what_the_user_asked_for_is_not_left_out() -> None:
    with pytest.raises(ModelFault, match="temperature") as raised:
        await asked(scripted.error(400, "no temperature here"), "openai:m;temperature=0")

    assert type(raised.value) is ModelFault


async def test_openai_is_called_through_the_responses_api_without_storage() -> None:
    """`openai:` without an address does so; the address here lets us listen."""
    message = {
        "type": "message",
        "id": "msg",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "3", "annotations": []}],
    }
    body = {
        "id": "resp",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": "gpt-4o",
        "status": "completed",
        "output": [message],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 5,
            "output_tokens": 2,
            "total_tokens": 7,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }
    response = Response(
        body=json.dumps(body).encode(), headers={"content-type": "application/json"}
    )
    with OpenAIServer([response]) as server:
        reply = await ask(f"openai-responses:gpt-4o;{server.base_url}")

    assert (reply.text, reply.usage.input_tokens) == ("3", 5)
    sent = server.requests[0]
    assert sent.path == "/v1/responses"
    assert sent.json["store"] is False
    assert sent.json["text"]["format"]["schema"] == SCHEMA


async def test_anthropic_is_called_by_its_own_api() -> None:
    body = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [{"type": "text", "text": "3"}],
        "stop_reason": "max_tokens",
        "stop_sequence": None,
        "usage": {"input_tokens": 6, "output_tokens": 1},
    }
    response = Response(
        body=json.dumps(body).encode(), headers={"content-type": "application/json"}
    )
    with OpenAIServer([response]) as server:
        place = server.base_url.removesuffix("/v1")
        reply = await ask(f"anthropic:claude-test;{place}", ANTHROPIC_API_KEY=KEY)

    assert (reply.text, reply.finish) == ("3", Finish.LENGTH)
    sent = server.requests[0]
    assert sent.path.partition("?")[0] == "/v1/messages"
    assert KEY in sent.headers.get("authorization", "") + sent.headers.get("x-api-key", "")
    assert sent.json["system"]
    assert sent.json["temperature"] == 0
    assert sent.json["max_tokens"] == MAX_TOKENS


async def test_anthropic_s_failures_have_the_same_kinds() -> None:
    with OpenAIServer([scripted.error(529), scripted.error(401)]) as server:
        text = f"anthropic:claude-test;{server.base_url.removesuffix('/v1')}"
        with pytest.raises(ModelBusy):
            await ask(text)
        with pytest.raises(ModelGone):
            await ask(text)


async def test_the_library_has_every_error_that_we_translate() -> None:
    from pydantic_ai import exceptions

    assert all(hasattr(exceptions, name) for name, _, _ in FAULTS_BY_LIBRARY_ERROR)


PRICED: list[tuple[str, Callable[[Usage], bool]]] = [
    ("openai:m;price=2/10", lambda usage: usage.cost_usd == pytest.approx(0.00012)),
    ("openai:m;price=0/0", lambda usage: (usage.cost_usd, usage.unpriced) == (0, 0)),
    ("openai:gpt-4o", lambda usage: (usage.cost_usd, usage.unpriced) == (0, 1)),
]


@pytest.mark.parametrize(("text", "holds"), PRICED)
async def test_the_price_of_a_call_is_the_spec_s_or_unknown(
    text: str, holds: Callable[[Usage], bool]
) -> None:
    """A server on loopback is not OpenAI, whatever it calls its model."""
    reply = await asked(scripted.ok("3", input_tokens=10, output_tokens=10, model="gpt-4o"), text)

    assert holds(reply.usage)
