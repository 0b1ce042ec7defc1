"""Waiting for what happens elsewhere, in a server's thread or another process."""

from collections.abc import Callable

import anyio


async def until(happened: Callable[[], object], *, within_s: float = 20) -> None:
    """Return once it has; TimeoutError if it does not."""
    with anyio.fail_after(within_s):
        while True:
            if happened():
                return
            await anyio.sleep(0.01)
