"""Servers of the public protocol, version 1.

The server holds one memory: opening one is `Setup`, closing it is `Teardown`. It is told the day,
its text and its date, and asked the bare text of a question; it returns bare text.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from recall_bench.core.history import Episode
from recall_bench.core.memory import UNDECLARED, Answer, Asker, SystemCard
from recall_bench.core.question import Question
from recall_bench.errors import SystemGone, UsageError
from recall_bench.systems.grpc.faults import MethodNotServed
from recall_bench.systems.grpc.messages import SERVICE_V1, SERVICE_V2, Protobuf, load_methods

if TYPE_CHECKING:
    from recall_bench.systems.grpc.door import GrpcServer
    from recall_bench.systems.grpc.line import GrpcChannel


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
