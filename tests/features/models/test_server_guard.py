"""The table in docs/reference/servers.md, line by line, for each server that we start."""

import os
import re
import socket
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from recall_bench.systems.servers import guarded_protocol, request_guard
from tests.gardener import write_persona
from tests.systems.serving_commands import read_address, serve_command
from tests.warm_commands import TIMEOUT_S, start_command

KEY = "sk-planted-0123456789abcdef"


class Server:
    """A command of ours that serves, and the address it printed."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.kind = words[0]
        environ = os.environ | {"RECALL_BENCH_HTTP_TOKEN": "", "OPENAI_API_KEY": KEY}
        self.outputs = [(folder / name).open("wb+") for name in ("output", "errors")]
        self.process = start_command(
            words,
            cwd=folder,
            environ=environ,
            module="tests.systems.hasty_server",
            stdout=self.outputs[0].fileno(),
            stderr=self.outputs[1].fileno(),
        )
        self.url = ""
        self.headers: dict[str, str] = {}

    def read_printed(self) -> str:
        """All that it printed so far: its output, and then its errors."""
        return "".join(Path(each.name).read_text(encoding="utf-8") for each in self.outputs)

    @property
    def place(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return str(parts.hostname), int(parts.port or 0)


def find_printed(server: Server, pattern: str) -> re.Match[str]:
    for _ in range(600):
        if found := re.search(pattern, server.read_printed()):
            return found
        assert server.process.poll() is None, server.read_printed()
        time.sleep(0.1)
    raise AssertionError(server.read_printed())


@contextmanager
def serve(kind: str, folder: Path) -> Iterator[Server]:
    data = folder / "data"
    write_persona(data)
    words = {
        "serve": ["serve", "bm25", "--http", "0"],
        "endpoint": ["endpoint", "--model", "openai:test;http://127.0.0.1:9/v1"],
        "view": ["view", str(folder), "--no-open"],
    }[kind]
    server = Server(words, folder)
    try:
        if kind == "endpoint":
            found = find_printed(
                server,
                r"^export OPENAI_BASE_URL=(\S+)\nexport OPENAI_API_KEY=\"\$\(cat (.+)\)\"\n",
            )
            server.url, key = found[1], Path(found[2])
            assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
            server.headers = {"Authorization": f"Bearer {key.read_text()}"}
        else:
            server.url = find_printed(server, r"http://127\.0\.0\.1:[0-9]+\S*")[0].rstrip("/")
        yield server
    finally:
        server.process.kill()
        server.process.wait()
        for each in server.outputs:
            each.close()


@pytest.fixture(scope="module", params=["serve", "endpoint", "view"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with serve(request.param, tmp_path_factory.mktemp(request.param)) as found:
        yield found


def get_path(server: Server) -> str:
    return {"serve": "/health", "endpoint": "/models", "view": "/"}[server.kind]


def get(server: Server, **headers: str) -> int:
    with httpx.Client(trust_env=False) as client:
        address = server.url + get_path(server)
        return client.get(address, headers={**server.headers, **headers}).status_code


def test_it_listens_on_loopback(server: Server) -> None:
    assert server.place[0] == "127.0.0.1"
    assert get(server) == 200


def test_another_host_is_refused(server: Server) -> None:
    assert get(server, Host="rebound.example") in (403, 421)


def test_another_origin_is_refused(server: Server) -> None:
    assert get(server, Origin="http://elsewhere.example") == 403


def test_a_head_that_does_not_arrive_costs_its_connection(server: Server) -> None:
    """Byte by byte, so that it never is idle."""
    with socket.create_connection(server.place) as client:
        begun = time.monotonic()
        client.settimeout(0.1)
        with pytest.raises(OSError, match=r"pipe|reset"):  # noqa: PT012 - until it is closed
            while time.monotonic() - begun < 20:
                client.send(b"x")
                try:
                    if client.recv(1000) == b"":
                        raise BrokenPipeError("Broken pipe")
                except TimeoutError:
                    continue
    assert get(server) == 200


def test_a_head_without_end_is_refused(server: Server) -> None:
    head = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 200_000
    with socket.create_connection(server.place) as client:
        client.settimeout(10)
        try:
            client.sendall(head)
            reply = client.recv(1000)
        except (BrokenPipeError, ConnectionResetError):
            reply = b""
    assert reply == b"" or b" 400 " in reply or b" 431 " in reply
    assert get(server) == 200


def test_more_connections_than_the_limit_are_turned_away(server: Server) -> None:
    held = []
    try:
        for _ in range(12):
            held.append(socket.create_connection(server.place))
            held[-1].sendall(b"GET / HTTP/1.1\r\n")
        assert get(server) == 503
    finally:
        for client in held:
            client.close()
    time.sleep(0.5)
    assert get(server) == 200


def test_no_key_is_in_what_it_prints_or_replies(server: Server) -> None:
    with httpx.Client(trust_env=False) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
        for path in ("/chat/completions", "/health", "/nothing"):
            replies = [client.post(server.url + path, json=body, headers=server.headers)]
            assert all(KEY not in reply.text + str(reply.headers) for reply in replies)
    assert KEY not in server.read_printed()


@pytest.mark.parametrize("server", ["endpoint"], indirect=True)
def test_what_changes_or_spends_needs_the_token(server: Server) -> None:
    for headers in ({}, {"Authorization": "Bearer unused"}):
        status = httpx.get(f"{server.url}/models", headers=headers, trust_env=False).status_code
        assert status == 401


@pytest.mark.parametrize("server", ["view"], indirect=True)
def test_the_address_of_the_explorer_is_its_token(server: Server) -> None:
    host, port = server.place
    assert httpx.get(f"http://{host}:{port}/", trust_env=False).status_code == 403


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_other_machines_are_served_only_with_a_token(transport: str, tmp_path: Path) -> None:
    variable = f"RECALL_BENCH_{transport.upper()}_TOKEN"
    words = ["serve", "bm25", f"--{transport}", "0.0.0.0:0"]
    code, errors = run_and_read(words, tmp_path, {variable: ""})

    assert code == 2
    assert f"other machines could read and change its memories; set {variable}" in errors


def test_calls_over_grpc_are_served_only_with_the_token(tmp_path: Path) -> None:
    with serve_grpc({"RECALL_BENCH_GRPC_TOKEN": "let-me-in-2048"}, tmp_path) as address:
        cards = [
            ask_card(address, token, tmp_path) for token in ("", "wrong-token-1", "let-me-in-2048")
        ]

    for code, errors in cards[:2]:
        assert code == 4
        assert "failed with UNAUTHENTICATED" in errors
        assert "set RECALL_BENCH_GRPC_TOKEN to a token it accepts" in errors
        assert "let-me-in-2048" not in errors
        assert "wrong-token-1" not in errors
    assert cards[2][0] == 0


def test_on_loopback_grpc_needs_no_token(tmp_path: Path) -> None:
    with serve_grpc({}, tmp_path) as address:
        assert ask_card(address, "", tmp_path)[0] == 0


@contextmanager
def serve_grpc(more: dict[str, str], folder: Path) -> Iterator[str]:
    """The address of `serve --grpc` with these variables."""
    words = ["serve", "bm25", "--grpc", "127.0.0.1:0"]
    environ = os.environ | {"RECALL_BENCH_GRPC_TOKEN": ""} | more
    with serve_command(words, cwd=folder, environ=environ) as command:
        found = re.search(r"127\.0\.0\.1:\d+", read_address(command))
        assert found is not None
        yield found[0]


def ask_card(address: str, token: str, folder: Path) -> tuple[int, str]:
    """The exit code and the messages of a run at this server that asks little."""
    data = write_persona(folder / f"data-{token}").parent
    words = ["run", "--adapter", f"grpc://{address}", "--data", data, "--ranges", "3d"]
    words += ["--no-heatmap-png", "--no-page", "--into", f"run-{token}"]
    return run_and_read(words, folder, {"RECALL_BENCH_GRPC_TOKEN": token})


def run_and_read(words: Sequence[object], folder: Path, more: dict[str, str]) -> tuple[int, str]:
    """The exit code and the messages of a command with these variables."""
    command = start_command(words, cwd=folder, environ=os.environ | more)
    _, errors = command.communicate(timeout=TIMEOUT_S)
    assert command.returncode is not None
    return command.returncode, errors.decode()


ADAPTER = """
import os, urllib.request
from urllib.error import HTTPError

class Memory:
    version = "1"
    def ingest_day(self, day, text, meta):
        pass
    def query(self, question, context):
        url = os.environ["RECALL_BENCH_ENDPOINT"]
        key = url.split("/")[3]
        bare = url.replace(f"/{key}", "")
        said = [len(key) > 20]
        for each in (url, bare, url.replace(key, "x" * len(key)), f"{url}/none"):
            try:
                said.append(urllib.request.urlopen(f"{each}/models").status)
            except HTTPError as error:
                said += [error.code, key in error.read().decode()]
        return f"{said} {url}"
"""
"""Asks the endpoint with the address it was given, without the key, with another, and wrongly."""


def test_the_endpoint_of_a_run_answers_only_at_the_address_that_it_gave_its_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECALL_BENCH_ENDPOINT", raising=False)
    data = write_persona(tmp_path / "data").parent
    (tmp_path / "asks.py").write_text(ADAPTER)
    words = ["run", "--adapter", "asks.py", "--endpoint", "--data", data, "--ranges", "3d"]
    code, errors = run_and_read([*words, "--no-heatmap-png", "--into", "run"], tmp_path, {})

    assert code == 0, errors
    journal = Path(tmp_path, "run", "journal.jsonl").read_text(encoding="utf-8")
    assert "[True, 200, 401, False, 401, False, 404, False]" in journal
    # What the system repeats of its address is not written.
    assert re.search(r"http://127\.0\.0\.1:\d+/[\w-]{32}/v1", journal) is None


@pytest.mark.parametrize("server", ["endpoint"], indirect=True)
def test_a_body_that_stops_arriving_costs_its_connection(server: Server) -> None:
    with socket.create_connection(server.place) as client:
        client.settimeout(20)
        key = server.headers["Authorization"]
        client.sendall(
            f"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {key}\r\n"
            "Content-Length: 100\r\n\r\nabc".encode()
        )
        assert b" 408 " in client.recv(1000)


def test_the_limits_are_those_of_the_table() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "servers.md"
    text = page.read_text()

    assert f"{guarded_protocol.HEAD_TIMEOUT_S:g} s" in text
    assert f"{guarded_protocol.MAX_HEAD_BYTES // 1024} KiB" in text
    assert f"{guarded_protocol.MAX_CONNECTIONS} connections" in text
    assert f"{request_guard.BODY_PAUSE_S:g} s" in text
