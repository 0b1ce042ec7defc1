"""Saved states of memories that are copies of the memories themselves."""

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Generic, TypeVar

from recall_bench.core.errors import DataError, SystemFault, UsageError
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
        return self.keep(await self._copy(memory))

    async def open(self, token: str) -> M:
        """A new memory in that state."""
        return await self._copy(self.get_saved(token))

    async def open_last(self, token: str) -> M:
        """The saved state itself, which cannot be opened again."""
        memory = self.get_saved(token)
        del self._saved[token]
        return memory

    async def drop(self, token: str) -> None:
        """Forget a saved state."""
        if token in self._saved:
            await self._saved.pop(token).close()

    def keep(self, memory: M) -> str:
        """A token for a memory that nothing else uses."""
        token = str(next(self._tokens))
        self._saved[token] = memory
        return token

    def get_saved(self, token: str) -> M:
        """The memory of a token; SystemFault if there is none."""
        if token not in self._saved:
            raise SystemFault(f"no state is saved as {token!r}; it was dropped or never saved")
        return self._saved[token]


class PackedSnapshots(CopiedSnapshots[M]):
    """Copies that reach another process in one file."""

    def __init__(
        self,
        kind: type[M],
        copy: Callable[[M], Awaitable[M]],
        *,
        dump: Callable[[M], bytes],
        load: Callable[[bytes], M],
    ) -> None:
        super().__init__(kind, copy)
        self._dump = dump
        self._load = load

    async def pack(self, token: str, place: Path) -> None:
        """Write the saved state to a file."""
        (place / _PACKED_FILE).write_bytes(self._dump(self.get_saved(token)))

    async def unpack(self, place: Path) -> str:
        """A token for a state that was packed."""
        try:
            return self.keep(self._load((place / _PACKED_FILE).read_bytes()))
        except (OSError, EOFError, ValueError) as error:
            raise DataError(
                f"{place / _PACKED_FILE} holds no packed memory ({error}); pack the state again"
            ) from error

    async def discard(self, place: Path) -> None:
        """Nothing is kept outside the folder."""


_PACKED_FILE = "memory.packed"
