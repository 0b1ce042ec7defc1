"""A real model behind the endpoint: what products send is what a server of the wild understands."""

import json
from typing import Any

import pytest

from tests.models.small_model import served
from tests.systems.endpoint.clients import client, talking

pytestmark = pytest.mark.slow

base_url = pytest.fixture(served, scope="module")

SCHEMA: Any = {
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


def test_a_real_model_answers_in_the_wanted_shape_and_is_metered(base_url: str) -> None:
    messages: Any = [
        {"role": "system", "content": "Reply with JSON."},
        {"role": "user", "content": "What is the capital of France?"},
    ]
    with (
        talking(f"openai:smollm2;{base_url};price=1/2", timeout_s=120) as endpoint,
        client(endpoint) as product,
    ):
        whole = product.chat.completions.create(
            model="gpt", messages=messages, response_format=SCHEMA, max_tokens=40, temperature=0
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
