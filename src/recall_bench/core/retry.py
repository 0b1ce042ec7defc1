"""How long we wait for others, and how often we ask again: one policy for all of it."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

import anyio

from recall_bench.core.errors import JudgeBusy, ModelBusy, SystemBusy
from recall_bench.core.event import Postponed
from recall_bench.core.plan import Trial

T = TypeVar("T")

RETRY_PAUSES_S = (0.5, 1.0, 2.0)
"""How long we wait before each further attempt,"""
LONGEST_PAUSE_S = 60.0
"""or as long as we are asked to, up to this."""


BusyError = SystemBusy | JudgeBusy | ModelBusy


async def retry(
    call: Callable[[], Awaitable[T]], told: Callable[[BusyError], None] = lambda _: None
) -> T:
    """The result of the call, tried again while it says it is busy; `told` hears each time."""
    for pause in RETRY_PAUSES_S:
        try:
            return await call()
        except (SystemBusy, JudgeBusy, ModelBusy) as busy:
            told(busy)
            await anyio.sleep(max(pause, min(busy.retry_after_s, LONGEST_PAUSE_S)))
    return await call()


def make_postponement(trial: Trial, busy: BusyError) -> Postponed:
    """The event of a question or an answer that has to be put again."""
    kind = type(busy).__name__
    return Postponed(at=datetime.now(UTC), trial=trial, fault=kind, message=str(busy))


async def limit_time(seconds: float, call: Awaitable[T], overrun: Exception) -> T:
    """The result of the call; cancelled, and `overrun` raised, when it takes longer."""
    # anyio.fail_after does the same in half again the time, which a run pays twice a trial.
    with anyio.CancelScope(deadline=anyio.current_time() + seconds):
        return await call
    raise overrun
