"""Servers of the second version: what carries the messages of `systems.remote` to them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import anyio

from recall_bench.errors import SystemFault
from recall_bench.systems.grpc.messages import SERVICE_2, Protobuf, methods
from recall_bench.systems.grpc.wording import method_of, read, written
from recall_bench.systems.remote.wire import IngestRequest, Reply, Request

if TYPE_CHECKING:
    from recall_bench.systems.grpc.door import Door
    from recall_bench.systems.grpc.line import Line

R = TypeVar("R", bound=Reply)


class GrpcCarrier:
    """One line, dialled at the first call, and again only after `close`."""

    def __init__(self, door: "Door") -> None:
        self._door = door
        self._line: Line | None = None
        self._dialling = anyio.Lock()

    async def call(self, request: Request, reply: type[R]) -> R:
        """The server's reply to one request."""
        line = self._line or await self._dialled()
        return read(await line.call(method_of(type(request)), written(request)), reply)

    async def stream(
        self, requests: Sequence[IngestRequest], took: Callable[[IngestRequest], None]
    ) -> None:
        """Take them over in order; `took` is called for each that the server has acknowledged."""
        if not requests:
            return
        line = self._line or await self._dialled()
        taken = 0

        def doing() -> str:
            return f"IngestMany, at day {requests[taken].day},"

        def acknowledged(ingested: Protobuf) -> None:
            nonlocal taken
            due = requests[taken].day if taken < len(requests) else None
            if ingested.day != due:
                raise self._misfit(f"day {ingested.day} where {f'day {due}' if due else 'none'}")
            taken += 1
            took(requests[taken - 1])

        method = methods(SERVICE_2)["IngestMany"]
        await line.stream(method, [written(each) for each in requests], acknowledged, doing)
        if taken < len(requests):
            raise self._misfit(f"no more days where day {requests[taken].day}")

    async def close(self) -> None:
        """Hang up; the next call dials again."""
        line, self._line = self._line, None
        if line is not None:
            await line.hang_up()

    def take(self, line: "Line") -> None:
        """Use a line that was dialled already."""
        self._line = line

    async def _dialled(self) -> "Line":
        async with self._dialling:
            if self._line is None:
                self._line = await self._door.dial()
            return self._line

    def _misfit(self, what: str) -> SystemFault:
        return SystemFault(f"{self._door.address}: IngestMany acknowledged {what} was due")
