"""The messages and methods of the `.proto` files, from their compiled descriptors.

There is no generated code, for two reasons. Stubs refuse to load beside a protobuf older than their
compiler, and a system under test often brings an older one into the same environment. And stubs
register in the one pool of a process, where they would collide with the stubs of a system that
implements this protocol itself; these are in a pool of their own.

The messages of `wire` have the same fields, so they are translated field by field. Fields that the
other side left out take the defaults of `wire`.
"""

import math
import os
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

import msgspec

from recall_bench.core.errors import NotAnAnswer, UsageError
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.core.user_code import require_libraries
from recall_bench.systems.transports import wire

SERVICE_V1 = "recall.bench.MemoryBenchService"
SERVICE_V2 = "recall.bench.v2.MemoryBenchService"

Protobuf = Any
"""A message of a class that is created at run time."""

DESCRIPTOR_FILE = "services.binpb"

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""What our client and our server send and take: with two limits, a large day might fail."""

METHODS = ("Setup", "IngestDay", "FinalizeIngestion", "Query", "Teardown", "Healthcheck")
"""The methods of version 1. `X` takes an `XRequest` and returns an `XResponse`."""


class GrpcMethod(NamedTuple):
    """One method of a service."""

    service: str
    name: str
    request: Any
    """The class of its request, one or a stream of them."""
    response: Any
    """The class of its response, one or a stream of them."""

    @property
    def path(self) -> str:
        """Its path on the wire."""
        return f"/{self.service}/{self.name}"


def require_grpc(what: str) -> None:
    """UsageError if gRPC is not installed; it says what needs it and how to install it."""
    # Otherwise gRPC writes a line to stderr whenever a server goes away.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    require_libraries(what, "grpc", "grpc", "google.protobuf")


@cache
def load_messages(service: str = SERVICE_V1) -> dict[str, Any]:
    """The message classes of a service's file by name, the same objects at every call."""
    from google.protobuf.message_factory import GetMessageClass

    types = _load_pool().FindServiceByName(service).file.message_types_by_name
    return {name: GetMessageClass(kind) for name, kind in types.items()}


@cache
def load_methods(service: str = SERVICE_V1) -> dict[str, GrpcMethod]:
    """The methods of a service by name."""
    kinds = load_messages(service)
    return {
        method.name: GrpcMethod(
            service, method.name, kinds[method.input_type.name], kinds[method.output_type.name]
        )
        for method in _load_pool().FindServiceByName(service).methods
    }


@cache
def _load_pool() -> Any:  # noqa: ANN401
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(read_descriptors()).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def read_descriptors() -> bytes:
    """The descriptors of both services; UsageError if the package was never built."""
    try:
        return (files(__package__) / DESCRIPTOR_FILE).read_bytes()
    except FileNotFoundError as error:
        raise UsageError(
            f"{DESCRIPTOR_FILE} is missing, which installing this source tree compiles: "
            "run pip install --editable ."
        ) from error


M = TypeVar("M", bound=wire.WireMessage)

GRPC_TOKEN_VARIABLE = "RECALL_BENCH_GRPC_TOKEN"  # noqa: S105 - the name of one
"""The environment variable with the bearer token that our client sends and our server requires."""

RETRY_AFTER = "retry-after"
"""The trailing metadata with the seconds after which to ask a busy server again."""

_PROTO_NAMES: dict[type[wire.WireMessage], str] = {
    wire.OpenReply: "Opened",
    wire.AnswerReply: "Told",
    wire.AttestReply: "Attested",
    wire.InspectReply: "Inspected",
    wire.ErasedReply: "Erased",
    wire.StoredReply: "Entries",
    wire.WireEntry: "Entry",
    wire.SaveReply: "Saved",
    wire.DoneReply: "Done",
    wire.WireTurn: "Turn",
    wire.WirePassage: "Passage",
    wire.WireUsage: "Usage",
}
"""Messages with another name in the `.proto` file."""

_NESTED_FIELDS: dict[tuple[type[wire.WireMessage], str], type[wire.WireMessage]] = {
    (wire.IngestRequest, "turns"): wire.WireTurn,
    (wire.AnswerReply, "passages"): wire.WirePassage,
    (wire.AnswerReply, "usage"): wire.WireUsage,
    (wire.StoredReply, "entries"): wire.WireEntry,
}

_JSON_FIELDS = {(wire.AnswerReply, "tool_calls")}
"""Fields whose elements are sent as JSON text."""

_WRAPPED_LISTS: dict[tuple[type[wire.WireMessage], str], str] = {
    (wire.InspectReply, "days"): "Days"
}
"""Lists that may be missing, unlike a repeated field: each is sent inside a message."""


def find_method(request: type[wire.Request]) -> GrpcMethod:
    """The method for a request."""
    return load_methods(SERVICE_V2)[wire.VERB_OF[request].capitalize()]


def encode_message(message: wire.WireMessage) -> Protobuf:
    """A message as protobuf."""
    kind = type(message)
    values = {}
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if value is None:
            continue
        if (kind, name) in _NESTED_FIELDS:
            value = (
                [encode_message(part) for part in value]
                if type(value) is tuple
                else encode_message(value)
            )
        elif (kind, name) in _WRAPPED_LISTS:
            value = load_messages(SERVICE_V2)[_WRAPPED_LISTS[kind, name]](numbers=value)
        elif (kind, name) in _JSON_FIELDS:
            value = [msgspec.json.encode(part).decode() for part in value]
        values[name] = value
    return _find_message_class(kind)(**values)


def decode_message(received: Protobuf, kind: type[M]) -> M:
    """A protobuf as one of our messages; NotAnAnswer if a value is not valid."""
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
            value = tuple(_decode_json_object(text, name) for text in value)
        elif isinstance(value, float) and not math.isfinite(value):
            raise NotAnAnswer(f"{name} is {value}, which is not a number")
        elif not isinstance(value, str | int | float):
            value = tuple(value)
        values[name] = value
    return kind(**values)


def _decode_json_object(text: str, name: str) -> dict[str, object]:
    try:
        return decode_untrusted_json(text, dict[str, object])
    except msgspec.MsgspecError as error:
        raise NotAnAnswer(f"{name} holds what is not a JSON object: {error}") from error


def _find_message_class(kind: type[wire.WireMessage]) -> Protobuf:
    return load_messages(SERVICE_V2)[_PROTO_NAMES.get(kind, kind.__name__)]


@cache
def _list_fields(kind: type[wire.WireMessage]) -> tuple[tuple[str, bool], ...]:
    """The names of its fields, each with whether a missing value can be recognised."""
    described = _find_message_class(kind).DESCRIPTOR.fields_by_name
    return tuple((name, described[name].has_presence) for name in kind.__struct_fields__)
