"""How worker processes start: as copies of one, or by themselves, and ended if it is cancelled."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import Process

from recall_bench.core.fork_server import can_fork
from recall_bench.engine import process_worker
from recall_bench.engine.process_worker import ProcessWorker, open_template, start_process
from recall_bench.engine.worker_pool import StartWorker
from tests.engine.pool.command_process import is_alive
from tests.engine.pool.pool_runs import until

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("own_server")]

needs_forks = pytest.mark.skipif(not can_fork(), reason="processes are not copied here")


async def test_a_process_that_is_cancelled_while_it_starts_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[Process] = []
    open_process = anyio.open_process

    with anyio.CancelScope() as scope:

        async def open_and_cancel(*words: Any, **options: Any) -> Process:
            started.append(await open_process(*words, **options))
            scope.cancel()
            await anyio.lowlevel.checkpoint()
            return started[0]

        monkeypatch.setattr(anyio, "open_process", open_and_cancel)
        await start_process(1)

    assert scope.cancelled_caught
    assert started[0].returncode is not None


def find_parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@asynccontextmanager
async def closing(start: StartWorker, number: int) -> AsyncIterator[ProcessWorker]:
    worker = await start(number)
    assert isinstance(worker, ProcessWorker)
    try:
        yield worker
    finally:
        await worker.close()


@needs_forks
async def test_workers_are_copies_of_one_process_and_end_apart() -> None:
    async with open_template() as start:
        async with closing(start, 1) as first, closing(start, 2) as second:
            server = find_parent(first.pid)
            assert server == find_parent(second.pid) != os.getpid()
            os.kill(first.pid, signal.SIGKILL)
            await until(lambda: not is_alive(first.pid))
            assert is_alive(second.pid)
            # The pipes of the first are closed although the second was forked meanwhile.
            with pytest.raises(Exception, match="worker 1 died"):
                await first.wait_ready()
        assert not is_alive(second.pid)
        assert is_alive(server)
    assert not is_alive(server)


@needs_forks
async def test_workers_start_by_themselves_once_the_fork_server_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_template() as start, closing(start, 1) as first:
        os.kill(find_parent(first.pid), signal.SIGKILL)
        async with closing(start, 2) as second:
            assert find_parent(second.pid) == os.getpid()

    monkeypatch.setattr(process_worker, "can_fork", lambda: False)
    async with open_template() as start:
        assert start is start_process
