"""A server started for one run is ready when it is handed over, and gone when it is let go."""

import json
import socket
import tempfile
from pathlib import Path
from urllib.request import urlopen

import anyio
import pytest

from recall_bench.core.errors import SystemGone
from recall_bench.systems.python.system import build_python_system
from recall_bench.systems.transports.ephemeral_server import EphemeralServer, find_free_port
from tests.processes import is_running, read_pids, wait_until, wait_until_gone
from tests.systems.asking import answered
from tests.systems.ephemeral_programs import DIES, SERVES, SLEEPS, SPAWNS, python
from tests.systems.python_adapters import QUESTION
from tests.systems.saying_server import saying

SERVER = python(SERVES, "{port}", "--state={state_dir}", "--config={config}")


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that are kept on purpose go with the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def told(server: EphemeralServer) -> dict[str, object]:
    """What the server says about itself."""
    with urlopen(server.base_url) as reply:
        seen = json.loads(reply.read())
    assert isinstance(seen, dict)
    return seen


def test_it_has_a_folder_a_port_and_a_config_of_its_own() -> None:
    files = {"etc/a.toml": "port = {port}\nlist = {}\n", "b": "{config}"}

    with (
        EphemeralServer(SERVER, env={"WHERE": "{state_dir}"}, files=files) as one,
        EphemeralServer(SERVER, env={"WHERE": "{state_dir}"}, files=files) as other,
    ):
        seen, folder = told(one), one.folder
        config = folder / "etc/a.toml"
        texts = [config.read_text(), (folder / "b").read_text()]
        state = folder / "state"
        is_empty = list(state.iterdir()) == []
        ports, folders = {one.port, other.port}, {one.folder, other.folder}

    assert Path(str(seen["cwd"])) == folder.resolve()
    assert seen["argv"] == [f"--state={state}", f"--config={config}"]
    assert isinstance(seen["env"], dict)
    assert seen["env"]["WHERE"] == str(state)
    assert "PATH" in seen["env"]
    assert texts == [f"port = {one.port}\nlist = {{}}\n", str(config)]
    assert is_empty
    assert len(ports) == len(folders) == 2
    assert not folder.exists()


@pytest.mark.anyio
async def test_the_same_holds_inside_an_event_loop() -> None:
    async with EphemeralServer(SERVER) as server:
        seen, pid = told(server), server.pid

    assert seen["argv"] == [f"--state={seen['cwd']}/state", f"--config={seen['cwd']}"]
    assert pid is not None
    wait_until_gone([pid])


def test_a_server_that_starts_slowly_is_waited_for() -> None:
    with EphemeralServer(SERVER, health="/slow") as server:
        seen = told(server)

    assert seen


def test_the_caller_may_define_readiness() -> None:
    asked: list[str] = []

    def third_time(url: str) -> bool:
        asked.append(url)
        return len(asked) == 3

    with EphemeralServer(python(SLEEPS), ready=third_time) as server:
        assert server.is_running

    assert asked == [server.base_url] * 3


def test_a_server_that_never_becomes_healthy_is_ended_with_its_log_quoted(tmp_path: Path) -> None:
    log = tmp_path / "server.log"

    def never(_url: str) -> bool:
        wait_until(lambda: "loading" in log.read_text(), "its first line")
        return False

    server = EphemeralServer(
        python(SPAWNS + SLEEPS), folder=tmp_path, ready=never, ready_timeout_s=0.001
    )

    with pytest.raises(SystemGone, match=r"is not ready after 0\.001 s;") as gone:
        server.__enter__()

    wait_until_gone(read_pids(tmp_path))
    assert str(gone.value).endswith(f"the last lines of {log}:\n  loading")


def test_an_unhealthy_server_is_reported_with_its_status(tmp_path: Path) -> None:
    server = EphemeralServer(SERVER, folder=tmp_path, health="/never", ready_timeout_s=600)
    server._start()
    wait_until(lambda: not server._is_up() and server._last_reply == "status 503", "its reply")

    server._deadline = 0

    with pytest.raises(
        SystemGone, match=r"is not ready after 600 s \(/never: status 503\); .*server\.health"
    ):
        server._is_up()
    server._end()


@pytest.mark.anyio
async def test_a_server_that_dies_at_once_is_quoted_without_waiting() -> None:
    server = EphemeralServer(python(DIES), ready_timeout_s=600)

    with pytest.raises(SystemGone, match="did not start: it ended with code 3") as gone:
        await server.__aenter__()

    assert str(gone.value).endswith("server.log:\n  one\n  two: no such model")
    assert (server.folder / "server.log").exists()


def test_a_command_that_cannot_start_is_reported() -> None:
    with pytest.raises(SystemGone, match=r"'no-such-program' cannot be started \(No such file"):
        EphemeralServer(["no-such-program"]).__enter__()


def test_only_the_end_of_a_long_log_is_quoted() -> None:
    server = EphemeralServer(python("print('x' * 100_000); [print(n) for n in range(100)]; 1/0"))

    with pytest.raises(SystemGone) as gone:
        server.__enter__()

    assert "ZeroDivisionError" in str(gone.value)
    assert len(str(gone.value)) < 5000


def test_a_healthy_server_of_another_process_is_never_used() -> None:
    with saying(lambda *_: (200, {}, b"{}")) as url:
        ports = [int(url.rpartition(":")[2]), find_free_port()]
        expected = ports[1]

        with EphemeralServer(SERVER, choose_port=lambda: ports.pop(0)) as server:
            assert server.port == expected


def test_the_number_of_ports_tried_is_limited() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(SystemGone, match=f"port {port} and those before it are taken"):
            EphemeralServer(SERVER, choose_port=lambda: port).__enter__()


def test_a_port_that_is_taken_meanwhile_is_replaced(tmp_path: Path) -> None:
    waits = f"import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n{SERVES}"
    stolen = socket.socket()

    def steal(url: str) -> bool:
        port = int(url.rpartition(":")[2])
        if not (tmp_path / "go").exists():
            stolen.bind(("127.0.0.1", port))
            (tmp_path / "go").touch()
        with socket.socket() as probe:
            return port != stolen.getsockname()[1] and probe.connect_ex(("127.0.0.1", port)) == 0

    with stolen:
        command = python(waits, "{port}")
        with EphemeralServer(command, folder=tmp_path, ready=steal) as server:
            seen = told(server)
            thief = stolen.getsockname()[1]

    assert server.port != thief
    assert seen
    assert "Address already in use" in (tmp_path / "server.log").read_text()


def test_leaving_ends_all_its_processes_even_if_they_ignore_sigterm(tmp_path: Path) -> None:
    with EphemeralServer(python(SPAWNS + SERVES, "{port}"), folder=tmp_path) as server:
        pids = read_pids(tmp_path)
        assert server.pid == pids[0]
        assert all(map(is_running, pids))

    wait_until_gone(pids)


@pytest.mark.anyio
async def test_cancelling_the_wait_ends_the_server(tmp_path: Path) -> None:
    server = EphemeralServer(python(SPAWNS + SLEEPS), folder=tmp_path)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.__aenter__)
        await anyio.to_thread.run_sync(wait_until, (tmp_path / "pids").exists, "the start")
        tasks.cancel_scope.cancel()

    wait_until_gone(read_pids(tmp_path))


def test_a_server_that_dies_later_keeps_its_log() -> None:
    with EphemeralServer(python(SERVES, "{port}")) as server:
        assert server._child is not None
        server._child.process.kill()
        wait_until(lambda: not server.is_running, "its end")
        words = server.describe_end()

    assert words.startswith("it ended with code -9; the last lines of ")
    assert "listening soon" in (server.folder / "server.log").read_text()


def test_a_folder_that_was_given_is_kept_with_its_state(tmp_path: Path) -> None:
    with EphemeralServer(SERVER, folder=tmp_path):
        (tmp_path / "state" / "mark").touch()

    with EphemeralServer(SERVER, folder=tmp_path):
        assert (tmp_path / "state" / "mark").exists()


class ServedNotes:
    """An adapter as a product's: a server for each memory, started in the adapter's own thread."""

    def setup(self) -> None:
        self.server = EphemeralServer(python(SERVES, "{port}")).__enter__()

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        pass

    def query(self, question: str) -> str:
        return f"{self.server.pid} {told(self.server)['cwd']}"

    def teardown(self) -> None:
        self.server.__exit__()


@pytest.mark.anyio
async def test_an_adapter_can_have_one_for_each_memory() -> None:
    system = build_python_system(ServedNotes)
    memories = [await system.open("one"), await system.open("two")]

    said = [(await answered(memory, QUESTION)).text.split() for memory in memories]
    for memory in memories:
        await memory.close()
    await system.close()

    wait_until_gone([int(pid) for pid, _ in said])
    assert len({cwd for _, cwd in said}) == 2
