"""How long we wait for others, and how often we ask again: one policy for all of it."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from recall_bench.errors import JudgeBusy, SystemBusy

T = TypeVar("T")

PAUSES_S = (0.5, 1.0, 2.0)
"""How long we wait before each further attempt."""


async def persistently(call: Callable[[], Awaitable[T]]) -> T:
    """The result of the call, tried again while it says it is busy."""
    for pause in PAUSES_S:
        try:
            return await call()
        except (SystemBusy, JudgeBusy):
            await anyio.sleep(pause)
    return await call()


async def within(seconds: float, call: Awaitable[T], overrun: Exception) -> T:
    """The result of the call; cancelled, and `overrun` raised, when it takes longer."""
    # anyio.fail_after does the same in half again the time, which a run pays twice a trial.
    with anyio.CancelScope(deadline=anyio.current_time() + seconds):
        return await call
    raise overrun
