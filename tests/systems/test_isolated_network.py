"""An isolated adapter reaches the port of the model endpoint of its run, and no other."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import pytest

from recall_bench.core import sandbox
from recall_bench.core.settings import Settings
from recall_bench.systems.python.isolated_system import load_isolated_system
from tests.systems.test_isolation import ask, write_adapter

pytestmark = pytest.mark.skipif(
    not sandbox.can_limit_ports(), reason="this kernel cannot limit connections to ports"
)

PORT_OF_OTHERS = "another port"


def greet(server: socket.socket) -> None:
    """Say hello to everything that connects."""
    while True:
        try:
            line, _ = server.accept()
        except OSError:
            return
        with line:
            line.sendall(b"hello")


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, tuple[str, int]]]:
    """The endpoint of the run, and a server at another port."""
    with ExitStack() as stack:
        endpoint = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = endpoint.getsockname()[1]
        other = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for server in (endpoint, other):
            Thread(target=greet, args=(server,), daemon=True).start()
        monkeypatch.setenv("RECALL_BENCH_ENDPOINT", f"http://127.0.0.1:{port}/v1")
        yield {
            "endpoint": ("127.0.0.1", port),
            PORT_OF_OTHERS: other.getsockname(),
        }
        for server in (endpoint, other):
            server.shutdown(socket.SHUT_RDWR)


WAYS = {
    "itself": "return socket.create_connection(PLACE, timeout=5).recv(9).decode()",
    "in a task": (
        "import asyncio\n"
        "async def read():\n"
        "    reader, _ = await asyncio.open_connection(*PLACE)\n"
        "    return (await reader.read(9)).decode()\n"
        "return asyncio.run(read())"
    ),
    "by a program": (
        "code = f'import socket; print(socket.create_connection({PLACE}).recv(9).decode())'\n"
        "done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)\n"
        "return done.stdout.strip() or done.stderr[-200:]"
    ),
    "as IPv6": (
        "line = socket.socket(socket.AF_INET6)\n"
        "line.connect(('::ffff:' + PLACE[0], PLACE[1]))\n"
        "return line.recv(9).decode()"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_reaches_the_endpoint(
    tmp_path: Path, servers: dict[str, tuple[str, int]], way: str
) -> None:
    path = write_adapter(tmp_path, WAYS[way], before=f"PLACE = {servers['endpoint']}")

    assert ask(path) == '"hello"'


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", [PORT_OF_OTHERS])
def test_it_reaches_no_other_port(
    tmp_path: Path, servers: dict[str, tuple[str, int]], place: str, way: str
) -> None:
    path = write_adapter(tmp_path, WAYS[way], before=f"PLACE = {servers[place]}")

    assert "Permission denied" in ask(path)


OTHER_WAYS = {
    "by sending at once": "socket.socket().sendto(b'x', 0x20000000, PLACE)",
    "by sending a message at once": "socket.socket().sendmsg([b'x'], [], 0x20000000, PLACE)",
    "by several paths": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(PLACE)",
    "by datagrams": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', PLACE)",
    "as a server": "socket.socket().bind(('127.0.0.1', 0))",
    "as a server at any port": "socket.socket().listen()",
}


@pytest.mark.parametrize("way", OTHER_WAYS)
def test_there_is_no_way_around_it(
    tmp_path: Path, servers: dict[str, tuple[str, int]], way: str
) -> None:
    before = f"PLACE = {servers[PORT_OF_OTHERS]}"
    path = write_adapter(tmp_path, f"return {OTHER_WAYS[way]}", before=before)

    assert ask(path) == "refused: [Errno 13] Permission denied"


def test_its_end_is_seen_as_without_an_endpoint(
    tmp_path: Path, servers: dict[str, tuple[str, int]]
) -> None:
    from recall_bench.core.errors import SystemDied

    path = write_adapter(tmp_path, "print('farewell', file=sys.stderr, flush=True)\nos._exit(3)")
    with pytest.raises(SystemDied, match=r"exit code 3.*farewell"):
        ask(path)
    path = write_adapter(tmp_path, "os.kill(os.getpid(), 9)")
    with pytest.raises(SystemDied, match="signal 9"):
        ask(path)


def test_a_network_is_reported_where_connections_cannot_be_limited(
    tmp_path: Path, servers: dict[str, tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_adapter(tmp_path, "return 1")
    limited = load_isolated_system(Settings(adapter=str(path)))
    monkeypatch.setattr(sandbox, "can_limit_ports", lambda: False)
    free = load_isolated_system(Settings(adapter=str(path)))

    cards = [system.card.isolation for system in (limited, free)]
    assert [card is not None and card.network for card in cards] == [False, True]
