"""A model that takes one prompt is given the conversation as one; what it cannot do is refused."""

from typing import Any

import openai
import pytest

from recall_bench.core.errors import ModelBusy, ModelFault, ModelGone
from recall_bench.core.usage import Usage
from recall_bench.features.models.chat_completions import EndpointRefusal, PromptChat
from recall_bench.features.models.model_spec import ModelSpec
from recall_bench.systems.models.model import Finish, Prompt, Reply
from tests import openai_server as scripted
from tests.features.models.endpoint.clients import HELLO, client, talking
from tests.features.models.prompts import KEY, SCHEMA
from tests.openai_server import OpenAIServer

pytestmark = pytest.mark.anyio

SPENT = Usage(calls=1, input_tokens=5, output_tokens=2, unpriced=1)


class Scripted:
    """Keeps the prompt, and does as told."""

    name = "anthropic:m"
    is_priced = False

    def __init__(self, outcome: Reply | Exception) -> None:
        self._outcome = outcome
        self.asked: list[Prompt] = []

    async def complete(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    async def close(self) -> None:
        """Nothing to release."""


async def asked(
    outcome: Reply | Exception | None = None, **request: Any
) -> tuple[Prompt, dict[str, Any]]:
    model = Scripted(outcome or Reply(text="Ada.", usage=SPENT))
    chat = PromptChat(model, ModelSpec(provider="anthropic", model="m"), timeout_s=10)
    completion, usage = await chat.complete({"messages": HELLO, **request})
    assert usage == SPENT
    return model.asked[0], completion


async def refusal(outcome: Exception | None = None, **request: Any) -> EndpointRefusal:
    with pytest.raises(EndpointRefusal) as raised:
        await asked(outcome, **request)
    return raised.value


async def test_one_message_is_the_prompt() -> None:
    prompt, completion = await asked()

    assert prompt == Prompt(system="", user="Who has the key?")
    assert completion["choices"][0]["message"]["content"] == "Ada."
    assert completion["usage"] == {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


async def test_several_turns_become_a_transcript_below_the_instructions() -> None:
    prompt, _ = await asked(
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hello."}]},
            {"role": "assistant", "content": "Yes?"},
            {"role": "developer", "content": "Be kind."},
            *HELLO,
        ]
    )

    assert prompt.system == "Be brief.\n\nBe kind."
    assert prompt.user == "user: Hello.\n\nassistant: Yes?\n\nuser: Who has the key?"


async def test_a_schema_is_described_in_the_prompt_and_passed_on() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA}}

    prompt, _ = await asked(response_format=form)

    assert prompt.schema == SCHEMA
    assert '"mark"' in prompt.system


async def test_json_without_a_schema_is_requested_in_the_prompt() -> None:
    prompt, _ = await asked(response_format={"type": "json_object"})

    assert prompt.schema is None
    assert "one JSON object" in prompt.system


@pytest.mark.parametrize(
    ("finish", "called"),
    [
        (Finish.STOP, "stop"),
        (Finish.LENGTH, "length"),
        (Finish.FILTERED, "content_filter"),
    ],
)
async def test_why_a_reply_ended_is_passed_on(finish: Finish, called: str) -> None:
    _, completion = await asked(Reply(text="", usage=SPENT, finish=finish))

    assert completion["choices"][0]["finish_reason"] == called


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        pytest.param({"tools": [{"type": "function"}]}, "tools", id="tools"),
        pytest.param({"n": 2}, "n", id="two replies"),
        pytest.param(
            {"messages": [{"role": "tool", "content": "x"}]}, "messages", id="a tool's reply"
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages",
            id="a picture",
        ),
    ],
)
async def test_what_needs_a_compatible_server_is_refused(
    request_: dict[str, Any], param: str
) -> None:
    said = await refusal(**request_)

    assert said.status == 400
    assert said.body["error"]["param"] == param
    assert "--system-model openai:MODEL;URL" in str(said)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"messages": []}, id="no messages"),
        pytest.param({"messages": ["hello"]}, id="a word"),
        pytest.param({"messages": [{"content": "x"}]}, id="no role"),
        pytest.param({"messages": [{"role": "user", "content": 3}]}, id="a number"),
        pytest.param({"response_format": {"type": "yaml"}}, id="yaml"),
        pytest.param({"response_format": {"type": "json_schema"}}, id="no schema"),
    ],
)
async def test_what_makes_no_sense_is_refused(request_: dict[str, Any]) -> None:
    assert (await refusal(**request_)).status == 400


@pytest.mark.parametrize(
    ("fault", "status", "headers"),
    [
        pytest.param(ModelBusy("wait", 3), 429, {"retry-after": "3"}, id="it asks to wait"),
        pytest.param(ModelBusy("away"), 503, {}, id="it is away"),
        pytest.param(ModelGone("no key"), 502, {"x-should-retry": "false"}, id="it is gone"),
        pytest.param(ModelFault("odd"), 502, {}, id="it says nothing usable"),
    ],
)
async def test_a_model_s_failure_has_a_status(
    fault: ModelFault, status: int, headers: dict[str, str]
) -> None:
    said = await refusal(fault)

    assert (said.status, said.headers) == (status, headers)


async def test_a_provider_s_model_answers_over_real_http() -> None:
    pytest.importorskip("pydantic_ai")
    with (
        OpenAIServer([scripted.ok("Ada."), scripted.busy(9)]) as server,
        talking(f"moonshotai:m;{server.base_url};price=0/0", MOONSHOTAI_API_KEY=KEY) as endpoint,
        client(endpoint) as product,
    ):
        reply = product.chat.completions.create(model="gpt", messages=HELLO)
        with pytest.raises(openai.RateLimitError) as raised:
            product.chat.completions.create(model="gpt", messages=HELLO)

    assert reply.choices[0].message.content == "Ada."
    assert raised.value.response.headers["retry-after"] == "9"
    assert endpoint.meter.total == Usage(calls=1, input_tokens=11, output_tokens=7)
