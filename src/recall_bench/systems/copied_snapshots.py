"""Snapshots of systems whose memories can be copied."""

import itertools
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import Memory

M = TypeVar("M", bound=Memory)


class CopiedSnapshots(Generic[M]):
    """Snapshots that are copies of memories of one kind, and are copied again to be opened."""

    def __init__(self, kind: type[M], copy: Callable[[M], Awaitable[M]]) -> None:
        self._kind = kind
        self._copy = copy
        self._saved: dict[str, M] = {}
        self._tokens = itertools.count(1)

    async def save(self, memory: Memory) -> str:
        """A token for the present state."""
        if not isinstance(memory, self._kind):
            raise UsageError(f"a {type(memory).__name__} is not a memory of this system")
        token = str(next(self._tokens))
        self._saved[token] = await self._copy(memory)
        return token

    async def open(self, token: str) -> M:
        """A new memory in that state."""
        return await self._copy(self._saved[token])

    async def drop(self, token: str) -> None:
        """Forget a saved state."""
        await self._saved.pop(token).close()
