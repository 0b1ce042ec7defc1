"""A YAML file says how to start a server; what is wrong with it is said in one sentence."""

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import anyio
import pytest

from recall_bench.core.errors import BenchError, SystemGone, UsageError
from recall_bench.core.memory import Answer
from recall_bench.core.settings import Settings
from recall_bench.systems.resolver import resolve_system
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.http_system import (
    HttpServerSpec,
    StartedServerTransport,
    read_server_file,
    start_http_system,
)
from tests.commands import Invoke, Shown
from tests.gardener import write_persona
from tests.processes import list_children, read_pids, wait_until, wait_until_gone
from tests.systems.diary import EPISODES, question
from tests.systems.ephemeral_programs import DIES, SERVES, SPAWNS, python
from tests.test_docs import blocks

FRAGILE = """
import os
from memory_server import *

class Fragile(Handler):
    def do_POST(self):
        if self.path.endswith("/ask") and not os.path.exists(__file__ + ".died"):
            open(__file__ + ".died", "w").close()
            print("out of memory", flush=True)
            os._exit(9)
        super().do_POST()

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Fragile).serve_forever()
"""
"""The documented server, which dies at the first question of its life."""

HOW_TO = Path(__file__).parents[2] / "docs/how-to/http-server.md"


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that are kept on purpose go with the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The YAML file of the how-to page, beside the server of the same page."""
    folder = tmp_path / "documented"
    folder.mkdir()
    (folder / "memory_server.py").write_text(blocks(HOW_TO, "python")[0])
    (folder / "memory.yaml").write_text(blocks(HOW_TO, "yaml")[0])
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return folder / "memory.yaml"


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a YAML file and gives its path."""

    def write(text: str) -> Path:
        path = tmp_path / "server.yaml"
        path.write_text(dedent(text))
        return path

    return write


def test_every_key_is_read(written: Callable[[str], Path], tmp_path: Path) -> None:
    path = written("""\
        transport: http
        server:
          command: [run, "{here}/x", "--port={port}"]
          env: {A: "{here}"}
          health: /up
          ready_timeout_s: 5
          config: {c.toml: "at {here}"}
    """)

    spec = read_server_file(path)

    assert spec == HttpServerSpec(
        command=("run", f"{tmp_path}/x", "--port={port}"),
        env={"A": str(tmp_path)},
        health="/up",
        ready_timeout_s=5,
        config={"c.toml": f"at {tmp_path}"},
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "transport: http\n",
            "line 1: the file: object missing required field server; add it",
            id="no server",
        ),
        pytest.param(
            "transport: http\nserver: {}\n",
            "line 2: server: object missing required field command; add it",
            id="no command",
        ),
        pytest.param(
            "transport: http\nserver:\n  comand: [x]\n",
            "line 3: server.comand is not a key here; there are command, env, health,",
            id="a key misspelled",
        ),
        pytest.param(
            "transport: http\nserver: {command: [x]}\nport: 1\n",
            "line 3: port is not a key here; there are transport, server",
            id="a key too high up",
        ),
        pytest.param(
            "transport: http\nserver:\n  command: python x\n",
            "line 3: server.command: expected array, got str; correct it",
            id="a command that is a text",
        ),
        pytest.param(
            "transport: http\nserver:\n  command: [x, {port}]\n",
            "line 3: server.command: expected str, got object; put what has braces in quotes",
            id="a placeholder without quotes",
        ),
        pytest.param(
            "transport: http\nserver:\n  command: [x, 8000]\n",
            "line 3: server.command: expected str, got int; put it in quotes",
            id="a number in a command",
        ),
        pytest.param(
            'transport: http\nserver:\n  command: [x, "{port}"]\n  env: {A: 1}\n',
            "line 4: server.env: expected str, got int; put it in quotes",
            id="a number in the environment",
        ),
        pytest.param(
            "transport: http\nserver:\n  command: []\n",
            "line 3: server.command is empty; write the program",
            id="an empty command",
        ),
        pytest.param(
            "transport: http\nserver:\n  command: [x]\n",
            'line 3: server.command has no "{port}", nor has env or config',
            id="nowhere a port",
        ),
        pytest.param(
            'transport: http\nserver:\n  command: [x, "{port}", "{config}"]\n',
            'server.config is missing but "{config}" is used',
            id="no config",
        ),
        pytest.param(
            'transport: http\nserver:\n  command: [x, "{port}"]\n  health: up\n',
            "line 4: server.health is 'up'; write a path that begins with /",
            id="a health that is no path",
        ),
        pytest.param(
            'transport: http\nserver:\n  command: [x, "{port}"]\n  ready_timeout_s: 0\n',
            "line 4: server.ready_timeout_s is not above 0",
            id="no time at all",
        ),
        pytest.param(
            'transport: http\nserver:\n  command: [x, "{port}"]\n  config: {../a: b}\n',
            "line 4: server.config has the path '../a'; write one inside",
            id="a config elsewhere",
        ),
        pytest.param("- a\n", "transport is None; write transport: http", id="a list"),
        pytest.param(
            "transport: carrier-pigeon\n",
            "line 1: transport is 'carrier-pigeon'; write transport: http",
            id="another transport",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_line_key_and_remedy(
    written: Callable[[str], Path], text: str, said: str
) -> None:
    path = written(text)

    with pytest.raises(UsageError) as refusal:
        resolve_system(Settings(adapter=str(path)))

    assert str(refusal.value).startswith(str(path))
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="does not exist"):
        resolve_system(Settings(adapter=str(tmp_path / "no.yaml")))


def test_settings_that_would_not_reach_the_server_are_refused(
    written: Callable[[str], Path],
) -> None:
    path = written("transport: http\n")

    for target in (str(path), "http://127.0.0.1:9"):
        with pytest.raises(UsageError, match="settings depth cannot be passed to a server"):
            resolve_system(Settings(adapter=target, config={"depth": 3}))


@pytest.mark.anyio
async def test_the_documented_server_and_file_work_as_they_stand(documented: Path) -> None:
    system = await start_http_system(documented)

    memory = await system.open("diary")
    for episode in EPISODES:
        await memory.ingest(episode)
    await memory.settle()
    answer = await memory.answer(question("What did Inspector Hale praise?"))
    await memory.close()
    await system.close()

    assert system.card.name == "most-words"
    assert set(system.card.config) == {"transport", "protocol", "server"}
    assert isinstance(answer, Answer)
    assert "praised the drainage" in answer.text
    assert answer.passages[0].id == "day-0007"


@pytest.fixture
def run(tmp_path: Path, invoke: Invoke) -> Callable[[Path], Shown]:
    """Runs ten days of a gardener's story with an adapter."""
    write_persona(tmp_path / "data")

    def start(adapter: Path) -> Shown:
        return invoke(
            *("run", "--adapter", adapter, "--data", tmp_path / "data", "--ranges", "10d"),
            *("--into", "r", "--no-heatmap-png"),
        )

    return start


def test_the_documented_server_can_be_run(documented: Path, run: Callable[[Path], Shown]) -> None:
    before = list_children()

    shown = run(documented)

    assert shown.code == 0, shown.err
    assert "most-words" in Path("r/result.json").read_text()
    assert str(documented.parent) not in Path("r/journal.jsonl").read_text()
    assert list_children() == before


def test_a_run_whose_server_dies_ends_with_its_last_words_and_is_continued_by_the_same_command(
    documented: Path, run: Callable[[Path], Shown]
) -> None:
    (documented.parent / "fragile.py").write_text(FRAGILE)
    documented.write_text(documented.read_text().replace("memory_server.py", "fragile.py"))
    before = list_children()

    broken, mended = run(documented), run(documented)

    assert broken.code == 4
    assert "it ended with code 9; the last lines of" in broken.err
    assert "out of memory" in broken.err
    assert mended.code == 0, mended.err
    assert list_children() == before


@pytest.mark.anyio
async def test_it_starts_at_the_first_call_and_ends_after_the_last(tmp_path: Path) -> None:
    pid_of = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"
    carrier = StartedServerTransport(
        HttpServerSpec(command=(*python(f"import os; {pid_of}\n{SERVES}"), "{port}"))
    )
    assert not (tmp_path / "pid").exists()

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(carrier.call, wire.HealthRequest(), wire.HealthReply)
    first = int((tmp_path / "pid").read_text())
    await carrier.close()
    await carrier.close()
    wait_until_gone([first])
    await carrier.call(wire.HealthRequest(), wire.HealthReply)
    second = int((tmp_path / "pid").read_text())
    await carrier.close()

    wait_until_gone([second])
    assert first != second


@pytest.mark.anyio
async def test_one_that_dies_under_way_is_gone_with_its_last_words_and_not_replaced(
    tmp_path: Path,
) -> None:
    program = f"import os; os.chdir({str(tmp_path)!r})\n{SPAWNS}{SERVES}"
    carrier = StartedServerTransport(HttpServerSpec(command=tuple(python(program, "{port}"))))
    await carrier.call(wire.HealthRequest(), wire.HealthReply)
    pids = read_pids(tmp_path)
    os.kill(pids[0], signal.SIGKILL)

    for _ in range(2):
        with pytest.raises(SystemGone, match="died during the run: it ended with code -9") as gone:
            await carrier.call(wire.HealthRequest(), wire.HealthReply)
        assert "listening soon" in str(gone.value)
    assert read_pids(tmp_path) == pids
    await carrier.close()

    wait_until_gone(pids)


def test_one_that_does_not_come_up_ends_the_command_with_its_last_words(
    written: Callable[[str], Path],
) -> None:
    path = written(f"""\
        transport: http
        server:
          command: [{sys.executable}, -c, "{DIES}", "{{port}}"]
    """)

    with pytest.raises(SystemGone, match="two: no such model"):
        resolve_system(Settings(adapter=str(path)))


@pytest.mark.anyio
async def test_a_run_that_is_cancelled_leaves_nothing_running(tmp_path: Path) -> None:
    program = f"import os; os.chdir({str(tmp_path)!r})\n{SPAWNS}{SERVES}"
    carrier = StartedServerTransport(
        HttpServerSpec(command=tuple(python(program, "{port}")), health="/never")
    )

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(carrier.call, wire.HealthRequest(), wire.HealthReply)
        await anyio.to_thread.run_sync(wait_until, (tmp_path / "pids").exists, "the start")
        tasks.cancel_scope.cancel()
    await carrier.close()

    wait_until_gone(read_pids(tmp_path))
