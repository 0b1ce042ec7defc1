"""Targets that read what systems under test reply, over every transport.

A reply that is accepted is recorded in the journal as it was understood, so its identity is the
line of the journal: what is compared here is that every accepted reply survives being written and
read. A bad reply to a question is the fault of the system. It costs that question and never the
run, but for a line that is no reply at all: a program that prints anything else is stopped.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast
from unittest import mock

import msgspec

from recall_bench.core.child_process import ChildProcess
from recall_bench.core.errors import BenchError, SystemFault, SystemGone
from recall_bench.core.event import Answered, decode_event, encode_event
from recall_bench.core.memory import Answer, RetrievalReply
from recall_bench.core.plan import Trial
from recall_bench.core.retry import CallLimiter
from recall_bench.features.mcp.server_map import SearchSpec
from recall_bench.features.mcp.tool_results import ToolReply, parse_hits
from recall_bench.systems.grpc.grpc_messages import (
    SERVICE_V2,
    decode_message,
    encode_message,
    load_messages,
)
from recall_bench.systems.memory_call import ask_memory
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.command_program import CommandProgram
from recall_bench.systems.transports.command_system import CommandSession, CommandTransport
from recall_bench.systems.transports.http_routes import encode_reply
from recall_bench.systems.transports.http_system import HttpTransport, parse_http_address
from recall_bench.systems.transports.once_system import OnceMemory
from recall_bench.systems.transports.remote_system import RemoteMemory, decode_answer
from tests.fuzz.mutator import Format
from tests.fuzz.target import ContentReader, FuzzTarget, Reading, Seed
from tests.systems.diary import EPISODES, question
from tests.written_runs import NOON

T = TypeVar("T")

_ANSWER = wire.AnswerReply(
    answer="14 degrees",
    passages=(
        wire.WirePassage(text="The boiler", id="day-0001", day=1, score=0.5),
        wire.WirePassage(text="Quiet day"),
    ),
    usage=wire.WireUsage(calls=1, input_tokens=7, output_tokens=3, cost_usd=0.01),
    tool_calls=({"name": "find", "arguments": {"k": [1, 2.5, None, True, "x"]}},),
)
_FAULT = wire.WireFault(kind="busy", message="later", retry_after_s=0.0)
_ASK = question("To how many degrees was the boiler set?")
_TRIAL = Trial(scenario="diary", item="boiler", checkpoint="12d")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run this in an event loop of its own."""
    return asyncio.run(work)


class _CannedServer(HttpTransport):
    """Replies to everything with one response."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(parse_http_address("http://127.0.0.1:9"))
        self._canned = status, None, body

    async def _send(
        self, method: str, path: str, body: bytes | None, where: str
    ) -> tuple[int, str | None, bytes]:
        del method, path, body, where
        return self._canned


async def ask_for_reading(memory: Any) -> Reading:
    """Ask as a run does, and record the reply as a run does."""
    with mock.patch("recall_bench.core.retry.anyio.sleep", _return_at_once):
        found = await ask_memory(memory, _ASK, timeout_s=None, calls=CallLimiter())
    if isinstance(found.content, SystemFault):
        raise found.content
    return record_reply(found.content)


async def _return_at_once(_: float) -> None:
    """Wait for nothing."""


def record_reply(reply: Answer | RetrievalReply) -> Reading:
    """The reply as the journal holds it, which must be what was said."""
    given = {name: getattr(reply, name) for name in RetrievalReply.__struct_fields__}
    answer = reply if isinstance(reply, Answer) else Answer(text="", **given)
    event = Answered(at=NOON, trial=_TRIAL, answer=answer, seconds=0.5)
    line = encode_event(event)
    if decode_event(line) != event:
        raise AssertionError(f"recorded as {line[:500]!r}")
    return Reading(event, line)


def _open_http(_: Path) -> ContentReader:
    def parse(content: bytes) -> Reading:
        status = 200
        if content.startswith(b"status "):
            head, _, content = content.partition(b"\n")
            status = int(head[7:10]) if head[7:10].isdigit() else 500
        memory = RemoteMemory(_CannedServer(min(max(status, 200), 599), content), "m")
        return run_async(ask_for_reading(memory))

    body = encode_reply(_ANSWER)
    faults = (b"status %d\n" % status + msgspec.json.encode(_FAULT) for status in (404, 500, 504))
    return ContentReader([Seed(body), Seed(body), *map(Seed, faults)], parse)


def _open_health(_: Path) -> ContentReader:
    """The other replies of a server, by the class of the reply."""
    replies: tuple[wire.Reply, ...] = (
        wire.HealthReply(name="a", version="1", max_concurrency=4, clock="native", snapshots=True),
        wire.OpenReply(memory="m"),
        wire.AttestReply(days=3),
        wire.InspectReply(days=(1, 2), bytes=7),
        wire.SaveReply(snapshot="s"),
    )
    requests = {reply: request for request, reply in wire.VERBS.values()}

    async def call(kind: type[wire.Reply], content: bytes) -> wire.Reply:
        request = msgspec.convert({"memory": "m", "scenario": "s", "snapshot": "s"}, requests[kind])
        return await _CannedServer(200, content).call(request, kind)

    def parse(content: bytes) -> Reading:
        found = []
        for kind in map(type, replies):
            try:
                found.append(run_async(call(kind, content)))
            except BenchError as error:
                last = error
        if not found:
            raise last
        return Reading(found, found)

    return ContentReader([Seed(msgspec.json.encode(each)) for each in replies], parse)


class _Pipes:
    """The standard input and output of a child that answers its first request and ends."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._asked = asyncio.Event()
        self._ended = asyncio.Event()
        self.stdin = self.stdout = self
        self.stderr = self._iterate_nothing()

    async def send(self, _: bytes) -> None:
        self._asked.set()

    async def aclose(self) -> None:
        self._asked.set()

    async def wait(self) -> int:
        await self._ended.wait()
        return 0

    async def end(self, grace_s: float = 0) -> None:
        del grace_s
        self._ended.set()

    @property
    def process(self) -> "_Pipes":
        return self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await self._asked.wait()
        yield self._content
        self._ended.set()

    async def _iterate_nothing(self) -> AsyncIterator[bytes]:
        nothing: tuple[bytes, ...] = ()
        for piece in nothing:
            yield piece


_PROGRAM = CommandProgram(name="program", spelled=("p",), command=("p",), version="1")


class _CannedProgram(CommandTransport):
    """A program that is running already, and says one thing."""

    def __init__(self, content: bytes) -> None:
        super().__init__(_PROGRAM, mock.Mock())
        self._number = 1
        child = cast("ChildProcess", _Pipes(content))
        self._session = CommandSession(child, "program", grace_s=0.1)


def _open_command(_: Path) -> ContentReader:
    async def ask(content: bytes) -> Reading:
        transport = _CannedProgram(content)
        try:
            return await ask_for_reading(RemoteMemory(transport, "1:m"))
        finally:
            await transport.close()

    envelope = {"id": 1, "body": msgspec.to_builtins(_ANSWER)}
    failed = {"id": 1, "error": msgspec.structs.asdict(_FAULT) | {"kind": "fault"}}
    seeds = [Seed(msgspec.json.encode(each) + b"\n", Format.LINES) for each in (envelope, failed)]
    return ContentReader(seeds, lambda content: run_async(ask(content)))


def open_once(_: Path) -> ContentReader:
    """The output of a program that is run for each question."""
    memory = OnceMemory.__new__(OnceMemory)
    memory.home = Path("/nowhere")
    memory.ids = {each.day: each.id for each in EPISODES}
    system = mock.Mock(arguments=("{query}",), timeout_s=1.0, program=_PROGRAM)
    memory._system = system
    memory._environ = {}
    memory._private = Path("/nowhere")

    def parse(content: bytes) -> Reading:
        async def run_program(*_: object, **__: object) -> object:
            return mock.Mock(out=content, stderr=mock.Mock(format_last=lambda: ""))

        with mock.patch(
            "recall_bench.systems.transports.once_system.run_program", side_effect=run_program
        ):
            return run_async(ask_for_reading(memory))

    hits = [
        {"path": "day-0001.md", "score": 0.5, "snippet": "The boiler", "line": 3},
        {"path": "/nowhere/x/../day-0002.md", "score": 1, "snippet": "Orders"},
    ]
    return ContentReader([Seed(msgspec.json.encode({"hits": hits}))], parse)


def _open_grpc(_: Path) -> ContentReader:
    from google.protobuf.message import DecodeError

    kind = load_messages(SERVICE_V2)["Told"]

    class Memory:
        def __init__(self, content: bytes) -> None:
            self._content = content

        async def answer(self, _: object) -> Answer | RetrievalReply:
            try:
                received = kind.FromString(self._content)
            except DecodeError as error:
                # gRPC reports it as a call that failed.
                raise SystemFault(f"INTERNAL: {error}") from error
            return decode_answer(decode_message(received, wire.AnswerReply))

    written = encode_message(_ANSWER).SerializeToString()
    return ContentReader(
        [Seed(written, Format.BYTES)],
        lambda content: run_async(ask_for_reading(Memory(content))),
    )


_FOUND = {
    "hits": [
        {"text": "The boiler", "id": "a", "score": 0.5, "meta": {"day": 1}},
        {"text": ["Two", "lines"], "id": 7, "score": "1.5"},
    ]
}


def _open_mcp(_: Path) -> ContentReader:
    searches = (
        SearchSpec(tool="t", arguments={}, results="hits", text="text", id="id", score="score"),
        SearchSpec(tool="t", arguments={}, results="hits.0.meta", text=("text", "meta.day")),
        SearchSpec(tool="t", arguments={}, pattern=r"(?m)^(?P<text>.+) \((?P<score>\S+)\)$"),
    )

    def parse(content: bytes) -> Reading:
        text = content.decode("utf-8", "replace")
        found, last = [], None
        for search in searches:
            try:
                found.append(parse_hits(ToolReply(texts=(text,)), search))
            except SystemFault as error:
                last = error
        if not found and last is not None:
            raise last
        return Reading(found, found)

    prose = Seed(b"boiler (0.5)\norders (1e3)\n", Format.TEXT)
    return ContentReader([Seed(msgspec.json.encode(_FOUND)), prose], parse)


def list_reply_targets() -> Sequence[FuzzTarget]:
    """One target for every transport."""
    opened: dict[str, tuple[Callable[[Path], ContentReader], tuple[type[Exception], ...]]] = {
        "reply over HTTP": (_open_http, (SystemFault, SystemGone)),
        "server's facts over HTTP": (_open_health, (BenchError,)),
        "reply of a command": (_open_command, (SystemFault, SystemGone)),
        "reply of a program run once": (open_once, (SystemFault,)),
        "reply over gRPC": (_open_grpc, (SystemFault,)),
        "reply of an MCP tool": (_open_mcp, (SystemFault,)),
    }
    return [
        FuzzTarget(name=name, open=open_, refusals=refusals)
        for name, (open_, refusals) in opened.items()
    ]
