"""A real model over real HTTP: SmolLM2 with 135 million parameters, on loopback.

It is far too weak to judge anything. It proves that what we send is what a server of the wild
understands, and that a schema really holds a model to its shape.
"""

import json
from typing import Any

import pytest

from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.models.provider_model import open_model
from recall_bench.systems.models.model import Finish, Prompt
from tests.features.models.small_model import served

pytestmark = pytest.mark.slow

base_url = pytest.fixture(served, scope="module")

SCHEMA = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["correct", "partial", "wrong"]},
        "score": {"type": "integer", "minimum": 0, "maximum": 3},
    },
    "required": ["verdict", "score"],
    "additionalProperties": False,
}
PROMPT = Prompt(
    system="You grade answers. Reply with the JSON verdict only.",
    user="Question: What is the capital of France?\nReference: Paris\nAnswer: Paris.\nGrade it.",
    schema=SCHEMA,
)


@pytest.mark.anyio
async def test_a_schema_holds_a_real_model_to_its_shape(base_url: str) -> None:
    spec = parse_spec(f"openai:smollm2;{base_url};max-tokens=60;price=1/2", {})
    assert spec is not None
    model = open_model(spec, {})

    reply = await model.complete(PROMPT)
    await model.close()

    verdict = json.loads(reply.text)
    assert verdict.keys() == {"verdict", "score"}
    assert verdict["verdict"] in {"correct", "partial", "wrong"}
    assert verdict["score"] in range(4)
    assert reply.finish is Finish.STOP
    assert reply.usage.input_tokens > 20
    assert reply.usage.output_tokens > 5
    assert reply.usage.cost_usd == pytest.approx(
        (reply.usage.input_tokens + 2 * reply.usage.output_tokens) / 1e6
    )


@pytest.mark.anyio
async def test_a_limit_on_tokens_cuts_a_real_model_off(base_url: str) -> None:
    spec = parse_spec(f"openai:smollm2;{base_url};max-tokens=4", {})
    assert spec is not None
    model = open_model(spec, {})

    reply = await model.complete(Prompt(system="Be long.", user="Tell me all about Paris."))
    await model.close()

    assert reply.finish is Finish.LENGTH
    assert reply.usage.output_tokens == 4


CITY: Any = {
    "type": "json_schema",
    "json_schema": {
        "name": "city",
        "schema": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def test_a_real_model_answers_behind_the_endpoint_and_is_metered(base_url: str) -> None:
    """What products send is what a server of the wild understands."""
    # Their client takes long to import, and is not always there; the model is neither.
    from tests.features.models.endpoint.clients import client, talking

    messages: Any = [
        {"role": "system", "content": "Reply with JSON."},
        {"role": "user", "content": "What is the capital of France?"},
    ]
    with (
        talking(f"openai:smollm2;{base_url};price=1/2", timeout_s=120) as endpoint,
        client(endpoint) as product,
    ):
        whole = product.chat.completions.create(
            model="gpt", messages=messages, response_format=CITY, max_tokens=40, temperature=0
        )
        pieces = list(
            product.chat.completions.create(
                model="gpt", messages=messages, max_tokens=10, temperature=0, stream=True
            )
        )
        meter = endpoint.meter.total

    assert json.loads(whole.choices[0].message.content or "")["city"] in {"Paris", "Rome"}
    assert pieces[0].choices[0].delta.content
    assert meter.calls == 2
    assert whole.usage is not None
    assert meter.input_tokens > whole.usage.prompt_tokens > 10
    assert meter.cost_usd == pytest.approx((meter.input_tokens + 2 * meter.output_tokens) / 1e6)
