"""A program that was started for us is gone, with all it started, when we end it or die."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from recall_bench.core.child_process import DEVNULL, start_blocking_process, start_process
from tests.systems.processes import SPAWNING, all_end, children, noted_pids, runs

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


@pytest.mark.anyio
async def test_ending_a_child_ends_what_it_started_even_if_both_refuse(tmp_path: Path) -> None:
    child = await start_process(SPAWNING, folder=tmp_path, environ={})
    pids = noted_pids(tmp_path)

    await child.end(grace_s=0.1)

    all_end(pids)
    assert child.process.pid == pids[0]
    assert child.process.returncode == -signal.SIGKILL


def test_a_thread_without_an_event_loop_can_do_the_same(tmp_path: Path) -> None:
    child = start_blocking_process(SPAWNING, folder=tmp_path, environ={})
    pids = noted_pids(tmp_path)

    child.end(grace_s=0.1)

    all_end(pids)
    assert child.process.returncode == -signal.SIGKILL


@pytest.mark.anyio
async def test_what_a_child_left_behind_ends_too(tmp_path: Path) -> None:
    child = await start_process(SPAWNING, folder=tmp_path, environ={})
    leader, deserted = noted_pids(tmp_path)
    os.kill(leader, signal.SIGKILL)
    await child.process.wait()
    assert runs(deserted)

    await child.end()

    all_end([deserted])


@pytest.mark.anyio
async def test_a_child_that_heeds_the_request_ends_by_itself(tmp_path: Path) -> None:
    polite = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"
    command = (sys.executable, "-c", f"{polite}; print('up', flush=True); signal.pause()")
    child = await start_process(command, folder=tmp_path, environ={})
    assert child.process.stdout is not None
    await child.process.stdout.receive()

    await child.end(grace_s=10)
    await child.end()

    assert child.process.returncode == 7


@pytest.mark.anyio
async def test_a_cancellation_does_not_interrupt_the_ending(tmp_path: Path) -> None:
    child = await start_process(SPAWNING, folder=tmp_path, environ={})
    pids = noted_pids(tmp_path)

    with anyio.CancelScope() as scope:
        scope.cancel()
        await child.end(grace_s=0.1)

    all_end(pids)


def test_a_child_and_what_it_started_die_with_us_but_not_with_a_thread_of_ours(
    tmp_path: Path,
) -> None:
    with subprocess.Popen((sys.executable, "-c", HARNESS, *SPAWNING), cwd=tmp_path) as harness:
        pids = noted_pids(tmp_path)
        assert all(map(runs, pids))

        harness.kill()

    all_end(pids)


def test_no_guard_is_left_when_the_child_is_ended(tmp_path: Path) -> None:
    child = start_blocking_process(("sleep", "600"), folder=tmp_path, environ=os.environ)
    assert child._guard._process is not None
    guard = child._guard._process.pid
    assert runs(guard)

    child.end()

    all_end([guard])


@pytest.mark.anyio
async def test_a_program_that_cannot_be_started_leaves_nothing(tmp_path: Path) -> None:
    before = children()

    with pytest.raises(FileNotFoundError):
        start_blocking_process(("no-such-program",), folder=tmp_path, environ={})
    with pytest.raises(FileNotFoundError):
        await start_process(("no-such-program",), folder=tmp_path, environ={})

    assert children() == before


def test_a_child_has_no_terminal_and_only_the_environment_it_is_given(tmp_path: Path) -> None:
    told = "import os; print(os.getsid(0) == os.getpid(), os.environ.get('PATH'), os.getcwd())"
    child = start_blocking_process(
        (sys.executable, "-c", told), folder=tmp_path, environ={"A": "1"}, stdin=DEVNULL
    )

    out, _ = child.process.communicate()
    child.end()

    assert out.decode().split() == ["True", "None", str(tmp_path.resolve())]
