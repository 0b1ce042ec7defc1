"""Run async code from sync code, also where an event loop is running, as in a notebook."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.from_thread import start_blocking_portal

T = TypeVar("T")


def run_to_end(call: Callable[..., Awaitable[T]], *parameters: object) -> T:
    """Run an async call to its end, and return what it returns.

    It has an event loop of its own, so nothing it leaves open may depend on that loop. If a loop is
    running in this thread, the call runs in another thread, and an interruption cancels it.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return anyio.run(call, *parameters)
    with start_blocking_portal() as portal:
        return portal.call(call, *parameters)


async def run_in_thread(call: Callable[..., Awaitable[T]], *parameters: object) -> T:
    """Run an async call in a thread with an event loop of its own, while this loop goes on.

    Cancelling this cancels the call, and waits until it has ended.
    """
    with start_blocking_portal() as portal:
        return await asyncio.wrap_future(portal.start_task_soon(call, *parameters))
