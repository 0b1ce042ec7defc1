"""A server of our own, spoken to through its pipes.

The SDK can start a server too, but what that one started may outlive it, and it outlives us if we
are killed. Ours is a child like any other here, and its pipes are handed to the SDK as streams.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from recall_bench.errors import SystemGone
from recall_bench.systems.command.lines import LineSplitter, LineTooLong, StderrTail, quote_bytes
from recall_bench.systems.remote.child import ChildProcess, start_process

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

_CLOSE_TIMEOUT_S = 2.0
"""How long a server may take to end once its standard input is closed."""

_EXIT_TIMEOUT_S = 1.0
"""How long a server that has said its last may take to be seen to end."""


class StdioEndpoint:
    """A server that is started when `streams` is entered, and gone when it is left."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        self._command = tuple(command)
        self._env = dict(env)
        self._folder = folder
        self._child: ChildProcess | None = None
        self._stderr_tail = StderrTail()
        self._stray: bytes | None = None
        self.is_closed = False
        """Whether it is known to say nothing more."""

    @asynccontextmanager
    async def open_streams(self) -> "AsyncIterator[TransportStreams]":
        """What it says, and what it is told; SystemGone if it cannot be started."""
        child = await self._start()
        heard, hears = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
        tells, told = anyio.create_memory_object_stream["SessionMessage"](0)
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(self._read_messages, child, heard)
            pumps.start_soon(self._write_messages, child, told, heard)
            pumps.start_soon(self._collect_stderr, child)
            try:
                yield hears, tells
            finally:
                with anyio.CancelScope(shield=True):
                    # The listener goes on reading: a server that cannot write does not end.
                    hears.close()
                    tells.close()
                    await self._end_server(child)
                pumps.cancel_scope.cancel()
        for stream in (heard, told):
            stream.close()

    def is_lost(self, code: int) -> bool:
        """The SDK's own error says so; a server may use its code for others."""
        from mcp_types import CONNECTION_CLOSED

        return code == CONNECTION_CLOSED and self.is_closed

    async def describe_end(self) -> str:
        """How it ended and what it said last, in a clause; waits a moment for it to end."""
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
        """What it said on standard error, and beside its replies, in a clause of its own."""
        stray = self._stray
        aside = (
            "" if stray is None else f", and wrote {quote_bytes(stray)} where only messages belong"
        )
        return f"{self._stderr_tail.format_all()}{aside}"

    async def kill(self) -> None:
        """End it, with everything it started, without asking."""
        if self._child is not None:
            await self._child.end(grace_s=0)

    async def _start(self) -> ChildProcess:
        try:
            self._child = await start_process(
                self._command, folder=self._folder, environ=os.environ | self._env
            )
        except OSError as error:
            raise SystemGone(
                f"the server {self._command[0]!r} cannot be started ({error.strerror}); "
                "check its command"
            ) from error
        return self._child

    async def _end_server(self, child: ChildProcess) -> None:
        if child.process.stdin is not None:
            await child.process.stdin.aclose()
        with anyio.move_on_after(_CLOSE_TIMEOUT_S):
            await child.process.wait()
        await child.end()

    async def _read_messages(
        self, child: ChildProcess, heard: "MemoryObjectSendStream[SessionMessage | Exception]"
    ) -> None:
        splitter = LineSplitter()
        is_heeded = True
        async with heard:
            try:
                while child.process.stdout is not None:
                    piece = await child.process.stdout.receive()
                    for line in splitter.feed(piece) if is_heeded else ():
                        is_heeded = is_heeded and await self._forward_line(line, heard)
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                return
            except LineTooLong:
                self._stray = b"a line without end"
            finally:
                self.is_closed = True

    async def _forward_line(
        self, line: bytes, heard: "MemoryObjectSendStream[SessionMessage | Exception]"
    ) -> bool:
        """Whether somebody still listens."""
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            # Servers that print to standard output are common, and every client bears with them.
            self._stray = line
            return True
        try:
            await heard.send(SessionMessage(message))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return False
        return True

    async def _write_messages(
        self,
        child: ChildProcess,
        told: "MemoryObjectReceiveStream[SessionMessage]",
        heard: "MemoryObjectSendStream[SessionMessage | Exception]",
    ) -> None:
        async with told:
            async for message in told:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    if child.process.stdin is not None:
                        await child.process.stdin.send(line.encode() + b"\n")
                except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                    # Whoever waits for a reply is to learn that none will come.
                    self.is_closed = True
                    await heard.aclose()
                    return

    async def _collect_stderr(self, child: ChildProcess) -> None:
        try:
            while child.process.stderr is not None:
                self._stderr_tail.feed(await child.process.stderr.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return
