"""Every message of the wire passes through the second version of the service unchanged."""

import math
from typing import Any

import msgspec
import pytest

from recall_bench.core.errors import NotAnAnswer
from recall_bench.systems.grpc.grpc_messages import (
    SERVICE_V2,
    _find_message_class,
    decode_message,
    encode_message,
    find_method,
    load_messages,
    load_methods,
)
from recall_bench.systems.transports import wire
from tests.loops import loop_over_rows

FULL: list[wire.WireMessage] = [
    wire.HealthRequest(),
    wire.HealthReply(
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
        offers=("delete", "stored"),
    ),
    wire.OpenRequest(scenario="ada", reopen=True, memory="m0"),
    wire.OpenReply(memory="m"),
    wire.IngestRequest(
        memory="m",
        day=2,
        id="day-0002",
        date="2026-01-02",
        time="13:56:00",
        content="Fig 🐈\n",
        arcs=("cat", "rain"),
        turns=(wire.WireTurn(speaker="Ada", text="Hi"), wire.WireTurn(speaker="Bo", text="")),
        session="crew",
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
    wire.AnswerReply(
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
    wire.AttestReply(days=0),
    wire.EraseRequest(memory="m", scope="days", value="30"),
    wire.ErasedReply(confirmed=False, count=2**40),
    wire.StoredRequest(memory="m"),
    wire.StoredReply(entries=(wire.WireEntry(text="Fig 🐈", id="day-0002", day=2),)),
    wire.ConsolidateRequest(memory="m"),
    wire.InspectRequest(memory="m"),
    wire.InspectReply(days=(1, 3), bytes=2**40),
    wire.SaveRequest(memory="m"),
    wire.SaveReply(snapshot="s"),
    wire.RestoreRequest(snapshot="s"),
    wire.DropRequest(snapshot="s"),
    wire.CloseRequest(memory="m"),
    wire.DoneReply(),
]

BARE: list[wire.WireMessage] = [
    wire.HealthReply(),
    wire.AnswerReply(),
    wire.AnswerReply(answer=""),
    wire.AnswerReply(usage=wire.WireUsage()),
    wire.AttestReply(),
    wire.InspectReply(),
    wire.InspectReply(days=()),
    wire.InspectReply(bytes=0),
]


@loop_over_rows("message", FULL + BARE, ids=repr)
def test_a_message_comes_back_as_it_was(message: wire.WireMessage) -> None:
    sent = encode_message(message)

    received = type(sent).FromString(sent.SerializeToString())

    assert decode_message(received, type(message)) == message


@loop_over_rows("message", FULL, ids=lambda message: type(message).__name__)
def test_every_field_is_in_the_round_trip(message: wire.WireMessage) -> None:
    for field in msgspec.structs.fields(type(message)):
        assert field.required or getattr(message, field.name) != field.default


@loop_over_rows(
    "reply",
    [
        wire.HealthReply,
        wire.OpenReply,
        wire.AnswerReply,
        wire.AttestReply,
        wire.InspectReply,
        wire.SaveReply,
        wire.DoneReply,
    ],
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

        assert method.request is load_messages(SERVICE_V2)[request.__name__]
        assert method.response is _find_message_class(reply)
    assert len(load_methods(SERVICE_V2)) == len(wire.VERBS) + 1, "IngestMany alone is no request"


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_refused(score: float) -> None:
    kinds = load_messages(SERVICE_V2)
    told = kinds["Told"](passages=[kinds["Passage"](text="t", score=score)])

    with pytest.raises(NotAnAnswer, match="score is"):
        decode_message(told, wire.AnswerReply)


@pytest.mark.parametrize("text", ["[1]", "look", ""])
def test_a_tool_call_that_is_no_json_object_is_refused(text: str) -> None:
    told = load_messages(SERVICE_V2)["Told"](tool_calls=[text])

    with pytest.raises(NotAnAnswer, match="not a JSON object"):
        decode_message(told, wire.AnswerReply)
