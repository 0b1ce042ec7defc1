"""Systems behind gRPC, in version 1 or 2 of the service.

The version is found by a health request: version 2 is tried first, and a server that does not know
it is used in version 1. A server of version 1 holds one memory: `Setup` opens it, `Teardown` closes
it. It is given the day, its text and its date, and asked the bare text of a question; it returns
bare text.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

from recall_bench.core.errors import SystemFault, SystemGone, UsageError
from recall_bench.core.memory import UNDECLARED, Answer, Asker, SystemCard
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.grpc.grpc_channel import MethodNotServed
from recall_bench.systems.grpc.grpc_messages import (
    SERVICE_V1,
    SERVICE_V2,
    Protobuf,
    decode_message,
    encode_message,
    find_method,
    load_methods,
    require_grpc,
)
from recall_bench.systems.grpc.single_connection import parse_grpc_address
from recall_bench.systems.transports.remote_system import RemoteSystem, StreamTransport
from recall_bench.systems.transports.wire import IngestRequest, Reply, Request

if TYPE_CHECKING:
    from recall_bench.systems.grpc.grpc_channel import GrpcChannel, GrpcServer

R = TypeVar("R", bound=Reply)


async def connect_grpc_system(
    target: str,
    *,
    timeout_s: float = 120.0,
    ca: Path | None = None,
    connect_timeout_s: float = 5.0,
    ready_timeout_s: float = 10.0,
) -> "GrpcV1System | RemoteSystem":
    """The system at `grpc[s]://host[:port]`; it is connected again when a memory is opened.

    `ca` is a file of certificates to trust instead of the machine's authorities. SystemGone if it
    cannot be reached or is not ready.
    """
    address = parse_grpc_address(target, ca)
    require_grpc(target)
    from recall_bench.systems.grpc.grpc_channel import GrpcServer

    server = GrpcServer(
        address,
        timeout_s=timeout_s,
        connect_timeout_s=connect_timeout_s,
        ready_timeout_s=ready_timeout_s,
    )
    await (await server.connect()).close()
    if server.service != SERVICE_V2 or server.health is None:
        return GrpcV1System(server)
    return RemoteSystem(
        GrpcTransport(server),
        server.health,
        where=str(address),
        config={"protocol": SERVICE_V2},
        is_shared=True,
    )


class GrpcTransport(StreamTransport):
    """One connection, opened at the first call, and again only after `close`."""

    def __init__(self, server: "GrpcServer") -> None:
        self._server = server
        self._channel: GrpcChannel | None = None
        self._connecting = anyio.Lock()

    async def call(self, request: Request, reply: type[R]) -> R:
        """The server's reply to one request."""
        channel = self._channel or await self._connect()
        return decode_message(
            await channel.call(find_method(type(request)), encode_message(request)), reply
        )

    async def stream(
        self, requests: Sequence[IngestRequest], on_ingested: Callable[[IngestRequest], None]
    ) -> None:
        """Send them in order; `on_ingested` is called for each that the server acknowledged."""
        if not requests:
            return
        channel = self._channel or await self._connect()
        taken = 0

        def describe_progress() -> str:
            return f"IngestMany, at day {requests[taken].day},"

        def reject(what: str) -> SystemFault:
            return SystemFault(f"{self._server.address}: IngestMany acknowledged {what} was due")

        def acknowledge(ingested: Protobuf) -> None:
            nonlocal taken
            due = requests[taken].day if taken < len(requests) else None
            if ingested.day != due:
                raise reject(f"day {ingested.day} where {f'day {due}' if due else 'none'}")
            taken += 1
            on_ingested(requests[taken - 1])

        await channel.stream(
            load_methods(SERVICE_V2)["IngestMany"],
            [encode_message(request) for request in requests],
            acknowledge,
            describe_progress,
        )
        if taken < len(requests):
            raise reject(f"no more days where day {requests[taken].day}")

    async def close(self) -> None:
        """Disconnect; the next call connects again."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def _connect(self) -> "GrpcChannel":
        async with self._connecting:
            if self._channel is None:
                self._channel = await self._server.connect()
            return self._channel


class GrpcV1System:
    """A server that holds one memory at a time."""

    snapshots = None
    max_shards = 1

    def __init__(self, server: "GrpcServer") -> None:
        self._server = server
        self._memory: GrpcV1Memory | None = None
        self._is_opening = False
        name = server.health.name if server.health else ""
        self.card = SystemCard(
            name=name or str(server.address),
            version=UNDECLARED,
            config={"protocol": SERVICE_V1},
            max_concurrency=64,
            asker=Asker.UNTOLD,
        )

    async def open(self, scenario: str) -> "GrpcV1Memory":
        """An empty memory on the server, the only one until it is closed."""
        if self._is_opening or (self._memory is not None and self._memory.is_open):
            raise UsageError(
                f"{self._server.address} holds one memory at a time and one is open: "
                "run one after another"
            )
        self._is_opening = True
        try:
            await self.close()
            self._memory = GrpcV1Memory(await self._setup(), scenario)
        finally:
            self._is_opening = False
        return self._memory

    async def close(self) -> None:
        """Close the connection, if there is one."""
        if self._memory is not None:
            await self._memory.disconnect()

    async def _setup(self) -> "GrpcChannel":
        channel = await self._server.connect()
        try:
            await _call_v1(channel, "Setup")
        except BaseException as error:
            await channel.close()
            if isinstance(error, MethodNotServed) and not self._server.has_healthcheck:
                raise UsageError(
                    f"{self._server.address} is a gRPC server, but serves neither {SERVICE_V1} nor "
                    f"{SERVICE_V2}; check the port"
                ) from error
            raise
        return channel


class GrpcV1Memory:
    """The memory between one Setup and the next; lost with the connection."""

    def __init__(self, channel: "GrpcChannel", scenario: str) -> None:
        self._channel = channel
        self._scenario = scenario
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether the server still holds this memory."""
        return not self._closed and not self._channel.is_lost

    async def ingest(self, episode: Episode) -> None:
        """Send one day."""
        metadata = {
            "day_number": episode.day,
            "date": episode.at.date().isoformat(),
            "persona_id": self._scenario,
            "active_arcs": episode.arcs,
        }
        day = {"day_number": episode.day, "content": episode.text, "metadata": metadata}
        await _call_v1(self._channel, "IngestDay", **day)

    async def settle(self) -> None:
        """Return once the server says that everything can be asked about."""
        await _call_v1(self._channel, "FinalizeIngestion")

    async def answer(self, question: Question) -> Answer:
        """The server's answer, verbatim."""
        response = await _call_v1(self._channel, "Query", question=question.text)
        return Answer(text=response.answer)

    async def close(self) -> None:
        """Close the memory on the server, if it still holds it, and disconnect."""
        try:
            if self.is_open:
                # A server that is gone, or stops at Teardown, holds nothing.
                with suppress(SystemGone):
                    await _call_v1(self._channel, "Teardown")
        finally:
            await self.disconnect()

    async def disconnect(self) -> None:
        """Disconnect without Teardown."""
        if not self._closed:
            self._closed = True
            await self._channel.close()


async def _call_v1(channel: "GrpcChannel", name: str, **fields: object) -> Protobuf:
    method = load_methods()[name]
    return await channel.call(method, method.request(**fields))
