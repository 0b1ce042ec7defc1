"""Systems that run as a server and speak the public gRPC protocol, version 1.

The server holds one memory: opening one is `Setup`, closing it is `Teardown`. It is told the day,
its text and its date, and asked the bare text of a question; it returns bare text.
"""

import os
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from recall_bench.core.history import Episode
from recall_bench.core.memory import Answer, Asker, SystemCard
from recall_bench.core.question import Question
from recall_bench.errors import SystemGone, UsageError
from recall_bench.systems.grpc.messages import SERVICE

if TYPE_CHECKING:
    from recall_bench.systems.grpc.line import Line

DEFAULT_PORT = 50052


def grpc_system(
    target: str,
    *,
    timeout_s: float = 120.0,
    connect_timeout_s: float = 5.0,
    ready_timeout_s: float = 10.0,
) -> "GrpcSystem":
    """The system behind `grpc://host[:port]`; nothing is contacted before `greet` or `open`."""
    host, port = address_of(target)
    # gRPC's core else writes a line to stderr whenever a server goes away.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    try:
        for library in ("grpc", "google.protobuf"):
            import_module(library)
    except ImportError as error:
        raise UsageError(
            f"{target} needs the gRPC libraries: install recall-bench[grpc]"
        ) from error
    return GrpcSystem(host, port, timeout_s, connect_timeout_s, ready_timeout_s=ready_timeout_s)


def address_of(target: str) -> tuple[str, int]:
    """Host and port of a `grpc://` address, or a UsageError that says what is wrong with it."""
    form = "write grpc://host:port, with an IPv6 host in brackets"
    try:
        parts = urlsplit(target)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{target!r} is not an address ({error}); {form}") from error
    if parts.scheme != "grpc":
        raise UsageError(f"{target!r} is not a gRPC address; {form}")
    if not host:
        raise UsageError(f"{target!r} names no host; {form}")
    if port == 0 or parts.path.strip("/") or parts.query or parts.fragment or parts.username:
        raise UsageError(f"{target!r} is more than a host and a port from 1 to 65535; {form}")
    return host, DEFAULT_PORT if port is None else port


class GrpcSystem:
    """A server that holds one memory at a time."""

    snapshots = None

    def __init__(
        self,
        host: str,
        port: int,
        timeout_s: float,
        connect_timeout_s: float,
        *,
        ready_timeout_s: float,
    ) -> None:
        self._host = host
        self._port = port
        self._timeout_s = timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._ready_timeout_s = ready_timeout_s
        self._target = f"grpc://[{host}]:{port}" if ":" in host else f"grpc://{host}:{port}"
        self._name: str | None = None
        self._memory: GrpcMemory | None = None
        self._is_opening = False

    @property
    def card(self) -> SystemCard:
        """What the system says it is; its own name for itself is known once it was greeted."""
        return SystemCard(
            name=self._name or self._target,
            version="undeclared",
            config={"protocol": SERVICE},
            max_concurrency=64,
            asker=Asker.UNTOLD,
        )

    async def greet(self) -> SystemCard:
        """The card, with the name the server gives; SystemGone if it is not there or not ready."""
        line = await self._dial()
        await line.hang_up()
        return self.card

    async def open(self, scenario: str) -> "GrpcMemory":
        """An empty memory on the server, the only one until it is closed."""
        if self._is_opening or (self._memory is not None and self._memory.is_open):
            raise UsageError(
                f"{self._target} holds one memory at a time and one is open: run one after another"
            )
        self._is_opening = True
        try:
            await self.close()
            self._memory = GrpcMemory(await self._dial("Setup"), scenario)
        finally:
            self._is_opening = False
        return self._memory

    async def close(self) -> None:
        """Drop the connection, if one is still held."""
        if self._memory is not None:
            await self._memory.abandon()

    async def _dial(self, *methods: str) -> "Line":
        from recall_bench.systems.grpc.line import Line

        line = await Line.dial(
            self._host,
            self._port,
            timeout_s=self._timeout_s,
            connect_timeout_s=self._connect_timeout_s,
        )
        try:
            self._recognise(await self._name_when_ready(line))
            for method in methods:
                await line.call(method)
        except BaseException:
            await line.hang_up()
            raise
        return line

    async def _name_when_ready(self, line: "Line") -> str:
        pause_s = 0.05
        with anyio.move_on_after(self._ready_timeout_s):
            while True:
                name, is_ready = await line.health()
                if is_ready:
                    return name
                await anyio.sleep(pause_s)
                pause_s = min(2 * pause_s, 1.0)
        raise SystemGone(
            f"{self._target} is not ready after {self._ready_timeout_s:g} s; "
            "run the same command again when it is"
        )

    def _recognise(self, name: str) -> None:
        if self._name is None:
            self._name = name or self._target
        elif name and name != self._name:
            raise SystemGone(f"{self._target} called itself {self._name!r} before, now {name!r}")


class GrpcMemory:
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
        await self._line.call(
            "IngestDay", day_number=episode.day, content=episode.text, metadata=metadata
        )

    async def settle(self) -> None:
        """Return once the server says that everything handed over can be asked about."""
        await self._line.call("FinalizeIngestion")

    async def answer(self, question: Question) -> Answer:
        """What the server says, word for word."""
        response = await self._line.call("Query", question=question.text)
        return Answer(text=response.answer)

    async def close(self) -> None:
        """Tell the server to release the memory, if it still holds it, and hang up."""
        try:
            if self.is_open:
                # A server that went away, or shuts down at Teardown, holds nothing any more.
                with suppress(SystemGone):
                    await self._line.call("Teardown")
        finally:
            await self.abandon()

    async def abandon(self) -> None:
        """Hang up without a word."""
        if not self._closed:
            self._closed = True
            await self._line.hang_up()
