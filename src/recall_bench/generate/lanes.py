"""Units of work side by side, each begun when what it looks back on is settled."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

Unit = TypeVar("Unit")


async def run_units(
    units: Sequence[Unit],
    make: Callable[[Unit], Awaitable[None]],
    *,
    at_once: int,
    lag: int | None = None,
) -> None:
    """Make every unit, at most so many at a time, begun in their order.

    With a lag, a unit is begun when all units that stand so many places or more before it are
    done: what it may look back on is the same however many are made at once. What `make` raises
    ends all of it.
    """
    done = [anyio.Event() for _ in units]
    limit = anyio.CapacityLimiter(at_once)

    async def run_one(index: int) -> None:
        try:
            await make(units[index])
        finally:
            done[index].set()
            limit.release_on_behalf_of(index)

    async with anyio.create_task_group() as tasks:
        for index in range(len(units)):
            if lag is not None and index >= lag:
                await done[index - lag].wait()
            await limit.acquire_on_behalf_of(index)
            tasks.start_soon(run_one, index)
