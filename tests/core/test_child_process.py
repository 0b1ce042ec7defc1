"""No process that we started survives us, however it is ended.

Nothing here has run on Windows: what would be run there is recorded on a POSIX machine.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio.abc import Process

from recall_bench.core import child_process
from recall_bench.core.child_process import (
    DEVNULL,
    TERMINATE_GRACE_S,
    ProcessExit,
    run_process,
    start_blocking_process,
    start_process,
)
from tests.processes import (
    SPAWNING_COMMAND,
    is_running,
    list_children,
    read_pids,
    wait_until,
    wait_until_gone,
)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="starts programs the POSIX way"),
]

HARNESS = """
import os, sys, threading, time
from pathlib import Path
from recall_bench.core.child_process import DEVNULL, start_blocking_process

def start():
    start_blocking_process(
        sys.argv[1:], folder=Path("."), environ=os.environ,
        stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL,
    )

thread = threading.Thread(target=start)
thread.start()
thread.join()
time.sleep(600)
"""
"""A process that starts a program from a thread that ends at once, and then only waits."""


async def test_ending_a_child_ends_what_it_started_even_if_both_refuse(tmp_path: Path) -> None:
    child = await start_process(SPAWNING_COMMAND, folder=tmp_path, environ={})
    pids = read_pids(tmp_path)

    await child.end(grace_s=0.1)

    wait_until_gone(pids)
    assert child.process.pid == pids[0]
    assert child.process.returncode == -signal.SIGKILL


def test_a_thread_without_an_event_loop_can_do_the_same(tmp_path: Path) -> None:
    child = start_blocking_process(SPAWNING_COMMAND, folder=tmp_path, environ={})
    pids = read_pids(tmp_path)

    child.end(grace_s=0.1)

    wait_until_gone(pids)
    assert child.process.returncode == -signal.SIGKILL


async def test_what_a_child_left_behind_ends_too(tmp_path: Path) -> None:
    child = await start_process(SPAWNING_COMMAND, folder=tmp_path, environ={})
    leader, deserted = read_pids(tmp_path)
    os.kill(leader, signal.SIGKILL)
    await child.process.wait()
    assert is_running(deserted)

    await child.end()

    wait_until_gone([deserted])


async def test_a_child_that_handles_sigterm_ends_by_itself(tmp_path: Path) -> None:
    polite = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"
    command = (sys.executable, "-c", f"{polite}; print('up', flush=True); signal.pause()")
    child = await start_process(command, folder=tmp_path, environ={})
    assert child.process.stdout is not None
    await child.process.stdout.receive()

    await child.end(grace_s=10)
    await child.end()

    assert child.process.returncode == 7


async def test_a_cancellation_does_not_interrupt_the_ending(tmp_path: Path) -> None:
    child = await start_process(SPAWNING_COMMAND, folder=tmp_path, environ={})
    pids = read_pids(tmp_path)

    with anyio.CancelScope() as scope:
        scope.cancel()
        await child.end(grace_s=0.1)

    wait_until_gone(pids)


def test_a_child_and_what_it_started_die_with_us_but_not_with_a_thread_of_ours(
    tmp_path: Path,
) -> None:
    with subprocess.Popen(
        (sys.executable, "-c", HARNESS, *SPAWNING_COMMAND), cwd=tmp_path
    ) as harness:
        pids = read_pids(tmp_path)
        assert all(map(is_running, pids))

        harness.kill()

    wait_until_gone(pids)


def test_no_guard_is_left_when_the_child_is_ended(tmp_path: Path) -> None:
    child = start_blocking_process(("sleep", "600"), folder=tmp_path, environ=os.environ)
    assert child._guard._process is not None
    guard = child._guard._process.pid
    assert is_running(guard)

    child.end()

    wait_until_gone([guard])


async def test_a_program_that_cannot_be_started_leaves_nothing(tmp_path: Path) -> None:
    before = list_children()

    with pytest.raises(FileNotFoundError):
        start_blocking_process(("no-such-program",), folder=tmp_path, environ={})
    with pytest.raises(FileNotFoundError):
        await start_process(("no-such-program",), folder=tmp_path, environ={})

    assert list_children() == before


def test_a_child_has_no_terminal_and_only_the_environment_it_is_given(tmp_path: Path) -> None:
    told = "import os; print(os.getsid(0) == os.getpid(), os.environ.get('PATH'), os.getcwd())"
    child = start_blocking_process(
        (sys.executable, "-c", told), folder=tmp_path, environ={"A": "1"}, stdin=DEVNULL
    )

    out, _ = child.process.communicate()
    child.end()

    assert out.decode().split() == ["True", "None", str(tmp_path.resolve())]


FAMILY = """
import os, signal, sys, time

def note_signal(*_):
    open("signalled", "w").close()

child = os.fork()
if child:
    signal.signal(signal.SIGTERM, {parent})
    while not os.path.exists("ready"):
        time.sleep(0.01)
    open("pids.tmp", "w").write(f"{{os.getpid()}} {{child}}")
    os.rename("pids.tmp", "pids")
else:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("ready", "w").close()
while True:
    time.sleep(600)
"""
"""A program whose child ignores SIGTERM."""

STUBBORN = FAMILY.format(parent="note_signal")
OBEDIENT = FAMILY.format(parent="signal.SIG_DFL")

CALLER = """
import anyio, os, signal, sys
from pathlib import Path
from recall_bench.core.child_process import run_process

# Programs that a shell starts in the background ignore Ctrl-C, and so would these tests there.
signal.signal(signal.SIGINT, signal.default_int_handler)

async def main():
    command, grace_s = [sys.executable, "-c", sys.argv[1]], float(sys.argv[2])
    await run_process(
        command, folder=Path("."), environ=os.environ, output_limit=1000, grace_s=grace_s
    )

anyio.run(main)
"""


async def run(source: str, folder: Path, *, stdin: bytes = b"", limit: int = 1000) -> ProcessExit:
    return await run_process(
        [sys.executable, "-c", source],
        folder=folder,
        environ=os.environ,
        output_limit=limit,
        stdin=stdin,
        grace_s=TERMINATE_GRACE_S,
    )


async def poll(holds: Callable[[], object]) -> None:
    """Wait without blocking the event loop."""
    with anyio.fail_after(60):
        while not holds():  # noqa: ASYNC110 - another process has no event
            await anyio.sleep(0.01)


async def test_a_program_gets_its_input_and_gives_its_output(tmp_path: Path) -> None:
    source = "import sys; print(sys.stdin.read()[::-1]); print('a note', file=sys.stderr); exit(3)"

    ended = await run(source, tmp_path, stdin=b"abc")

    assert (ended.code, ended.out, ended.stderr.text) == (3, b"cba\n", "a note\n")


async def test_output_beyond_the_limit_is_dropped_and_noticed(tmp_path: Path) -> None:
    ended = await run("print('x' * 1_000_000)", tmp_path, limit=10)

    assert ended.out == b"x" * 11


async def test_a_program_that_reads_nothing_may_end(tmp_path: Path) -> None:
    assert (await run("print('done')", tmp_path, stdin=b"x" * 1_000_000)).out == b"done\n"


@pytest.mark.parametrize("source", [STUBBORN, OBEDIENT], ids=["stubborn", "obedient"])
async def test_a_cancelled_call_ends_the_program_and_what_ignores_sigterm(
    source: str, tmp_path: Path
) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, source, tmp_path)
        await poll((tmp_path / "pids").exists)
        pids = read_pids(tmp_path)
        assert len(pids) == 2
        assert all(map(is_running, pids))
        tasks.cancel_scope.cancel()

    wait_until_gone(pids)
    assert (tmp_path / "signalled").exists() == (source == STUBBORN)


async def test_a_program_that_runs_out_of_time_has_no_exit_code(tmp_path: Path) -> None:
    ended = await run_process(
        ("sleep", "600"), folder=tmp_path, environ=os.environ, output_limit=1, timeout_s=0.1
    )

    assert ended.code is None


@pytest.mark.parametrize(("presses", "grace_s"), [(1, 1), (2, 600)])
def test_ctrl_c_leaves_nothing_behind_however_often_it_is_pressed(
    presses: int, grace_s: int, tmp_path: Path
) -> None:
    """The second one comes during the grace, and ends it."""
    command = [sys.executable, "-c", CALLER, STUBBORN, str(grace_s)]
    caller = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    try:
        wait_until((tmp_path / "pids").exists, "the start")
        caller.send_signal(signal.SIGINT)
        if presses == 2:
            wait_until((tmp_path / "signalled").exists, "SIGTERM")
            caller.send_signal(signal.SIGINT)
        wait_until(lambda: caller.poll() is not None, "the end of the caller")
        wait_until_gone(read_pids(tmp_path))
    finally:
        caller.kill()
        _, printed = caller.communicate()
        for pid in read_pids(tmp_path):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    assert b"Event loop is closed" not in printed


async def test_a_call_cancelled_while_the_program_starts_ends_it_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The processes exist before we know them."""
    open_process = anyio.open_process
    started: list[Process] = []

    async def open_slowly(command: Sequence[str], **options: Any) -> Process:
        process = await open_process(command, **options)
        started.append(process)
        await poll((tmp_path / "pids").exists)
        tasks.cancel_scope.cancel()
        await anyio.sleep(0.01)
        return process

    monkeypatch.setattr(anyio, "open_process", open_slowly)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, STUBBORN, tmp_path)

    wait_until_gone([started[0].pid, *read_pids(tmp_path)])


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The module thinks it is on Windows; the commands it would run there, each obeyed."""
    open_process = anyio.open_process
    commands: list[tuple[str, ...]] = []

    async def open_checked(command: Sequence[str], **options: Any) -> Process:
        assert options.pop("creationflags") == 0x200
        assert not options["start_new_session"]
        return await open_process(command, **options)

    def taskkill(command: tuple[str, ...], **_: object) -> None:
        commands.append(command)
        os.kill(int(command[-1]), signal.SIGKILL)

    def killpg(*_: object) -> None:
        raise AttributeError("there are no process groups of this kind")

    monkeypatch.setattr(child_process, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(child_process, "os", SimpleNamespace(killpg=killpg))
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
    monkeypatch.setattr(subprocess, "run", taskkill)
    monkeypatch.setattr(anyio, "open_process", open_checked)
    return commands


async def test_recorded_not_run_on_windows_the_whole_tree_of_a_program_is_ended(
    windows: list[tuple[str, ...]], tmp_path: Path
) -> None:
    source = 'import os, time; open("pid", "w").write(str(os.getpid())); time.sleep(600)'

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, source, tmp_path)
        await poll(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        tasks.cancel_scope.cancel()

    pid = (tmp_path / "pid").read_text()
    assert windows == [("taskkill", "/T", "/F", "/PID", pid)]
    assert not is_running(int(pid))


async def test_recorded_not_run_on_windows_a_program_that_ended_is_not_looked_for(
    windows: list[tuple[str, ...]], tmp_path: Path
) -> None:
    """Its number may be another program's by then."""
    assert (await run("print('done')", tmp_path)).out == b"done\n"
    assert windows == []


async def test_without_taskkill_at_least_the_program_itself_is_ended(
    windows: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise FileNotFoundError("taskkill")

    monkeypatch.setattr(subprocess, "run", fail)

    with anyio.move_on_after(0.1):
        await run("import time; time.sleep(600)", tmp_path)

    assert windows == []
