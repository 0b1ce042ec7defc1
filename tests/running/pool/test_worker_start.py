"""A worker process whose start is cancelled does not outlive the pool."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import Process

from recall_bench.running.process_worker import start_process

pytestmark = pytest.mark.anyio


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
