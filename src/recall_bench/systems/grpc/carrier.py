"""Servers of the second version: what carries the messages of `systems.remote` to them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import anyio

from recall_bench.errors import SystemFault
from recall_bench.systems.grpc.messages import SERVICE_V2, Protobuf, load_methods
from recall_bench.systems.grpc.wording import decode_message, encode_message, find_method
from recall_bench.systems.remote.wire import IngestRequest, Reply, Request

if TYPE_CHECKING:
    from recall_bench.systems.grpc.door import GrpcServer
    from recall_bench.systems.grpc.line import GrpcChannel

R = TypeVar("R", bound=Reply)


class GrpcTransport:
    """One line, dialled at the first call, and again only after `close`."""

    def __init__(self, door: "GrpcServer") -> None:
        self._server = door
        self._channel: GrpcChannel | None = None
        self._connecting = anyio.Lock()

    async def call(self, request: Request, reply: type[R]) -> R:
        """The server's reply to one request."""
        line = self._channel or await self._connect()
        return decode_message(
            await line.call(find_method(type(request)), encode_message(request)), reply
        )

    async def stream(
        self, requests: Sequence[IngestRequest], took: Callable[[IngestRequest], None]
    ) -> None:
        """Take them over in order; `took` is called for each that the server has acknowledged."""
        if not requests:
            return
        line = self._channel or await self._connect()
        taken = 0

        def describe_progress() -> str:
            return f"IngestMany, at day {requests[taken].day},"

        def acknowledge(ingested: Protobuf) -> None:
            nonlocal taken
            due = requests[taken].day if taken < len(requests) else None
            if ingested.day != due:
                raise self._reject_acknowledgement(
                    f"day {ingested.day} where {f'day {due}' if due else 'none'}"
                )
            taken += 1
            took(requests[taken - 1])

        method = load_methods(SERVICE_V2)["IngestMany"]
        await line.stream(
            method, [encode_message(each) for each in requests], acknowledge, describe_progress
        )
        if taken < len(requests):
            raise self._reject_acknowledgement(f"no more days where day {requests[taken].day}")

    async def close(self) -> None:
        """Hang up; the next call dials again."""
        line, self._channel = self._channel, None
        if line is not None:
            await line.close()

    def use_channel(self, line: "GrpcChannel") -> None:
        """Use a line that was dialled already."""
        self._channel = line

    async def _connect(self) -> "GrpcChannel":
        async with self._connecting:
            if self._channel is None:
                self._channel = await self._server.connect()
            return self._channel

    def _reject_acknowledgement(self, what: str) -> SystemFault:
        return SystemFault(f"{self._server.address}: IngestMany acknowledged {what} was due")
