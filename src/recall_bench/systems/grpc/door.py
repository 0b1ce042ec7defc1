"""How a server is met: who it is, which version of the service it speaks, whether it is ready."""

import anyio

from recall_bench.errors import SystemGone, SystemTimeout
from recall_bench.systems.grpc.address import GrpcAddress
from recall_bench.systems.grpc.faults import MethodNotServed
from recall_bench.systems.grpc.line import GrpcChannel
from recall_bench.systems.grpc.messages import SERVICE_V1, SERVICE_V2, load_methods
from recall_bench.systems.grpc.wording import decode_message
from recall_bench.systems.remote import wire


class GrpcServer:
    """Dials one server, as often as asked, and recognises it."""

    def __init__(
        self,
        address: GrpcAddress,
        *,
        timeout_s: float,
        connect_timeout_s: float,
        ready_timeout_s: float,
    ) -> None:
        self.address = address
        self.service: str | None = None
        """The version it speaks, once it was met."""
        self.health: wire.Health | None = None
        """What it says of itself, once it was met; of the first version that is just a name."""
        self.has_healthcheck = True
        """Whether it answers a health check of either version."""
        self._timeout_s = timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._ready_timeout_s = ready_timeout_s

    async def connect(self) -> GrpcChannel:
        """A line to the server, ready and the same as before, or SystemGone."""
        line = await GrpcChannel.connect(
            self.address, timeout_s=self._timeout_s, connect_timeout_s=self._connect_timeout_s
        )
        try:
            self._check_identity(*await self._wait_until_ready(line))
        except BaseException:
            await line.close()
            raise
        return line

    async def _wait_until_ready(self, line: GrpcChannel) -> tuple[str, wire.Health]:
        pause_s = 0.05
        with anyio.move_on_after(self._ready_timeout_s):
            while True:
                try:
                    service, health = await self._ask_health(line)
                except SystemTimeout:
                    break
                if health.ready:
                    return service, health
                await anyio.sleep(pause_s)
                pause_s = min(2 * pause_s, 1.0)
        waited = f"{self.address} is not ready after {self._ready_timeout_s:g} s"
        if line.is_silent:
            raise SystemGone(f"{waited} and has not said a word; see that it is a gRPC server")
        raise SystemGone(f"{waited}; run the same command again when it is")

    async def _ask_health(self, line: GrpcChannel) -> tuple[str, wire.Health]:
        asked = load_methods(SERVICE_V2)["Health"]
        try:
            reply = await line.call(asked, asked.request(), timeout_s=self._ready_timeout_s)
            return SERVICE_V2, decode_message(reply, wire.Health)
        except MethodNotServed:
            pass
        asked = load_methods(SERVICE_V1)["Healthcheck"]
        try:
            reply = await line.call(asked, asked.request(), timeout_s=self._ready_timeout_s)
        except MethodNotServed:
            self.has_healthcheck = False
            return SERVICE_V1, wire.Health()
        return SERVICE_V1, wire.Health(name=reply.name, ready=reply.ready)

    def _check_identity(self, service: str, health: wire.Health) -> None:
        if self.health is None:
            self.service, self.health = service, health
            return
        before = self.health.name
        if health.name and before and health.name != before:
            raise SystemGone(f"{self.address} called itself {before!r} before, now {health.name!r}")
        if service != self.service:
            raise SystemGone(f"{self.address} spoke {self.service} before, now {service}")
