"""Systems that run as a server and speak gRPC, in the first version of the service or the second.

Which of the two is found out by asking for its health: the second is asked first, and a server
that does not know it is spoken to in the first without another word.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from recall_bench.core.memory import Memory, Snapshots, SystemCard
from recall_bench.systems.grpc.address import parse_grpc_address
from recall_bench.systems.grpc.messages import SERVICE_V2, require_grpc
from recall_bench.systems.grpc.public import GrpcV1System, build_v1_card

if TYPE_CHECKING:
    from recall_bench.systems.grpc.door import GrpcServer
    from recall_bench.systems.grpc.line import GrpcChannel
    from recall_bench.systems.remote.system import RemoteSystem


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
    from recall_bench.systems.grpc.door import GrpcServer

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
        from recall_bench.systems.grpc.carrier import GrpcTransport
        from recall_bench.systems.remote.system import RemoteSystem

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
