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
from recall_bench.systems.grpc.faults import NotServed
from recall_bench.systems.grpc.messages import SERVICE, SERVICE_2, Protobuf, methods

if TYPE_CHECKING:
    from recall_bench.systems.grpc.door import Door
    from recall_bench.systems.grpc.line import Line


def public_card(name: str) -> SystemCard:
    """All that can be said of a server of the first version."""
    return SystemCard(
        name=name,
        version=UNDECLARED,
        config={"protocol": SERVICE},
        max_concurrency=64,
        asker=Asker.UNTOLD,
    )


class PublicSystem:
    """A server that holds one memory at a time."""

    snapshots = None
    max_shards = 1

    def __init__(self, door: "Door") -> None:
        self._door = door
        self._memory: PublicMemory | None = None
        self._is_opening = False

    @property
    def card(self) -> SystemCard:
        """What the system says it is."""
        name = self._door.health.name if self._door.health else ""
        return public_card(name or str(self._door.address))

    async def open(self, scenario: str, line: "Line | None" = None) -> "PublicMemory":
        """An empty memory on the server, the only one until it is closed.

        A line that was dialled already is used, else one is dialled.
        """
        if self._is_opening or (self._memory is not None and self._memory.is_open):
            raise UsageError(
                f"{self._door.address} holds one memory at a time and one is open: "
                "run one after another"
            )
        self._is_opening = True
        try:
            await self.close()
            self._memory = PublicMemory(await self._set_up(line), scenario)
        finally:
            self._is_opening = False
        return self._memory

    async def close(self) -> None:
        """Drop the connection, if one is still held."""
        if self._memory is not None:
            await self._memory.abandon()

    async def _set_up(self, line: "Line | None") -> "Line":
        line = line or await self._door.dial()
        try:
            await _call(line, "Setup")
        except NotServed as error:
            await line.hang_up()
            if self._door.has_healthcheck:
                raise
            raise UsageError(
                f"{self._door.address} is a gRPC server, but serves neither {SERVICE} nor "
                f"{SERVICE_2}; see that the port is right"
            ) from error
        except BaseException:
            await line.hang_up()
            raise
        return line


class PublicMemory:
    """What the server remembers between one Setup and the next; lost with the connection."""

    def __init__(self, line: "Line", scenario: str) -> None:
        self._line = line
        self._scenario = scenario
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether the server still holds this memory for us."""
        return not self._closed and not self._line.is_lost

    async def ingest(self, episode: Episode) -> None:
        """Hand over one day."""
        metadata = {
            "day_number": episode.day,
            "date": episode.at.date().isoformat(),
            "persona_id": self._scenario,
            "active_arcs": episode.arcs,
        }
        day = {"day_number": episode.day, "content": episode.text, "metadata": metadata}
        await _call(self._line, "IngestDay", **day)

    async def settle(self) -> None:
        """Return once the server says that everything handed over can be asked about."""
        await _call(self._line, "FinalizeIngestion")

    async def answer(self, question: Question) -> Answer:
        """What the server says, word for word."""
        response = await _call(self._line, "Query", question=question.text)
        return Answer(text=response.answer)

    async def close(self) -> None:
        """Tell the server to release the memory, if it still holds it, and hang up."""
        try:
            if self.is_open:
                # A server that went away, or shuts down at Teardown, holds nothing any more.
                with suppress(SystemGone):
                    await _call(self._line, "Teardown")
        finally:
            await self.abandon()

    async def abandon(self) -> None:
        """Hang up without a word."""
        if not self._closed:
            self._closed = True
            await self._line.hang_up()


async def _call(line: "Line", name: str, **fields: object) -> Protobuf:
    method = methods()[name]
    return await line.call(method, method.request(**fields))
