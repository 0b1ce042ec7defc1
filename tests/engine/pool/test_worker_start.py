"""How worker processes start, and end if starting is cancelled."""

import os
import signal

import anyio
import pytest

from recall_bench.engine import process_worker
from recall_bench.engine.process_worker import ProcessWorker, start_process
from tests.engine.pool.command_process import is_alive
from tests.engine.pool.pool_runs import until

pytestmark = pytest.mark.anyio


async def test_a_process_that_is_cancelled_while_it_starts_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[ProcessWorker] = []

    with anyio.CancelScope() as scope:

        class Cancelling(ProcessWorker):
            def __init__(self, number: int) -> None:
                super().__init__(number)
                started.append(self)
                scope.cancel()

        monkeypatch.setattr(process_worker, "ProcessWorker", Cancelling)
        await start_process(1)

    assert scope.cancelled_caught
    assert not is_alive(started[0].pid)


async def test_workers_end_apart() -> None:
    first, second = await start_process(1), await start_process(2)
    os.kill(first.pid, signal.SIGKILL)
    await until(lambda: not is_alive(first.pid) or first._process.poll() is not None)
    with pytest.raises(Exception, match="worker 1 died"):
        await first.wait_ready()
    assert is_alive(second.pid)
    await first.close()
    await second.close()
    assert not is_alive(second.pid)
