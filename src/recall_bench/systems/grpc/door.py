"""How a server is met: who it is, which version of the service it speaks, whether it is ready."""

import anyio

from recall_bench.errors import SystemGone, SystemTimeout
from recall_bench.systems.grpc.address import Address
from recall_bench.systems.grpc.faults import NotServed
from recall_bench.systems.grpc.line import Line
from recall_bench.systems.grpc.messages import SERVICE, SERVICE_2, methods
from recall_bench.systems.grpc.wording import read
from recall_bench.systems.remote import wire


class Door:
    """Dials one server, as often as asked, and recognises it."""

    def __init__(
        self,
        address: Address,
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

    async def dial(self) -> Line:
        """A line to the server, ready and the same as before, or SystemGone."""
        line = await Line.dial(
            self.address, timeout_s=self._timeout_s, connect_timeout_s=self._connect_timeout_s
        )
        try:
            self._recognise(*await self._met(line))
        except BaseException:
            await line.hang_up()
            raise
        return line

    async def _met(self, line: Line) -> tuple[str, wire.Health]:
        pause_s = 0.05
        with anyio.move_on_after(self._ready_timeout_s):
            while True:
                try:
                    service, health = await self._ask(line)
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

    async def _ask(self, line: Line) -> tuple[str, wire.Health]:
        asked = methods(SERVICE_2)["Health"]
        try:
            reply = await line.call(asked, asked.request(), timeout_s=self._ready_timeout_s)
            return SERVICE_2, read(reply, wire.Health)
        except NotServed:
            pass
        asked = methods(SERVICE)["Healthcheck"]
        try:
            reply = await line.call(asked, asked.request(), timeout_s=self._ready_timeout_s)
        except NotServed:
            self.has_healthcheck = False
            return SERVICE, wire.Health()
        return SERVICE, wire.Health(name=reply.name, ready=reply.ready)

    def _recognise(self, service: str, health: wire.Health) -> None:
        if self.health is None:
            self.service, self.health = service, health
            return
        before = self.health.name
        if health.name and before and health.name != before:
            raise SystemGone(f"{self.address} called itself {before!r} before, now {health.name!r}")
        if service != self.service:
            raise SystemGone(f"{self.address} spoke {self.service} before, now {service}")
