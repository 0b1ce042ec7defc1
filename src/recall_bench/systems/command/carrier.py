"""Carries requests to a program we start, as lines of JSON on its standard input and output."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import anyio
import msgspec

from recall_bench.errors import NotAnAnswer, SystemFault, SystemGone, SystemStuck
from recall_bench.systems.command.conversation import RETRY_HINT, CommandSession
from recall_bench.systems.command.program import CommandProgram, build_environment
from recall_bench.systems.remote.child import start_process
from recall_bench.systems.remote.system import decode_fault
from recall_bench.systems.remote.wire import (
    VERB_OF,
    CloseRequest,
    Opened,
    OpenRequest,
    Reply,
    Request,
    Saved,
    Told,
)

R = TypeVar("R", bound=Reply)

SILENCE_GRACE_S = 2.0
"""How long a child that overran may stay silent before it is taken for stuck."""


class CommandTransport:
    """A child process for as long as it lives, in a scratch folder of its own.

    A child that ends is SystemGone until `close`. One that answers nothing any more is ended by
    us: its memories are then SystemStuck, and the next `open` starts another child.
    """

    def __init__(self, program: CommandProgram, *, grace_s: float = SILENCE_GRACE_S) -> None:
        self._program = program
        self._grace_s = grace_s
        self._session: CommandSession | None = None
        self._number = 0
        """Of the child: part of every name, so that no child is asked for another's memory."""
        self._stuck: set[int] = set()
        self._starting = anyio.Lock()
        self._folder: TemporaryDirectory[str] | None = None

    async def call(self, request: Request, reply: type[R]) -> R:
        """The child's reply to one request."""
        request = self._address_request(request)
        talk = await self._connect(request)
        number, verb = self._number, VERB_OF[type(request)]
        try:
            envelope = await talk.ask(verb, msgspec.to_builtins(request))
        finally:
            if isinstance(talk.ended, SystemStuck):
                self._stuck.add(number)
        if envelope.error is not None:
            raise decode_fault(envelope.error, self._program.name)
        return _tag_reply(self._decode_reply(verb, envelope.body, reply), number)

    async def close(self) -> None:
        """End the child, and remove its folder."""
        talk, self._session = self._session, None
        self._starting = anyio.Lock()
        try:
            if talk is not None:
                await talk.close()
        finally:
            self._remove_folder()

    def _address_request(self, request: Request) -> Request:
        """The request with the name the child itself gave; an error if that child is gone."""
        field = next((name for name in ("memory", "snapshot") if hasattr(request, name)), None)
        if field is None:
            return request
        number, _, name = str(getattr(request, field)).partition(":")
        if int(number) in self._stuck:
            # Nothing is lost by not closing what is gone; what was saved there cannot be had.
            if field == "snapshot" or isinstance(request, CloseRequest):
                raise self._build_gone_error(field)
            raise SystemStuck(f"{self._program.name} did not answer any more and was ended")
        if self._session is None or number != str(self._number):
            raise self._build_gone_error(field)
        return msgspec.structs.replace(request, **{field: name})

    def _build_gone_error(self, field: str) -> SystemGone:
        return SystemGone(
            f"{self._program.name} had to be started anew and its {field} was lost; run the same "
            "command again"
        )

    async def _connect(self, request: Request) -> CommandSession:
        async with self._starting:
            talk = self._session
            if isinstance(request, OpenRequest) and self._number in self._stuck and talk:
                await talk.close()
                talk = self._session = None
            if talk is None:
                self._number += 1
                talk = self._session = await self._start()
            return talk

    async def _start(self) -> CommandSession:
        self._remove_folder()
        self._folder = TemporaryDirectory(prefix="recall-bench-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        try:
            child = await start_process(
                self._program.command, folder=folder, environ=build_environment(folder)
            )
        except OSError as error:
            raise SystemGone(
                f"{self._program.name} cannot be started ({error.strerror}); {RETRY_HINT}"
            ) from error
        return CommandSession(child, self._program.name, grace_s=self._grace_s)

    def _decode_reply(self, verb: str, body: dict[str, object], reply: type[R]) -> R:
        try:
            return msgspec.convert(body, reply)
        except msgspec.ValidationError as error:
            kind = NotAnAnswer if reply is Told else SystemFault
            raise kind(
                f"{self._program.name} replied to {verb!r} with what cannot be understood: {error}"
            ) from error

    def _remove_folder(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _tag_reply(reply: R, number: int) -> R:
    """The reply with names that say which child gave them."""
    if isinstance(reply, Opened):
        return msgspec.structs.replace(reply, memory=f"{number}:{reply.memory}")
    if isinstance(reply, Saved):
        return msgspec.structs.replace(reply, snapshot=f"{number}:{reply.snapshot}")
    return reply
