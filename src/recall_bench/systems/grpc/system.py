"""Systems that run as a server and speak gRPC, in the first version of the service or the second.

Which of the two is found out by asking for its health: the second is asked first, and a server
that does not know it is spoken to in the first without another word.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from recall_bench.core.memory import Memory, Snapshots, SystemCard
from recall_bench.systems.grpc.address import address_of
from recall_bench.systems.grpc.messages import SERVICE_2, need_libraries
from recall_bench.systems.grpc.public import PublicSystem, public_card

if TYPE_CHECKING:
    from recall_bench.systems.grpc.door import Door
    from recall_bench.systems.grpc.line import Line
    from recall_bench.systems.remote.system import RemoteSystem


def grpc_system(
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
    address = address_of(target, ca)
    need_libraries(target)
    from recall_bench.systems.grpc.door import Door

    return GrpcSystem(
        Door(
            address,
            timeout_s=timeout_s,
            connect_timeout_s=connect_timeout_s,
            ready_timeout_s=ready_timeout_s,
        )
    )


class GrpcSystem:
    """A server; what it is and can do is known once it was greeted, or opened a memory."""

    def __init__(self, door: "Door") -> None:
        self._door = door
        self._served: PublicSystem | RemoteSystem | None = None
        self._meeting = anyio.Lock()

    @property
    def card(self) -> SystemCard:
        """What the system says it is; before it was met, what every server can be held to."""
        return public_card(str(self._door.address)) if self._served is None else self._served.card

    @property
    def snapshots(self) -> Snapshots | None:
        """None if the server cannot go back, or was not met yet."""
        return None if self._served is None else self._served.snapshots

    @property
    def max_shards(self) -> int | None:
        """As the server says; 1 if it was not met yet, as every server stands that."""
        return 1 if self._served is None else self._served.max_shards

    async def greet(self) -> SystemCard:
        """The card as the server fills it in; SystemGone if it is not there or not ready."""
        line = await self._door.dial()
        await line.hang_up()
        self._served = self._served or self._met()
        return self.card

    async def open(self, scenario: str) -> Memory:
        """An empty memory on the server."""
        async with self._meeting:
            if self._served is None:
                line = await self._door.dial()
                try:
                    self._served = self._met(line)
                except BaseException:
                    await line.hang_up()
                    raise
                if isinstance(self._served, PublicSystem):
                    return await self._served.open(scenario, line)
            served = self._served
        return await served.open(scenario)

    async def close(self) -> None:
        """Let go of the server."""
        if self._served is not None:
            await self._served.close()

    def _met(self, line: "Line | None" = None) -> "PublicSystem | RemoteSystem":
        from recall_bench.systems.grpc.carrier import GrpcCarrier
        from recall_bench.systems.remote.system import RemoteSystem

        if self._door.service != SERVICE_2 or self._door.health is None:
            return PublicSystem(self._door)
        carrier = GrpcCarrier(self._door)
        if line is not None:
            carrier.take(line)
        return RemoteSystem(
            carrier,
            self._door.health,
            where=str(self._door.address),
            config={"protocol": SERVICE_2},
            is_shared=True,
        )
