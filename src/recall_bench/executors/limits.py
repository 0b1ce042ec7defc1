"""How many calls all workers together may have under way, to a system and to a provider."""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True, eq=False)
class _TicketRequest:
    count: int
    given: anyio.Event = field(default_factory=anyio.Event)


class FairSemaphore:
    """So many tickets. Who came first is served first, so that nobody waits for ever.

    Who wants several takes those that are left when its turn comes, and waits for no more: others
    may hold theirs for as long as a memory lives.
    """

    def __init__(self, tickets: int) -> None:
        self.tickets = tickets
        self._left = tickets
        self._queue: deque[_TicketRequest] = deque()

    @asynccontextmanager
    async def hold(self, count: int) -> AsyncIterator[int]:
        """Hold so many tickets while the block lasts, or fewer, but at least one."""
        taken = await self._take(count)
        try:
            yield taken
        finally:
            self._left += taken
            self._serve()

    async def _take(self, count: int) -> int:
        waiting = _TicketRequest(count)
        self._queue.append(waiting)
        self._serve()
        try:
            await waiting.given.wait()
        except BaseException:
            if waiting.given.is_set():
                self._left += waiting.count
            else:
                self._queue.remove(waiting)
            self._serve()
            raise
        return waiting.count

    def _serve(self) -> None:
        while self._queue and self._left:
            waiting = self._queue.popleft()
            waiting.count = min(waiting.count, self._left)
            self._left -= waiting.count
            waiting.given.set()


class CallLimits:
    """A pool for each system and each provider, made when it is first needed."""

    def __init__(self, max_calls: int | None) -> None:
        self.max_calls = max_calls
        self._pools: dict[str, FairSemaphore] = {}
        self._shards: dict[str, anyio.CapacityLimiter] = {}

    def limit_units(self, whom: str, most: int) -> anyio.CapacityLimiter:
        """The places for shards that a system stands, whichever of several runs they belong to."""
        return self._shards.setdefault(whom, anyio.CapacityLimiter(most))

    @asynccontextmanager
    async def allow_feeding(self, whom: str) -> AsyncIterator[None]:
        """The right to feed a memory of this system whose copies are asked meanwhile.

        So few have it at a time that one call is always left for asking.
        """
        if self.max_calls is None:
            yield
            return
        pool = self._pools.setdefault(f"feeding {whom}", FairSemaphore(max(1, self.max_calls - 1)))
        async with pool.hold(1):
            yield

    @asynccontextmanager
    async def allow_calls(self, whom: Sequence[str], count: int) -> AsyncIterator[int]:
        """The right to have so many calls under way to each of these; at least one.

        Pools are taken in one order by everybody, so that no two wait for each other.
        """
        if self.max_calls is None:
            yield count
            return
        async with AsyncExitStack() as stack:
            for name in sorted(set(whom)):
                pool = self._pools.setdefault(name, FairSemaphore(self.max_calls))
                count = await stack.enter_async_context(pool.hold(count))
            yield count
