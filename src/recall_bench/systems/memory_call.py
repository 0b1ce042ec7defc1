"""One call to a memory under test: with a timeout, and repeated while the system is busy.

Runs and `doctor` share this code, so that a system is treated the same everywhere.
"""

import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio

from recall_bench.core.errors import SystemFault, SystemTimeout
from recall_bench.core.memory import Answer, Memory, RetrievalReply
from recall_bench.core.retry import (
    SYSTEM,
    Attempts,
    CallLimiter,
    OnBusy,
    ignore_busy,
    limit_time,
    retry,
)
from recall_bench.core.scenario import Question
from recall_bench.systems.reply_limits import check_reply

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryReply:
    """What a memory replied, or how it failed."""

    content: Answer | RetrievalReply | SystemFault
    seconds: float
    """The time of the last attempt."""


async def ask_memory(
    memory: Memory,
    question: Question,
    *,
    timeout_s: float | None,
    calls: CallLimiter,
    on_busy: OnBusy = ignore_busy,
) -> MemoryReply:
    """Ask one question; a failure of the system is a value, SystemGone is raised.

    Without a timeout the memory may take any time.
    """
    started = time.perf_counter()
    try:
        async for attempt in Attempts(on_busy):
            with attempt:
                async with calls.limit(SYSTEM):
                    started = time.perf_counter()
                    # anyio.fail_after takes half again as long.
                    limit = math.inf if timeout_s is None else anyio.current_time() + timeout_s
                    with anyio.CancelScope(deadline=limit):
                        reply = await memory.answer(question)
                        seconds = time.perf_counter() - started
                        check_reply(reply)
                        return MemoryReply(reply, seconds)
                    raise SystemTimeout(f"no answer within {timeout_s:g} s")
    except SystemFault as fault:
        return MemoryReply(fault, time.perf_counter() - started)
    raise AssertionError("the last attempt returns or raises")


async def call_system(
    stage: str, call: Callable[[], Awaitable[T]], *, timeout_s: float, hint: str = ""
) -> T:
    """Return the result of a call such as open, ingest or settle; SystemTimeout if it is late."""

    async def call_once() -> T:
        overrun = SystemTimeout(f"{stage} took longer than {timeout_s:g} s{hint}")
        return await limit_time(timeout_s, call(), overrun)

    return await retry(call_once)
