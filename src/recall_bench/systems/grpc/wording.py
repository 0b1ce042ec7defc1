"""The messages of `systems.remote.wire` as those of the second version of the service, and back.

Fields have the same names on both sides, so the two are translated field by field. What the other
side left out is left out here too, and takes the default it has in `wire`.
"""

import math
from functools import cache
from typing import Any, TypeVar

import msgspec

from recall_bench.errors import NotAnAnswer
from recall_bench.systems.grpc.messages import (
    SERVICE_V2,
    GrpcMethod,
    Protobuf,
    load_messages,
    load_methods,
)
from recall_bench.systems.remote import wire

M = TypeVar("M", bound=wire.WireMessage)

RETRY_AFTER = "retry-after"
"""The trailing metadata in which a busy server says how many seconds it wants to be left alone."""

_PROTO_NAMES: dict[type[wire.WireMessage], str] = {
    wire.Health: "HealthReply",
    wire.WirePassage: "Passage",
    wire.WireUsage: "Usage",
}
"""Messages that are called otherwise in the `.proto` file."""

_NESTED_FIELDS: dict[tuple[type[wire.WireMessage], str], type[wire.WireMessage]] = {
    (wire.IngestRequest, "turns"): wire.Turn,
    (wire.Told, "passages"): wire.WirePassage,
    (wire.Told, "usage"): wire.WireUsage,
}

_JSON_FIELDS = {(wire.Told, "tool_calls")}
"""Fields whose elements travel as JSON text."""

_WRAPPED_LISTS: dict[tuple[type[wire.WireMessage], str], str] = {(wire.Inspected, "days"): "Days"}
"""Lists that may be left out, which a repeated field cannot be: each travels in a message."""


def find_method(request: type[wire.Request]) -> GrpcMethod:
    """The method that takes a request."""
    return load_methods(SERVICE_V2)[wire.VERB_OF[request].capitalize()]


def encode_message(message: wire.WireMessage) -> Protobuf:
    """A message as it is sent."""
    kind = type(message)
    values = {}
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if value is None:
            continue
        if (kind, name) in _NESTED_FIELDS:
            value = (
                [encode_message(each) for each in value]
                if type(value) is tuple
                else encode_message(value)
            )
        elif (kind, name) in _WRAPPED_LISTS:
            value = load_messages(SERVICE_V2)[_WRAPPED_LISTS[kind, name]](numbers=value)
        elif (kind, name) in _JSON_FIELDS:
            value = [msgspec.json.encode(each).decode() for each in value]
        values[name] = value
    return _find_message_class(kind)(**values)


def decode_message(received: Protobuf, kind: type[M]) -> M:
    """What was received, as a message; NotAnAnswer if something in it cannot be meant."""
    values: dict[str, Any] = {}
    for name, has_presence in _list_fields(kind):
        if has_presence and not received.HasField(name):
            continue
        value = getattr(received, name)
        nested = _NESTED_FIELDS.get((kind, name))
        if nested is not None:
            value = (
                decode_message(value, nested)
                if has_presence
                else tuple(decode_message(v, nested) for v in value)
            )
        elif (kind, name) in _WRAPPED_LISTS:
            value = tuple(value.numbers)
        elif (kind, name) in _JSON_FIELDS:
            value = tuple(_decode_json_object(each, name) for each in value)
        elif isinstance(value, float) and not math.isfinite(value):
            raise NotAnAnswer(f"{name} is {value}, which is not a number")
        elif not isinstance(value, str | int | float):
            value = tuple(value)
        values[name] = value
    return kind(**values)


def _decode_json_object(text: str, name: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.MsgspecError as error:
        raise NotAnAnswer(f"{name} holds what is not a JSON object: {error}") from error


def _find_message_class(kind: type[wire.WireMessage]) -> Protobuf:
    return load_messages(SERVICE_V2)[_PROTO_NAMES.get(kind, kind.__name__)]


@cache
def _list_fields(kind: type[wire.WireMessage]) -> tuple[tuple[str, bool], ...]:
    """The names of its fields, each with whether one can tell that it was left out."""
    described = _find_message_class(kind).DESCRIPTOR.fields_by_name
    return tuple((name, described[name].has_presence) for name in kind.__struct_fields__)
