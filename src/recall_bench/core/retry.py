"""The one retry policy, and the one way to limit the time of a call.

What is retried is decided where a call fails: `features/models/faults.py` raises ModelBusy, from
which JudgeBusy follows, and the transports of `systems/` raise SystemBusy. All are RetryLater.
"""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol, Self, TypeVar, runtime_checkable

import anyio

from recall_bench.core.errors import RetryLater
from recall_bench.core.event import Postponed
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Trial
from recall_bench.core.verdict import JudgeCard

T = TypeVar("T")

RETRY_PAUSES_S = (0.5, 1.0, 2.0)
"""The pause before each retry, unless the callee asks for a longer one: four calls in all."""
LONGEST_PAUSE_S = 60.0
"""The longest pause that a callee can ask for."""

OnBusy = Callable[[RetryLater], None]


def ignore_busy(busy: RetryLater) -> None:
    """Do nothing: the default of every `on_busy`."""


class Attempts:
    """Repeats a block while it raises RetryLater, pausing in between.

    Use it where `retry` would add frames to a hot path:
    `async for attempt in Attempts(on_busy): with attempt: return await call()`.
    """

    def __init__(self, on_busy: OnBusy = ignore_busy) -> None:
        self._on_busy = on_busy
        self._pauses = iter(RETRY_PAUSES_S)
        self._pause_s = 0.0
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Self:
        if self._is_over:
            raise StopAsyncIteration
        if self._pause_s:
            await anyio.sleep(self._pause_s)
        return self

    def __enter__(self) -> None:
        self._is_over = True

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, RetryLater):
            return False
        pause = next(self._pauses, None)
        if pause is None:
            return False
        self._on_busy(error)
        self._pause_s = max(pause, min(error.retry_after_s, LONGEST_PAUSE_S))
        self._is_over = False
        return True


async def retry(call: Callable[[], Awaitable[T]], on_busy: OnBusy = ignore_busy) -> T:
    """Return the result of the call; repeat it while it raises RetryLater."""
    async for attempt in Attempts(on_busy):
        with attempt:
            return await call()
    raise AssertionError("the last attempt returns or raises")


def parse_retry_after(text: str | None) -> float:
    """The seconds of a Retry-After header; 0 without one, or if it is a date."""
    return float(text) if text and re.fullmatch(r"\d+(\.\d+)?", text) else 0.0


def make_postponement(trial: Trial, busy: RetryLater) -> Postponed:
    """Make the event of a question or an answer that is tried again later."""
    kind = type(busy).__name__
    return Postponed(at=datetime.now(UTC), trial=trial, fault=kind, message=str(busy))


WAIT_MARGIN_S = 30.0
"""Added to the time that a callee waits, so that it ends its waiting itself."""


@runtime_checkable
class DeferredReplySource(Protocol):
    """A model, judge or reader whose reply may come later, as a file."""

    @property
    def wait_s(self) -> float:
        """How long a call may wait for its reply; 0 if it does not wait."""


def get_wait_s(callee: object) -> float:
    """How long the callee may wait for a reply that comes as a file."""
    return callee.wait_s if isinstance(callee, DeferredReplySource) else 0.0


def extend_limit(seconds: float, callee: object) -> float:
    """Return a time limit in which the callee can wait for its reply, if it does."""
    wait_s = get_wait_s(callee)
    return max(seconds, wait_s + WAIT_MARGIN_S) if wait_s else seconds


def choose_limit(seconds: float, card: SystemCard | JudgeCard) -> float | None:
    """Return the time limit of a call; None if the callee only computes.

    A computation on the thread of the event loop cannot be cancelled, and a limit costs time.
    """
    return None if card.computes else seconds


async def limit_time(seconds: float | None, call: Awaitable[T], overrun: Exception) -> T:
    """Return the result of the call; cancel it and raise `overrun` when it takes longer."""
    if seconds is None:
        return await call
    # anyio.fail_after takes half again as long, and a run pays for it twice a trial.
    with anyio.CancelScope(deadline=anyio.current_time() + seconds):
        return await call
    raise overrun
