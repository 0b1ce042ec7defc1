"""The messages and methods of the `.proto` files, read from what compiling them yields.

There is no generated code, for two reasons. Stubs refuse to load beside a protobuf older than
the compiler that made them, and a system under test often brings an older one into the same
environment. And stubs register in the one pool a process shares, where they would collide with
the stubs of a system that speaks this protocol itself; these live in a pool of their own.
"""

import os
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

from recall_bench.errors import UsageError

SERVICE_V1 = "recall.bench.MemoryBenchService"
SERVICE_V2 = "recall.bench.v2.MemoryBenchService"

Protobuf = Any
"""A message of a class that is made at run time."""

DESCRIPTOR_FILE = "services.binpb"

METHODS = ("Setup", "IngestDay", "FinalizeIngestion", "Query", "Teardown", "Healthcheck")
"""Of the first version. Each takes the message named after it with `Request`, and returns the one
with `Response`."""


class GrpcMethod(NamedTuple):
    """One method of a service."""

    service: str
    name: str
    request: Any
    """The class of what it takes, one or a stream of them."""
    response: Any
    """The class of what it returns, one or a stream of them."""

    @property
    def path(self) -> str:
        """What it is called on the wire."""
        return f"/{self.service}/{self.name}"


def require_grpc(what: str) -> None:
    """UsageError, if gRPC is not installed, that says what needs it and how to get it."""
    # gRPC's core else writes a line to stderr whenever a server goes away.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    try:
        for library in ("grpc", "google.protobuf"):
            import_module(library)
    except ImportError as error:
        raise UsageError(f"{what} needs the gRPC libraries: install recall-bench[grpc]") from error


@cache
def load_messages(service: str = SERVICE_V1) -> dict[str, Any]:
    """The message classes beside a service by their names, the same ones at every call."""
    from google.protobuf.message_factory import GetMessageClass

    types = _load_pool().FindServiceByName(service).file.message_types_by_name
    return {name: GetMessageClass(found) for name, found in types.items()}


@cache
def load_methods(service: str = SERVICE_V1) -> dict[str, GrpcMethod]:
    """The methods of a service by their names."""
    kinds = load_messages(service)
    return {
        found.name: GrpcMethod(
            service, found.name, kinds[found.input_type.name], kinds[found.output_type.name]
        )
        for found in _load_pool().FindServiceByName(service).methods
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
    """The descriptors of both services; UsageError where the package was never built."""
    try:
        return (files(__package__) / DESCRIPTOR_FILE).read_bytes()
    except FileNotFoundError as error:
        raise UsageError(
            f"{DESCRIPTOR_FILE} is missing, which installing this source tree compiles: "
            "run pip install --editable ."
        ) from error
