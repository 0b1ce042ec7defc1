"""Servers of the second version: what carries the messages of `systems.remote` to them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import anyio

from recall_bench.core.errors import SystemFault
from recall_bench.systems.grpc.grpc_messages import (
    SERVICE_V2,
    Protobuf,
    decode_message,
    encode_message,
    find_method,
    load_methods,
)
from recall_bench.systems.transports.wire import IngestRequest, Reply, Request

if TYPE_CHECKING:
    from recall_bench.systems.grpc.grpc_channel import GrpcChannel, GrpcServer
from contextlib import suppress
from typing import TYPE_CHECKING

from recall_bench.core.errors import SystemGone, UsageError
from recall_bench.core.memory import UNDECLARED, Answer, Asker, SystemCard
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.grpc.grpc_channel import MethodNotServed
from recall_bench.systems.grpc.grpc_messages import SERVICE_V1

if TYPE_CHECKING:
    from recall_bench.systems.grpc.grpc_channel import GrpcChannel, GrpcServer
from pathlib import Path
from typing import TYPE_CHECKING

from recall_bench.core.memory import Memory, Snapshots
from recall_bench.systems.grpc.grpc_messages import require_grpc
from recall_bench.systems.grpc.single_connection import parse_grpc_address

if TYPE_CHECKING:
    from recall_bench.systems.grpc.grpc_channel import GrpcChannel, GrpcServer
    from recall_bench.systems.transports.remote_system import RemoteSystem

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


def build_v1_card(name: str) -> SystemCard:
    """All that can be said of a server of the first version."""
    return SystemCard(
        name=name,
        version=UNDECLARED,
        config={"protocol": SERVICE_V1},
        max_concurrency=64,
        asker=Asker.UNTOLD,
    )


class GrpcV1System:
    """A server that holds one memory at a time."""

    snapshots = None
    max_shards = 1

    def __init__(self, door: "GrpcServer") -> None:
        self._server = door
        self._memory: GrpcV1Memory | None = None
        self._is_opening = False

    @property
    def card(self) -> SystemCard:
        """What the system says it is."""
        name = self._server.health.name if self._server.health else ""
        return build_v1_card(name or str(self._server.address))

    async def open(self, scenario: str, line: "GrpcChannel | None" = None) -> "GrpcV1Memory":
        """An empty memory on the server, the only one until it is closed.

        A line that was dialled already is used, else one is dialled.
        """
        if self._is_opening or (self._memory is not None and self._memory.is_open):
            raise UsageError(
                f"{self._server.address} holds one memory at a time and one is open: "
                "run one after another"
            )
        self._is_opening = True
        try:
            await self.close()
            self._memory = GrpcV1Memory(await self._setup(line), scenario)
        finally:
            self._is_opening = False
        return self._memory

    async def close(self) -> None:
        """Drop the connection, if one is still held."""
        if self._memory is not None:
            await self._memory.disconnect()

    async def _setup(self, line: "GrpcChannel | None") -> "GrpcChannel":
        line = line or await self._server.connect()
        try:
            await _call_v1(line, "Setup")
        except MethodNotServed as error:
            await line.close()
            if self._server.has_healthcheck:
                raise
            raise UsageError(
                f"{self._server.address} is a gRPC server, but serves neither {SERVICE_V1} nor "
                f"{SERVICE_V2}; see that the port is right"
            ) from error
        except BaseException:
            await line.close()
            raise
        return line


class GrpcV1Memory:
    """What the server remembers between one Setup and the next; lost with the connection."""

    def __init__(self, line: "GrpcChannel", scenario: str) -> None:
        self._channel = line
        self._scenario = scenario
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether the server still holds this memory for us."""
        return not self._closed and not self._channel.is_lost

    async def ingest(self, episode: Episode) -> None:
        """Hand over one day."""
        metadata = {
            "day_number": episode.day,
            "date": episode.at.date().isoformat(),
            "persona_id": self._scenario,
            "active_arcs": episode.arcs,
        }
        day = {"day_number": episode.day, "content": episode.text, "metadata": metadata}
        await _call_v1(self._channel, "IngestDay", **day)

    async def settle(self) -> None:
        """Return once the server says that everything handed over can be asked about."""
        await _call_v1(self._channel, "FinalizeIngestion")

    async def answer(self, question: Question) -> Answer:
        """What the server says, word for word."""
        response = await _call_v1(self._channel, "Query", question=question.text)
        return Answer(text=response.answer)

    async def close(self) -> None:
        """Tell the server to release the memory, if it still holds it, and hang up."""
        try:
            if self.is_open:
                # A server that went away, or shuts down at Teardown, holds nothing any more.
                with suppress(SystemGone):
                    await _call_v1(self._channel, "Teardown")
        finally:
            await self.disconnect()

    async def disconnect(self) -> None:
        """Hang up without a word."""
        if not self._closed:
            self._closed = True
            await self._channel.close()


async def _call_v1(line: "GrpcChannel", name: str, **fields: object) -> Protobuf:
    method = load_methods()[name]
    return await line.call(method, method.request(**fields))


def build_grpc_system(
    target: str,
    *,
    timeout_s: float = 120.0,
    ca: Path | None = None,
    connect_timeout_s: float = 5.0,
    ready_timeout_s: float = 10.0,
) -> "GrpcSystem":
    """The system behind `grpc[s]://host[:port]`; nothing is contacted before `greet` or `open`.

    `ca` is a file of certificates to trust in place of the machine's own authorities.
    """
    address = parse_grpc_address(target, ca)
    require_grpc(target)
    from recall_bench.systems.grpc.grpc_channel import GrpcServer

    return GrpcSystem(
        GrpcServer(
            address,
            timeout_s=timeout_s,
            connect_timeout_s=connect_timeout_s,
            ready_timeout_s=ready_timeout_s,
        )
    )


class GrpcSystem:
    """A server; what it is and can do is known once it was greeted, or opened a memory."""

    def __init__(self, door: "GrpcServer") -> None:
        self._server = door
        self._inner: GrpcV1System | RemoteSystem | None = None
        self._connecting = anyio.Lock()

    @property
    def card(self) -> SystemCard:
        """What the system says it is; before it was met, what every server can be held to."""
        return build_v1_card(str(self._server.address)) if self._inner is None else self._inner.card

    @property
    def snapshots(self) -> Snapshots | None:
        """None if the server cannot go back, or was not met yet."""
        return None if self._inner is None else self._inner.snapshots

    @property
    def max_shards(self) -> int | None:
        """As the server says; 1 if it was not met yet, as every server stands that."""
        return 1 if self._inner is None else self._inner.max_shards

    async def fetch_card(self) -> SystemCard:
        """The card as the server fills it in; SystemGone if it is not there or not ready."""
        line = await self._server.connect()
        await line.close()
        self._inner = self._inner or self._build_inner()
        return self.card

    async def open(self, scenario: str) -> Memory:
        """An empty memory on the server."""
        async with self._connecting:
            if self._inner is None:
                line = await self._server.connect()
                try:
                    self._inner = self._build_inner(line)
                except BaseException:
                    await line.close()
                    raise
                if isinstance(self._inner, GrpcV1System):
                    return await self._inner.open(scenario, line)
            served = self._inner
        return await served.open(scenario)

    async def close(self) -> None:
        """Let go of the server."""
        if self._inner is not None:
            await self._inner.close()

    def _build_inner(self, line: "GrpcChannel | None" = None) -> "GrpcV1System | RemoteSystem":
        from recall_bench.systems.transports.remote_system import RemoteSystem

        if self._server.service != SERVICE_V2 or self._server.health is None:
            return GrpcV1System(self._server)
        carrier = GrpcTransport(self._server)
        if line is not None:
            carrier.use_channel(line)
        return RemoteSystem(
            carrier,
            self._server.health,
            where=str(self._server.address),
            config={"protocol": SERVICE_V2},
            is_shared=True,
        )
