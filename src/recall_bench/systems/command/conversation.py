"""Requests to one child and its replies, as lines of JSON, from its start to its end."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import TypeVar

import anyio
import msgspec

from recall_bench.errors import BenchError, SystemGone, SystemStuck
from recall_bench.systems.command.lines import LastWords, LineSplitter, LineTooLong, shown
from recall_bench.systems.remote.child import Child
from recall_bench.systems.remote.wire import Envelope

S = TypeVar("S")

AGAIN = "when that is mended, run the same command again"

_FAREWELL_S = 2.0
"""How long a child may take to end once its standard input is closed."""

_DRAINING_S = 1.0
"""How long what a child wrote before it ended may take to be read."""


class _NotAReply(Exception):
    """A line on standard output that answers nothing we asked."""


class Conversation:
    """One child and the requests it owes a reply.

    Once `ended` says why it is over, every request under way and every later one fails so.
    """

    def __init__(self, child: Child, name: str, *, grace_s: float) -> None:
        self._child = child
        self._name = name
        self._stdin = _piped(child.process.stdin)
        self._stdout = _piped(child.process.stdout)
        self._stderr = _piped(child.process.stderr)
        self._grace_s = grace_s
        self._ids = itertools.count(1)
        self._owed: dict[int, asyncio.Future[Envelope]] = {}
        self._unwanted: set[int] = set()
        """Requests whose reply nobody waits for any more."""
        self._sending = anyio.Lock()
        self._heard = anyio.Event()
        self._last_words = LastWords()
        self._ending: Callable[[], BenchError] | None = None
        self._listening = [_task(self._listen()), _task(self._overhear())]
        self._waiting = _task(self._wait())

    @property
    def ended(self) -> BenchError | None:
        """Why it is over; None while it goes on."""
        return None if self._ending is None else self._ending()

    async def ask(self, do: str, body: dict[str, object]) -> Envelope:
        """The child's reply.

        Giving up leaves the child at it. One that stays silent even when it is then asked for
        its health is ended, since it would answer nothing else either.
        """
        if self._ending is not None:
            raise self._ending()
        number = next(self._ids)
        reply: asyncio.Future[Envelope] = asyncio.get_running_loop().create_future()
        self._owed[number] = reply
        try:
            await self._send(number, do, body)
            return await reply
        except anyio.get_cancelled_exc_class():
            self._unwanted.add(number)
            with anyio.CancelScope(shield=True):
                await self._end_if_silent()
            raise
        finally:
            self._owed.pop(number, None)
            _forget(reply)

    async def close(self) -> None:
        """Close the child's standard input, which tells it to end, and see that it does."""
        self._end(lambda: SystemGone(f"{self._name} was let go"))
        with anyio.CancelScope(shield=True):
            await self._stdin.aclose()
            with anyio.move_on_after(_FAREWELL_S):
                await self._child.process.wait()
            await self._finish()

    async def _end_if_silent(self) -> None:
        if self._ending is not None:
            return
        heard, number = self._heard, next(self._ids)
        self._unwanted.add(number)
        with anyio.move_on_after(self._grace_s):
            await self._send(number, "health", {})
            await heard.wait()
        if not heard.is_set() and self._ending is None:
            self._end(
                lambda: SystemStuck(
                    f"{self._name} did not answer in time, nor anything else after that, so it was "
                    "ended and its memories are lost"
                )
            )
            await self._child.end(grace_s=0)

    async def _send(self, number: int, do: str, body: dict[str, object]) -> None:
        # An Envelope would leave an empty body out, which programs may take for granted.
        line = msgspec.json.encode({"id": number, "do": do, "body": body}) + b"\n"
        async with self._sending:
            try:
                await self._stdin.send(line)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                # It ended, or will not read any more. What it says at its end says more.
                with anyio.move_on_after(2 * _DRAINING_S):
                    await asyncio.shield(self._waiting)
                self._end(
                    lambda: SystemGone(
                        f"{self._name} closed its standard input{self._last_words.quoted()}; "
                        f"{AGAIN}"
                    )
                )

    async def _listen(self) -> None:
        splitter = LineSplitter()
        try:
            async for piece in self._stdout:
                for line in splitter.feed(piece):
                    self._take(line)
            if rest := splitter.rest():
                self._take(rest)
        except (_NotAReply, LineTooLong) as error:
            problem = str(error) or "a line without end"
            self._end(
                lambda: SystemGone(
                    f"{self._name} wrote to its standard output what is not a reply: {problem}; "
                    f"commentary belongs on standard error; {AGAIN}"
                )
            )
            await self._child.end(grace_s=0)
        except anyio.ClosedResourceError:
            return
        with anyio.move_on_after(_FAREWELL_S):
            await self._child.process.wait()
            return
        # A child that has nothing more to say is of no use, even if it goes on living.
        self._end(
            lambda: SystemGone(
                f"{self._name} closed its standard output{self._last_words.quoted()}; {AGAIN}"
            )
        )

    def _take(self, line: bytes) -> None:
        try:
            envelope = msgspec.json.decode(line, type=Envelope)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _NotAReply(shown(line)) from error
        self._heard.set()
        self._heard = anyio.Event()
        if envelope.id in self._unwanted:
            self._unwanted.discard(envelope.id)
            return
        reply = self._owed.pop(envelope.id, None)
        if reply is None:
            raise _NotAReply(f"{shown(line)}, with an id that no open request has")
        if not reply.done():
            reply.set_result(envelope)

    async def _overhear(self) -> None:
        try:
            async for piece in self._stderr:
                self._last_words.feed(piece)
        except anyio.ClosedResourceError:
            return

    async def _wait(self) -> None:
        code = await self._child.process.wait()
        # What it left behind may hold its pipes open for ever.
        await asyncio.wait(self._listening, timeout=_DRAINING_S)
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        self._end(
            lambda: SystemGone(f"{self._name} ended with {how}{self._last_words.quoted()}; {AGAIN}")
        )

    def _end(self, ending: Callable[[], BenchError]) -> None:
        if self._ending is not None:
            return
        self._ending = ending
        owed, self._owed = self._owed, {}
        for reply in owed.values():
            if not reply.done():
                reply.set_exception(ending())

    async def _finish(self) -> None:
        await self._child.end()
        tasks = [*self._listening, self._waiting]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _piped(stream: S | None) -> S:
    if stream is None:
        raise AssertionError("a child we talk to has three pipes")
    return stream


def _forget(reply: "asyncio.Future[Envelope]") -> None:
    """Let go of a reply; asyncio complains of an error that nobody looked at."""
    if reply.done() and not reply.cancelled():
        reply.exception()


def _task(work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
    return asyncio.get_running_loop().create_task(work)
