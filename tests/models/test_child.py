"""However a call ends, no process that it started lives on.

On Windows nothing here has run: what would be run there is recorded on a POSIX machine.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio.abc import Process

from recall_bench.models import program_model
from recall_bench.models.program_model import ChildResult, run_child
from tests.models.event_loop import until
from tests.models.processes import is_running, until_gone

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="starts programs the POSIX way"),
]

FAMILY = """
import os, signal, sys, time

def told(*_):
    open("told", "w").close()

child = os.fork()
if child:
    signal.signal(signal.SIGTERM, {parent})
    while not os.path.exists("ready"):
        time.sleep(0.01)
    open("pids", "w").write(f"{{os.getpid()}} {{child}}")
    os.rename("pids", "started")
else:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("ready", "w").close()
while True:
    time.sleep(600)
"""
"""A program whose child ignores SIGTERM."""

STUBBORN = FAMILY.format(parent="told")
OBEDIENT = FAMILY.format(parent="signal.SIG_DFL")

CALLER = """
import anyio, os, signal, sys
from recall_bench.models.program_model import run_child

# What a shell starts in the background, and so the tests that it runs there, ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

async def main():
    await run_child([sys.executable, "-c", sys.argv[1]], "", folder=".", environ=os.environ)

anyio.run(main)
"""


async def run(source: str, folder: Path) -> ChildResult:
    return await run_child(
        [sys.executable, "-c", source], "", folder=str(folder), environ=os.environ
    )


def calling(source: str, folder: Path) -> subprocess.Popen[bytes]:
    """Another process, which calls the program."""
    command = [sys.executable, "-c", CALLER, source]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE)


def family(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "started").read_text().split()]


def end(pids: list[int]) -> None:
    """What a failed test would leave behind."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("source", [STUBBORN, OBEDIENT], ids=["stubborn", "obedient"])
async def test_a_call_that_runs_out_of_time_ends_the_program_and_what_ignores_the_asking(
    source: str, tmp_path: Path
) -> None:
    patience: list[anyio.CancelScope] = []

    async def call() -> None:
        with anyio.fail_after(60) as scope:
            patience.append(scope)
            await run(source, tmp_path)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await call()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(give_up)
        await until((tmp_path / "started").exists)
        pids = family(tmp_path)
        assert len(pids) == 2
        assert all(map(is_running, pids))
        patience[0].deadline = anyio.current_time()

    await until_gone(*pids)
    assert (tmp_path / "told").exists() == (source == STUBBORN)


@pytest.mark.parametrize("presses", [1, 2])
async def test_ctrl_c_leaves_nothing_behind_however_often_it_is_pressed(
    presses: int, tmp_path: Path
) -> None:
    """The second one comes while the program is given time to end by itself."""
    caller = calling(STUBBORN, tmp_path)
    try:
        await until((tmp_path / "started").exists)
        caller.send_signal(signal.SIGINT)
        if presses == 2:
            await until((tmp_path / "told").exists)
            caller.send_signal(signal.SIGINT)
        await until(lambda: caller.poll() is not None)
        await until_gone(*family(tmp_path))
    finally:
        caller.kill()
        _, told = caller.communicate()
        end(family(tmp_path))

    assert b"Event loop is closed" not in told


async def test_a_caller_that_gives_up_while_the_program_starts_ends_it_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its processes are there before we are told about them."""
    opened = anyio.open_process
    started: list[Process] = []

    async def slowly(command: Sequence[str], **options: Any) -> Process:
        process = await opened(command, **options)
        started.append(process)
        await until((tmp_path / "started").exists)
        tasks.cancel_scope.cancel()
        await anyio.sleep(0.01)
        return process

    monkeypatch.setattr(anyio, "open_process", slowly)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, STUBBORN, tmp_path)

    await until_gone(started[0].pid, *family(tmp_path))


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The module thinks it is on Windows; what it runs to end programs is recorded, and obeyed."""
    opened = anyio.open_process
    ran: list[tuple[str, ...]] = []

    async def open_process(command: Sequence[str], **options: Any) -> Process:
        assert options.pop("creationflags") == 0x200
        assert not options["start_new_session"]
        return await opened(command, **options)

    def taskkill(command: tuple[str, ...], **_: object) -> None:
        ran.append(command)
        os.kill(int(command[-1]), signal.SIGKILL)

    def killpg(*_: object) -> None:
        raise AttributeError("there are no process groups of this kind")

    monkeypatch.setattr(program_model, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(program_model, "os", SimpleNamespace(killpg=killpg))
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
    monkeypatch.setattr(subprocess, "run", taskkill)
    monkeypatch.setattr(anyio, "open_process", open_process)
    return ran


async def test_recorded_not_run_on_windows_the_whole_tree_of_a_program_is_ended(
    windows: list[tuple[str, ...]], tmp_path: Path
) -> None:
    source = 'import os, time; open("pid", "w").write(str(os.getpid())); time.sleep(600)'

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, source, tmp_path)
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        tasks.cancel_scope.cancel()

    pid = (tmp_path / "pid").read_text()
    assert windows == [("taskkill", "/T", "/F", "/PID", pid)]
    assert not is_running(int(pid))


async def test_recorded_not_run_on_windows_a_program_that_ended_is_not_looked_for(
    windows: list[tuple[str, ...]], tmp_path: Path
) -> None:
    """Its number may be another program's by then."""
    assert (await run("print('done')", tmp_path)).out.strip() == "done"
    assert windows == []


async def test_without_taskkill_at_least_the_program_itself_is_ended(
    windows: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(*_: object, **__: Mapping[str, object]) -> None:
        raise FileNotFoundError("taskkill")

    monkeypatch.setattr(subprocess, "run", missing)

    with anyio.move_on_after(0.1):
        await run("import time; time.sleep(600)", tmp_path)

    assert windows == []
