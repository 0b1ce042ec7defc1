"""Any system can be served in lines of JSON: every request has its reply, and nothing else does."""

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import msgspec
import pytest

from recall_bench.core import child_process
from recall_bench.core.errors import SystemBusy, UsageError
from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.servers.host import SystemHost
from recall_bench.systems.servers.stdio_server import Pipes, serve_stdio
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem

pytestmark = pytest.mark.anyio

INGEST = {"day": 1, "id": "day-0001", "date": "2024-01-01", "content": "The cat is Fig."}
ASK = {"question": "cat?", "id": "q", "date": "2024-01-02", "session": "principal"}


class Line:
    """The other end of the pipes."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests = requests
        self._replies = os.fdopen(replies, "rb")

    def send(self, number: int, do: str, **body: object) -> None:
        self.write(msgspec.json.encode({"id": number, "do": do, "body": body}) + b"\n")

    def write(self, text: bytes) -> None:
        os.write(self._requests, text)

    async def receive(self) -> dict[str, object]:
        line = await anyio.to_thread.run_sync(self._replies.readline)
        return msgspec.json.decode(line, type=dict[str, object])

    async def ask(self, number: int, do: str, **body: object) -> dict[str, object]:
        self.send(number, do, **body)
        return await self.receive()

    def hang_up(self) -> None:
        os.close(self._requests)

    def close(self) -> None:
        self._replies.close()


@asynccontextmanager
async def served(system: ScriptedSystem) -> AsyncIterator[Line]:
    """Serve the system until the line is hung up, and let serving come to its own end."""
    asking, asked = os.pipe(), os.pipe()
    line = Line(asking[1], asked[0])
    try:
        async with anyio.create_task_group() as group:
            pipes = Pipes(requests=asking[0], replies=asked[1])
            group.start_soon(serve_stdio, SystemHost(system).handle, pipes)
            yield line
    finally:
        line.close()
        os.close(asking[0])
        os.close(asked[1])


def reciting() -> ScriptedSystem:
    return ScriptedSystem(lambda lived, _: " ".join(each.text for each in lived))


async def opened(line: Line) -> str:
    body = (await line.ask(1, "open", scenario="ada"))["body"]
    assert isinstance(body, dict)
    return str(body["memory"])


async def test_a_memory_is_opened_fed_settled_asked_and_closed() -> None:
    system = reciting()
    async with served(system) as line:
        memory = await opened(line)

        assert await line.ask(2, "ingest", memory=memory, **INGEST) == {"id": 2}
        assert await line.ask(3, "settle", memory=memory) == {"id": 3}
        told = await line.ask(4, "ask", memory=memory, **ASK)
        assert told == {"id": 4, "body": {"answer": "The cat is Fig."}}
        assert await line.ask(5, "close", memory=memory) == {"id": 5}
        line.hang_up()

    assert system.opened[0].closed


@pytest.mark.parametrize(
    ("do", "body", "message"),
    [
        ("fly", {}, "there is no request 'fly'; known: health"),
        ("open", {}, "'open' cannot be read: .*scenario"),
    ],
)
async def test_an_unknown_request_gets_an_error_reply(
    do: str, body: dict[str, object], message: str
) -> None:
    async with served(reciting()) as line:
        refused = await line.ask(7, do, **body)
        understood = await line.ask(8, "health")
        line.hang_up()

    assert refused["id"] == 7
    fault = refused["error"]
    assert isinstance(fault, dict)
    assert fault["kind"] == "unsupported"
    assert re.match(message, fault["message"])
    assert "body" in understood


async def test_a_fault_of_the_system_is_sent_as_one() -> None:
    def busy(lived: object, question: Question) -> str:
        raise SystemBusy("later")

    async with served(ScriptedSystem(busy)) as line:
        memory = await opened(line)

        reply = await line.ask(2, "ask", memory=memory, **ASK)
        line.hang_up()

    assert reply["error"] == {"kind": "busy", "message": "later", "retry_after_s": 0.0}


class _Patient(ScriptedMemory):
    """Answers once it was fed."""

    def __init__(self) -> None:
        super().__init__(lambda lived, _: lived[-1].text)
        self.fed = anyio.Event()

    async def ingest(self, episode: Episode) -> None:
        await super().ingest(episode)
        self.fed.set()

    async def answer(self, question: Question) -> Answer:
        await self.fed.wait()
        return await super().answer(question)


class _PatientSystem(ScriptedSystem):
    async def open(self, scenario: str) -> ScriptedMemory:
        return _Patient()


async def test_a_slow_request_does_not_delay_the_next() -> None:
    async with served(_PatientSystem(lambda lived, _: "")) as line:
        memory = await opened(line)
        line.send(2, "ask", memory=memory, **ASK)
        line.send(3, "ingest", memory=memory, **INGEST)

        replies = [await line.receive(), await line.receive()]
        line.hang_up()

    assert {reply["id"] for reply in replies} == {2, 3}


async def test_requests_that_came_before_the_end_are_replied_to() -> None:
    async with served(reciting()) as line:
        line.send(1, "health")
        line.write(b'\n{"id": 2, "do": "health"}')
        line.hang_up()

        assert {(await line.receive())["id"], (await line.receive())["id"]} == {1, 2}


async def test_a_line_may_be_megabytes_long() -> None:
    async with served(reciting()) as line:
        memory = await opened(line)
        day = {**INGEST, "content": "ß\N{CAT}" * 500_000}
        async with anyio.create_task_group() as group:
            body = msgspec.json.encode({"id": 2, "do": "ingest", "body": {"memory": memory, **day}})
            group.start_soon(anyio.to_thread.run_sync, _write_all, line, body + b"\n")
            assert await line.receive() == {"id": 2}

        told = await line.ask(3, "ask", memory=memory, **ASK)
        line.hang_up()

    assert told["body"] == {"answer": day["content"]}


def _write_all(line: Line, text: bytes) -> None:
    for start in range(0, len(text), 4096):
        line.write(text[start : start + 4096])


async def test_a_line_that_is_no_request_ends_it() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with served(reciting()) as line:
            line.write(b"hello\n")

    line.hang_up()
    [error] = caught.value.exceptions
    assert isinstance(error, UsageError)
    assert "holds something that is not a request: 'hello'" in str(error)


async def test_a_line_without_an_end_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "LINE_LIMIT", 1000)

    with pytest.raises(ExceptionGroup) as caught:
        async with served(reciting()) as line:
            line.write(b"x" * 2000)

    line.hang_up()
    [error] = caught.value.exceptions
    assert isinstance(error, UsageError)
    assert "a line without an end" in str(error)


async def test_a_reader_that_goes_away_is_no_fault() -> None:
    async with served(reciting()) as line:
        line.close()
        line.send(1, "health")
        line.hang_up()
