"""Systems that are a child process which holds memories and speaks lines of JSON."""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.child_process import (
    ChildProcess,
    LineSplitter,
    LineTooLong,
    StderrTail,
    collect_stderr,
    quote_bytes,
    start_process,
)
from recall_bench.core.errors import (
    BenchError,
    NotAnAnswer,
    SystemFault,
    SystemGone,
    SystemStuck,
    UsageError,
)
from recall_bench.core.memory import UNDECLARED
from recall_bench.core.settings import Settings
from recall_bench.core.untrusted_json import cut_deep_json, decode_untrusted_json
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.child_environment import STATE_DIR, build_environment
from recall_bench.systems.transports.child_sandbox import ProgramSandbox, build_program_sandbox
from recall_bench.systems.transports.command_program import CommandProgram, find_program
from recall_bench.systems.transports.remote_system import (
    RemoteSystem,
    Transport,
    connect_remote_system,
    decode_fault,
)

RETRY_HINT = "when that is fixed, run the same command again"

SILENCE_GRACE_S = 2.0
"""How long a child that overran may be silent before it counts as stuck."""

_CLOSE_TIMEOUT_S = 2.0
"""How long a child may take to end after its standard input is closed."""

_DRAIN_TIMEOUT_S = 1.0
"""How long reading the last output of a child may take."""


class _UnexpectedLine(Exception):
    """A line on standard output that is no reply to an open request."""


class CommandSession:
    """One child and its open requests.

    Once `ended` is set, every open and every later request fails with it.
    """

    def __init__(
        self,
        child: ChildProcess,
        name: str,
        *,
        grace_s: float = SILENCE_GRACE_S,
        stderr: StderrTail | None = None,
    ) -> None:
        self._child = child
        self._name = name
        if child.process.stdin is None or child.process.stdout is None:
            raise AssertionError("a child has three pipes")
        self._stdin, self._stdout = child.process.stdin, child.process.stdout
        self._grace_s = grace_s
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[wire.Envelope]] = {}
        self._abandoned: set[int] = set()
        """Requests whose replies are ignored."""
        self._sending = asyncio.Lock()
        self._activity: asyncio.Event | None = None
        """Set by the next line, if a call waits for one."""
        self._stderr_tail = stderr or StderrTail()
        self._ending: Callable[[], BenchError] | None = None
        start_task = asyncio.get_running_loop().create_task
        self._readers = [
            start_task(self._read_stdout()),
            start_task(collect_stderr(child.process.stderr, self._stderr_tail)),
        ]
        self._waiting = start_task(self._wait_for_exit())

    @property
    def ended(self) -> BenchError | None:
        """Why the session ended; None while it is open."""
        return None if self._ending is None else self._ending()

    @property
    def has_exited(self) -> bool:
        """Whether the child has ended, by itself or because we ended it."""
        return self._waiting.done()

    async def ask(self, do: str, body: wire.Request) -> wire.Envelope:
        """The child's reply.

        If the caller is cancelled, the child goes on working. One that does not even reply to a
        health request then is ended, because it would answer nothing else either.
        """
        if self._ending is not None:
            raise self._ending()
        number = next(self._ids)
        reply: asyncio.Future[wire.Envelope] = asyncio.get_running_loop().create_future()
        self._pending[number] = reply
        try:
            await self._send(number, do, body)
            return await reply
        except asyncio.CancelledError:
            # The future is cancelled with the caller, unless the reply came at the same time.
            if number in self._pending:
                reply = self._pending[number] = asyncio.get_running_loop().create_future()
                with anyio.CancelScope(shield=True):
                    await self._abandon(number, reply)
            raise
        finally:
            self._pending.pop(number, None)
            # Retrieve the error of a reply, or asyncio would warn of it.
            if reply.done() and not reply.cancelled():
                reply.exception()

    async def close(self) -> None:
        """Close the child's standard input, which asks it to end, and make sure that it ends."""
        self._end(lambda: SystemGone(f"{self._name} was closed"))
        with anyio.CancelScope(shield=True):
            await self._stdin.aclose()
            with anyio.move_on_after(_CLOSE_TIMEOUT_S):
                await self._child.process.wait()
            await self._finish()

    async def kill(self) -> None:
        """Kill the child at once, and wait for its end."""
        self._end(lambda: SystemGone(f"{self._name} was killed"))
        with anyio.CancelScope(shield=True):
            await self._child.end(grace_s=0)

    async def _abandon(self, number: int, reply: "asyncio.Future[wire.Envelope]") -> None:  # noqa: ARG002
        """Give up a request whose caller was cancelled, and end a child that is silent."""
        self._abandoned.add(number)
        if self._ending is not None:
            return
        activity = self._activity = self._activity or asyncio.Event()
        number = next(self._ids)
        self._abandoned.add(number)
        with anyio.move_on_after(self._grace_s):
            await self._send(number, "health", wire.HealthRequest())
            await activity.wait()
        if not activity.is_set() and self._ending is None:
            self._end(
                lambda: SystemStuck(
                    f"{self._name} did not answer in time, nor a health request after that, so it "
                    "was ended and its memories are lost"
                )
            )
            await self._child.end(grace_s=0)

    async def _send(self, number: int, do: str, body: object) -> None:
        # An envelope would omit an empty body, which programs may rely on.
        line = msgspec.json.encode({"id": number, "do": do, "body": body}) + b"\n"
        async with self._sending:
            try:
                await self._stdin.send(line)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                # It ended, or stopped reading. Its last output explains more.
                with anyio.move_on_after(2 * _DRAIN_TIMEOUT_S):
                    await asyncio.shield(self._waiting)
                self._end(
                    lambda: SystemGone(
                        f"{self._name} closed its standard input{self._stderr_tail.format_all()}; "
                        f"{RETRY_HINT}"
                    )
                )

    async def _read_stdout(self) -> None:
        splitter = LineSplitter()
        try:
            async for piece in self._stdout:
                for line in splitter.feed(piece):
                    self._take_line(line)
            if rest := splitter.get_rest():
                self._take_line(rest)
        except (_UnexpectedLine, LineTooLong) as error:
            problem = str(error) or "a line without end"
            self._end(
                lambda: SystemGone(
                    f"{self._name} wrote to its standard output what is not a reply: {problem}; "
                    f"logs belong on standard error; {RETRY_HINT}"
                )
            )
            await self._child.end(grace_s=0)
        except anyio.ClosedResourceError:
            return
        with anyio.move_on_after(_CLOSE_TIMEOUT_S):
            await self._child.process.wait()
            return
        # A child that cannot reply any more is of no use, even if it still runs.
        self._end(
            lambda: SystemGone(
                f"{self._name} closed its standard output{self._stderr_tail.format_all()}; "
                f"{RETRY_HINT}"
            )
        )

    def _take_line(self, line: bytes) -> None:
        problem: NotAnAnswer | None = None
        try:
            envelope = decode_untrusted_json(line, wire.Envelope)
        except msgspec.DecodeError as error:
            # Of one that is nested too deeply, only the request that it belongs to has to fail.
            if not isinstance(error.__cause__, RecursionError):
                raise _UnexpectedLine(quote_bytes(line)) from error
            try:
                envelope = decode_untrusted_json(cut_deep_json(line), wire.Envelope)
            except msgspec.DecodeError:
                raise _UnexpectedLine(quote_bytes(line)) from error
            problem = NotAnAnswer(f"{self._name} sent a reply that is nested too deeply")
        if self._activity is not None:
            self._activity.set()
            self._activity = None
        if envelope.id in self._abandoned:
            self._abandoned.discard(envelope.id)
            return
        reply = self._pending.pop(envelope.id, None)
        if reply is None:
            raise _UnexpectedLine(f"{quote_bytes(line)}, with an id that no open request has")
        if reply.done():
            return
        if problem is None:
            reply.set_result(envelope)
        else:
            reply.set_exception(problem)

    async def _wait_for_exit(self) -> None:
        code = await self._child.process.wait()
        # Its own children may hold its pipes open.
        await asyncio.wait(self._readers, timeout=_DRAIN_TIMEOUT_S)
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        self._end(
            lambda: SystemGone(
                f"{self._name} ended with {how}{self._stderr_tail.format_all()}; {RETRY_HINT}"
            )
        )

    def _end(self, ending: Callable[[], BenchError]) -> None:
        if self._ending is not None:
            return
        self._ending = ending
        owed, self._pending = self._pending, {}
        for reply in owed.values():
            if not reply.done():
                reply.set_exception(ending())

    async def _finish(self) -> None:
        await self._child.end()
        tasks = [*self._readers, self._waiting]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


R = TypeVar("R", bound=wire.Reply)


class CommandTransport(Transport):
    """A child process in a temporary folder of its own.

    After a child ended, calls raise SystemGone until `close`. A child that does not answer any more
    is ended: its memories then raise SystemStuck, and the next `open` starts another child.
    """

    def __init__(
        self, program: CommandProgram, confined: ProgramSandbox, *, grace_s: float = SILENCE_GRACE_S
    ) -> None:
        self._program = program
        self._confined = confined
        self._grace_s = grace_s
        self._session: CommandSession | None = None
        self._number = 0
        """The number of the child; part of every name, so that older names are refused."""
        self._stuck: set[int] = set()
        self._starting = anyio.Lock()
        self._folder: TemporaryFolder | None = None

    async def call(self, request: wire.Request, reply: type[R]) -> R:
        """The child's reply to one request."""
        request = self._address_request(request)
        talk = await self._connect(request)
        number, verb = self._number, wire.VERB_OF[type(request)]
        try:
            envelope = await talk.ask(verb, request)
        finally:
            if isinstance(talk.ended, SystemStuck):
                self._stuck.add(number)
        if envelope.error is not None:
            raise decode_fault(envelope.error, self._program.name)
        content = decode_body(envelope.body, reply, f"{self._program.name} replied to {verb!r}")
        # Names of the child get its number.
        if isinstance(content, wire.OpenReply):
            return msgspec.structs.replace(content, memory=f"{number}:{content.memory}")
        if isinstance(content, wire.SaveReply):
            return msgspec.structs.replace(content, snapshot=f"{number}:{content.snapshot}")
        return content

    @property
    def state_folder(self) -> Path | None:
        """The child's folder, which is its home too."""
        return None if self._folder is None else Path(self._folder.name)

    async def kill(self) -> None:
        """Kill the child at once; another one can go on with its folder."""
        if self._session is not None:
            await self._session.kill()

    async def close(self) -> None:
        """End the child, and remove its folder."""
        talk, self._session = self._session, None
        self._starting = anyio.Lock()
        try:
            if talk is not None:
                await talk.close()
        finally:
            self._remove_folder()

    def _address_request(self, request: wire.Request) -> wire.Request:
        """The request with the child's own name; an error if that child is gone."""
        if isinstance(request, wire.OpenRequest):
            # What is reopened may be of an earlier child.
            return msgspec.structs.replace(request, memory=request.memory.partition(":")[2])
        field = next((name for name in ("memory", "snapshot") if hasattr(request, name)), None)
        if field is None:
            return request
        number, _, name = str(getattr(request, field)).partition(":")
        if int(number) in self._stuck:
            # A lost memory need not be closed; a lost snapshot cannot be opened.
            if field == "snapshot" or isinstance(request, wire.CloseRequest):
                raise self._build_gone_error(field)
            raise SystemStuck(f"{self._program.name} did not answer any more and was ended")
        if self._session is None or number != str(self._number):
            raise self._build_gone_error(field)
        return msgspec.structs.replace(request, **{field: name})

    def _build_gone_error(self, field: str) -> SystemGone:
        return SystemGone(
            f"{self._program.name} had to be started again and its {field} was lost; run the same "
            "command again"
        )

    async def _connect(self, request: wire.Request) -> CommandSession:
        async with self._starting:
            talk = self._session
            is_new = isinstance(request, wire.OpenRequest)
            reopens = isinstance(request, wire.OpenRequest) and request.reopen
            if talk and ((is_new and self._number in self._stuck) or (reopens and talk.ended)):
                await talk.close()
                talk = self._session = None
            if talk is None:
                self._number += 1
                talk = self._session = await self._start(keeps_folder=reopens)
            return talk

    async def _start(self, *, keeps_folder: bool) -> CommandSession:
        if self._folder is None or not keeps_folder:
            self._remove_folder()
            self._folder = TemporaryFolder()
        private = Path(self._folder.name)
        environ = build_environment(private, self._confined.card.env)
        folder = private / "state"
        folder.mkdir(exist_ok=True)
        environ[STATE_DIR] = str(folder)
        try:
            command = self._confined.wrap_command(self._program.command, (private,))
            child = await start_process(command, folder=folder, environ=environ)
        except OSError as error:
            raise SystemGone(
                f"{self._program.name} cannot be started ({error.strerror}); {RETRY_HINT}"
            ) from error
        return CommandSession(child, self._program.name, grace_s=self._grace_s)

    def _remove_folder(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def decode_body(body: msgspec.Raw, reply: type[R], what: str) -> R:
    """A reply of a child; a fault of the system if it cannot be read."""
    try:
        return decode_untrusted_json(body, reply)
    except msgspec.DecodeError as error:
        kind = NotAnAnswer if issubclass(reply, wire.AnswerReply) else SystemFault
        raise kind(f"{what} with what cannot be read: {error}") from error


async def start_command_system(
    target: str,
    config: Mapping[str, object],
    *,
    settings: Settings | None = None,
    grace_s: float = SILENCE_GRACE_S,
) -> RemoteSystem:
    """The system behind `command:PROGRAM ARGS…`; the settings say what it may use.

    The program is started for a health request, ended, and started again for the first memory.
    UsageError if there is no such program, SystemGone if it does not reply.
    """
    program = find_program(target)
    if config:
        raise UsageError(
            f"{program.name} cannot be given the settings {', '.join(config)}; "
            "write them as arguments of the program"
        )
    confined = build_program_sandbox(program, settings or Settings(adapter=target))
    carrier = CommandTransport(program, confined, grace_s=grace_s)
    spelled: dict[str, object] = {"command": list(program.spelled)}
    system = await connect_remote_system(carrier, where=program.name, config=spelled)
    system.card = system.card.replace(
        isolation=confined.card,
        version=program.version if system.card.version == UNDECLARED else system.card.version,
    )
    return system
