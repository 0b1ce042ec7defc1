"""A Python adapter that cheats gains nothing: it is alone with its days and its questions."""

import datetime
import errno
import json
import os
import platform
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import indent
from threading import Thread

import anyio
import pytest

from recall_bench.core import sandbox
from recall_bench.core.errors import SystemDied, SystemFault, SystemStuck, SystemTimeout, UsageError
from recall_bench.core.memory import Isolation, Memory
from recall_bench.core.retry import limit_time
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.settings import Settings
from recall_bench.engine.assembly import assemble
from recall_bench.engine.experiment import execute
from recall_bench.systems.python.isolated_system import (
    IsolatedSnapshots,
    IsolatedSystem,
    load_isolated_system,
)
from tests.gardener import PLANTS, write_persona
from tests.processes import is_running, wait_until
from tests.systems.asking import answered

"""Of tests that look at what a process has from the server that it is a copy of."""

needs_sandbox = pytest.mark.skipif(
    not sandbox.is_available(), reason="this kernel cannot confine a process"
)

SECRET = "sk-a-key-of-the-judge"

QUESTION = Question(
    id="q1", text="Which plant?", asked_at=datetime.datetime(2026, 1, 9), scenario="ada"
)


def write_adapter(folder: Path, query: str, before: str = "") -> Path:
    """An adapter whose answer this code returns; what it raises is the answer otherwise."""
    folder.mkdir(exist_ok=True)
    path = folder / "cheat.py"
    path.write_text(
        f"import gc, json, os, socket, subprocess, sys, tempfile\n{before}\n"
        "class Adapter:\n"
        "    def __init__(self):\n        self.days = []\n"
        "    def ingest_day(self, day, content, metadata):\n        self.days.append(content)\n"
        "    def query(self, question):\n"
        "        try:\n"
        "            return json.dumps(self.cheat(question))\n"
        "        except OSError as error:\n"
        "            return f'refused: {error}'\n"
        f"    def cheat(self, question):\n{indent(query, ' ' * 8)}\n"
    )
    return path


Work = Callable[[IsolatedSystem, Memory], Awaitable[object]]


def work_with(path: Path, work: Work, **settings: object) -> None:
    """Do something with a memory of the adapter at this path, and close everything."""
    system = load_isolated_system(Settings(adapter=str(path), **settings))  # type: ignore[arg-type]

    async def run() -> None:
        try:
            memory = await system.open("ada")
            await work(system, memory)
            await memory.close()
        finally:
            await system.close()

    anyio.run(run)


def ask(path: Path, **settings: object) -> str:
    """The answer of the adapter."""
    found = []

    async def work(system: IsolatedSystem, memory: Memory) -> None:
        found.append((await answered(memory, QUESTION)).text)

    work_with(path, work, **settings)
    return found[0]


def try_all(folder: Path, cheats: dict[str, str], **settings: object) -> dict[str, str]:
    """What one adapter gets from each of several expressions; the error of those refused."""
    path = write_adapter(
        folder,
        "found = {}\n"
        "for name, cheat in CHEATS.items():\n"
        "    try:\n        found[name] = str(eval(cheat))\n"
        "    except OSError as error:\n        found[name] = f'refused: {error}'\n"
        "return found",
        before=f"CHEATS = {cheats!r}",
    )
    found: dict[str, str] = json.loads(ask(path, **settings))
    assert found.keys() == cheats.keys()
    return found


@pytest.fixture(autouse=True)
def judge_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def test_no_truth_is_in_its_memory(tmp_path: Path) -> None:
    """Ten questions with their truth are loaded here while it is asked."""
    write_persona(tmp_path / "data")
    path = write_adapter(
        tmp_path / "cheat",
        "found = [each for each in gc.get_objects()\n"
        "         if type(each).__name__ in ('Truth', 'Item', 'Scenario', 'Plan')]\n"
        "return [str(each) for each in found]",
    )
    folder = tmp_path / "run"
    job = assemble(
        Settings(
            adapter=str(path),
            data=tmp_path / "data",
            into=folder,
            ranges=("3d",),
            heatmap_png=False,
        )
    )

    assert execute(job).exit_code == 0

    rows = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    texts = {row["answer"]["text"] for row in rows if row["type"] == "answered"}
    assert texts == {"[]"}


def test_what_it_replaces_is_replaced_in_its_own_process(tmp_path: Path) -> None:
    """It makes every ruling of every judge the best one."""
    write_persona(tmp_path / "data")
    path = write_adapter(
        tmp_path / "cheat",
        "from recall_bench.judging.offline import offline_judge\n"
        "from recall_bench.core import verdict\n"
        "async def rule(*_, **__): return verdict\n"
        "offline_judge.OfflineJudge.judge = rule\n"
        "return 'nonsense'",
    )

    done = execute(
        assemble(
            Settings(
                adapter=str(path),
                data=tmp_path / "data",
                into=tmp_path / "run",
                ranges=("3d",),
                heatmap_png=False,
            )
        )
    )

    assert done.exit_code == 0
    assert done.folder.plan.judge.name == "offline"
    assert all(mark == 0 for mark in _list_marks(tmp_path / "run", "correctness"))


def _list_marks(folder: Path, name: str) -> list[float]:
    rows = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    found = [row["verdict"]["marks"][name] for row in rows if row["type"] == "judged"]
    assert found
    return found


@needs_sandbox
def test_it_reads_no_dataset_no_cache_and_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither itself nor by a program nor by a link; its own file it reads."""
    folder = tmp_path / "cheat"
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(folder / "cache"))
    cheats: dict[str, str] = {}
    for place in ("data", "cache", "run"):
        kept = folder / place
        kept.mkdir(parents=True)
        (kept / "questions.yaml").write_text("the truth")
        target, link = str(kept / "questions.yaml"), f"os.environ['HOME'] + '/{place}'"
        cheats |= {
            f"{place} itself": f"open({target!r}).read()",
            f"{place} by a program": f"subprocess.run(['cat', {target!r}],"
            " capture_output=True, text=True).stdout",
            f"{place} by a link": f"(os.symlink({str(kept)!r}, {link}),"
            f" open({link} + '/questions.yaml').read())",
        }
    (folder / "mine.txt").write_text("my own file")
    cheats["own"] = f"open({str(folder / 'mine.txt')!r}).read()"

    found = try_all(folder, cheats, data=folder / "data", into=folder / "run")

    assert found.pop("own") == "my own file"
    assert [name for name, said in found.items() if said and "Permission denied" not in said] == []
    assert {name for name, said in found.items() if not said} <= {
        f"{place} by a program" for place in ("data", "cache", "run")
    }


@needs_sandbox
def test_it_reads_no_seed_no_key_and_no_other_run_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "cheat"
    cheats = {}
    for name in ("challenge.secret", ".env", "theirs.bundle", "earlier/journal.jsonl"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("0x1f")
        cheats[name] = f"open({str(folder / name)!r}).read()"

    found = try_all(folder, cheats)

    assert [name for name, said in found.items() if "Permission denied" not in said] == []


@needs_sandbox
def test_it_reads_nothing_of_our_process(tmp_path: Path) -> None:
    ours = f"/proc/{os.getpid()}"
    names = ("environ", "cmdline", "mem", "maps", "cwd/secret")
    cheats = {name: f"open('{ours}/{name}', 'rb').read(9).hex()" for name in names}
    cheats["fd"] = f"os.listdir('{ours}/fd')"

    found = try_all(tmp_path / "cheat", cheats)

    assert [name for name, said in found.items() if not said.startswith("refused: ")] == []


@needs_sandbox
def test_it_traces_and_signals_no_other_process(tmp_path: Path) -> None:
    path = write_adapter(
        tmp_path / "cheat",
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"traced = libc.ptrace(16, {os.getpid()}, 0, 0)\n"
        "parent = libc.ptrace(16, os.getppid(), 0, 0)\n"
        "return [traced, parent]",
    )

    assert ask(path) == "[-1, -1]"


def test_its_environment_holds_what_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVICE", "here")
    monkeypatch.setenv("LANG", "C.UTF-8")
    path = write_adapter(tmp_path / "cheat", "return dict(os.environ)")

    found = json.loads(ask(path, env=("MY_SERVICE",)))

    assert set(found) - {"LC_CTYPE"} == {"PATH", "HOME", "TMPDIR", "LANG", "MY_SERVICE"}
    assert found["MY_SERVICE"] == "here"
    assert found["HOME"] != os.environ.get("HOME")
    assert not Path(found["HOME"]).exists(), "it is removed with the process"


def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--env NOT_THERE: .* is not set"):
        ask(write_adapter(tmp_path, "return 1"), env=("NOT_THERE",))


def test_nothing_passes_from_one_memory_to_the_next(tmp_path: Path) -> None:
    """It keeps what it was asked in files and in a global, for its next memory to find."""
    places = ["tempfile.gettempdir()", "os.environ['HOME']"]
    if sandbox.is_available():
        places += ["'/dev/shm'", "'/tmp'"]
    path = write_adapter(
        tmp_path / "cheat",
        f"seen = [os.path.join(place, 'recall-bench-cheat') for place in [{', '.join(places)}]]\n"
        "known = [*filter(os.path.exists, seen), *KNOWN]\n"
        "KNOWN.append(question)\n"
        "for place in seen:\n"
        "    try:\n        open(place, 'w').write(question)\n"
        "    except OSError:\n        pass\n"
        "return known",
        before="KNOWN = []",
    )
    found = []

    async def work(system: IsolatedSystem, first: Memory) -> None:
        second = await system.open("ada")
        found.append((await answered(first, QUESTION)).text)
        found.append((await answered(second, QUESTION)).text)
        assert system.snapshots is not None
        copy = await system.snapshots.open(await system.snapshots.save(first))
        found.append((await answered(copy, QUESTION)).text)
        await copy.close()
        await second.close()

    work_with(path, work)

    assert found == ["[]"] * 3


@needs_sandbox
def test_it_has_no_network(tmp_path: Path) -> None:
    cheats = {
        f"{family} {kind}": f"socket.socket(socket.{family}, socket.{kind})"
        for family in ("AF_INET", "AF_INET6", "AF_UNIX")
        for kind in ("SOCK_STREAM", "SOCK_DGRAM")
    }

    found = try_all(tmp_path / "cheat", cheats)

    assert [name for name, said in found.items() if "Permission denied" not in said] == []


@needs_sandbox
@pytest.mark.parametrize("allow_network", [False, True])
def test_it_shares_no_memory_semaphore_queue_or_key(tmp_path: Path, *, allow_network: bool) -> None:
    """They outlive a process: the next memory would find what this one left there."""
    libc = "__import__('ctypes').CDLL(None, use_errno=True)"
    calls = {
        "memory": "shmget(4711, 4096, 0o1600)",
        "semaphore": "semget(4711, 1, 0o1600)",
        "queue": "msgget(4711, 0o1600)",
        "posix queue": "mq_open(b'/recall', 0o102, 0o600, None)",
        "key": f"syscall({sandbox._SYSTEM_CALLS[platform.machine()]['keyctl']}, 0, -3, 1)",
    }
    cheats = {
        name: f"({libc}.{call}, __import__('ctypes').get_errno())" for name, call in calls.items()
    }

    found = try_all(tmp_path / "cheat", cheats, allow_network=allow_network)

    assert found == dict.fromkeys(calls, f"(-1, {errno.EACCES})")


@needs_sandbox
def test_the_network_can_be_allowed_and_that_is_recorded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as sibling:

        def reply() -> None:
            with sibling.accept()[0] as line:
                line.sendall(b"leeks")

        Thread(target=reply, daemon=True).start()
        port = sibling.getsockname()[1]
        path = write_adapter(
            tmp_path / "cheat",
            f"return socket.create_connection(('127.0.0.1', {port})).recv(9).decode()",
        )
        assert ask(path).startswith("refused: ")
        assert ask(path, allow_network=True) == '"leeks"'

    system = load_isolated_system(Settings(adapter=str(path), allow_network=True))
    assert system.card.isolation is not None
    assert system.card.isolation.network


def test_the_result_says_how_it_was_isolated(tmp_path: Path) -> None:
    write_persona(tmp_path / "data")
    path = write_adapter(tmp_path / "cheat", "return self.days[-1]")
    kinds = []
    for in_process in (True, False):
        folder = tmp_path / f"run-{in_process}"
        execute(
            assemble(
                Settings(
                    adapter=str(path),
                    data=tmp_path / "data",
                    into=folder,
                    ranges=("3d",),
                    in_process=in_process,
                    heatmap_png=False,
                )
            )
        )
        result = json.loads((folder / "result.json").read_text())
        kinds.append(result["metadata"]["system"]["isolation"]["kind"])

    best = Isolation.SANDBOX if sandbox.is_available() else Isolation.PROCESS
    assert kinds == [Isolation.IN_PROCESS, best]


def test_without_a_sandbox_the_result_says_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "is_available", lambda: False)
    monkeypatch.setattr(sandbox, "can_limit_ports", lambda: False)

    system = load_isolated_system(Settings(adapter=str(write_adapter(tmp_path, "return 1"))))

    assert system.card.isolation is not None
    assert system.card.isolation.kind is Isolation.PROCESS
    assert system.card.isolation.network


def test_an_error_is_quoted_with_its_line(tmp_path: Path) -> None:
    path = write_adapter(tmp_path, "raise ValueError('index is corrupt')")

    with pytest.raises(SystemFault, match=r"ValueError: index is corrupt \(cheat.py, line \d+\)"):
        ask(path)


@needs_sandbox
@pytest.mark.parametrize(
    ("query", "flag"),
    [
        ("raise KeyError('SOME_KEY')", "--env SOME_KEY passes"),
        (
            "raise RuntimeError('unable to open database file')",
            "--allow-read PATH, the state folder",
        ),
        ("raise RuntimeError('[Errno 13] Permission denied')", "may refuse it: --allow-network"),
    ],
)
def test_an_error_that_the_sandbox_causes_names_what_lifts_it(
    tmp_path: Path, query: str, flag: str
) -> None:
    with pytest.raises(SystemFault, match=flag):
        ask(write_adapter(tmp_path, query))


def test_what_cannot_be_imported_is_said_at_once(tmp_path: Path) -> None:
    path = write_adapter(tmp_path, "return 1", before="raise RuntimeError('no model')")

    with pytest.raises(UsageError, match=r"importing .*cheat.py failed: RuntimeError: no model"):
        ask(path)


def test_a_process_that_dies_is_gone_with_its_last_words(tmp_path: Path) -> None:
    path = write_adapter(tmp_path, "print('farewell', file=sys.stderr, flush=True)\nos._exit(3)")

    with pytest.raises(SystemDied, match=r"exit code 3.*farewell"):
        ask(path)


@pytest.mark.parametrize(
    "way", ["asyncio.run(work())", "asyncio.get_event_loop().run_until_complete(work())"]
)
def test_plain_code_may_run_an_event_loop(tmp_path: Path, way: str) -> None:
    path = write_adapter(
        tmp_path,
        "import asyncio\nasync def work():\n    await asyncio.sleep(0.1)\n    return 'done'\n"
        f"return {way}",
    )

    assert ask(path) == '"done"'


def test_what_it_prints_is_shown_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A character arrives in two pieces, and the last one is cut."""
    path = write_adapter(
        tmp_path,
        "import time\nfor piece in (b'caf\\xc3', b'\\xa9 \\xe2\\x82'):\n"
        "    os.write(2, piece)\n    time.sleep(0.2)\n"
        "return ''",
    )
    ask(path)

    assert "café �" in capsys.readouterr().err


STUBBORN = "import time\n    while True:\n        try: time.sleep(600)\n        except: pass"


@pytest.mark.parametrize("hang", ["while True: pass", "import time; time.sleep(600)", STUBBORN])
def test_a_call_that_is_late_is_ended(tmp_path: Path, hang: str) -> None:
    path = write_adapter(tmp_path, f"if question == 'hang':\n    {hang}\nreturn 'alive'")

    async def work(system: IsolatedSystem, memory: Memory) -> None:
        late = QUESTION.replace(text="hang")
        with pytest.raises(SystemTimeout):
            await limit_time(0.2, memory.answer(late), SystemTimeout("late"))
        with anyio.fail_after(20):
            if hang != STUBBORN:
                assert (await answered(memory, QUESTION)).text == '"alive"'
            else:
                with pytest.raises(SystemStuck, match="did not stop"):
                    await answered(memory, QUESTION)

    work_with(path, work)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes")
def test_nothing_survives_a_harness_that_is_killed(tmp_path: Path) -> None:
    """It starts a child that ignores the request to end, and hangs itself."""
    path = write_adapter(
        tmp_path,
        "import time\nchild = os.fork()\n"
        "if child:\n    print(f'pids {os.getpid()} {child} {os.getppid()}', file=sys.stderr)\n"
        "    sys.stderr.flush()\ntime.sleep(600)",
        before="import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)",
    )
    script = (
        "import sys; sys.path[:0] = [sys.argv[1]]\n"
        "from pathlib import Path\nfrom tests.systems.test_isolation import ask\n"
        "ask(Path(sys.argv[2]))"
    )
    root = Path(__file__).parents[2]
    harness = subprocess.Popen(
        [sys.executable, "-c", script, str(root), str(path)], stderr=subprocess.PIPE, text=True
    )
    assert harness.stderr is not None
    words = next(line for line in harness.stderr if line.startswith("pids"))
    pids = [int(word) for word in words.split()[1:]]
    assert all(map(is_running, pids))

    harness.send_signal(signal.SIGKILL)
    harness.wait()
    harness.stderr.close()

    wait_until(lambda: not any(map(is_running, pids)), "the adapter's processes end")


@pytest.mark.parametrize(
    ("cheat", "problem"),
    [
        ("os.symlink('/etc', place + '/state')", "links are not followed"),
        ("os.mkfifo(place + '/state')", "neither a file nor a folder"),
    ],
)
def test_a_snapshot_of_links_is_refused(tmp_path: Path, cheat: str, problem: str) -> None:
    path = tmp_path / "cheat.py"
    path.write_text(
        "import os\nclass Adapter:\n"
        "    def ingest_day(self, day, content, metadata): pass\n"
        "    def query(self, question): return ''\n"
        f"    def snapshot(self, path):\n        place = str(path.parent)\n        {cheat}\n"
        "    def restore(self, path): pass\n"
    )

    async def work(system: IsolatedSystem, memory: Memory) -> None:
        assert system.snapshots is not None
        with pytest.raises(SystemFault, match=problem):
            await system.snapshots.save(memory)

    work_with(path, work)


def test_a_packed_snapshot_is_opened_by_its_own_kind_from_a_folder_of_ours(tmp_path: Path) -> None:
    from recall_bench.core.errors import DataError
    from recall_bench.systems.python.system import load_python_system

    path = write_adapter(tmp_path / "cheat", "return self.days")
    place = tmp_path / "packed"
    place.mkdir(mode=0o700)

    async def work(system: IsolatedSystem, memory: Memory) -> None:
        at = datetime.datetime(2026, 1, 1)
        await memory.ingest(Episode(id="1", day=1, at=at, text=PLANTS[0]))
        snapshots = system.snapshots
        assert isinstance(snapshots, IsolatedSnapshots)
        await snapshots.pack(await snapshots.save(memory), place)
        again = await snapshots.open(await snapshots.unpack(place))
        assert PLANTS[0] in (await answered(again, QUESTION)).text
        await again.close()
        here = load_python_system(str(path), {})
        assert here.snapshots is not None
        with pytest.raises(DataError, match="ran as child, and this one runs as in-process"):
            await here.snapshots.unpack(place)
        await here.close()
        if os.name == "posix":
            place.chmod(0o770)
            with pytest.raises(DataError, match="can be written by other users"):
                await snapshots.unpack(place)

    work_with(path, work)
