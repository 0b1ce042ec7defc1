"""`serve` offers any adapter to other processes, and ends in good order when told to."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import anyio
import pytest

from recall_bench.core.memory import Reader
from recall_bench.systems.servers.host import SystemHost
from tests.commands import Invoke

ADAPTER = """
import os, subprocess, sys

class Adapter:
    def __init__(self, path="", depth=0, deep=False):
        self.path, self.settings = path, [depth, deep]

    def setup(self):
        print("set up by print")
        os.write(1, b"set up by write\\n")
        subprocess.run([sys.executable, "-c", "print('set up by a child')"])
        self.typed = sys.stdin.read()

    def ingest_day(self, day, content, metadata):
        pass

    def query(self, question):
        return f"{self.settings} {self.typed!r}"

    def teardown(self):
        open(self.path, "w").close()
"""


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """An adapter that prints in three ways, reads, and notes its teardown."""
    path = tmp_path / "noisy.py"
    path.write_text(ADAPTER)
    return path


@contextmanager
def serving(*words: object) -> Iterator["subprocess.Popen[bytes]"]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "recall_bench", "serve", *map(str, words)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def asked(process: "subprocess.Popen[bytes]", number: int, do: str, **body: object) -> object:
    assert process.stdin is not None
    assert process.stdout is not None
    line = json.dumps({"id": number, "do": do, "body": body})
    process.stdin.write(line.encode() + b"\n")
    process.stdin.flush()
    reply = json.loads(process.stdout.readline())
    assert reply["id"] == number
    return reply.get("body", {})


QUESTION = {"question": "?", "id": "q", "date": "2024-01-01", "session": "principal"}


def opened(process: "subprocess.Popen[bytes]") -> str:
    body = asked(process, 1, "open", scenario="ada")
    assert isinstance(body, dict)
    return str(body["memory"])


def test_standard_output_is_for_the_protocol_alone(adapter: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    settings = ("--config", f"path={torn}", "--config", "depth=3", "--config", "deep=true")

    with serving(adapter, "--stdio", *settings) as process:
        memory = opened(process)
        told = asked(process, 2, "ask", memory=memory, **QUESTION)
        out, err = process.communicate(timeout=60)

    assert told == {"answer": "[3, True] ''"}
    assert out == b""
    assert err.decode().splitlines() == [
        "serving on standard input and output",
        "set up by print",
        "set up by write",
        "set up by a child",
    ]
    assert process.returncode == 0
    assert torn.exists()


def test_it_does_not_end_before_every_reply_is_read() -> None:
    many = 3000
    with serving("recency", "--stdio") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"id": 1, "do": "health"}\n' * many)
        process.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)

        replies = process.stdout.read().splitlines()

    assert len(replies) == many


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_its_memories_first(
    adapter: Path, tmp_path: Path, number: signal.Signals
) -> None:
    torn = tmp_path / "torn"

    with serving(adapter, "--stdio", "--config", f"path={torn}") as process:
        opened(process)
        process.send_signal(number)
        process.wait(60)

    assert process.returncode == 0
    assert torn.exists()


class Stand:
    """Stands in for the servers: records what it is given, and is stopped by a signal."""

    def __init__(self) -> None:
        self.address = ""
        self.name = ""
        self.reader: Reader | None = None

    async def serve(
        self,
        host: SystemHost,
        address: str,
        *,
        ready: Callable[[str], None],
        reader: Reader | None = None,
    ) -> None:
        self.address, self.name, self.reader = address, host.system.card.name, reader
        ready(f"there://{address}")
        os.kill(os.getpid(), signal.SIGTERM)
        await anyio.sleep_forever()


@pytest.mark.parametrize(
    ("words", "module", "name", "address"),
    [
        ((), "grpc_server", "serve_grpc", "127.0.0.1:50052"),
        (("--grpc", "[::1]:9"), "grpc_server", "serve_grpc", "[::1]:9"),
        (("--http", "127.0.0.1:8"), "http_server", "serve_http", "127.0.0.1:8"),
    ],
    ids=["by default", "grpc", "http"],
)
def test_it_serves_at_the_given_address_and_says_so(
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    module: str,
    name: str,
    address: str,
) -> None:
    stand = Stand()
    standing_in = ModuleType(module)
    setattr(standing_in, name, stand.serve)
    monkeypatch.setitem(sys.modules, f"recall_bench.features.serving.{module}", standing_in)

    shown = invoke("serve", "recency", *words)

    assert (shown.code, shown.out) == (0, "")
    assert shown.err == f"serving on there://{address}\n"
    assert (stand.address, stand.name, stand.reader) == (address, "recency", None)


def test_what_a_system_only_finds_is_read_for_harnesses_that_know_answers_alone(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand()
    standing_in = ModuleType("grpc_server")
    setattr(standing_in, "serve_grpc", stand.serve)  # noqa: B010 - a module made here
    monkeypatch.setitem(sys.modules, "recall_bench.features.serving.grpc_server", standing_in)

    invoke("serve", "files")

    assert stand.reader is not None
    assert stand.reader.card.name == "extractive"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("recency", "--http", "h:1", "--grpc", "h:2"), "exclude each other; give one"),
        (("recency", "--config", "depth"), "--config: 'depth' has no '='; write KEY=VALUE"),
        (("recency", "--config", "a=[1"), "--config a, line 1: is not YAML"),
        (("no-such-thing",), "no system named 'no-such-thing'"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_sentence(
    invoke: Invoke, words: tuple[str, ...], message: str
) -> None:
    shown = invoke("serve", *words)

    assert shown.code in (2, 3)
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1
