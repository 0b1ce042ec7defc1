"""The messages of `memory_bench.proto`, built when they are first needed.

There is no generated code, for two reasons. Stubs refuse to load beside a protobuf older than
the compiler that made them, and a system under test often brings an older one into the same
environment. And stubs register in the one pool a process shares, where they would collide with
the stubs of a system that speaks this protocol itself; these live in a pool of their own.
A test compiles the `.proto` file and compares.
"""

from functools import cache
from typing import Any

SERVICE = "recall.bench.MemoryBenchService"

METHODS = ("Setup", "IngestDay", "FinalizeIngestion", "Query", "Teardown", "Healthcheck")
"""Each takes the message named after it with `Request`, and returns the one with `Response`."""

_TYPES = {"bool": 8, "string": 9, "message": 11, "int32": 5}
_OPTIONAL, _REPEATED = 1, 3

_FIELDS: dict[str, tuple[str, ...]] = {
    "SetupRequest": (),
    "SetupResponse": (),
    "DayMetadata": (
        "int32 day_number",
        "string date",
        "string persona_id",
        "repeated string active_arcs",
    ),
    "IngestDayRequest": ("int32 day_number", "string content", "DayMetadata metadata"),
    "IngestDayResponse": (),
    "FinalizeIngestionRequest": (),
    "FinalizeIngestionResponse": (),
    "QueryRequest": ("string question",),
    "QueryResponse": ("string answer",),
    "TeardownRequest": (),
    "TeardownResponse": (),
    "HealthcheckRequest": (),
    "HealthcheckResponse": ("string name", "bool ready"),
}
"""Fields are numbered from 1 in the order written."""


def file_descriptor() -> Any:  # noqa: ANN401
    """The protocol as protobuf describes files: what compiling `memory_bench.proto` yields."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    package, _, service_name = SERVICE.rpartition(".")
    file = FileDescriptorProto(name="memory_bench.proto", package=package, syntax="proto3")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for number, spelled in enumerate(fields, start=1):
            *label, kind, field = spelled.split()
            added = message.field.add(
                name=field,
                number=number,
                label=_REPEATED if label else _OPTIONAL,
                type=_TYPES.get(kind, _TYPES["message"]),
            )
            if kind in _FIELDS:
                added.type_name = f".{package}.{kind}"
    service = file.service.add(name=service_name)
    for method in METHODS:
        service.method.add(
            name=method,
            input_type=f".{package}.{method}Request",
            output_type=f".{package}.{method}Response",
        )
    return file


@cache
def messages() -> dict[str, Any]:
    """The message classes by name, the same ones at every call."""
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    pool = DescriptorPool()
    file = pool.AddSerializedFile(file_descriptor().SerializeToString())
    return {name: GetMessageClass(found) for name, found in file.message_types_by_name.items()}
