"""The YAML file that says how to start a server for one run, and the carrier that does."""

from pathlib import Path, PurePath
from typing import TypeVar

import anyio
import msgspec
from msgspec import field

from recall_bench.errors import SystemGone, UsageError
from recall_bench.systems.http.address import parse_http_address
from recall_bench.systems.http.carrier import HttpTransport
from recall_bench.systems.http.ephemeral import START_TIMEOUT_S, EphemeralServer
from recall_bench.systems.remote.described import YamlSection, parse_section
from recall_bench.systems.remote.wire import Reply, Request
from recall_bench.yaml12 import Document, read_document

StartedReply = TypeVar("StartedReply", bound=Reply)

_EXIT_GRACE_S = 1.0


class HttpServerSpec(YamlSection, frozen=True, kw_only=True):
    """How to start a server."""

    command: tuple[str, ...]
    """The program and its arguments; no shell is involved."""
    env: dict[str, str] = field(default_factory=dict)
    """Laid over our own environment."""
    health: str = "/health"
    """Answered with a status of 200 to 299 once the server is ready."""
    ready_timeout_s: float = START_TIMEOUT_S
    max_shards: int | None = None
    """How many workers may start one at a time; as the server says unless given, else any number:
    each has its own port and its own folder."""
    config: dict[str, str] = field(default_factory=dict)
    """Files to write before the start, by their path in the folder that the server runs in."""


class _HttpServerFile(YamlSection, frozen=True, kw_only=True):
    transport: str
    server: HttpServerSpec


def read_server_file(path: Path) -> HttpServerSpec:
    """How to start the server, `{here}` filled in; UsageError names the file, line and key."""
    document = read_document(path)
    spec = parse_section(
        document, _HttpServerFile, {"server": HttpServerSpec}, place="{port}"
    ).server
    _check_server_file(document, spec)
    here = str(path.resolve().parent)
    return msgspec.structs.replace(
        spec,
        command=tuple(word.replace("{here}", here) for word in spec.command),
        env={name: text.replace("{here}", here) for name, text in spec.env.items()},
        config={name: text.replace("{here}", here) for name, text in spec.config.items()},
    )


def _check_server_file(document: Document, spec: HttpServerSpec) -> None:
    def refuse(key: str, problem: str) -> None:
        raise UsageError(f"{document.describe_place('server', key)}: server.{key} {problem}")

    texts = (*spec.command, *spec.env.values(), *spec.config.values())
    if not spec.command or not spec.command[0]:
        refuse("command", "is empty; write the program and its arguments as a list")
    if not any("{port}" in text for text in texts):
        refuse("command", 'has no "{port}", nor has env or config; say where the port belongs')
    if any("{config}" in text for text in texts) and not spec.config:
        refuse("config", 'is missing but "{config}" is used; write the file\'s path and text there')
    if not spec.health.startswith("/"):
        refuse("health", f"is {spec.health!r}; write a path that begins with /")
    if not spec.ready_timeout_s > 0:
        refuse("ready_timeout_s", "is not above 0; write a number of seconds")
    if spec.max_shards is not None and spec.max_shards < 1:
        refuse("max_shards", "is below 1; write a number from 1")
    for name in spec.config:
        if not name or PurePath(name).is_absolute() or ".." in PurePath(name).parts:
            refuse("config", f"has the path {name!r}; write one inside the server's own folder")


class StartedServerTransport:
    """Starts a server at the first call and ends it at `close`; a dead one is not replaced."""

    def __init__(self, spec: HttpServerSpec) -> None:
        self._spec = spec
        self._server: EphemeralServer | None = None
        self._transport: HttpTransport | None = None
        self._starting = anyio.Lock()
        self._lost: str | None = None

    async def call(self, request: Request, reply: type[StartedReply]) -> StartedReply:
        """The server's reply; SystemGone quotes its log if it has died."""
        if self._lost is not None:
            raise SystemGone(self._lost)
        carrier = await self._connect()
        try:
            return await carrier.call(request, reply)
        except SystemGone as gone:
            server = self._server
            if server is None or not await _wait_for_exit(server):
                raise
            self._lost = f"the server died under way: {server.describe_end()}"
            raise SystemGone(self._lost) from gone

    async def close(self) -> None:
        """End the server with everything it started."""
        server, carrier = self._server, self._transport
        self._server = self._transport = self._lost = None
        self._starting = anyio.Lock()
        try:
            if carrier is not None:
                await carrier.close()
        finally:
            if server is not None:
                await server.__aexit__(None, None, None)

    async def _connect(self) -> HttpTransport:
        async with self._starting:
            if self._transport is None:
                spec = self._spec
                server = EphemeralServer(
                    spec.command,
                    env=spec.env,
                    files=spec.config,
                    health=spec.health,
                    ready_timeout_s=spec.ready_timeout_s,
                )
                self._server = await server.__aenter__()
                self._transport = HttpTransport(parse_http_address(server.base_url))
            return self._transport


async def _wait_for_exit(server: EphemeralServer) -> bool:
    """Whether it has; a process loses its connections a moment before it is seen to end."""
    with anyio.move_on_after(_EXIT_GRACE_S):
        while server.is_running:  # noqa: ASYNC110 - another process has no event
            await anyio.sleep(0.02)
    return not server.is_running
