"""One session with an MCP server, from connect to close.

The SDK's contexts must be left by the task that entered them, but a memory is opened, asked and
closed by different tasks. So each session runs in a task of its own, and others only call it.

A server of our own is started as a child process here and not by the SDK, because what the SDK
starts may outlive it and us. Its pipes are handed to the SDK as streams.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from recall_bench.core.child_process import (
    ChildProcess,
    LineSplitter,
    LineTooLong,
    StderrTail,
    collect_stderr,
    quote_bytes,
    start_process,
)
from recall_bench.core.distribution import get_version
from recall_bench.core.errors import BenchError, NotAnAnswer, SystemFault, SystemGone, SystemStuck
from recall_bench.features.mcp.tool_results import ToolReply, parse_tool_result
from recall_bench.systems.transports.child_environment import build_environment
from recall_bench.systems.transports.command_system import RETRY_HINT

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.client.session import ClientSession
    from mcp.shared.message import SessionMessage
    from mcp_types import CallToolResult, Implementation, Tool

SILENCE_GRACE_S = 5.0
"""How long a server may take to list its tools after a call that took too long."""

_LOSS_TIMEOUT_S = 1.0
_SESSION_CLOSE_TIMEOUT_S = 10.0
_CONNECT_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerGreeting:
    """The name and version of a server, and its tools."""

    name: str
    version: str
    offered: tuple["Tool", ...]
    """Each with its description and the schema of its arguments."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(tool.name for tool in self.offered)


class HttpEndpoint:
    """A running server at a URL."""

    is_closed = False
    """Whether it is known to be closed."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = dict(headers)

    def is_lost(self, code: int) -> bool:
        """Whether an error with this code means that the server is gone.

        Our requests are valid, so a server that calls one invalid has lost our session.
        """
        from mcp_types import INVALID_REQUEST

        return code == INVALID_REQUEST

    @asynccontextmanager
    async def open_streams(self) -> "AsyncIterator[TransportStreams]":
        """A session; the values of headers come from the environment."""
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        headers = {name: os.environ[variable] for name, variable in self._headers.items()}
        # The run limits how long an answer may take.
        timeout = httpx2.Timeout(_CONNECT_TIMEOUT_S, read=None)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False) as client,
            streamable_http_client(self._url, http_client=client) as streams,
        ):
            yield streams

    async def describe_end(self) -> str:
        """How it ended, as a clause."""
        return "ended the connection"

    def describe_output(self) -> str:
        """Empty: its log cannot be read."""
        return ""

    async def kill(self) -> None:
        """Do nothing: the server is not ours."""


_CLOSE_TIMEOUT_S = 2.0
"""How long a server may take to end after its standard input is closed."""

_EXIT_TIMEOUT_S = 1.0
"""How long to wait for the exit of a server whose output ended."""


class StdioEndpoint:
    """A server that runs as long as the context of `open_streams`."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        folder: Path,
        passed: Sequence[str] = (),
    ) -> None:
        self._command = tuple(command)
        self._env = dict(env)
        self._folder = folder
        self._passed = tuple(passed)
        self._child: ChildProcess | None = None
        self._stderr_tail = StderrTail()
        self._stray: bytes | None = None
        self.is_closed = False
        """Whether it is known to be closed."""

    @asynccontextmanager
    async def open_streams(self) -> "AsyncIterator[TransportStreams]":
        """The streams of messages from and to the server; SystemGone if it cannot be started."""
        child = await self._start()
        received, incoming = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
        outgoing, sent = anyio.create_memory_object_stream["SessionMessage"](0)
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(self._read_messages, child, received)
            pumps.start_soon(self._write_messages, child, sent, received)
            pumps.start_soon(collect_stderr, child.process.stderr, self._stderr_tail)
            try:
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    # Reading goes on: a server that cannot write does not end.
                    incoming.close()
                    outgoing.close()
                    if child.process.stdin is not None:
                        await child.process.stdin.aclose()
                    with anyio.move_on_after(_CLOSE_TIMEOUT_S):
                        await child.process.wait()
                    await child.end()
                pumps.cancel_scope.cancel()
        for stream in (received, sent):
            stream.close()

    def is_lost(self, code: int) -> bool:
        """Only with a closed pipe: a server may use the code for other things."""
        from mcp_types import CONNECTION_CLOSED

        return code == CONNECTION_CLOSED and self.is_closed

    async def describe_end(self) -> str:
        """How it ended and its last output, as a clause; waits a moment for its exit."""
        child = self._child
        if child is None:
            return "was never started"
        with anyio.move_on_after(_EXIT_TIMEOUT_S):
            await child.process.wait()
        code = child.process.returncode
        if code is None:
            how = "closed its standard output"
        else:
            how = f"ended with exit code {code}" if code >= 0 else f"ended with signal {-code}"
        return f"{how}{self.describe_output()}"

    def describe_output(self) -> str:
        """Its standard error, and stray lines among its replies, as a clause."""
        stray = self._stray
        stray_clause = (
            "" if stray is None else f", and wrote {quote_bytes(stray)} where only messages belong"
        )
        return f"{self._stderr_tail.format_all()}{stray_clause}"

    async def kill(self) -> None:
        """Kill it, with everything it started."""
        if self._child is not None:
            await self._child.end(grace_s=0)

    async def _start(self) -> ChildProcess:
        environ = build_environment(self._folder, self._passed) | self._env
        try:
            self._child = await start_process(self._command, folder=self._folder, environ=environ)
        except OSError as error:
            raise SystemGone(
                f"the server {self._command[0]!r} cannot be started ({error.strerror}); "
                "check its command"
            ) from error
        return self._child

    async def _read_messages(
        self, child: ChildProcess, received: "MemoryObjectSendStream[SessionMessage | Exception]"
    ) -> None:
        splitter = LineSplitter()
        is_read = True
        async with received:
            try:
                while child.process.stdout is not None:
                    piece = await child.process.stdout.receive()
                    for line in splitter.feed(piece) if is_read else ():
                        is_read = is_read and await self._forward_line(line, received)
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                return
            except LineTooLong:
                self._stray = b"a line without end"
            finally:
                self.is_closed = True

    async def _forward_line(
        self, line: bytes, received: "MemoryObjectSendStream[SessionMessage | Exception]"
    ) -> bool:
        """Whether messages are still read."""
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            # Servers that print to standard output are common, and clients tolerate it.
            self._stray = line
            return True
        try:
            await received.send(SessionMessage(message))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return False
        return True

    async def _write_messages(
        self,
        child: ChildProcess,
        sent: "MemoryObjectReceiveStream[SessionMessage]",
        received: "MemoryObjectSendStream[SessionMessage | Exception]",
    ) -> None:
        async with sent:
            async for message in sent:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    if child.process.stdin is not None:
                        await child.process.stdin.send(line.encode() + b"\n")
                except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                    # Callers that wait for a reply must learn that none will come.
                    self.is_closed = True
                    await received.aclose()
                    return


McpEndpoint = HttpEndpoint | StdioEndpoint
"""How a server is reached."""


class McpConnection:
    """A connected server; once it is gone or stuck, every later call raises that."""

    def __init__(
        self, endpoint: McpEndpoint, *, where: str, grace_s: float = SILENCE_GRACE_S
    ) -> None:
        self._endpoint = endpoint
        self._where = where
        self._grace_s = grace_s
        self._closing = anyio.Event()
        self._session: ClientSession | None = None
        self._session_task: asyncio.Task[None] | None = None
        self._end_error: Callable[[], BenchError] | None = None
        self.greeting: ServerGreeting | None = None
        """What the server said of itself; None before it is connected."""

    async def connect(self, timeout_s: float) -> ServerGreeting:
        """Connect; SystemGone if the server cannot be reached, dies or does not reply in time."""
        greeted: asyncio.Future[ServerGreeting] = asyncio.get_running_loop().create_future()
        life = self._session_task = asyncio.create_task(self._run_session(greeted))
        # So that waiting ends in both cases, and the task keeps its own error.
        life.add_done_callback(lambda _: greeted.cancel())
        try:
            with anyio.move_on_after(timeout_s):
                await asyncio.wait({greeted})
            if greeted.done() and not greeted.cancelled():
                self.greeting = greeted.result()
                return self.greeting
            fault = (
                await self._build_gone_error() if life.done() else self._build_late_error(timeout_s)
            )
        except BaseException:
            await self.close()
            raise
        await self.close()
        raise fault

    async def call(self, tool: str, arguments: Mapping[str, object]) -> ToolReply:
        """The tool's reply; SystemFault if it fails, SystemGone if the server is gone.

        If the caller is cancelled, the server goes on working. One that does not even list its
        tools then is ended, because it would answer nothing else either.
        """
        life = self._require_session()
        calling = asyncio.create_task(self._request(tool, arguments))
        try:
            await asyncio.wait({calling, life}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await _cancel_task(calling)
                await self._end_if_silent()
            raise
        if not calling.done():
            await _cancel_task(calling)
            raise await self._build_gone_error()
        return parse_tool_result(await self._unwrap_result(calling, tool), tool)

    async def kill(self) -> None:
        """Kill the server with everything it started, if we started it."""
        if self._end_error is None:
            self._end_error = lambda: SystemGone(f"{self._where} was killed")
        with anyio.CancelScope(shield=True):
            await self._endpoint.kill()

    async def close(self) -> None:
        """Disconnect, and end the server with everything it started if we started it."""
        self._closing.set()
        if self._end_error is None:
            self._end_error = lambda: SystemGone(f"{self._where} was closed")
        life = self._session_task
        if life is None:
            return
        with anyio.CancelScope(shield=True):
            if self._session is None:
                life.cancel()
            await asyncio.wait({life}, timeout=_SESSION_CLOSE_TIMEOUT_S)
            await _cancel_task(life)

    def _build_late_error(self, timeout_s: float) -> SystemGone:
        return SystemGone(
            f"{self._where} did not greet us within {timeout_s:g} s"
            f"{self._endpoint.describe_output()}; {RETRY_HINT}"
        )

    async def _run_session(self, greeted: "asyncio.Future[ServerGreeting]") -> None:
        from mcp.client.session import ClientSession
        from mcp_types import Implementation

        ours = Implementation(name="recall-bench", version=get_version())
        async with (
            self._endpoint.open_streams() as (incoming, outgoing),
            ClientSession(incoming, outgoing, client_info=ours) as session,
        ):
            greeting = await _read_greeting(session)
            self._session = session
            if not greeted.done():
                greeted.set_result(greeting)
            await self._closing.wait()

    async def _request(self, tool: str, arguments: Mapping[str, object]) -> "CallToolResult":
        from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

        if self._session is None:
            raise AssertionError("a server is greeted before it is called")
        # `call_tool` would validate each result against the tool's schema, entry by entry, which
        # takes seconds for thousands of results. What we need of it is checked by the map.
        params = CallToolRequestParams(name=tool, arguments=dict(arguments))
        return await self._session.send_request(CallToolRequest(params=params), CallToolResult)

    async def _unwrap_result(
        self, calling: "asyncio.Task[CallToolResult]", tool: str
    ) -> "CallToolResult":
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        try:
            return calling.result()
        except ValidationError as error:
            raise NotAnAnswer(
                f"the tool {tool} replied with what is no result of a tool "
                f"({error.error_count()} faults); see the server's own log"
            ) from error
        except MCPError as error:
            from mcp_types import CONNECTION_CLOSED

            if error.code == CONNECTION_CLOSED and not self._endpoint.is_closed:
                # A server may use the code for other things; a lost session ends soon.
                await asyncio.wait({self._require_session()}, timeout=_LOSS_TIMEOUT_S)
            is_lost = self._require_session().done() or self._endpoint.is_lost(error.code)
            if is_lost:
                raise await self._build_gone_error() from error
            raise SystemFault(f"the tool {tool} failed: {error.message}") from error

    def _require_session(self) -> "asyncio.Task[None]":
        if self._end_error is not None:
            raise self._end_error()
        if self._session_task is None:
            raise AssertionError("a server is greeted before it is called")
        return self._session_task

    async def _build_gone_error(self) -> BenchError:
        """Why the server will answer nothing more."""
        fault = None
        if (
            self._session_task is not None
            and self._session_task.done()
            and not self._session_task.cancelled()
        ):
            fault = self._session_task.exception()
        if isinstance(fault, BenchError):
            return fault
        why = None if fault is None else _explain_session_end(fault)
        if why is None:
            why = await self._endpoint.describe_end()
        message = f"{self._where} {why}; {RETRY_HINT}"
        self._end_error = lambda: SystemGone(message)
        return self._end_error()

    async def _end_if_silent(self) -> None:
        if self._end_error is not None or self._session is None or self._endpoint.is_closed:
            return
        asking = asyncio.create_task(self._session.list_tools())
        await asyncio.wait({asking}, timeout=self._grace_s)
        if not asking.done():
            self._end_error = lambda: SystemStuck(
                f"{self._where} did not answer in time, nor anything else after that, so it was "
                "ended and its memory is lost"
            )
            await self._endpoint.kill()
        await _cancel_task(asking)


async def _read_greeting(session: "ClientSession") -> ServerGreeting:
    from mcp.shared.exceptions import MCPError
    from mcp_types import UNSUPPORTED_PROTOCOL_VERSION, PaginatedRequestParams

    named: Implementation | None
    try:
        named = (await session.initialize()).server_info
    except MCPError as error:
        if error.code != UNSUPPORTED_PROTOCOL_VERSION:
            raise
        # It speaks only the protocol without a handshake.
        await session.discover()
        named = session.server_info
    tools: list[Tool] = []
    cursor: str | None = None
    while True:
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return ServerGreeting(
        name="" if named is None else named.name,
        version="" if named is None else named.version,
        offered=tuple(tools),
    )


async def _cancel_task(work: "asyncio.Task[object]") -> None:
    """Cancel a task and retrieve its error, or asyncio would warn of it."""
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


def _explain_session_end(fault: BaseException) -> str | None:
    """Why a session ended, as a clause; None if the connection itself ended.

    An error that is not the server's is raised again.
    """
    import httpx2
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED
    from pydantic import ValidationError

    faults = list(_iterate_leaves(fault))
    for leaf in faults:
        if isinstance(leaf, httpx2.HTTPError | OSError):
            return f"cannot be reached ({str(leaf) or type(leaf).__name__})"
    for each in faults:
        if isinstance(each, MCPError):
            if each.code == CONNECTION_CLOSED:
                return None
            return f"refused our greeting ({each.message})"
        if isinstance(each, ValidationError | RuntimeError):
            return f"greeted us with what cannot be understood ({str(each).splitlines()[0]})"
    raise fault


def _iterate_leaves(fault: BaseException) -> Iterator[BaseException]:
    if isinstance(fault, BaseExceptionGroup):
        for exception in fault.exceptions:
            yield from _iterate_leaves(exception)
    else:
        yield fault
