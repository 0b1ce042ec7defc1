"""Every message of the wire passes through the second version of the service unchanged."""

import math
from typing import Any

import msgspec
import pytest

from recall_bench.core.errors import NotAnAnswer
from recall_bench.systems.grpc.grpc_messages import (
    SERVICE_V2,
    decode_message,
    encode_message,
    find_method,
    load_messages,
    load_methods,
)
from recall_bench.systems.transports import wire

FULL: list[wire.WireMessage] = [
    wire.HealthRequest(),
    wire.Health(
        name="n",
        version="3",
        ready=False,
        protocol=3,
        max_concurrency=9,
        clock="native",
        asker="honoured",
        answers=False,
        snapshots=True,
        attests=True,
        inspects=True,
        max_shards=4,
    ),
    wire.OpenRequest(scenario="ada"),
    wire.Opened(memory="m"),
    wire.IngestRequest(
        memory="m",
        day=2,
        id="day-0002",
        date="2026-01-02",
        time="13:56:00",
        content="Fig 🐈\n",
        arcs=("cat", "rain"),
        turns=(wire.Turn(speaker="Ada", text="Hi"), wire.Turn(speaker="Bo", text="")),
    ),
    wire.SettleRequest(memory="m"),
    wire.AskRequest(
        memory="m",
        question="Who?",
        id="0f",
        date="2026-01-09",
        session="crew",
        choices=("a", "b"),
        top_k=5,
    ),
    wire.Told(
        answer="Fig",
        passages=(
            wire.WirePassage(text="t", id="day-0002", day=2, source="s", score=0.1),
            wire.WirePassage(text="", id="", day=0, source="", score=0.0),
            wire.WirePassage(text="u"),
        ),
        tool_calls=({"tool": "grep", "args": {"k": 3, "deep": [1, 2.5, None]}}, {}),
        usage=wire.WireUsage(calls=1, input_tokens=2**40, output_tokens=3, cost_usd=0.0),
    ),
    wire.AttestRequest(memory="m"),
    wire.Attested(days=0),
    wire.InspectRequest(memory="m"),
    wire.Inspected(days=(1, 3), bytes=2**40),
    wire.SaveRequest(memory="m"),
    wire.Saved(snapshot="s"),
    wire.RestoreRequest(snapshot="s"),
    wire.DropRequest(snapshot="s"),
    wire.CloseRequest(memory="m"),
    wire.Done(),
]

BARE: list[wire.WireMessage] = [
    wire.Health(),
    wire.Told(),
    wire.Told(answer=""),
    wire.Told(usage=wire.WireUsage()),
    wire.Attested(),
    wire.Inspected(),
    wire.Inspected(days=()),
    wire.Inspected(bytes=0),
]


@pytest.mark.parametrize("message", FULL + BARE, ids=repr)
def test_a_message_comes_back_as_it_was(message: wire.WireMessage) -> None:
    sent = encode_message(message)

    received = type(sent).FromString(sent.SerializeToString())

    assert decode_message(received, type(message)) == message


@pytest.mark.parametrize("message", FULL, ids=lambda message: type(message).__name__)
def test_every_field_was_put_to_that_test(message: wire.WireMessage) -> None:
    for field in msgspec.structs.fields(type(message)):
        assert field.required or getattr(message, field.name) != field.default


@pytest.mark.parametrize(
    "reply",
    [wire.Health, wire.Opened, wire.Told, wire.Attested, wire.Inspected, wire.Saved, wire.Done],
)
def test_what_a_server_leaves_out_takes_the_default_of_the_wire(reply: type[wire.Reply]) -> None:
    required: dict[str, Any] = {
        each.name: "" for each in msgspec.structs.fields(reply) if each.required
    }

    empty = type(encode_message(reply(**required)))()

    assert decode_message(empty, reply) == reply(**required)


def test_every_request_has_a_method_that_takes_and_returns_its_messages() -> None:
    for request, reply in wire.VERBS.values():
        method = find_method(request)
        name = "HealthReply" if reply is wire.Health else reply.__name__

        assert method.request is load_messages(SERVICE_V2)[request.__name__]
        assert method.response is load_messages(SERVICE_V2)[name]
    assert len(load_methods(SERVICE_V2)) == len(wire.VERBS) + 1, "IngestMany alone is no request"


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_refused(score: float) -> None:
    kinds = load_messages(SERVICE_V2)
    told = kinds["Told"](passages=[kinds["Passage"](text="t", score=score)])

    with pytest.raises(NotAnAnswer, match="score is"):
        decode_message(told, wire.Told)


@pytest.mark.parametrize("text", ["[1]", "look", ""])
def test_a_tool_call_that_is_no_json_object_is_refused(text: str) -> None:
    told = load_messages(SERVICE_V2)["Told"](tool_calls=[text])

    with pytest.raises(NotAnAnswer, match="not a JSON object"):
        decode_message(told, wire.Told)
