"""Systems behind HTTP: one that runs, or one that a YAML file says how to start."""

import os
import shutil
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from socket import gaierror
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
import msgspec

from recall_bench.core.errors import SystemFault, SystemGone, SystemTimeout, UsageError
from recall_bench.core.memory import Isolation, IsolationCard
from recall_bench.core.redaction import Redactor
from recall_bench.core.user_code import require_libraries
from recall_bench.core.yaml12 import Document, read_document
from recall_bench.systems.transports.ephemeral_server import START_TIMEOUT_S, EphemeralServer
from recall_bench.systems.transports.http_routes import (
    JSON,
    MAX_BODY_BYTES,
    TOKEN_VARIABLE,
    UNREADABLE,
    describe_body,
    encode_request,
    parse_fault,
)
from recall_bench.systems.transports.remote_system import (
    READY_TIMEOUT_S,
    RemoteSystem,
    Transport,
    connect_remote_system,
    decode_fault,
)
from recall_bench.systems.transports.server_yaml import YamlSection, parse_section, shorten_digest
from recall_bench.systems.transports.wire import (
    PROTOCOL,
    DoneReply,
    HealthReply,
    OpenRequest,
    Reply,
    Request,
)

if TYPE_CHECKING:
    import httpx

_ADDRESS_FORM = "write http://host:port, and perhaps a path"


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """An address that may be shown, and credentials that may not."""

    url: str
    """Without credentials, and without a slash at its end."""
    authorization: str | None = field(default=None, repr=False)
    """The Authorization header, if any."""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def redact(self, text: str) -> str:
        """The text without the credentials, which a server may repeat."""
        return Redactor(self.secrets).redact_secrets(text)


def parse_http_address(target: str, environ: Mapping[str, str] = os.environ) -> HttpAddress:
    """The address of a target, or a UsageError that repeats no credentials.

    Credentials in it are sent as Basic authorization; without any, the token in the environment is
    sent as a bearer token.
    """
    try:
        parts = urlsplit(target)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        spelled = f"{target.partition('://')[0]}://{target.rpartition('@')[2].rpartition('//')[2]}"
        raise UsageError(f"{spelled!r} is not an address ({error}); {_ADDRESS_FORM}") from None
    place = parts.netloc.rpartition("@")[2]
    url = f"{parts.scheme}://{place}{parts.path.rstrip('/')}"
    if parts.scheme not in ("http", "https"):
        spelled = url.removeprefix("://")
        raise UsageError(f"{spelled!r} is not an HTTP address; {_ADDRESS_FORM}")
    if not host or port == 0:
        raise UsageError(f"{url!r} names no host and port; {_ADDRESS_FORM}")
    if parts.query or parts.fragment:
        raise UsageError(f"{url!r} is followed by a query or a fragment; {_ADDRESS_FORM}")
    if parts.username is not None:
        user, password = unquote(parts.username), unquote(parts.password or "")
        plain = f"{user}:{password}"
        encoded = b64encode(plain.encode()).decode()
        secrets = (encoded, plain, password, parts.password, user)
        return HttpAddress(url, f"Basic {encoded}", tuple(filter(None, secrets)))
    if token := environ.get(TOKEN_VARIABLE):
        if not (token.isascii() and token.isprintable()):
            raise UsageError(f"{TOKEN_VARIABLE} holds what no HTTP header can; set it again")
        return HttpAddress(url, f"Bearer {token}", (token,))
    return HttpAddress(url)


R = TypeVar("R", bound=Reply)

_KEEPALIVE_S = 1.0
"""Servers close idle connections, the fastest we know after 2 s. If that happens while a request is
under way it looks like a crash, so we close idle connections earlier."""


def build_http_client(
    address: HttpAddress, *, connect_timeout_s: float = 5.0
) -> "httpx.AsyncClient":
    """A client with the address's credentials, without proxies or other settings of the user."""
    import httpx

    sent = {"Accept": JSON, "Accept-Encoding": "identity"}
    if address.authorization is not None:
        sent["Authorization"] = address.authorization
    return httpx.AsyncClient(
        headers=sent,
        # No proxies or other settings from the environment.
        trust_env=False,
        # Without TLS there is nothing to verify, and loading certificates takes time.
        verify=address.url.startswith("https:"),
        timeout=httpx.Timeout(None, connect=connect_timeout_s),
        limits=httpx.Limits(keepalive_expiry=_KEEPALIVE_S),
    )


class HttpTransport(Transport):
    """Calls to one server over persistent connections, without proxies and redirects.

    A restarted server is recognised because it does not know its memories. Calls have no deadline
    of their own unless `timeout_s` gives one.
    """

    def __init__(
        self,
        address: HttpAddress,
        *,
        timeout_s: float | None = None,
        connect_timeout_s: float = 5.0,
    ) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._client: httpx.AsyncClient | None = None

    async def call(self, request: Request, reply: type[R]) -> R:
        """The server's reply to one request."""
        method, path, body = encode_request(request)
        where = f"{self._address.url}: {method} {path}"
        status, retry_after, content = await self._send(method, path, body, where)
        if 200 <= status < 300:
            return self._decode_reply(content, reply, where)
        fault = parse_fault(status, retry_after, content)
        if reply is HealthReply:
            if fault.kind == "busy" or status == 503:
                # A server that is starting says so as load balancers do.
                return msgspec.convert({"ready": False}, reply)
            raise SystemGone(
                self._address.redact(
                    f"{where} answers {status}: {fault.message}; check the address"
                )
            )
        error = decode_fault(fault, where)
        error.args = (self._address.redact(str(error)),)
        raise error

    async def close(self) -> None:
        """Close every connection."""
        client, self._client = self._client, None
        if client is not None:
            with anyio.CancelScope(shield=True):
                await client.aclose()

    async def _send(
        self, method: str, path: str, body: bytes | None, where: str
    ) -> tuple[int, str | None, bytes]:
        """Status, `Retry-After` and body of the response."""
        import httpx

        self._client = self._client or build_http_client(
            self._address, connect_timeout_s=self._connect_timeout_s
        )
        headers = {} if body is None else {"Content-Type": JSON}
        url = self._address.url + path
        content = bytearray()
        try:
            with anyio.fail_after(self._timeout_s):
                async with self._client.stream(
                    method, url, content=body, headers=headers
                ) as response:
                    async for piece in response.aiter_bytes():
                        content += piece
                        if len(content) > MAX_BODY_BYTES:
                            raise SystemFault(
                                f"{where}: more than {MAX_BODY_BYTES:,} bytes came; send less"
                            )
                    self._refuse_redirects(response, where)
                    retry_after = response.headers.get("Retry-After")
                    return response.status_code, retry_after, bytes(content)
        except TimeoutError:
            raise SystemTimeout(f"{where} took longer than {self._timeout_s:g} s") from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise SystemGone(
                f"nothing can be reached at {self._address.url} "
                f"({explain_transport_error(error)}); start the server and run the same command "
                "again"
            ) from error
        except httpx.TransportError as error:
            raise SystemGone(
                f"{where} was not answered ({explain_transport_error(error)}); "
                "see that the server runs, then run the same command again"
            ) from error
        except httpx.DecodingError as error:
            raise SystemFault(f"{where}: the response cannot be decompressed: {error}") from error

    def _refuse_redirects(self, response: "httpx.Response", where: str) -> None:
        status = response.status_code
        if 300 <= status < 400:
            to = strip_credentials(response.headers.get("Location", "nowhere"))
            raise UsageError(
                self._address.redact(
                    f"{where} is redirected to {to}; if that is the system, give that address"
                )
            )
        if status in (401, 403):
            raise UsageError(
                f"{where} is refused with {status}; set {TOKEN_VARIABLE} to a token it accepts"
            )

    def _decode_reply(self, content: bytes, reply: type[R], where: str) -> R:
        if reply is DoneReply:
            content = content.strip() or b"{}"
        try:
            return msgspec.json.decode(content, type=reply)
        except UNREADABLE as error:
            problem = self._address.redact(
                f"{where}: no {reply.__name__} came back ({error}); {describe_body(content)}"
            )
        if reply is HealthReply:
            raise UsageError(f"{problem}; give the address of a server that speaks our protocol")
        raise SystemFault(problem)


def explain_transport_error(error: BaseException) -> str:
    """The operating system's message, from as deep in the chain as there is one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno and cause.strerror:
            # asyncio replaces the system's text; name resolution has error numbers of its own.
            return cause.strerror if isinstance(cause, gaierror) else os.strerror(cause.errno)
        cause = cause.__cause__ or cause.__context__
    return str(error) or "it does not react"


def strip_credentials(url: str) -> str:
    """An address without its user and password, as it may be shown."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid address"
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path}" if place else parts.path


_EXIT_GRACE_S = 1.0


class HttpServerSpec(YamlSection, frozen=True, kw_only=True):
    """How to start a server."""

    command: tuple[str, ...]
    """The program and its arguments; no shell is involved."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    """Added to its environment, which is a clean one."""
    health: str | None = "/health"
    """The path that returns a status of 200 to 299 once the server is ready; None for any reply."""
    ready_timeout_s: float = START_TIMEOUT_S
    max_shards: int | None = None
    """How many workers may start one at a time; by default as the server says, else any number:
    each has its own port and its own folder."""
    config: dict[str, str] = msgspec.field(default_factory=dict)
    """Files to write before the start, by their path in the server's folder."""


SpecT = TypeVar("SpecT", bound=HttpServerSpec)


class _HttpServerFile(YamlSection, frozen=True, kw_only=True):
    transport: str
    server: HttpServerSpec


def read_server_file(path: Path) -> HttpServerSpec:
    """How to start the server, `{here}` filled in; UsageError names the file, line and key."""
    document = read_document(path)
    spec = parse_section(
        document, _HttpServerFile, {"server": HttpServerSpec}, place="{port}"
    ).server
    return complete_server_spec(document, spec, path)


def complete_server_spec(document: Document, spec: SpecT, path: Path) -> SpecT:
    """The same with `{here}` filled in; UsageError if a server cannot be started so."""

    def refuse(key: str, problem: str) -> None:
        raise UsageError(f"{document.describe_place('server', key)}: server.{key} {problem}")

    texts = (*spec.command, *spec.env.values(), *spec.config.values())
    if not spec.command or not spec.command[0]:
        refuse("command", "is empty; write the program and its arguments as a list")
    if not any("{port}" in text for text in texts):
        refuse("command", 'has no "{port}", nor has env or config; say where the port belongs')
    if any("{config}" in text for text in texts) and not spec.config:
        refuse("config", 'is missing but "{config}" is used; write the file\'s path and text there')
    if spec.health is not None and not spec.health.startswith("/"):
        refuse("health", f"is {spec.health!r}; write a path that begins with /")
    if not spec.ready_timeout_s > 0:
        refuse("ready_timeout_s", "is not above 0; write a number of seconds")
    if spec.max_shards is not None and spec.max_shards < 1:
        refuse("max_shards", "is below 1; write a number from 1")
    for name in spec.config:
        if not name or PurePath(name).is_absolute() or ".." in PurePath(name).parts:
            refuse("config", f"has the path {name!r}; write one inside the server's own folder")
    here = str(path.resolve().parent)
    return msgspec.structs.replace(
        spec,
        command=tuple(word.replace("{here}", here) for word in spec.command),
        env={name: text.replace("{here}", here) for name, text in spec.env.items()},
        config={name: text.replace("{here}", here) for name, text in spec.config.items()},
    )


class StartedServerTransport(Transport):
    """Starts a server at the first call and ends it at `close`.

    A dead server is replaced only to reopen a memory, in its folder.
    """

    def __init__(self, spec: HttpServerSpec, env: Sequence[str] = ()) -> None:
        self._spec = spec
        self._passed = tuple(env)
        self._server: EphemeralServer | None = None
        self._transport: HttpTransport | None = None
        self._starting = anyio.Lock()
        self._lost: str | None = None
        self._folder: Path | None = None
        """The folder of a server that was killed or replaced, which is removed at the end."""

    @property
    def state_folder(self) -> Path | None:
        """The server's folder, which is its home too."""
        return None if self._server is None else self._server.folder

    async def kill(self) -> None:
        """Kill the server at once; another one can go on with its folder."""
        if self._server is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._server.kill)
            self._lost, self._folder = "the server was killed", self._server.folder

    async def call(self, request: Request, reply: type[R]) -> R:
        """The server's reply; SystemGone quotes its log if it has died."""
        if self._lost is not None:
            if not (isinstance(request, OpenRequest) and request.reopen):
                raise SystemGone(self._lost)
            # The next server gets the folder of the dead one.
            self._folder = self.state_folder
            await self._leave_server()
        transport = await self._connect()
        try:
            return await transport.call(request, reply)
        except SystemGone as gone:
            server = self._server
            if server is None or not await wait_for_exit(server):
                raise
            self._lost = f"the server died during the run: {server.describe_end()}"
            raise SystemGone(self._lost) from gone

    async def close(self) -> None:
        """End the server with everything it started."""
        self._starting = anyio.Lock()
        try:
            await self._leave_server()
        finally:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder = None

    async def _leave_server(self) -> None:
        server, transport = self._server, self._transport
        self._server = self._transport = self._lost = None
        try:
            if transport is not None:
                await transport.close()
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
                    passed=self._passed,
                    files=spec.config,
                    folder=self._folder,
                    health=spec.health,
                    ready_timeout_s=spec.ready_timeout_s,
                )
                self._server = await server.__aenter__()
                self._transport = HttpTransport(parse_http_address(server.base_url))
            return self._transport


async def wait_for_exit(server: EphemeralServer) -> bool:
    """Whether it ended; connections are lost a moment before the process ends."""
    with anyio.move_on_after(_EXIT_GRACE_S):
        while server.is_running:  # noqa: ASYNC110 - another process has no event
            await anyio.sleep(0.02)
    return not server.is_running


async def connect_http_system(
    target: str, *, timeout_s: float | None = None, ready_timeout_s: float = READY_TIMEOUT_S
) -> RemoteSystem:
    """The system at `http://host:port[/path]`, once it is ready."""
    require_libraries("a system behind HTTP", "http", "httpx")
    address = parse_http_address(target)
    return await connect_remote_system(
        HttpTransport(address, timeout_s=timeout_s),
        where=address.url,
        config={"transport": "http", "protocol": PROTOCOL},
        ready_timeout_s=ready_timeout_s,
        is_shared=True,
    )


async def start_http_system(path: Path, env: Sequence[str] = ()) -> RemoteSystem:
    """The system whose server this YAML file describes, which is given the named variables.

    It is started once to read its name, and again from scratch when a memory is opened.
    """
    require_libraries("a system behind HTTP", "http", "httpx")
    spec = read_server_file(path)
    system = await connect_remote_system(
        StartedServerTransport(spec, env),
        where=path.name,
        config={"transport": "http", "protocol": PROTOCOL, "server": shorten_digest(path)},
        # The start has a deadline of its own, whose error quotes the log.
        ready_timeout_s=spec.ready_timeout_s + READY_TIMEOUT_S,
    )
    system.card = system.card.replace(
        isolation=IsolationCard(kind=Isolation.PROCESS, env=tuple(env))
    )
    system.max_shards = spec.max_shards or system.max_shards
    return system
